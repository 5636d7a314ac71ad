"""The exercises of chapter 23, seeing without labels and with words."""

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# 224 x 224 pixels, patches of 16 x 16, three quarters masked, a class token.
tokens_of_the_encoder = NumberExercise(
    "23.1",
    "tokens of the encoder",
    hints=(
        "How many patches does the photograph have? Count one row first.",
        "14 × 14 patches. The encoder reads the visible ones, and nothing in "
        "place of the others.",
        "The class token is never masked.",
    ),
    right=50,
    why="a quarter of 196 patches is 49, and the class token makes 50.",
    wrong={
        49: "the encoder also reads the class token.",
        197: "that counts all patches, but the masked ones never enter. The "
        "decoder reads 197.",
        196: "that is all patches, without the class token.",
        148: "three quarters are masked, not visible.",
        147: "that is the number of masked patches.",
        13: "that is our small network, with 49 patches.",
    },
    tolerance=0,
)


def _make_masked_loss() -> FunctionExercise:
    draw = torch.Generator().manual_seed(8)

    def inputs(*axes: int, count: int) -> tuple[Tensor, ...]:
        guesses, targets = torch.randn(
            2, *axes, generator=draw, dtype=torch.float64
        )
        order = torch.rand(axes[:2], generator=draw).argsort(dim=1)
        return guesses, targets, order < count

    def squares(guesses: Tensor, targets: Tensor) -> Tensor:
        return (guesses - targets).square()

    return FunctionExercise(
        "23.2",
        "loss on masked patches",
        hints=(
            "First square the differences of all values.",
            "`hidden` has one axis fewer, because it selects whole patches.",
            "A boolean tensor selects patches: `errors[hidden]`.",
        ),
        right=lambda guesses, targets, hidden: squares(guesses, targets)[
            hidden
        ].mean(),
        wrong={
            "visible patches count as well. Copying them is not "
            "prediction.": lambda guesses, targets, hidden: squares(
                guesses, targets
            ).mean(),
            "the visible patches count, and the masked ones do not.": (
                lambda guesses, targets, hidden: squares(guesses, targets)[
                    ~hidden
                ].mean()
            ),
            "the sum over masked patches is divided by the number of all "
            "patches.": lambda guesses, targets, hidden: (
                squares(guesses, targets) * hidden[..., None]
            ).mean(),
            "the errors are summed, not averaged.": (
                lambda guesses, targets, hidden: squares(guesses, targets)[
                    hidden
                ].sum()
            ),
            "the errors are absolute values, not squares.": (
                lambda guesses, targets, hidden: (
                    (guesses - targets).abs()[hidden].mean()
                )
            ),
            "it is the root of the mean squared error.": (
                lambda guesses, targets, hidden: (
                    squares(guesses, targets)[hidden].mean().sqrt()
                )
            ),
        },
        cases={
            "6 of 8 patches masked": inputs(3, 8, 5, count=6),
            "2 of 9 patches masked": inputs(2, 9, 4, count=2),
        },
    )


# ``candidate(guesses, targets, hidden)``; the last is (batch, patch).
masked_loss = _make_masked_loss()


def _make_follow() -> FunctionExercise:
    draw = torch.Generator().manual_seed(9)

    def inputs(momentum: float) -> tuple[Tensor, Tensor, float]:
        teacher, student = torch.randn(
            2, 3, 4, generator=draw, dtype=torch.float64
        )
        return teacher, student, momentum

    return FunctionExercise(
        "23.3",
        "a teacher's weights",
        hints=(
            "With a momentum of 1, the teacher does not change. Does it here?",
            "With a momentum of 0.98, it keeps 98% of itself.",
            "So `momentum` multiplies the teacher, and the rest the student.",
        ),
        right=lambda teacher, student, momentum: (
            momentum * teacher + (1 - momentum) * student
        ),
        wrong={
            "the factors are swapped: this teacher is nearly the student of "
            "the last step.": lambda teacher, student, momentum: (
                (1 - momentum) * teacher + momentum * student
            ),
            "the two factors do not add up to 1: the whole student is "
            "added.": lambda teacher, student, momentum: (
                momentum * teacher + student
            ),
            "the two factors do not add up to 1: the whole teacher is "
            "kept.": lambda teacher, student, momentum: (
                teacher + (1 - momentum) * student
            ),
            "the teacher moves away from the student.": (
                lambda teacher, student, momentum: (
                    teacher - (1 - momentum) * (student - teacher)
                )
            ),
            "the teacher never moves.": lambda teacher, student, momentum: (
                teacher
            ),
            "the teacher is the student.": lambda teacher, student, momentum: (
                student
            ),
        },
        cases={
            "momentum 0.98": inputs(0.98),
            "momentum 0.5": inputs(0.5),
            "momentum 0.9": inputs(0.9),
        },
    )


# ``candidate(teacher, student, momentum)``, of one weight matrix.
follow = _make_follow()
