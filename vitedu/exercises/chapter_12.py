"""Checks of the exercises of chapter 12, the class token and positions."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.checks import Verdict, exercise, judge_function, judge_number


@exercise(
    "How many rows has the table? Count the patches along one side "
    "first, and do not forget who stands in front of them."
)
def position_weights(answer: int | None) -> Verdict:
    """Check exercise 12.1: positions of a distilled ViT-B/16 at 384 pixels."""
    width = 768
    return judge_number(
        answer,
        578 * width,
        "24 x 24 = 576 patches and 2 tokens in front, 768 numbers each.",
        {
            576 * width: "these are the rows of the patches. Who else gets a "
            "position?",
            577 * width: "that is with one token in front of the patches; "
            "count them again.",
            198 * width: "that is the table for 224 x 224 pixels.",
            197
            * width: "that is the table for 224 x 224 pixels, and with one "
            "token in front.",
            578: "these are the rows. How many numbers has a row?",
            26 * width: "24 is one side of the grid.",
            2 * 576 * width: "every token has one row, also if there are two "
            "heads.",
        },
        tolerance=0,
    )


@exercise(
    "A network without positions gives the same answer for shuffled "
    "patches. So each patch only has to keep the row that it had. Draw "
    "three patches and an order that is not its own reverse, such as 1, "
    "2, 0."
)
def shuffled_positions(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 12.2: ``candidate(weight, order)`` moves the rows."""

    def right(weight: Tensor, order: Tensor) -> Tensor:
        return torch.cat([weight[:, :1], weight[:, 1:][:, order]], dim=1)

    def thrown(weight: Tensor, order: Tensor) -> Tensor:
        return right(weight, order.argsort())

    def one_early(weight: Tensor, order: Tensor) -> Tensor:
        return torch.cat([weight[:, :1], weight[:, order]], dim=1)

    def one_early_thrown(weight: Tensor, order: Tensor) -> Tensor:
        return one_early(weight, order.argsort())

    too_early = (
        "the class token has its row, but the others are one row too early: "
        "which row of the table is that of patch 0?"
    )
    wrong = {
        "this is the old table. The patch that stands first now came from "
        "elsewhere; does it find its own row?": lambda weight, order: weight,
        "each row went to some other patch. Follow one patch: from where did "
        "the patch come that stands at place 0 now?": thrown,
        too_early: one_early,
        f"two mistakes are left. The first: {too_early}": one_early_thrown,
        "the row of the class token has gone; it has to stay in "
        "front.": lambda weight, order: weight[:, 1:][:, order],
        "the rows of the patches are right, but the class token stands behind "
        "them.": lambda weight, order: right(weight, order).roll(-1, dims=1),
    }
    generator = torch.Generator().manual_seed(0)

    def table(count: int) -> Tensor:
        return torch.randn(1, 1 + count, 7, generator=generator)

    cases = {
        "13 patches, shuffled": (
            table(13),
            torch.randperm(13, generator=generator),
        ),
        "5 patches, the last one first": (
            table(5),
            torch.arange(5).roll(1),
        ),
    }
    return judge_function(candidate, right, wrong, cases)
