"""The exercises of chapter 12, the class token and positions."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise


def _entering(
    chosen: Callable[[Tensor, Tensor], Tensor],
) -> Callable[..., Tensor]:
    """Return the front, with the rows that are chosen for its tokens."""

    def front(patches: Tensor, token: Tensor, rows: Tensor) -> Tensor:
        images = [torch.cat([token[None], image]) for image in patches]
        return torch.stack([x + chosen(rows, x) for x in images])

    return front


def _zero_first(rows: Tensor) -> Tensor:
    return torch.cat([torch.zeros_like(rows[:1]), rows[1:]])


def _by_place_in_the_batch(
    patches: Tensor, token: Tensor, rows: Tensor
) -> Tensor:
    bare = _entering(lambda rows, tokens: 0 * tokens)
    return bare(patches, token, rows) + rows[: len(patches), None]


def _running_on(patches: Tensor, token: Tensor, rows: Tensor) -> Tensor:
    bare = _entering(lambda rows, tokens: 0 * tokens)
    tokens = bare(patches, token, rows)
    count = tokens.shape[0] * tokens.shape[1]
    return tokens + rows[:count].view_as(tokens)


def _make_position_weights() -> NumberExercise:
    width = 768
    return NumberExercise(
        "12.1",
        "position weights",
        hints=(
            "How many rows does the table have, and how long is each?",
            "Count the patches along one side first. And what comes before "
            "them?",
            "A row of the table is as wide as a token. There is one row for "
            "each patch, one for the class token, and the network has a "
            "second token in front.",
        ),
        right=578 * width,
        why="24 × 24 = 576 patches and 2 tokens in front, 768 numbers each.",
        wrong={
            576 * width: "these are the rows of the patches. What else gets a "
            "position?",
            577 * width: "that is with one token in front of the patches; "
            "count them again.",
            198 * width: "that is the table for 224 × 224 pixels.",
            197
            * width: "that is the table for 224 × 224 pixels, and with one "
            "token in front.",
            578: "these are the rows. How many numbers does a row have?",
            26 * width: "24 is one side of the grid.",
            2 * 576 * width: "every token has one row, even if there are two "
            "heads.",
        },
        tolerance=0,
    )


# positions of a distilled ViT-B/16 at 384 pixels.
position_weights = _make_position_weights()


def _make_shuffled_positions() -> FunctionExercise:
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
        "which row of the table belongs to patch 0?"
    )
    wrong = {
        "this is the old table. The patch that is first now came from "
        "elsewhere; does it find its own row?": lambda weight, order: weight,
        "each row went to a different patch. Follow one patch: where did the "
        "patch that is now at position 0 come from?": thrown,
        too_early: one_early,
        f"two mistakes are left. The first: {too_early}": one_early_thrown,
        "the row of the class token is gone; it has to remain in front.": (
            lambda weight, order: weight[:, 1:][:, order]
        ),
        "the rows of the patches are right, but the class token's row comes "
        "after them.": lambda weight, order: right(weight, order).roll(
            -1, dims=1
        ),
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
    return FunctionExercise(
        "12.2",
        "shuffled positions",
        hints=(
            "Draw three patches and an order that is not its own reverse, "
            "such as 1, 2, 0. Which row does the patch that is first now "
            "need?",
            "A network without positions gives the same answer for shuffled "
            "patches. So each patch only has to keep the row that it had.",
            "Position `i` needs the row of the patch that is there now. "
            "`order[i]` counts patches from 0, but the table begins with the "
            "row of the class token.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(weight, order)`` moves the rows.
shuffled_positions = _make_shuffled_positions()


def _make_entering_tokens() -> FunctionExercise:
    wrong = {
        "images 0 and 2 are the same image, but your function turns them into "
        "different tokens.": _by_place_in_the_batch,
        "all tokens of an image get the same row of the table: two equal "
        "patches cannot be told apart.": _entering(
            lambda rows, tokens: rows[:1].expand(len(tokens), -1)
        ),
        "the class token has no position. Row 0 is its own, as in the "
        "chapter's equation.": _entering(
            lambda rows, tokens: _zero_first(rows[: len(tokens)])
        ),
        "positions were added before the class token was in front: it has "
        "none, and patch 0 has row 0, which is not its own.": _entering(
            lambda rows, tokens: _zero_first(
                rows[: len(tokens)].roll(1, dims=0)
            )
        ),
        "the rows are right for the patches one position further: row 0 "
        "belongs to the class token, not to patch 0.": _entering(
            lambda rows, tokens: rows[: len(tokens)].roll(1, dims=0)
        ),
        "the class token comes after the patches; it has to be token 0.": (
            lambda patches, token, rows: (
                torch.cat([patches, token.expand(len(patches), 1, -1)], dim=1)
                + rows[: patches.shape[1] + 1]
            )
        ),
        "you took the last rows of the table: take the first, one for each "
        "token.": _entering(lambda rows, tokens: rows[-len(tokens) :]),
        "the rows run on from image to image: the second image gets different "
        "rows from the first.": _running_on,
        "you added the positions twice.": _entering(
            lambda rows, tokens: 2 * rows[: len(tokens)]
        ),
        "no positions are left: shuffled patches would give shuffled "
        "tokens.": _entering(lambda rows, tokens: 0 * tokens),
    }
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    twice = draw(2, 5, 7)[[0, 1, 0]]
    token, table = draw(7), draw(40, 7)
    cases = {
        "a batch with one image twice": (twice, token, table),
        "a single image": (draw(1, 5, 7), token, table),
        "more images than tokens": (draw(5, 3, 7), token, table),
    }
    right = _entering(lambda rows, tokens: rows[: len(tokens)])
    return FunctionExercise(
        "12.3",
        "entering tokens",
        hints=(
            "Put the same image into a batch twice. Which number in the "
            "code is different for the two?",
            "Write down the shapes of the two tensors that the last line "
            "adds. Which axis of one meets which axis of the other?",
            "`len` of a tensor is the length of its first axis. Count tokens "
            "instead, and let each row of the table meet the token at its "
            "position, in all images alike.",
        ),
        right=right,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(patches, class_token, positions)``.
entering_tokens = _make_entering_tokens()
