"""Which places of a result read which places of an input."""

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
    """Say which place of a result reads what it should not, or the reverse.

    Rows of each input, on the axis before the last, are changed one after
    the other. What should move with them is found with the right function.

    Args:
        candidate: The function that is judged.
        right: One that is right.
        inputs: Of both.
        names: Of the inputs.

    Returns:
        A sentence; "" if both move with the same rows.
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
    """Return the rows of a result that move with a row of an input.

    With one set of inputs a row may stay although it reads another: a softmax
    gives all to one place, a threshold drops a weight. So several are tried.
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
    """Return rows that are smaller and in another order, all else as it is."""
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
