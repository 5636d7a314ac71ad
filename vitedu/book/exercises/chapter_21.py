"""The exercises of chapter 21, a trained network on new images."""

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# How many parameters of a ViT-S/14 learn with its last three blocks.
learning_parameters = NumberExercise(
    "21.1",
    "parameters that learn",
    hints=(
        "A block has four linear layers with biases, two norms, and two "
        "vectors of LayerScale.",
        "Queries, keys and values together are one linear layer from 384 to "
        "1,152; the feed-forward network goes up to 1,536 and back.",
        "Behind the three blocks, with 1,775,232 parameters each, come the "
        "norm and the head.",
    ),
    right=5_330_314,
    why="three blocks with 1,775,232 each, a norm with 768 and a head with "
    "3,850.",
    wrong={
        5_325_696: "that is the three blocks; the norm and the head behind "
        "them also learn.",
        5_329_546: "the norm behind the blocks also learns: 2 × 384.",
        5_326_464: "the head is missing: 384 × 10 weights and 10 biases.",
        5_330_304: "the head also has ten biases.",
        5_328_010: "the factors of LayerScale also learn: 2 × 384 in each "
        "block.",
        14_206_474: "that is for all eight blocks; the first five are frozen.",
        3_850: "that is only the head.",
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
        "The head gets the full learning rate. What does the last block get, "
        "and the one before it?",
        "A group d steps below the head gets rate × decay to the power of d.",
    ),
    right=_rates,
    wrong={
        "the head should get the full learning rate, and the groups below it "
        "less.": (
            lambda num_blocks, rate, decay: _rates(
                num_blocks, rate, decay, upward=True
            )
        ),
        "the last block should already get one step of decay.": (
            lambda num_blocks, rate, decay: _rates(
                num_blocks, rate, decay, head=0
            )
        ),
        "you apply a step of decay even to the head; it gets the full rate.": (
            lambda num_blocks, rate, decay: (
                decay * _rates(num_blocks, rate, decay)
            )
        ),
        "each step down multiplies the rate by decay; you subtract.": (
            lambda num_blocks, rate, decay: _rates(
                num_blocks, rate, decay, linear=True
            )
        ),
        "a group is missing: there are num_blocks + 2.": (
            lambda num_blocks, rate, decay: _rates(num_blocks, rate, decay)[1:]
        ),
        "you forget to multiply by the learning rate; return rates, not "
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
        f"{settings} settings, {draws} labelled sets": tuple(
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
            "Which images helped to choose? They can no longer judge.",
            "Choose one setting, by its mean in `validation` over the "
            "labelled sets.",
            "Then look at that setting's row in `test`.",
        ),
        right=_honest,
        wrong={
            "the test images choose; their verdict is too optimistic.": other(
                "test"
            ),
            "you report the validation accuracy of the setting that the "
            "validation images chose; that is too optimistic as well.": other(
                "validation accuracy"
            ),
            "you choose a different setting for each labelled set; choose one "
            "by the mean.": other("each draw"),
            "you choose by the best result on a single labelled set, which is "
            "mostly luck; choose by the mean.": other("single best"),
            "you choose the worst setting.": other("worst"),
        },
        cases=cases,
    )


# ``candidate(validation, test)``, accuracies (setting, labelled set).
honest_accuracy = _make_honest_accuracy()
