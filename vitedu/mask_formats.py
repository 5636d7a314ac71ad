"""Masks in the formats of other libraries, from ours and back.

Ours is boolean, True = may attend, with the axes (batch or 1, heads or 1,
query or 1, key). To go from one format to another, go through ours.

The formats differ most in a dead row: a query that may attend to nothing.

================================  =======================================
mask, and the attention it meets  output of a dead row
================================  =======================================
ours                              zeros
boolean, fused attention          zeros
-inf, fused attention             zeros
-inf, softmax written out         NaN
finfo.min, fused attention        the mean of all values; in float16 as if
                                  there were no mask: -65504 is too small
finfo.min, softmax written out    the mean of all values; in float16 only
                                  while scores lie within 16 of zero
Hugging Face, padding             eager: the mean of all values; sdpa: zeros
nn.MultiheadAttention             NaN where weights are returned, and in the
                                  fast path (evaluation, no gradients, an
                                  even number of heads); zeros elsewhere,
                                  before the output projection
================================  =======================================
"""

from typing import Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from vitedu import require
from vitedu.masks import check_mask

_DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def to_fused(
    mask: Bool[Tensor, "batch heads query key"],
) -> Bool[Tensor, "batch heads query key"]:
    """Return the boolean `attn_mask` of PyTorch's fused attention.

    Args:
        mask: Ours.

    Returns:
        The same mask: there, too, True = may attend.

    Raises:
        TypeError, ValueError: `mask` is not boolean with four axes.
    """
    _check_ours(mask)
    return mask


def from_fused(
    mask: Bool[Tensor, "*batch_heads query key"],
) -> Bool[Tensor, "batch heads query key"]:
    """Return ours for a boolean `attn_mask` of PyTorch's fused attention.

    Args:
        mask: True = may attend; (query, key), or with four axes.

    Raises:
        TypeError: `mask` is not boolean.
        ValueError: It has three axes (is the first batch or heads?), or
            another number of axes.
    """
    _check_boolean("mask", mask)
    return _four_axes(mask)


def to_multihead(
    mask: Bool[Tensor, "#batch #heads #query key"],
    *,
    batch: int,
    num_heads: int,
    query: int,
) -> Bool[Tensor, "batch_heads query key"]:
    """Return the `attn_mask` of `torch.nn.MultiheadAttention`.

    Args:
        mask: Ours.
        batch: Number of sequences.
        num_heads: Heads of the attention.
        query: Number of queries.

    Returns:
        True = blocked: the opposite of ours. One map per head, the heads of
        the first sequence first.

    Raises:
        TypeError, ValueError: `mask` is not boolean with four axes, or does
            not fit the sizes.
    """
    sizes = {"batch": batch, "num_heads": num_heads, "query": query}
    for name, size in sizes.items():
        require.positive_int(name, size)
    _check_ours(mask, *sizes.values())
    blocked = ~mask.expand(batch, num_heads, query, -1)
    return blocked.flatten(0, 1)


def from_multihead(
    attn_mask: Bool[Tensor, "*batch_heads query key"], *, num_heads: int
) -> Bool[Tensor, "batch heads query key"]:
    """Return ours for the `attn_mask` of `torch.nn.MultiheadAttention`.

    Args:
        attn_mask: True = blocked; (query, key) or (batch * num_heads, query,
            key).
        num_heads: Heads of the attention.

    Raises:
        TypeError: `attn_mask` is not boolean; for numbers, use
            `from_additive`.
        ValueError: Other axes, or a number of maps that `num_heads` does not
            divide.
    """
    _check_boolean("attn_mask", attn_mask)
    require.positive_int("num_heads", num_heads)
    if attn_mask.ndim == 2:
        return ~attn_mask[None, None]
    require.rank("attn_mask", attn_mask, "batch*heads query key")
    require.divisible("batch*heads", len(attn_mask), "num_heads", num_heads)
    return ~attn_mask.unflatten(0, (-1, num_heads))


def to_key_padding(
    mask: Bool[Tensor, "#batch #heads #query key"], *, batch: int
) -> Bool[Tensor, "batch key"]:
    """Return the `key_padding_mask` of `torch.nn.MultiheadAttention`.

    Args:
        mask: Ours, the same for all heads and queries.
        batch: Number of sequences.

    Returns:
        True = blocked: the opposite of ours.

    Raises:
        TypeError: `mask` is not boolean.
        ValueError: It does not fit, or differs between heads or queries, as
            a causal mask does.
    """
    return ~_per_key(mask, batch)


def from_key_padding(
    key_padding_mask: Bool[Tensor, "batch key"],
) -> Bool[Tensor, "batch 1 1 key"]:
    """Return ours for a `key_padding_mask` of `torch.nn.MultiheadAttention`.

    Args:
        key_padding_mask: True = blocked.

    Raises:
        TypeError: It is not boolean; for numbers, use `from_additive`.
        ValueError: It has other axes.
    """
    _check_boolean("key_padding_mask", key_padding_mask)
    require.rank("key_padding_mask", key_padding_mask, "batch key")
    return ~key_padding_mask[:, None, None]


