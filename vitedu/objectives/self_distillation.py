"""Learn without labels: a student follows a teacher made of itself."""

from collections.abc import Sequence
from copy import deepcopy

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from vitedu import require


class SelfDistillation(nn.Module):
    """A student predicts from one view what its teacher outputs for another.

    The teacher is a running mean of the student; it learns nothing by itself.
    Its outputs are centred, so that no group wins everywhere, and sharpened,
    so that it commits itself: without either, all images soon get the same
    output.

    Args:
        student: Maps images to scores of groups, (batch, group); a group is an
            output dimension. There are as many as you like, without a given
            meaning.
        num_groups: How many groups there are.
        momentum: Fraction of itself that the teacher keeps in each step,
            [0, 1].
        student_temperature: Divides the student's scores, above 0.
        teacher_temperature: Divides the teacher's; the lower, the sharper.
        centre_momentum: Fraction of itself that the centre keeps, [0, 1]; 1
            leaves it at zero, so that nothing is centred.

    Raises:
        TypeError, ValueError: An argument of the wrong type or out of range;
            fewer than two views, or views that are not one per image; scores
            of another shape.

    Source: Caron et al. 2021 (DINO), section 3.1 and algorithm 1.
    Deviates: The teacher sees every view; in the paper it sees two large ones,
        and the student also small ones. Momentum and temperatures are
        constant; theirs follow a schedule.
    Derived in: 23-without-labels
    """

    centre: Tensor

    def __init__(
        self,
        student: nn.Module,
        num_groups: int,
        *,
        momentum: float = 0.99,
        student_temperature: float = 0.1,
        teacher_temperature: float = 0.04,
        centre_momentum: float = 0.9,
    ) -> None:
        super().__init__()
        require.instance("student", student, nn.Module)
        require.positive_int("num_groups", num_groups)
        require.number("momentum", momentum, at_least=0, at_most=1)
        require.number("student_temperature", student_temperature, above=0)
        require.number("teacher_temperature", teacher_temperature, above=0)
        require.number(
            "centre_momentum", centre_momentum, at_least=0, at_most=1
        )
        self.student = student
        self.teacher = deepcopy(student).requires_grad_(False)
        self.momentum = momentum
        self.student_temperature = student_temperature
        self.teacher_temperature = teacher_temperature
        self.centre_momentum = centre_momentum
        self.register_buffer("centre", torch.zeros(num_groups))
        self._latest: Tensor | None = None

    def forward(
        self, views: Sequence[Float[Tensor, "image channel height width"]]
    ) -> Float[Tensor, ""]:
        """Return the mean cross-entropy over all pairs of two views.

        Args:
            views: At least two random versions of each image.
        """
        _check_views(views)
        said = [self.student(view) for view in views]
        for scores in said:
            self._check_scores("scores of the student", scores)
        with torch.no_grad():
            taught = [self.teacher(view) for view in views]
        self._latest = torch.cat(taught)
        targets = [self.targets(scores) for scores in taught]
        logs = [(x / self.student_temperature).log_softmax(-1) for x in said]
        losses = [
            -(target * log).sum(dim=-1).mean()
            for i, target in enumerate(targets)
            for j, log in enumerate(logs)
            if i != j
        ]
        return torch.stack(losses).mean()

    def targets(
        self, scores: Float[Tensor, "image group"]
    ) -> Float[Tensor, "image group"]:
        """Return a teacher's probabilities: centred, sharpened, softmax."""
        self._check_scores("scores", scores)
        centred = scores - self.centre
        return (centred / self.teacher_temperature).softmax(dim=-1)

    @torch.no_grad()
    def follow(self) -> None:
        """Move the teacher towards the student, the centre to the outputs.

        Call this after each step of the optimiser.

        Raises:
            RuntimeError: There was no earlier call whose outputs could be
                centred.
        """
        if self._latest is None:
            raise RuntimeError("follow must come after a call with views")
        parameters = zip(
            self.teacher.parameters(), self.student.parameters(), strict=True
        )
        for old, new in parameters:
            old.lerp_(new, 1 - self.momentum)
        self.centre.lerp_(self._latest.mean(dim=0), 1 - self.centre_momentum)

    def _check_scores(self, name: str, scores: Tensor) -> None:
        require.rank(name, scores, "image group")
        require.floating(name, scores)
        if scores.shape[1] != len(self.centre):
            raise ValueError(
                f"{name} must be of num_groups = {len(self.centre)}, got "
                f"{scores.shape[1]}"
            )


class GroupHead(nn.Sequential):
    """Map features to scores of groups: cosines with learned directions.

    Args:
        d_model: Width of the features.
        num_groups: Directions.
        d_hidden: Width of the network before them, and of the directions.

    Raises:
        TypeError, ValueError: A size that is not a positive integer.

    Source: Caron et al. 2021 (DINO), section 3.1, "Network architecture",
        and appendix C.
    Deviates: Two linear maps before the directions, not three; one width.
    """

    def __init__(
        self, d_model: int, num_groups: int, d_hidden: int = 128
    ) -> None:
        for name, value in (
            ("d_model", d_model),
            ("num_groups", num_groups),
            ("d_hidden", d_hidden),
        ):
            require.positive_int(name, value)
        super().__init__(
            nn.Linear(d_model, d_hidden),
            nn.GELU(),
            nn.Linear(d_hidden, d_hidden),
            _Directions(d_hidden, num_groups),
        )


class _Directions(nn.Module):
    """Cosines with directions, whose lengths have no effect."""

    def __init__(self, width: int, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, width))

    def forward(self, x: Tensor) -> Tensor:
        return F.normalize(x, dim=-1) @ F.normalize(self.weight, dim=-1).mT


def _check_views(views: Sequence[Tensor]) -> None:
    require.instance("views", views, Sequence)
    if len(views) < 2:
        raise ValueError(f"views must be at least 2, got {len(views)}")
    for number, view in enumerate(views):
        require.rank(f"views[{number}]", view, "image channel height width")
        require.floating(f"views[{number}]", view)
        if len(view) == 0:
            raise ValueError("views must show an image, got none")
        if len(view) != len(views[0]):
            raise ValueError(
                "views must show the same images, got "
                f"{len(views[0])} and {len(view)}"
            )
