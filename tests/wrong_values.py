"""Arguments: a value that is right, and values that are wrong.

Boundaries, neighbouring types, other shapes: each wrong value has to be
refused by an error that names the argument.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

NO_NUMBERS = [None, "three", b"3", [3], {3: 3}, 3j, object]
NO_NUMBERS += [torch.ones(2), np.ones(2)]
OBJECTS = [*NO_NUMBERS, (3,), {3}, math.inf, 0.5, torch.tensor(3)]


class Argument(NamedTuple):
    """A right value, wrong ones, and how messages may call it, too."""

    value: object
    wrong: list
    named: tuple[str, ...] = ()

    def or_is(self, *more: object, named: str = "") -> "Argument":
        """Add wrong values, and names."""
        return Argument(
            self.value, [*self.wrong, *more], (*self.named, *named.split())
        )


def argument(value: object, *wrong: object) -> Argument:
    """Return an argument; None is only wrong where it is not right."""
    if value is None:
        wrong = [x for x in wrong if x is not None]
    return Argument(value, list(wrong))


def size(value=3, at_least=1, below=None) -> Argument:
    """An integer; the wrong ones are too small or too large, or none."""
    edges = [at_least - 1, -7, *([] if below is None else [below, 10 * below])]
    return argument(value, *edges, 2.0, math.nan, True, *OBJECTS)


def seed() -> Argument:
    """A seed of PyTorch's generators."""
    return size(0, at_least=0, below=2**64)


def number(value, at_least=None, above=None, below=None) -> Argument:
    """A number; the wrong ones are outside its range, or none."""
    edges = [x for x in (above, below) if x is not None]
    edges += [] if at_least is None else [at_least - 1e-9]
    return argument(
        value, *edges, math.nan, math.inf, -math.inf, True, *NO_NUMBERS
    )


def rate(value=0.1) -> Argument:
    """A drop rate, in [0, 1)."""
    return number(value, at_least=0, below=1)


def boolean(value=True) -> Argument:
    """True or False; 0 and 1 are wrong."""
    return argument(value, 0, 1, "True", *OBJECTS)


def choice(value) -> Argument:
    """A word; others and no words are wrong."""
    return argument(value, "", "other", f"{value} ", 3, True, *OBJECTS)


def pair(*right, alone=False) -> Argument:
    """A pair of sizes; `alone` says whether one number will do."""
    value = right if len(right) == 2 else right[0]
    wrong = [(0, 3), (3, 0), (-2, 3), (3,), (3, 3, 3), (2.0, 3), (3, True)]
    others = [x for x in OBJECTS if not isinstance(x, tuple)]
    return argument(value, *wrong, "33", 0 if alone else 3, *others)


def other(value, *allowed: type) -> Argument:
    """An object; what is of none of these types is wrong."""
    wrong = [x for x in OBJECTS if not (allowed and isinstance(x, allowed))]
    return argument(value, *wrong)


def function(value) -> Argument:
    """A function; classes can be called, too."""
    return other(value, type)


def _tensors(valid: torch.Tensor, fixed: tuple, dtypes: tuple) -> list:
    """Return no tensors, and tensors of other types and other shapes.

    Each axis that is `fixed` grows, shrinks and changes places with others.
    """
    wrong = [None, 3, 0.5, "tensor", {}, valid.numpy(), valid.tolist()]
    wrong += [valid.to(x) for x in dtypes if x != valid.dtype]
    wrong += [valid[None], valid[..., None, None, None], valid.reshape(-1)[0]]
    for axis in fixed:
        wrong.append(torch.cat([valid, valid.narrow(axis, 0, 1)], axis))
        if valid.shape[axis] > 2:
            wrong.append(valid.narrow(axis, 0, 2))
        for other in range(valid.ndim):
            if valid.shape[axis] != valid.shape[other]:
                wrong.append(valid.transpose(axis, other))
    return wrong


def floats(valid: torch.Tensor, *fixed: int, exact=False) -> Argument:
    """A tensor of fractions; the sizes of `fixed` axes are given by others.

    `exact` says that other types of fractions are wrong, too.
    """
    dtypes = (torch.int64, torch.bool, torch.complex64)
    dtypes += (torch.float16, torch.float64) * exact
    return Argument(valid, _tensors(valid, fixed, dtypes))


def weights(valid: torch.Tensor, *fixed: int) -> Argument:
    """A tensor of fractions of the type of other numbers."""
    return floats(valid, *fixed, exact=True)


def integers(valid: torch.Tensor, *fixed: int) -> Argument:
    """A tensor of integers."""
    dtypes = (torch.float32, torch.float64, torch.bool)
    return Argument(valid, _tensors(valid, fixed, dtypes))


def ids(valid: torch.Tensor, size: int, *fixed: int) -> Argument:
    """A tensor of integers from 0 to `size` - 1."""
    return integers(valid, *fixed).or_is(
        valid + size, valid - size, valid + 2**31
    )


def truths(valid: torch.Tensor, *fixed: int, optional=False) -> Argument:
    """A boolean tensor: numbers may mean to be added, or to multiply."""
    dtypes = (torch.float32, torch.float16, torch.int64, torch.uint8)
    wrong = _tensors(valid, fixed, dtypes)
    return Argument(valid, wrong[1:] if optional else wrong)


def items(*right: Argument, wrong: tuple = (), of: Callable = list):
    """A sequence; each wrong value of the last stands in its place once."""
    *first, last = right
    values = [x.value for x in first]
    broken = [of([*values, x]) for x in last.wrong]
    return Argument(
        of([*values, last.value]), [*broken, None, 3, True, 3j, *wrong]
    )


def guessed(name: str, value: object) -> Argument:
    """Return an argument of which its value and name say all there is."""
    if isinstance(value, Argument):
        return value
    if isinstance(value, bool):
        return boolean(value)
    if isinstance(value, int):
        return size(value, at_least=min(value, 1))
    if isinstance(value, str):
        return choice(value)
    if isinstance(value, float):
        words = ("dropout", "drop_path", "zero_rate")
        return rate(value) if name.endswith(words) else number(value)
    return other(value)