def to_hugging_face(
    mask: Bool[Tensor, "#batch #heads #query key"], *, batch: int
) -> Int[Tensor, "batch key"]:
    """Return the `attention_mask` that Hugging Face's tokenizers make.

    Their models also take `to_additive` with ``hidden="min"``: any mask.

    Args:
        mask: Ours, the same for all heads and queries.
        batch: Number of sequences.

    Returns:
        1 = real, 0 = padding.

    Raises:
        TypeError, ValueError: As for `to_key_padding`.
    """
    return _per_key(mask, batch).long()


def from_hugging_face(
    attention_mask: Int[Tensor, "batch key"],
) -> Bool[Tensor, "batch 1 1 key"]:
    """Return ours for the `attention_mask` of Hugging Face's tokenizers.

    Args:
        attention_mask: 1 = real, 0 = padding.

    Raises:
        TypeError: It does not hold integers. True may mean padding, and a
            float may be meant to be added, so neither is guessed.
        ValueError: Other axes, or numbers other than 0 and 1.
    """
    require.rank("attention_mask", attention_mask, "batch key")
    dtype = attention_mask.dtype
    if dtype == torch.bool or dtype.is_floating_point or dtype.is_complex:
        raise TypeError(
            f"attention_mask must hold the integers 0 and 1, got dtype {dtype}"
        )
    other = attention_mask[(attention_mask != 0) & (attention_mask != 1)]
    if len(other):
        raise ValueError(
            f"attention_mask must hold 0 and 1 only, got {other[0].item()}"
        )
    return attention_mask.bool()[:, None, None]


def to_additive(
    mask: Bool[Tensor, "batch heads query key"],
    dtype: torch.dtype = torch.float32,
    *,
    hidden: Literal["-inf", "min"] = "-inf",
) -> Float[Tensor, "batch heads query key"]:
    """Return numbers to add to the scores.

    Args:
        mask: Ours.
        dtype: Dtype of the scores. The common -1e9 does not exist in float16.
        hidden: What marks hidden keys: "-inf", or "min" for the smallest
            finite number of `dtype`, as in Hugging Face.

    Returns:
        0 = may attend; a large negative number or -inf = hidden.

    Raises:
        TypeError, ValueError: `mask` is not boolean with four axes, or an
            unknown `dtype` or `hidden`.

    >>> to_additive(torch.tensor([[[[True, False]]]]))
    tensor([[[[0., -inf]]]])
    """
    _check_ours(mask)
    require.choice("dtype", dtype, _DTYPES)
    require.choice("hidden", hidden, ("-inf", "min"))
    fill = float("-inf") if hidden == "-inf" else torch.finfo(dtype).min
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, fill)


def from_additive(
    mask: Float[Tensor, "*batch_heads query key"],
) -> Bool[Tensor, "batch heads query key"]:
    """Return ours for numbers that are added to the scores.

    Args:
        mask: 0 = may attend; -inf or the smallest number of the dtype =
            hidden; (query, key), or with four axes.

    Raises:
        TypeError: `mask` does not hold floating-point numbers.
        ValueError: Other axes or other numbers, such as the 1 in a mask of 0
            and 1, which would hide nothing, or -1e9, which may not hide a key.
    """
    require.floating("mask", mask)
    seen = mask == 0
    hidden = (mask == float("-inf")) | (mask == torch.finfo(mask.dtype).min)
    other = mask[~(seen | hidden)]
    if len(other):
        raise ValueError(
            "mask must hold 0, and -inf or the smallest number of "
            f"{mask.dtype}, got {other[0].item()}"
        )
    return _four_axes(seen)


def _check_ours(mask: Tensor, *sizes: int) -> None:
    """Require our format, and that it fits (batch, heads, query)."""
    require.rank("mask", mask, "batch heads query key")
    check_mask(mask, *sizes, *mask.shape[len(sizes) :])


def _check_boolean(name: str, mask: Tensor) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = getattr(mask, "dtype", type(mask).__name__)
        raise TypeError(f"{name} must be a boolean tensor, got {got}")


def _four_axes(mask: Tensor) -> Tensor:
    if mask.ndim == 2:
        return mask[None, None]
    require.rank("mask", mask, "batch heads query key")
    return mask


def _per_key(mask: Tensor, batch: int) -> Tensor:
    """Return (batch, key) of a mask equal for all heads and queries."""
    require.positive_int("batch", batch)
    _check_ours(mask, batch)
    first = mask[:, :1, :1]
    if (mask != first).any():
        raise ValueError(
            "mask must be the same for every head and query to fit "
            f"(batch, key), got shape {tuple(mask.shape)} with rows that "
            "differ, as in a causal mask"
        )
    return first[:, 0, 0].expand(batch, -1)
