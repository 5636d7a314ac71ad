"""The rules that arguments obey, each with an error that says what came."""

import math
import os
import re
import reprlib
from numbers import Integral, Real
from pathlib import Path

import torch

from vitedu.require_tensors import (
    dtype_of,
    floating,
    ids,
    integers,
    numbers,
    queries_keys_values,
    rank,
    tokens,
)

__all__ = [
    "boolean",
    "choice",
    "device",
    "divisible",
    "dtype_of",
    "floating",
    "function",
    "grid",
    "ids",
    "instance",
    "integer",
    "integers",
    "number",
    "numbers",
    "path",
    "positive_int",
    "queries_keys_values",
    "rank",
    "rate",
    "seed",
    "sides",
    "tokens",
]

_INTEGERS = (Integral, torch.SymInt)


def integer(name: str, value: int, *, at_least: int | None = None) -> None:
    """Require an integer, no smaller than `at_least` if that is given.

    Raises:
        TypeError: `value` is no integer (a bool is none either).
        ValueError: `value` is below `at_least`.
    """
    # While a graph is captured, sizes are symbols; in a trace, tensors.
    if isinstance(value, bool) or not (
        isinstance(value, _INTEGERS) or torch.jit.is_tracing()
    ):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if at_least is not None and value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, got {value}")


def positive_int(name: str, value: int) -> None:
    """Require an integer of at least 1.

    Raises:
        TypeError: `value` is no integer (a bool is none either).
        ValueError: `value` is below 1.
    """
    integer(name, value, at_least=1)


def seed(name: str, value: int) -> None:
    """Require a seed that PyTorch's generators take: 0 to 2**64 - 1.

    Raises:
        TypeError: `value` is no integer (a bool is none either).
        ValueError: `value` is outside that range.
    """
    integer(name, value, at_least=0)
    if value >= 2**64:
        raise ValueError(f"{name} must be below 2**64, got {value}")


def boolean(name: str, value: bool) -> None:
    """Require True or False.

    Raises:
        TypeError: `value` is something else, 0 and 1 included.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {value!r}")


def instance(
    name: str, value: object, *kinds: type, optional: bool = False
) -> None:
    """Require an object of one of these types; or None, if `optional`.

    Raises:
        TypeError: `value` is of another type.
    """
    if not (isinstance(value, kinds) or (optional and value is None)):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        article = "an" if wanted[0] in "AEIOUaeiou" else "a"
        raise TypeError(
            f"{name} must be {article} {wanted}, got {type(value).__name__}"
        )


def function(name: str, value: object, *, optional: bool = False) -> None:
    """Require what can be called; or None, if `optional`.

    Raises:
        TypeError: `value` cannot be called.
    """
    if not (callable(value) or (optional and value is None)):
        raise TypeError(f"{name} must be callable, got {value!r}")


def path(
    name: str, value: str | os.PathLike | None, *, optional: bool = False
) -> Path | None:
    """Return the path that a string or a path names; or None, if `optional`.

    Raises:
        TypeError: `value` is something else.
    """
    if optional and value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name} must be a path, got {reprlib.repr(value)}")
    return Path(value)


def device(name: str, value: torch.device | str | None) -> None:
    """Require a device, its name, or None.

    Raises:
        TypeError: `value` is something else.
        ValueError: PyTorch knows no device of that name.
    """
    if value is None or isinstance(value, torch.device):
        return
    instance(name, value, str)
    try:
        torch.device(value)
    except RuntimeError as error:
        raise ValueError(
            f"{name} must be the name of a device, got {value!r}"
        ) from error


def sides(name: str, value: int | tuple[int, int]) -> tuple[int, int]:
    """Return (height, width) of a size that may be given as one number.

    Raises:
        TypeError: `value` is neither an integer nor a pair of integers.
        ValueError: A side is below 1.
    """
    if isinstance(value, tuple | list):
        if len(value) != 2:
            raise TypeError(
                f"{name} must be a side or (height, width), got {value!r}"
            )
        positive_int(f"{name}[0]", value[0])
        positive_int(f"{name}[1]", value[1])
        return tuple(value)
    positive_int(name, value)
    return value, value


def grid(name: str, value: tuple[int, int]) -> None:
    """Require the rows and columns of a grid: two integers of at least 1.

    Raises:
        TypeError: `value` is no pair, or holds something else than integers.
        ValueError: One of the two is below 1.
    """
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise TypeError(f"{name} must be (rows, columns), got {value!r}")
    positive_int(f"{name}[0]", value[0])
    positive_int(f"{name}[1]", value[1])


def number(
    name: str,
    value: float,
    *,
    at_least: float | None = None,
    above: float | None = None,
    below: float | None = None,
) -> None:
    """Require a finite real number within the bounds that are given.

    Raises:
        TypeError: `value` is no real number (a bool is none either).
        ValueError: It is not finite or breaks a bound.
    """
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        finite = math.isfinite(value)
    except OverflowError:  # an integer that no float can hold
        finite = False
    rules = {
        "finite": finite,
        f"at least {at_least}": at_least is None or value >= at_least,
        f"above {above}": above is None or value > above,
        f"below {below}": below is None or value < below,
    }
    for rule, holds in rules.items():
        if not holds:
            raise ValueError(f"{name} must be {rule}, got {value}")


def rate(name: str, value: float) -> None:
    """Require a drop rate: a number in [0, 1)."""
    number(name, value, at_least=0, below=1)


def choice(name: str, value: str, options: tuple[str, ...]) -> None:
    """Require one of the given words.

    Raises:
        ValueError: `value` is not among `options`.
    """
    # A tensor would be compared number by number.
    if not isinstance(value, type(options[0])) or value not in options:
        raise ValueError(f"{name} must be one of {options}, got {value!r}")


def divisible(name: str, value: int, by_name: str, by: int) -> None:
    """Require that `by` divides `value`.

    Raises:
        ValueError: There is a remainder.
    """
    if value % by:
        raise ValueError(
            f"{name} must be divisible by {by_name}, "
            f"got {name}={value} and {by_name}={by}"
        )


def anchor(name: str, value: str) -> None:
    """Require a name that a link and a style sheet can use as it is.

    Raises:
        TypeError: `value` is no text.
        ValueError: It holds something else than a-z, 0-9 and hyphens.
    """
    instance(name, value, str)
    if not re.fullmatch("[a-z0-9-]+", value):
        raise ValueError(
            f"{name} must consist of a-z, 0-9 and hyphens, got {value!r}"
        )
