"""How well a classifier does on data: one pass, and what it shows."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn
from torch.utils.data import DataLoader

from vitedu import require

_INTEGERS = torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """What `evaluate_classifier` found.

    Attributes:
        num_samples: How many samples there were.
        accuracy: k -> fraction of the samples whose class is among the k
            largest logits.
        cross_entropy: Mean over the samples, in nats.
        confusion: How many samples of each class (row) were taken for each
            class (column); int64, on the CPU.
    """

    num_samples: int
    accuracy: dict[int, float]
    cross_entropy: float
    confusion: Int[Tensor, "true predicted"]


def evaluate_classifier(
    model: nn.Module, loader: DataLoader, *, top_k: Sequence[int] = (1, 5)
) -> Evaluation:
    """Run a classifier over everything that a loader yields, and count.

    The model runs in evaluation mode, without gradients, on its device;
    afterwards, even after an error, each of its layers has its previous mode
    again. Losses are added in float64. Among equal logits the first counts as
    the largest.

    Args:
        model: Maps images to logits (batch, class).
        loader: Yields ``(images, targets)``, or several inputs and targets;
            targets are class numbers, (batch,). It may shuffle.
        top_k: For which k to compute the accuracy, each at least 1. With no
            more than k classes the accuracy is 1.

    Raises:
        TypeError: An argument of the wrong type; batches that are not tuples
            of tensors; targets that are not integers; a model with two
            outputs.
        ValueError: A k below 1; a loader without a sample; targets with the
            wrong axes, or outside the classes; logits with NaN, or whose
            largest is not finite.

    >>> from torch.utils.data import TensorDataset
    >>> data = TensorDataset(torch.eye(3), torch.tensor([0, 1, 0]))
    >>> loader = DataLoader(data, batch_size=2)
    >>> found = evaluate_classifier(nn.Identity(), loader, top_k=(1, 2))
    >>> found.num_samples, found.accuracy[2], f"{found.accuracy[1]:.2f}"
    (3, 1.0, '0.67')
    >>> found.confusion.tolist()
    [[1, 0, 1], [0, 1, 0], [0, 0, 0]]
    """
    require.instance("model", model, nn.Module)
    require.instance("loader", loader, DataLoader)
    require.instance("top_k", top_k, tuple, list)
    for i, k in enumerate(top_k):
        require.positive_int(f"top_k[{i}]", k)
    weights = chain(model.parameters(), model.buffers())
    device = next((weight.device for weight in weights), None)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        batches = (checked_batch(batch, device) for batch in loader)
        return _counted(predictions(model, batches), top_k)
    finally:
        for module, training in modes:
            module.training = training


def predictions(
    model: nn.Module, batches: Iterable[Iterable[Tensor]]
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the logits of each batch, without gradients, and its targets.

    Raises:
        TypeError, ValueError: As `evaluate_classifier` says.
    """
    for *inputs, targets in batches:
        with torch.no_grad():
            logits = model(*inputs)
        check_logits(logits, targets)
        require.rank("targets", targets, "sample")
        check_classes(targets, logits.shape[-1])
        if logits.isnan().any():
            raise ValueError("model must return numbers as logits, got nan")
        yield logits, targets


def checked_batch(
    batch: object, device: torch.device | None, *, mixed: bool = False
) -> list[Tensor]:
    """Return the inputs and the targets of a batch, on a device.

    Args:
        batch: What a loader yielded.
        device: Where to move the tensors; None leaves them where they are.
        mixed: Whether targets may be probabilities, one for each class.

    Raises:
        TypeError: `batch` is not a tuple ``(*inputs, targets)`` of tensors, or
            the targets are not integers.
    """
    found = type(batch).__name__
    parts = batch if isinstance(batch, tuple | list) else []
    if parts:
        found += f" of {', '.join(type(x).__name__ for x in parts)}"
    if len(parts) < 2 or not all(isinstance(x, Tensor) for x in parts):
        raise TypeError(
            "loader must yield tuples (*inputs, targets) of tensors, "
            f"got {found}"
        )
    *inputs, targets = (x.to(device=device) for x in parts)
    if mixed and targets.is_floating_point() and targets.ndim > 1:
        return [*inputs, targets]
    if targets.ndim == 0 or targets.dtype not in _INTEGERS:
        raise TypeError(
            "targets must be integers, one for each sample, got "
            f"{targets.dtype} of shape {tuple(targets.shape)}"
        )
    return [*inputs, targets.long()]


def check_classes(targets: Tensor, num_classes: int) -> None:
    """Require class numbers.

    Raises:
        ValueError: A number is below 0, or not below `num_classes`.
    """
    if targets.numel() and not (
        0 <= targets.min() <= targets.max() < num_classes
    ):
        raise ValueError(
            f"targets must be class numbers from 0 to {num_classes - 1}, got "
            f"{targets.min().item()} to {targets.max().item()}"
        )


def check_probabilities(targets: Tensor) -> None:
    """Require probabilities of the classes, at least 0, that add up to 1.

    Raises:
        ValueError: A probability is negative, or they do not add up to 1.
    """
    lowest, sums = targets.min(), targets.sum(-1)
    if not (lowest >= 0 and (sums - 1).abs().max() < 1e-3):
        raise ValueError(
            "targets must be at least 0 and add up to 1 if they are "
            f"probabilities, got a lowest of {lowest.item():.4g} and sums "
            f"from {sums.min().item():.4g} to {sums.max().item():.4g}"
        )


def check_logits(logits: object, targets: Tensor) -> None:
    """Require one tensor of logits, with the axes of the targets.

    Targets that are probabilities also have the class axis.

    Raises:
        TypeError: The model returned something else.
        ValueError: The axes do not match.
    """
    if not isinstance(logits, Tensor):
        raise TypeError(
            "model must return one tensor of logits, got "
            f"{type(logits).__name__}; the two outputs of a distilled ViT "
            "need a loop of their own"
        )
    mixed = targets.is_floating_point()
    axes = logits.shape if mixed else logits.shape[:-1]
    if logits.ndim == 0 or targets.shape != axes:
        raise ValueError(
            "targets must have the axes of the logits"
            f"{'' if mixed else ' but the last'}, {tuple(axes)}, got "
            f"{tuple(targets.shape)}"
        )


def _counted(
    found: Iterator[tuple[Tensor, Tensor]], top_k: Sequence[int]
) -> Evaluation:
    places, loss, confusion = [], 0.0, None
    for logits, targets in found:
        logits, targets = logits.cpu().double(), targets.cpu()
        order = logits.argsort(dim=-1, descending=True, stable=True)
        places.append((order == targets[:, None]).nonzero()[:, 1])
        loss += F.cross_entropy(logits, targets, reduction="sum").item()
        if confusion is None:
            confusion = torch.zeros(logits.shape[-1:] * 2, dtype=torch.int64)
        confusion.index_put_(
            (targets, order[:, 0]), torch.tensor(1), accumulate=True
        )
    count = sum(map(len, places))
    if count == 0:
        raise ValueError("loader must yield at least one sample, got none")
    if math.isnan(loss):
        raise ValueError(
            "model must return logits whose largest is finite, got infinity"
        )
    place = torch.cat(places)
    return Evaluation(
        num_samples=count,
        accuracy={k: (place < k).sum().item() / count for k in top_k},
        cross_entropy=loss / count,
        confusion=confusion,
    )
