"""What a prediction rests on: rank the patches of an image, test a ranking."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from einops import rearrange, reduce
from jaxtyping import Float, Int
from torch import Tensor, nn

from vitedu import require


def gradient_saliency(
    function: Callable[[Tensor], Tensor],
    images: Float[Tensor, "batch channel height width"],
    labels: Int[Tensor, " batch"],
    *,
    patch_size: int | tuple[int, int],
) -> Float[Tensor, "batch patch"]:
    """Rank patches by how strongly the logit of a class reacts to them.

    Args:
        function: Turns images into logits (batch, num_classes), as a model in
            evaluation mode does. Gradients of its weights stay as they are.
        images: Pixels; height and width divisible by `patch_size`.
        labels: The class in question for each image, from 0.
        patch_size: Side of a patch in pixels, or (height, width).

    Returns:
        The mean absolute gradient of the logit over the pixels and channels
        of each patch; patches are numbered row by row.

    Raises:
        TypeError: Arguments of the wrong type.
        ValueError: Sizes that do not fit, labels that are not classes, or a
            function through which no gradient flows.

    Source: Simonyan et al. 2014, section 3.
    Deviates: The paper takes the largest channel of each pixel; here the
        mean over channels and over the pixels of a patch.
    Derived in: 16-looking-inside
    """
    rows, columns = _grid(images, patch_size)
    # Also for a caller who has switched gradients off.
    with torch.inference_mode(False), torch.enable_grad():
        pixels = images.detach().clone().requires_grad_()
        reading = _read(function, pixels, labels, "logit").sum()
        gradient = None
        if reading.requires_grad:
            (gradient,) = torch.autograd.grad(
                reading, pixels, allow_unused=True
            )
    if gradient is None:
        raise ValueError(
            "function must be differentiable, but no gradient flows from its "
            "logits to the images"
        )
    return reduce(
        gradient.abs(),
        "b c (rows p1) (cols p2) -> b (rows cols)",
        "mean",
        rows=rows,
        cols=columns,
    )


@dataclass(frozen=True)
class DeletionTest:
    """How an answer fades as patches are deleted, found by `deletion_test`.

    Attributes:
        counts: How many patches are deleted, in steps.
        ranked: The answer (batch, count) with the highest scores deleted.
        random: The answer (draw, batch, count) with random patches deleted.

    Source: Samek et al. 2017, area over the perturbation curve.
    """

    counts: tuple[int, ...]
    ranked: Float[Tensor, "batch count"]
    random: Float[Tensor, "draw batch count"]

    @property
    def area(self) -> Float[Tensor, " batch"]:
        """The mean loss of the answer; higher is better for a ranking."""
        return _area(self.ranked)

    @property
    def random_area(self) -> Float[Tensor, "draw batch"]:
        """The same for each random order: what a ranking has to beat."""
        return _area(self.random)


def deletion_test(
    function: Callable[[Tensor], Tensor],
    images: Float[Tensor, "batch channel height width"],
    labels: Int[Tensor, " batch"],
    scores: Float[Tensor, "batch patch"],
    *,
    patch_size: int | tuple[int, int],
    counts: Sequence[int] | None = None,
    fill: float | Literal["mean"] = "mean",
    answer: Literal["probability", "logit"] = "probability",
    draws: int = 5,
    seed: int = 0,
) -> DeletionTest:
    """Test whether a ranking of patches shows what a model uses.

    Patches are deleted, the highest score first, and the answer is read after
    each step. If it fades faster than with patches deleted at random, then the
    ranking is informative. Raw attention, rollout and gradients can be
    compared by their areas.

    Args:
        function: Turns images into logits (batch, num_classes), as a model in
            evaluation mode does.
        images: Pixels; height and width divisible by `patch_size`.
        labels: The class of each image whose answer is read, from 0.
        scores: One number per patch, row by row; the highest goes first, and
            among equal scores the one that comes first.
        patch_size: Side of a patch in pixels, or (height, width).
        counts: How many patches to delete, rising from 0; None means every
            number up to all.
        fill: What replaces a deleted patch: a number, or "mean" for the mean
            of each channel of the image.
        answer: Whether to read the probability of the class or its logit.
        draws: Number of random orders to compare with.
        seed: Seed of the random orders.

    Returns:
        The curves and their areas.

    Raises:
        TypeError: Arguments of the wrong type.
        ValueError: Sizes that do not fit, labels that are not classes, scores
            that are not finite, arguments out of range, or a module in
            training mode. A new ViT is accepted, and all its areas are 0,
            because its head is zero.

    Source: Samek et al. 2017, region perturbation.
    Deviates: The paper deletes 9 x 9 pixels around a point and fills with
        uniform noise; here whole patches and one value.
    Derived in: 16-looking-inside
    """
    rows, columns = _grid(images, patch_size)
    counts = _counts(counts, rows * columns)
    _check_scores(scores, (len(images), rows * columns))
    require.choice("answer", answer, ("probability", "logit"))
    require.positive_int("draws", draws)
    require.seed("seed", seed)
    if isinstance(function, nn.Module) and function.training:
        raise ValueError(
            "function must be in evaluation mode, where dropout is off, "
            f"got {type(function).__name__} in training mode"
        )
    blank = _blank(images, fill)

    def curve(priorities: Tensor) -> Tensor:
        order = priorities.argsort(dim=1, descending=True, stable=True)
        position = order.argsort(dim=1)
        grid = rearrange(position, "b (rows cols) -> b 1 rows cols", rows=rows)
        pixels = grid.repeat_interleave(images.shape[2] // rows, dim=2)
        pixels = pixels.repeat_interleave(images.shape[3] // columns, dim=3)
        deleted = (torch.where(pixels < n, blank, images) for n in counts)
        answers = [_read(function, x, labels, answer) for x in deleted]
        return torch.stack(answers, dim=1)

    generator = torch.Generator().manual_seed(seed)
    shuffled = torch.rand(draws, *scores.shape, generator=generator)
    with torch.no_grad():
        return DeletionTest(
            counts,
            curve(scores),
            torch.stack([curve(x) for x in shuffled.to(scores.device)]),
        )


def _area(answers: Tensor) -> Tensor:
    return (answers[..., :1] - answers).mean(dim=-1)


def _grid(
    images: Tensor, patch_size: int | tuple[int, int]
) -> tuple[int, int]:
    """Return the rows and columns of patches in checked images."""
    require.rank("images", images, "batch channel height width")
    require.floating("images", images)
    p1, p2 = require.sides("patch_size", patch_size)
    require.divisible("height", images.shape[2], "patch_size", p1)
    require.divisible("width", images.shape[3], "patch_size", p2)
    return images.shape[2] // p1, images.shape[3] // p2


def _read(
    function: Callable[[Tensor], Tensor],
    images: Tensor,
    labels: Tensor,
    answer: str,
) -> Tensor:
    """Return the probability or the logit of each image's class."""
    require.function("function", function)
    logits = function(images)
    require.rank("logits", logits, "batch num_classes")
    require.floating("logits", logits)
    require.rank("labels", labels, "batch")
    require.integers("labels", labels)
    if not len(logits) == len(labels) == len(images):
        raise ValueError(
            f"logits and labels must have one row for each of the "
            f"{len(images)} images, got {len(logits)} and {len(labels)}"
        )
    classes = logits.shape[1]
    if not ((labels >= 0) & (labels < classes)).all():
        raise ValueError(
            f"labels must be from 0 to {classes - 1}, got {labels.tolist()}"
        )
    if answer == "probability":
        logits = logits.softmax(dim=1)
    return logits.gather(1, labels.long()[:, None])[:, 0]


def _check_scores(scores: Tensor, shape: tuple[int, int]) -> None:
    require.floating("scores", scores)
    if scores.shape != shape:
        raise ValueError(
            f"scores must be (batch, patch) = {shape}, "
            f"got shape {tuple(scores.shape)}"
        )
    if not scores.isfinite().all():
        raise ValueError("scores must be finite, got NaN or infinity")


def _counts(counts: Sequence[int] | None, patches: int) -> tuple[int, ...]:
    counts = range(patches + 1) if counts is None else counts
    require.instance("counts", counts, Sequence)
    counts = tuple(counts)
    for i, count in enumerate(counts):
        require.integer(f"counts[{i}]", count, at_least=0)
    rising = counts == tuple(sorted(set(counts)))
    if counts[:1] != (0,) or counts[-1] > patches or not rising:
        raise ValueError(
            f"counts must rise from 0 to at most {patches}, got {counts}"
        )
    return counts


def _blank(images: Tensor, fill: float | Literal["mean"]) -> Tensor:
    if isinstance(fill, str):
        require.choice("fill", fill, ("mean",))
        return images.mean(dim=(2, 3), keepdim=True)
    require.number("fill", fill)
    return torch.full_like(images[:, :, :1, :1], fill)
