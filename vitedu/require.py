"""The rules that arguments obey, each with an error that says what came."""

import math
from numbers import Integral, Real

import torch


def integer(name: str, value: int) -> None:
    """Require an integer.

    Raises:
        TypeError: `value` is no integer (a bool is none either).
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}")


def positive_int(name: str, value: int) -> None:
    """Require an integer of at least 1.

    Raises:
        TypeError: `value` is no integer (a bool is none either).
        ValueError: `value` is below 1.
    """
    integer(name, value)
    if value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


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
    rules = {
        "finite": math.isfinite(value),
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
    if value not in options:
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


def rank(name: str, tensor: torch.Tensor, axes: str) -> None:
    """Require a tensor with one axis per word of `axes`.

    Raises:
        TypeError: `tensor` is no tensor.
        ValueError: It has another number of axes.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"{name} must be a tensor, got {type(tensor).__name__}"
        )
    if tensor.ndim != len(axes.split()):
        raise ValueError(
            f"{name} must have the axes ({axes}), "
            f"got shape {tuple(tensor.shape)}"
        )


def floating(name: str, tensor: torch.Tensor) -> None:
    """Require a tensor of floating-point numbers.

    Raises:
        TypeError: `tensor` is no tensor, or holds something else.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(
            f"{name} must be a tensor, got {type(tensor).__name__}"
        )
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must hold floating-point numbers, "
            f"got dtype {tensor.dtype}"
        )


def dtype_of(name: str, tensor: torch.Tensor, weight: torch.Tensor) -> None:
    """Require numbers of the type of a layer's weights.

    Automatic mixed precision converts by itself; any floating-point type
    goes in there.

    Raises:
        TypeError: `tensor` holds numbers of another type.
    """
    floating(name, tensor)
    converted = torch.is_autocast_enabled(tensor.device.type)
    if tensor.dtype != weight.dtype and not converted:
        raise TypeError(
            f"{name} must have the dtype of the weights, {weight.dtype}, "
            f"got {tensor.dtype}"
        )


def tokens(name: str, tensor: torch.Tensor, weight: torch.Tensor) -> None:
    """Require tokens (batch, length, d_model) that fit a layer's weights.

    Args:
        name: Name of the argument.
        tensor: What was given.
        weight: A parameter of the layer whose last axis is d_model.

    Raises:
        TypeError: `tensor` is no tensor, or has another dtype.
        ValueError: It has other axes or another width.
    """
    rank(name, tensor, "batch length d_model")
    if tensor.shape[-1] != weight.shape[-1]:
        raise ValueError(
            f"{name} must have d_model = {weight.shape[-1]} features, "
            f"got {tensor.shape[-1]}"
        )
    dtype_of(name, tensor, weight)
