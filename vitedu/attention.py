"""Scaled dot-product attention and multi-head attention."""

from collections import OrderedDict
from collections.abc import Callable
from itertools import accumulate

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from vitedu import require
from vitedu.cache import KeyValueCache
from vitedu.masks import check_mask

# Queries times keys up to which a CPU computes the written-out formula faster
# than a fused kernel; about 360 tokens.
_SMALL_MAP = 2**17


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
    return _weights(q, k, mask, scale)


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

    PyTorch's fused kernel computes it, and the weights never exist in memory.
    Two cases write the formula out: a small map on a CPU, where that is
    faster, and `record`, which is called with the weights. All ways give the
    same outputs and gradients.

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
    require.function("record", record, optional=True)
    small = q.device.type == "cpu" and q.shape[2] * k.shape[2] <= _SMALL_MAP
    if record is None and not small:
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale
        )
    weights = _weights(q, k, mask, scale)
    if record is not None:
        record(weights)
    return F.dropout(weights, dropout) @ v


def _weights(
    q: Tensor, k: Tensor, mask: Tensor | None, scale: float | None
) -> Tensor:
    # Scores soon exceed the largest number of half precision, 65,504.
    if q.dtype == torch.float16 and not q.is_meta:
        with torch.autocast(q.device.type, enabled=False):
            return _weights(q.float(), k.float(), mask, scale).half()
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (q * scale) @ k.transpose(-2, -1)
    if mask is None:
        return scores.softmax(dim=-1)
    # The smallest finite number instead of -inf: a row of -inf alone would be
    # NaN. The product then clears rows in which nothing may be seen.
    hidden = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, hidden).softmax(dim=-1) * mask


def _check(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float | None
) -> None:
    require.queries_keys_values(q, k, v)
    if mask is not None:
        check_mask(mask, *q.shape[:3], k.shape[-2])
    if scale is not None:
        require.number("scale", scale)


class MultiHeadAttention(nn.Module):
    """Several attentions side by side, each in its own subspace.

    Args:
        d_model: Width of a token.
        num_heads: Number of heads.
        head_dim: Width of a query and a key of one head; None means
            d_model // num_heads, and then `num_heads` must divide `d_model`.
        value_dim: Width of a value of one head; None means `head_dim`.
        qkv_bias: Whether the q, k, v projection has a bias (ViT yes, the
            Transformer of 2017 no).
        proj_bias: Whether the output projection has one (likewise).
        scale: Factor on the scores; None means head_dim ** -0.5.
        attention_dropout: Rate on the weights, in [0, 1).
        dropout: Rate after the output projection, in [0, 1).

    Raises:
        TypeError, ValueError: Sizes that are no positive integers or do not
            divide; rates outside [0, 1); a scale that is no finite number;
            inputs of another width or dtype.

    Source: Vaswani et al. 2017, section 3.2.2.
    Derived in: 05-multi-head-attention
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        head_dim: int | None = None,
        value_dim: int | None = None,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        scale: float | None = None,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require.positive_int("d_model", d_model)
        require.positive_int("num_heads", num_heads)
        require.boolean("qkv_bias", qkv_bias)
        require.boolean("proj_bias", proj_bias)
        require.rate("attention_dropout", attention_dropout)
        require.rate("dropout", dropout)
        if head_dim is None:
            require.divisible("d_model", d_model, "num_heads", num_heads)
            head_dim = d_model // num_heads
        require.positive_int("head_dim", head_dim)
        value_dim = head_dim if value_dim is None else value_dim
        require.positive_int("value_dim", value_dim)
        if scale is not None:
            require.number("scale", scale)
        self.d_model, self.num_heads = d_model, num_heads
        self.head_dim, self.value_dim = head_dim, value_dim
        self.scale = scale
        self.attention_dropout = attention_dropout
        # One matrix for q, k and v of all heads, stacked in this order as in
        # PyTorch and timm: one product is faster than three.
        self.qkv = nn.Linear(
            d_model, num_heads * (2 * head_dim + value_dim), bias=qkv_bias
        )
        self.proj = nn.Linear(num_heads * value_dim, d_model, bias=proj_bias)
        self.proj_drop = nn.Dropout(dropout)
        self._recorders: OrderedDict[int, Callable] = OrderedDict()

    def qkv_weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the matrices of q, k and v: views into the fused one."""
        inner = self.num_heads * self.head_dim
        return self.qkv.weight.detach().split(
            [inner, inner, self.num_heads * self.value_dim]
        )

    def register_recorder(
        self, recorder: Callable[[Tensor], None]
    ) -> RemovableHandle:
        """Call `recorder` with the weights (batch, heads, query, key).

        Returns:
            A handle; its ``remove()`` ends the recording.
        """
        require.function("recorder", recorder)
        handle = RemovableHandle(self._recorders)
        self._recorders[handle.id] = recorder
        return handle

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        memory: Float[Tensor, "batch key d_model"] | None = None,
        mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from `x` to itself, or to `memory` if it is given.

        With a `cache`, self-attention appends the keys and values of `x` to
        it and attends to all of them; cross-attention fills it from `memory`
        once and reads it from then on.
        """
        require.tokens("x", x, self.d_model, self.qkv)
        require.instance("cache", cache, KeyValueCache, optional=True)
        if memory is None:
            q, k, v = self._project(x, 0, 3)
            if cache is not None:
                k, v = cache.append(k, v)
        else:
            (q,) = self._project(x, 0, 1)
            k, v = self._read(x, memory, cache)
        out = scaled_dot_product_attention(
            q,
            k,
            v,
            mask,
            scale=self.scale,
            dropout=self.attention_dropout if self.training else 0.0,
            record=self._record if self._recorders else None,
        )
        merged = rearrange(out, "b heads n d -> b n (heads d)")
        return self.proj_drop(self.proj(merged))

    def _read(
        self, x: Tensor, memory: Tensor, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor]:
        """Return the keys and values of `memory`."""
        require.tokens("memory", memory, self.d_model, self.qkv)
        if memory.shape[0] != x.shape[0]:
            raise ValueError(
                f"memory must have the batch of x, {x.shape[0]}, "
                f"got {memory.shape[0]}"
            )
        if cache is None:
            return self._project(memory, 1, 3)
        if len(cache) == 0:
            return cache.append(*self._project(memory, 1, 3))
        if len(cache) != memory.shape[1]:
            raise ValueError(
                f"memory must be that of the cache, {len(cache)} tokens, "
                f"got {memory.shape[1]}"
            )
        return cache.kept()

    def _project(self, x: Tensor, first: int, last: int) -> tuple[Tensor, ...]:
        """Project to the parts first..last of (q, k, v), heads apart."""
        dims = [self.head_dim, self.head_dim, self.value_dim]
        starts = [0, *accumulate(self.num_heads * dim for dim in dims)]
        dims, rows = dims[first:last], slice(starts[first], starts[last])
        if last - first == 3:
            projected = self.qkv(x)
        elif type(self.qkv) is not nn.Linear:  # put in later: all or nothing
            projected = self.qkv(x)[..., rows]
        else:
            bias = self.qkv.bias
            projected = F.linear(
                x, self.qkv.weight[rows], None if bias is None else bias[rows]
            )
        parts = projected.split([self.num_heads * dim for dim in dims], -1)
        return tuple(
            part.unflatten(-1, (self.num_heads, dim)).transpose(1, 2)
            for part, dim in zip(parts, dims, strict=True)
        )

    def _record(self, weights: Tensor) -> None:
        for recorder in self._recorders.values():
            recorder(weights)
