"""Two results side by side: where they differ, and what has their sizes."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

TOLERANCE = 1e-6


def equal_results(
    found: Tensor, expected: Tensor, *, equal_nan: bool = False
) -> bool:
    """Tell whether two results are equal, whatever types they have.

    A result of integers does not truncate the decimals of an answer.
    """
    return found.shape == expected.shape and torch.allclose(
        found.double(),
        expected.double(),
        atol=TOLERANCE,
        equal_nan=equal_nan,
    )


def where_different(found: Tensor, expected: Tensor) -> Tensor:
    """Return True where two results of the same shape differ."""
    return ~torch.isclose(found.double(), expected.double(), atol=TOLERANCE)


def multiple_of(found: Tensor, expected: Tensor) -> float | None:
    """Return the factor by which `expected` becomes `found`, or None."""
    factor = ((found * expected).sum() / expected.square().sum()).item()
    whole = math.isfinite(factor) and equal_results(found, factor * expected)
    return factor if whole else None


def first_true(where: Tensor) -> tuple[int, ...]:
    """Return the first position that is True; () for a single number."""
    return tuple(where.nonzero()[0].tolist())


def written_place(at: tuple[int, ...]) -> str:
    """Return a place as a reader writes it: 3, or [0, 2].

    >>> written_place((3,)), written_place((0, 2))
    ('3', '[0, 2]')
    """
    return str(list(at)) if len(at) != 1 else str(at[0])


def named_sizes(inputs: tuple, names: tuple[str, ...]) -> dict[int, str]:
    """Return what has each size: an axis of an input, or a whole number.

    A size shared by two axes of one input names neither.
    """
    named: dict[int, str] = {}
    for given, name in zip(inputs, names, strict=True):
        if type(given) is int and given > 1:
            named.setdefault(given, f"`{name}`")
        if isinstance(given, Tensor):
            shape = list(given.shape)
            for axis, size in enumerate(shape):
                if size > 1 and shape.count(size) == 1:
                    said = f"the size of axis {axis} of `{name}`"
                    named.setdefault(size, said)
    return named


def known_factor(factor: float, sizes: Mapping[int, str]) -> str:
    """Say which size a factor is, or its root, or 1 divided by either.

    Args:
        factor: Not 0.
        sizes: What has a size, as `named_sizes` finds it.

    Returns:
        A sentence that begins with a space; "" for another factor.
    """
    for size, name in sizes.items():
        for power, root in ((1, ""), (0.5, "the root of ")):
            for way in (factor, 1 / factor):
                if math.isclose(way, size**power, rel_tol=1e-5):
                    return f" {way:.4g} is {root}{name}."
    return ""
