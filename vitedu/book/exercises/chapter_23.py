"""The exercises of chapter 23, seeing without labels and with words."""

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# 224 x 224 pixels, patches of 16 x 16, three quarters hidden, a class token.
tokens_of_the_encoder = NumberExercise(
    "23.1",
    "tokens of the encoder",
    hints=(
        "How many patches has the photograph? Count those of one row first.",
        "14 × 14 patches. The encoder meets those that are seen, and nothing "
        "in the place of the others.",
        "The class token is hidden from nobody.",
    ),
    right=50,
    why="a quarter of 196 patches are 49, and the class token makes 50.",
    wrong={
        49: "the class token is read, too.",
        197: "that is with all patches; the hidden ones never get in. The "
        "decoder gets 197.",
        196: "that is all patches, and no class token.",
        148: "three quarters are hidden, not seen.",
        147: "these are the hidden patches.",
        13: "that is our small network, of 49 patches.",
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
        "loss of hidden patches",
        hints=(
            "Take the squared difference of everything first.",
            "`hidden` has an axis less: it chooses whole patches.",
            "A boolean tensor picks patches: `errors[hidden]`.",
        ),
        right=lambda guesses, targets, hidden: squares(guesses, targets)[
            hidden
        ].mean(),
        wrong={
            "patches that are seen count, too. To copy them is no "
            "guess.": lambda guesses, targets, hidden: squares(
                guesses, targets
            ).mean(),
            "the seen patches count, and the hidden ones do not.": (
                lambda guesses, targets, hidden: squares(guesses, targets)[
                    ~hidden
                ].mean()
            ),
            "the sum over hidden patches is divided by the number of all "
            "patches.": lambda guesses, targets, hidden: (
                squares(guesses, targets) * hidden[..., None]
            ).mean(),
            "the errors are added up; the mean was asked for.": (
                lambda guesses, targets, hidden: squares(guesses, targets)[
                    hidden
                ].sum()
            ),
            "the errors are absolute values, not squares.": (
                lambda guesses, targets, hidden: (
                    (guesses - targets).abs()[hidden].mean()
                )
            ),
            "a root is taken of the mean.": (
                lambda guesses, targets, hidden: (
                    squares(guesses, targets)[hidden].mean().sqrt()
                )
            ),
        },
        cases={
            "6 of 8 patches hidden": inputs(3, 8, 5, count=6),
            "2 of 9 patches hidden": inputs(2, 9, 4, count=2),
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
            "With a momentum of 1, the teacher stays as it is. Does it here?",
            "With a momentum of 0.98 it keeps 98 % of itself.",
            "So momentum times the teacher, and the rest times the student.",
        ),
        right=lambda teacher, student, momentum: (
            momentum * teacher + (1 - momentum) * student
        ),
        wrong={
            "the shares are the wrong way round: this teacher is nearly the "
            "student of the last step.": lambda teacher, student, momentum: (
                (1 - momentum) * teacher + momentum * student
            ),
            "the two shares do not add up to 1: the whole student is "
            "added.": lambda teacher, student, momentum: (
                momentum * teacher + student
            ),
            "the two shares do not add up to 1: the whole teacher is "
            "kept.": lambda teacher, student, momentum: (
                teacher + (1 - momentum) * student
            ),
            "the teacher moves away from the student.": (
                lambda teacher, student, momentum: (
                    teacher - (1 - momentum) * (student - teacher)
                )
            ),
            "the teacher stays as it is.": lambda teacher, student, momentum: (
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
