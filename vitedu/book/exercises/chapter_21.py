"""The exercises of chapter 21, a trained network on other images."""

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# How many parameters of a ViT-S/14 learn with its last three blocks.
learning_parameters = NumberExercise(
    "21.1",
    "parameters that learn",
    hints=(
        "A block has four linear maps with biases, two norms, and two "
        "vectors of LayerScale.",
        "Queries, keys and values together are one map from 384 to 1,152; "
        "the feed-forward network goes up to 1,536 and back.",
        "Behind three blocks of 1,775,232 parameters come the norm and the "
        "head.",
    ),
    right=5_330_314,
    why="three blocks of 1,775,232, a norm of 768 and a head of 3,850.",
    wrong={
        5_325_696: "that is the three blocks; the norm and the head behind "
        "them learn, too.",
        5_329_546: "the norm behind the blocks learns, too: 2 × 384.",
        5_326_464: "the head is missing: 384 × 10 weights and 10 biases.",
        5_330_304: "the head has ten biases, too.",
        5_328_010: "the factors of LayerScale learn, too: 2 × 384 in each "
        "block.",
        14_206_474: "that is for all eight blocks; the first five stay.",
        3_850: "that is the head alone.",
    },
    tolerance=0,
)


def _rates(
    num_blocks: int,
    rate: float,
    decay: float,
    *,
    upward: bool = False,
    head: int = 1,
    linear: bool = False,
) -> Tensor:
    """Return the rates, with one thing done otherwise."""
    depth = torch.arange(num_blocks + 2.0, dtype=torch.float64)
    if not upward:
        depth = depth.flip(0)
    depth = (depth - 1 + head).clamp(min=0)
    if linear:
        return rate * (1 - (1 - decay) * depth).clamp(min=0)
    return rate * decay**depth


# ``candidate(num_blocks, rate, decay)``.
layer_rates = FunctionExercise(
    "21.2",
    "layer rates",
    hints=(
        "How many groups are there? The patch embedding, each block, and the "
        "head.",
        "The head has the whole rate. What has the last block, and the one "
        "before?",
        "A group that lies d steps below the head has rate × decay to the "
        "power of d.",
    ),
    right=_rates,
    wrong={
        "the head is to have the whole rate, and what lies below it less.": (
            lambda num_blocks, rate, decay: _rates(
                num_blocks, rate, decay, upward=True
            )
        ),
        "the last block already has a step of decay.": (
            lambda num_blocks, rate, decay: _rates(
                num_blocks, rate, decay, head=0
            )
        ),
        "even the head has lost a step; it has the whole rate.": (
            lambda num_blocks, rate, decay: (
                decay * _rates(num_blocks, rate, decay)
            )
        ),
        "each step down multiplies by decay; you subtract.": (
            lambda num_blocks, rate, decay: _rates(
                num_blocks, rate, decay, linear=True
            )
        ),
        "a group is missing: there are num_blocks + 2.": (
            lambda num_blocks, rate, decay: _rates(num_blocks, rate, decay)[1:]
        ),
        "you forget the rate of the head; the result holds rates, not "
        "factors.": lambda num_blocks, rate, decay: _rates(
            num_blocks, 1.0, decay
        ),
    },
    cases={
        "3 blocks": (3, 0.02, 0.5),
        "12 blocks": (12, 3e-4, 0.75),
        "5 blocks without decay": (5, 1e-3, 1.0),
    },
)


def _honest(
    validation: Tensor, test: Tensor, *, by: str = "validation"
) -> Tensor:
    """Return the test accuracy of what is chosen, with one thing changed."""
    mean, judged = validation.mean(dim=1), test.mean(dim=1)
    if by == "test":
        return judged.max()
    if by == "validation accuracy":
        return mean.max()
    if by == "each draw":
        best = validation.argmax(dim=0)
        return test.gather(0, best[None]).mean()
    if by == "single best":
        return judged[validation.amax(dim=1).argmax()]
    if by == "worst":
        return judged[mean.argmin()]
    return judged[mean.argmax()]


def _make_honest_accuracy() -> FunctionExercise:
    generator = torch.Generator().manual_seed(4)
    cases = {
        f"{settings} settings, {draws} draws": tuple(
            torch.rand(settings, draws, generator=generator).double()
            for _ in range(2)
        )
        for settings, draws in ((6, 3), (9, 4), (24, 5))
    }

    def other(by: str):
        return lambda validation, test: _honest(validation, test, by=by)

    return FunctionExercise(
        "21.3",
        "honest accuracy",
        hints=(
            "Which images have helped to choose? Those can no longer judge.",
            "Choose one setting, by its mean over the draws of validation.",
            "Then look at the row of that setting in `test`.",
        ),
        right=_honest,
        wrong={
            "the test images choose: what they then say is too good.": other(
                "test"
            ),
            "you report what the validation images say of the setting that "
            "they chose; that is too good as well.": other(
                "validation accuracy"
            ),
            "you choose another setting for each draw; choose one by the "
            "mean.": other("each draw"),
            "you choose by the single best draw, which is mostly luck; "
            "choose by the mean.": other("single best"),
            "you choose the worst setting.": other("worst"),
        },
        cases=cases,
    )


# ``candidate(validation, test)``, accuracies (setting, draw).
honest_accuracy = _make_honest_accuracy()
