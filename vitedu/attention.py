"""Scaled dot-product attention and multi-head attention."""

from collections import OrderedDict
from collections.abc import Callable

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from vitedu import require
from vitedu.masks import check_mask


def attention_weights(
    q: Float[Tensor, "batch heads query head_dim"],
    k: Float[Tensor, "batch heads key head_dim"],
    mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    *,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query key"]:
    """Share out each query's attention over the keys.

    Args:
        q: Queries.
        k: Keys.
        mask: Boolean, True = may attend; None lets everyone see everything.
        scale: Factor on the scores; None means head_dim ** -0.5.

    Returns:
        Weights in [0, 1]; a row sums to 1, or to 0 where its query may attend
        to no key at all.

    Raises:
        TypeError, ValueError: Axes or dtypes that do not fit, a mask that is
            not boolean with four axes, or a scale that is no finite number.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    Deviates: A query that sees no key is not in the paper. Its row is zero,
        with finite gradients, as in PyTorch's fused attention.
    Derived in: 03-scaled-dot-product-attention
    """
    _check(q, k, k, mask, scale)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = q @ k.transpose(-2, -1) * scale
    if mask is None:
        return scores.softmax(dim=-1)
    # The smallest finite number instead of -inf: a row of -inf alone would be
    # NaN. The product then clears rows in which nothing may be seen.
    hidden = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, hidden).softmax(dim=-1) * mask


def scaled_dot_product_attention(
    q: Float[Tensor, "batch heads query head_dim"],
    k: Float[Tensor, "batch heads key head_dim"],
    v: Float[Tensor, "batch heads key value_dim"],
    mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    *,
    scale: float | None = None,
    dropout: float = 0.0,
    record: Callable[[Tensor], None] | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Answer each query with a weighted mean of the values.

    Without `record` PyTorch's fused kernel computes it and the weights never
    exist in memory. With `record` the formula is written out, and `record` is
    called with the weights. Both give the same outputs and gradients.

    Args:
        q: Queries.
        k: Keys.
        v: Values, one per key.
        mask: Boolean, True = may attend; None lets everyone see everything.
        scale: Factor on the scores; None means head_dim ** -0.5.
        dropout: Share of the weights set to zero, in [0, 1); the rest grows
            by 1 / (1 - dropout). Always active: pass 0 outside training.
        record: Receives the weights before dropout.

    Returns:
        One output vector per query; zeros where it sees no key.

    Raises:
        TypeError, ValueError: As for `attention_weights`.

    Source: Vaswani et al. 2017, section 3.2.1, equation 1.
    Deviates: Dropout on the weights is from the authors' code, not the paper.
    Derived in: 03-scaled-dot-product-attention
    """
    _check(q, k, v, mask, scale)
    require.rate("dropout", dropout)
    if record is None:
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale
        )
    weights = attention_weights(q, k, mask, scale=scale)
    record(weights)
    return F.dropout(weights, dropout) @ v


def _check(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None
) -> None:
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        require.rank(name, tensor, "batch heads length head_dim")
        require.floating(name, tensor)
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
    if mask is not None:
        check_mask(mask, *q.shape[:3], k.shape[-2])
    if scale is not None:
        require.number("scale", scale)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own subspace.

    Args:
        d_model: Width of a token.
        num_heads: Number of heads.
        head_dim: Width of a head; None means d_model // num_heads, and then
            `num_heads` must divide `d_model`.
        bias: Whether the q, k, v projection has a bias (ViT yes, the
            Transformer of 2017 no).
        scale: Factor on the scores; None means head_dim ** -0.5.
        attention_dropout: Rate on the weights, in [0, 1).
        dropout: Rate after the output projection, in [0, 1).

    Raises:
        TypeError, ValueError: Sizes that are no positive integers or do not
            divide; rates outside [0, 1); a scale that is no finite number;
            inputs of another width or dtype.

    Source: Vaswani et al. 2017, section 3.2.2.
    Derived in: 03-scaled-dot-product-attention
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        head_dim: int | None = None,
        bias: bool = True,
        scale: float | None = None,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require.positive_int("d_model", d_model)
        require.positive_int("num_heads", num_heads)
        require.rate("attention_dropout", attention_dropout)
        require.rate("dropout", dropout)
        if head_dim is None:
            require.divisible("d_model", d_model, "num_heads", num_heads)
            head_dim = d_model // num_heads
        require.positive_int("head_dim", head_dim)
        if scale is not None:
            require.number("scale", scale)
        self.d_model, self.num_heads, self.head_dim = (
            d_model,
            num_heads,
            head_dim,
        )
        self.scale = scale
        self.attention_dropout = attention_dropout
        # One matrix for q, k and v of all heads, stacked in this order as in
        # PyTorch and timm: one product is faster than three.
        self.qkv = nn.Linear(d_model, 3 * num_heads * head_dim, bias=bias)
        self.proj = nn.Linear(num_heads * head_dim, d_model)
        self.proj_drop = nn.Dropout(dropout)
        self._recorders: OrderedDict[int, Callable] = OrderedDict()

    def register_recorder(
        self, recorder: Callable[[Tensor], None]
    ) -> RemovableHandle:
        """Call `recorder` with the weights (batch, heads, query, key).

        Returns:
            A handle; its ``remove()`` ends the recording.
        """
        handle = RemovableHandle(self._recorders)
        self._recorders[handle.id] = recorder
        return handle

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"] | None = None,
        mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from `x` to itself, or to `memory` if it is given."""
        out = scaled_dot_product_attention(
            *self._project(x, memory),
            mask,
            scale=self.scale,
            dropout=self.attention_dropout if self.training else 0.0,
            record=self._record if self._recorders else None,
        )
        merged = rearrange(out, "b heads n d -> b n (heads d)")
        return self.proj_drop(self.proj(merged))

    def _project(self, x: Tensor, memory: Tensor | None) -> tuple[Tensor, ...]:
        require.tokens("x", x, self.qkv.weight)
        if memory is None:
            return self._split(self.qkv(x), 3)
        require.tokens("memory", memory, self.qkv.weight)
        if len(memory) != len(x):
            raise ValueError(
                f"memory must have the batch of x, {len(x)}, got {len(memory)}"
            )
        inner = self.num_heads * self.head_dim
        w_q, w_kv = self.qkv.weight.split([inner, 2 * inner])
        b_q, b_kv = (
            (None, None)
            if self.qkv.bias is None
            else self.qkv.bias.split([inner, 2 * inner])
        )
        return (
            *self._split(F.linear(x, w_q, b_q), 1),
            *self._split(F.linear(memory, w_kv, b_kv), 2),
        )

    def _split(self, projected: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Give each part and each head an axis of its own."""
        split = projected.unflatten(
            -1, (parts, self.num_heads, self.head_dim)
        ).permute(2, 0, 3, 1, 4)
        # One copy here, where the kernel would make one of q, of k and of v.
        return split.contiguous().unbind(0)

    def _record(self, weights: Tensor) -> None:
        for recorder in self._recorders.values():
            recorder(weights)
