"""The rules for arguments, each with an error that says what was passed."""

import math
import os
import re
import reprlib
from numbers import Integral, Real
from pathlib import Path

import torch

_INTEGERS = (Integral, torch.SymInt)


def integer(name: str, value: int, *, at_least: int | None = None) -> None:
    """Require an integer, no smaller than `at_least` if that is given.

    Raises:
        TypeError: `value` is not an integer; a bool is not one either.
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
        TypeError: `value` is not an integer; a bool is not one either.
        ValueError: `value` is below 1.
    """
    integer(name, value, at_least=1)


def seed(name: str, value: int) -> None:
    """Require a seed that PyTorch's generators take: 0 to 2**64 - 1.

    Raises:
        TypeError: `value` is not an integer; a bool is not one either.
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
    """Require something callable; or None, if `optional`.

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
        ValueError: PyTorch has no device of that name.
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
        return value[0], value[1]
    positive_int(name, value)
    return value, value


def grid(name: str, value: tuple[int, int]) -> None:
    """Require the rows and columns of a grid: two integers of at least 1.

    Raises:
        TypeError: `value` is not a pair of integers.
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
    at_most: float | None = None,
) -> None:
    """Require a finite real number within the bounds that are given.

    Raises:
        TypeError: `value` is not a real number; a bool is not one.
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
        f"at most {at_most}": at_most is None or value <= at_most,
    }
    for rule, holds in rules.items():
        if not holds:
            raise ValueError(f"{name} must be {rule}, got {value}")


def rate(name: str, value: float) -> None:
    """Require a dropout rate: a number in [0, 1)."""
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
        TypeError: `value` is not a string.
        ValueError: It holds something other than a-z, 0-9 and hyphens.
    """
    instance(name, value, str)
    if not re.fullmatch("[a-z0-9-]+", value):
        raise ValueError(
            f"{name} must consist of a-z, 0-9 and hyphens, got {value!r}"
        )


def rank(name: str, tensor: torch.Tensor, axes: str) -> None:
    """Require a tensor with one axis per word of `axes`.

    Raises:
        TypeError: `tensor` is not a tensor.
        ValueError: It has another number of axes.
    """
    _tensor(name, tensor)
    if tensor.ndim != len(axes.split()):
        raise ValueError(
            f"{name} must have the axes ({axes}), "
            f"got shape {tuple(tensor.shape)}"
        )


def floating(name: str, tensor: torch.Tensor) -> None:
    """Require a tensor of floating-point numbers.

    Raises:
        TypeError: `tensor` is not a tensor, or holds something else.
    """
    _tensor(name, tensor)
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must hold floating-point numbers, "
            f"got dtype {tensor.dtype}"
        )


def dtype_of(name: str, tensor: torch.Tensor, layer: torch.nn.Module) -> None:
    """Require numbers of the type of a layer's weights.

    Automatic mixed precision converts by itself, so any floating-point type is
    accepted there. The same holds for a layer put in later whose `weight` is
    missing or not floating-point, such as a quantised one.

    Raises:
        TypeError: `tensor` holds numbers of another type.
    """
    floating(name, tensor)
    kind, weight = tensor.device.type, getattr(layer, "weight", None)
    if not isinstance(weight, torch.Tensor) or not weight.is_floating_point():
        return
    # Asked in this order, tensors on the "meta" device pass as well: they
    # have shapes alone, and know no mixed precision.
    if tensor.dtype != weight.dtype and not (
        torch.amp.is_autocast_available(kind)
        and torch.is_autocast_enabled(kind)
    ):
        raise TypeError(
            f"{name} must have the dtype of the weights, {weight.dtype}, "
            f"got {tensor.dtype}"
        )


def tokens(
    name: str, tensor: torch.Tensor, d_model: int, layer: torch.nn.Module
) -> None:
    """Require tokens (batch, length, d_model) that fit a layer.

    Args:
        name: Name of the argument.
        tensor: What was given.
        d_model: Width of a token.
        layer: What reads the tokens.

    Raises:
        TypeError: `tensor` is not a tensor, or has another dtype.
        ValueError: It has other axes or another width.
    """
    rank(name, tensor, "batch length d_model")
    if tensor.shape[-1] != d_model:
        raise ValueError(
            f"{name} must have d_model = {d_model} features, "
            f"got {tensor.shape[-1]}"
        )
    dtype_of(name, tensor, layer)


def integers(name: str, tensor: torch.Tensor) -> None:
    """Require a tensor of integers that can serve as indices.

    Raises:
        TypeError: `tensor` is not a tensor, or holds something other than
            integers of 32 or 64 bits.
    """
    _tensor(name, tensor)
    if tensor.dtype not in (torch.int32, torch.int64):
        raise TypeError(
            f"{name} must hold integer ids of 32 or 64 bits, "
            f"got dtype {tensor.dtype}"
        )


def ids(name: str, tensor: torch.Tensor, size: int) -> None:
    """Require token ids (batch, length) from 0 to `size` - 1.

    On an accelerator, the range is left to the look-up, because it would
    otherwise have to wait for this check.

    Raises:
        TypeError: `tensor` is not a tensor, or does not hold integers.
        ValueError: It has other axes, or an id is outside the vocabulary.
    """
    rank(name, tensor, "batch length")
    integers(name, tensor)
    if tensor.device.type != "cpu" or tensor.numel() == 0:
        return
    limits = numbers(*tensor.aminmax())
    if limits and (limits[0] < 0 or limits[1] >= size):
        raise ValueError(
            f"{name} must lie in 0 to {size - 1}, "
            f"got {limits[0]} to {limits[1]}"
        )


def numbers(*tensors: torch.Tensor) -> list[int | float | bool]:
    """Read tensors of one number each; no numbers where none can be read.

    None can be read while a graph is captured, because it has to hold for
    other numbers, or under ``torch.func.vmap``, which has several at once.
    """
    if torch.compiler.is_compiling() or torch.jit.is_tracing():
        return []
    try:
        return [tensor.item() for tensor in tensors]
    except RuntimeError as error:
        if "vmap" not in str(error):
            raise
        return []


def queries_keys_values(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor
) -> None:
    """Require q, k, v (batch, heads, length, dim) that belong together.

    Raises:
        TypeError: One is not a tensor of floating-point numbers, or their
            dtypes differ.
        ValueError: One has other axes, another batch or number of heads than
            q; k another width than q; v another length than k.
    """
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        rank(name, tensor, "batch heads length head_dim")
        floating(name, tensor)
        if tensor.dtype != q.dtype:
            raise TypeError(
                f"{name} must have the dtype of q, {q.dtype}, "
                f"got {tensor.dtype}"
            )
        if tensor.shape[:2] != q.shape[:2]:
            raise ValueError(
                f"{name} must have the batch and heads of q, "
                f"{tuple(q.shape[:2])}, got {tuple(tensor.shape[:2])}"
            )
    if k.shape[-1] != q.shape[-1]:
        raise ValueError(
            f"k must have the head_dim of q, {q.shape[-1]}, got {k.shape[-1]}"
        )
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(
            f"v must hold one row per key, {k.shape[-2]}, got {v.shape[-2]}"
        )


def _tensor(name: str, value: object) -> None:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(value).__name__}")
