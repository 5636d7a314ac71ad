"""The rules that tensors obey; part of `vitedu.require`."""

import torch


def rank(name: str, tensor: torch.Tensor, axes: str) -> None:
    """Require a tensor with one axis per word of `axes`.

    Raises:
        TypeError: `tensor` is no tensor.
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
        TypeError: `tensor` is no tensor, or holds something else.
    """
    _tensor(name, tensor)
    if not tensor.is_floating_point():
        raise TypeError(
            f"{name} must hold floating-point numbers, "
            f"got dtype {tensor.dtype}"
        )


def dtype_of(name: str, tensor: torch.Tensor, layer: torch.nn.Module) -> None:
    """Require numbers of the type of a layer's weights.

    Automatic mixed precision converts by itself; any floating-point type
    goes in there. So does a layer put in later that has no `weight` or one
    without fractions, such as a quantised one.

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
        TypeError: `tensor` is no tensor, or has another dtype.
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
    """Require a tensor of integers that can look something up.

    Raises:
        TypeError: `tensor` is no tensor, or holds something else than
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

    On an accelerator the range is left to the look-up, which would otherwise
    have to wait for this check.

    Raises:
        TypeError: `tensor` is no tensor, or does not hold integers.
        ValueError: It has other axes, or an id is outside the vocabulary.
    """
    rank(name, tensor, "batch length")
    integers(name, tensor)
    if tensor.device.type != "cpu" or tensor.numel() == 0:
        return
    limits = numbers(tensor.min(), tensor.max())
    if limits and (limits[0] < 0 or limits[1] >= size):
        raise ValueError(
            f"{name} must lie in 0 to {size - 1}, "
            f"got {limits[0]} to {limits[1]}"
        )


def numbers(*tensors: torch.Tensor) -> list[int | float | bool]:
    """Read tensors of one number each; none where there are none to read.

    A graph that is captured has to hold for other numbers, and
    ``torch.func.vmap`` has several at once.
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
        TypeError: One is no tensor of floating-point numbers, or they have
            several dtypes.
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
