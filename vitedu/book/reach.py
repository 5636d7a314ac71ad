"""Which positions of a result depend on which positions of an input."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from vitedu.book.comparing import TOLERANCE, first_true, written_place

_MOST_PLACES = 8


def broken_reach(
    candidate: Callable[..., Tensor],
    right: Callable[..., Tensor],
    inputs: tuple,
    names: tuple[str, ...],
) -> str:
    """Say which position of a result reads what it should not, or the reverse.

    Rows of each input, on the axis before the last, are changed one after the
    other. The right function shows what should change with them.

    Args:
        candidate: The function that is judged.
        right: A correct function.
        inputs: The inputs of both.
        names: Names of the inputs.

    Returns:
        A sentence; "" if the results of both change with the same rows.
    """
    try:
        usual = candidate(*inputs), right(*inputs)
        if usual[0].shape != usual[1].shape or usual[1].dim() < 2:
            return ""
        return next(_reaches(candidate, right, inputs, names), "")
    except Exception:  # what an answer raises on other inputs is no news
        return ""


def _reaches(candidate, right, inputs, names) -> Iterator[str]:
    for which, (given, name) in enumerate(zip(inputs, names, strict=True)):
        if not _has_rows(given):
            continue
        for row in range(min(given.shape[-2], _MOST_PLACES)):
            moved, should = (
                _moved_rows(function, inputs, which, row)
                for function in (candidate, right)
            )
            if (moved & ~should).any():
                at = first_true(moved & ~should)
                ahead = (
                    " It looks ahead."
                    if row > at[-1] and not should[..., :row].any()
                    else ""
                )
                yield (
                    f" Row {written_place(at)} of the result changes when row "
                    f"{row} of `{name}` changes, but should not.{ahead}"
                )
            if (should & ~moved).any():
                at = first_true(should & ~moved)
                yield (
                    f" Row {written_place(at)} of the result should change "
                    f"when row {row} of `{name}` changes, but does not."
                )


def _moved_rows(function, inputs, which, row) -> Tensor:
    """Return the rows of a result that change with a row of an input.

    With one set of inputs a row may not change although it reads another,
    because a softmax gives everything to one position or a threshold drops a
    weight. So several sets are tried.
    """
    moved: Tensor | bool = False
    for seed, size in enumerate((1.0, 0.1, 0.3)):
        pen = torch.Generator().manual_seed(seed)
        start = tuple(
            _smaller(given, size, pen if seed else None) for given in inputs
        )
        other = start[which].clone()
        noise = torch.randn(other[..., row, :].shape, generator=pen)
        other[..., row, :] += noise.to(other)
        changed = (*start[:which], other, *start[which + 1 :])
        before, after = function(*start), function(*changed)
        same = torch.isclose(
            after.double(), before.double(), atol=TOLERANCE, equal_nan=True
        )
        moved = moved | ~same.all(dim=-1)
    return moved


def _smaller(given: object, size: float, pen: torch.Generator | None):
    """Return smaller rows in a different order, with all else unchanged."""
    if pen is None or not _has_rows(given):
        return given
    order = torch.randperm(given.numel(), generator=pen)
    return size * given.flatten()[order].view(given.shape)


def _has_rows(given: object) -> bool:
    return (
        isinstance(given, Tensor)
        and given.is_floating_point()
        and given.dim() > 1
    )
