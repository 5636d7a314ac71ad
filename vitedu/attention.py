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
    """Distribute each query's attention over the keys.

    Args:
        q: Queries.
        k: Keys.
        mask: Boolean, True = may attend; None lets every query attend to every
            key.
        scale: Factor on the scores; None means head_dim ** -0.5.

    Returns:
        Weights in [0, 1]; a row sums to 1, or to 0 where its query may attend
        to no key at all.

    Raises:
        TypeError, ValueError: Axes or dtypes that do not fit, a mask that is
            not boolean with four axes, or a scale that is not a finite number.

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

    There are two ways to compute it, with the same outputs and gradients.
    PyTorch's fused kernel never holds the weights in memory. The formula is
    written out where `record` needs the weights, and on a CPU for a small
    attention map, where that is faster.

    Args:
        q: Queries.
        k: Keys.
        v: Values, one per key.
        mask: Boolean, True = may attend; None lets every query attend to every
            key.
        scale: Factor on the scores; None means head_dim ** -0.5.
        dropout: Fraction of the weights set to zero, in [0, 1); the rest are
            multiplied by 1 / (1 - dropout). Always active: pass 0 outside
            training.
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
    if small or record is not None:
        weights = _weights(q, k, mask, scale)
        if record is not None:
            record(weights)
        return F.dropout(weights, dropout) @ v
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, dropout_p=dropout, scale=scale
    )


def blockwise_attention(
    q: Float[Tensor, "batch heads query head_dim"],
    k: Float[Tensor, "batch heads key head_dim"],
    v: Float[Tensor, "batch heads key value_dim"],
    mask: Bool[Tensor, "#batch #heads #query key"] | None = None,
    *,
    block_size: int,
    scale: float | None = None,
) -> Float[Tensor, "batch heads query value_dim"]:
    """Answer each query exactly, from one block of keys after another.

    No row of weights is ever held as a whole. For the keys so far, each query
    keeps the highest score, the sum of the exponentials relative to it, and
    the sum of the values weighted by them. Where a block brings a higher
    score, the old sums shrink by the exponential of the difference. This is
    how fused kernels compute; here you can read how.

    Args:
        q: Queries.
        k: Keys.
        v: Values, one per key.
        mask: Boolean, True = may attend; None lets every query attend to every
            key.
        block_size: Keys per block, at least 1; the last may have fewer.
        scale: Factor on the scores; None means head_dim ** -0.5.

    Returns:
        What `scaled_dot_product_attention` returns, with the same gradients.

    Raises:
        TypeError, ValueError: As for `attention_weights`; a `block_size` that
            is not an integer of at least 1.

    Source: Milakov & Gimelshein 2018, section 3; Dao et al. 2022, section 3.1
        and algorithm 1.
    Deviates: Only keys come in blocks there and here; flash attention also
        takes queries in blocks, and computes the scores again in the backward
        pass, where PyTorch keeps them.
    """
    _check(q, k, v, mask, scale)
    require.positive_int("block_size", block_size)
    # Sums of many small numbers; half precision would lose them.
    wide = torch.promote_types(q.dtype, torch.float32)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scaled, hidden = q.to(wide) * scale, torch.finfo(wide).min
    top = scaled.new_full((*q.shape[:3], 1), hidden)
    total = torch.zeros_like(top)
    out = scaled.new_zeros(*q.shape[:3], v.shape[-1])
    for start in range(0, k.shape[2], block_size):
        keys = slice(start, start + block_size)
        scores = scaled @ k[:, :, keys].to(wide).transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(~mask[..., keys], hidden)
        # A constant in each row changes no softmax and needs no gradient.
        higher = top.maximum(scores.detach().amax(dim=-1, keepdim=True))
        weights, shrink = (scores - higher).exp(), (top - higher).exp()
        if mask is not None:
            weights = weights * mask[..., keys]
        total = total * shrink + weights.sum(dim=-1, keepdim=True)
        out = out * shrink + weights @ v[:, :, keys].to(wide)
        top = higher
    # The highest score adds 1; a smaller sum is 0, where nothing is seen.
    return (out / total.clamp(min=1)).to(q.dtype)


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
        batch, heads, query, _ = q.shape
        check_mask(mask, batch, heads, query, k.shape[-2])
    if scale is not None:
        require.number("scale", scale)


def rotate(
    x: Float[Tensor, "batch heads token head_dim"],
    angles: Float[Tensor, "token pair"],
) -> Float[Tensor, "batch heads token head_dim"]:
    """Rotate each pair of features of a query or a key by its token's angle.

    The dot product of a rotated query and a rotated key depends on the
    difference of their angles, that is, on how far apart the tokens are.

    A pair is the features i and i + head_dim / 2, as in Hugging Face's models.
    Meta's files and the paper pair 2i with 2i + 1, which is the same function
    once the rows of the q and the k projection are sorted, even ones first.

    Args:
        x: Queries or keys.
        angles: For each token, head_dim / 2 angles in radians, from
            `rotary_angles` or `rotary_angles_2d`. Their sines are taken in
            their own precision; single precision is enough for any `x`.

    Returns:
        Vectors of the same lengths, in the dtype of `x`.

    Raises:
        TypeError: An argument is not a tensor of floating-point numbers.
        ValueError: `x` has other axes or an odd width, or `angles` are not
            (token, head_dim / 2).

    Source: Su et al. 2021, section 3.2.2 and equation 34.
    Deviates: The features are paired differently, see above.
    Derived in: 22-the-block-since

    >>> x = torch.tensor([[[[1.0, 10.0, 0.0, 0.0]]]])
    >>> rotate(x, torch.tensor([[torch.pi / 2, 0]])).abs().round()
    tensor([[[[ 0., 10.,  1.,  0.]]]])
    """
    require.rank("x", x, "batch heads token head_dim")
    require.floating("x", x)
    require.rank("angles", angles, "token pair")
    require.floating("angles", angles)
    tokens, head_dim = x.shape[2:]
    if head_dim % 2 or angles.shape != (tokens, head_dim // 2):
        raise ValueError(
            f"angles must have (token, head_dim / 2) for {tokens} tokens and "
            f"head_dim = {head_dim}, got {tuple(angles.shape)}"
        )
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat(
        [first * cos - second * sin, second * cos + first * sin], dim=-1
    )


class MultiHeadAttention(nn.Module):
    """Several attention heads side by side, each in its own subspace.

    Args:
        d_model: Width of a token.
        num_heads: Number of heads.
        head_dim: Width of a query and a key of one head; None means
            d_model // num_heads, and then `num_heads` must divide `d_model`.
        num_kv_heads: Number of key-value heads, a divisor of `num_heads`:
            query heads h * n to h * n + n - 1 share key-value head h
            (grouped-query attention; 1: multi-query attention). None means
            `num_heads`.
        value_dim: Width of a value of one head; None means `head_dim`.
        qkv_bias: Whether the q, k, v projection has a bias (ViT yes, the
            Transformer of 2017 no).
        proj_bias: Whether the output projection has one (likewise).
        scale: Factor on the scores; None means head_dim ** -0.5.
        qk_norm: Whether each query and each key of a head is divided by its
            root mean square, with learned factors (`q_norm`, `k_norm`), so
            that no score grows without bounds.
        qk_norm_eps: Epsilon of these two norms; above 0.
        attention_dropout: Rate on the attention weights, in [0, 1).
        dropout: Rate after the output projection, in [0, 1).

    Raises:
        TypeError, ValueError: Sizes that are not positive integers or do not
            divide; rates outside [0, 1); a scale that is not a finite number;
            an epsilon that is not above 0; a mask that is not boolean or does
            not fit.

    Source: Vaswani et al. 2017, section 3.2.2; fewer key-value heads: Shazeer
        2019, section 3, and Ainslie et al. 2023, section 2.2; `qk_norm`: Henry
        et al. 2020, as in Qwen3.
    Deviates: Henry et al. divide by the length, without factors; ViT-22B
        (Dehghani et al. 2023, section 2) normalises by `nn.LayerNorm`.
    Derived in: 05-multi-head-attention
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        head_dim: int | None = None,
        num_kv_heads: int | None = None,
        value_dim: int | None = None,
        qkv_bias: bool = True,
        proj_bias: bool = True,
        scale: float | None = None,
        qk_norm: bool = False,
        qk_norm_eps: float = 1e-6,
        attention_dropout: float = 0.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        head_dim, value_dim = _dims(d_model, num_heads, head_dim, value_dim)
        _check_options(qkv_bias, proj_bias, scale, attention_dropout, dropout)
        require.boolean("qk_norm", qk_norm)
        require.number("qk_norm_eps", qk_norm_eps, above=0)
        self.d_model, self.num_heads = d_model, num_heads
        self.num_kv_heads = kv_heads(num_heads, num_kv_heads)
        self.head_dim, self.value_dim = head_dim, value_dim
        self.scale, self.attention_dropout = scale, attention_dropout
        # One matrix for q, k and v of all heads, stacked in this order as in
        # PyTorch and timm: one product is faster than three.
        self.qkv = nn.Linear(d_model, sum(self._widths()), bias=qkv_bias)
        self.q_norm, self.k_norm = (
            nn.RMSNorm(head_dim, eps=qk_norm_eps) if qk_norm else nn.Identity()
            for _ in "qk"
        )
        self.proj = nn.Linear(num_heads * value_dim, d_model, bias=proj_bias)
        self.proj_drop = nn.Dropout(dropout)
        self._recorders: OrderedDict[int, Callable] = OrderedDict()

    def qkv_weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """Return the matrices of q, k and v: views into the fused one."""
        return self.qkv.weight.detach().split(self._widths())

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
        rotary: Float[Tensor, "query pair"] | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """Attend from `x` to itself, or to `memory` if it is given.

        With a `cache`, self-attention appends the keys and values of `x` to
        it and attends to all of them; cross-attention fills it from `memory`
        once and reads it from then on.

        `rotary` holds the angles, from `rotary_angles` or `rotary_angles_2d`,
        by which self-attention rotates the queries and keys of `x`. A cache
        holds keys that are already rotated, so the angles of the tokens after
        them `start` at its length.
        """
        if memory is None:
            q, k, v = self._project_qkv(x)
            if rotary is not None:
                q, k = rotate(q, rotary), rotate(k, rotary)
            if cache is not None:
                k, v = cache.append(k, v)
        else:
            if rotary is not None:
                raise ValueError(
                    "rotary must be None with a memory, whose tokens have "
                    "positions of their own, got angles"
                )
            q = self._project_q(x)
            k, v = self._read(memory, cache)
        dropout = self.attention_dropout if self.training else 0.0
        record = _one_recorder(self._recorders)
        k, v = self._for_all_queries(k), self._for_all_queries(v)
        heads = scaled_dot_product_attention(
            q, k, v, mask, scale=self.scale, dropout=dropout, record=record
        )
        merged = rearrange(heads, "b heads n d -> b n (heads d)")
        return self.proj_drop(self.proj(merged))

    def _widths(self) -> list[int]:
        """Return how many features q, k and v have, all heads together."""
        shared = self.num_kv_heads
        return [
            self.num_heads * self.head_dim,
            shared * self.head_dim,
            shared * self.value_dim,
        ]

    def _project_qkv(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(x).split(self._widths(), dim=-1)
        q = self.q_norm(self._split(q, self.num_heads))
        k = self.k_norm(self._split(k, self.num_kv_heads))
        return q, k, self._split(v, self.num_kv_heads)

    def _project_q(self, x: Tensor) -> Tensor:
        q = _rows(self.qkv, x, slice(self._widths()[0]))
        return self.q_norm(self._split(q, self.num_heads))

    def _project_kv(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        of_q, *of_kv = self._widths()
        k, v = _rows(self.qkv, memory, slice(of_q, None)).split(of_kv, dim=-1)
        k = self.k_norm(self._split(k, self.num_kv_heads))
        return k, self._split(v, self.num_kv_heads)

    @staticmethod
    def _split(
        x: Tensor, heads: int
    ) -> Float[Tensor, "batch heads token dim"]:
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def _for_all_queries(
        self, x: Float[Tensor, "batch kv_heads key dim"]
    ) -> Float[Tensor, "batch heads key dim"]:
        """Give each query head the key-value head that its group shares."""
        sharing = self.num_heads // self.num_kv_heads
        return x if sharing == 1 else x.repeat_interleave(sharing, dim=1)

    def _read(
        self, memory: Tensor, cache: KeyValueCache | None
    ) -> tuple[Tensor, Tensor]:
        """Return the keys and values of `memory`, projected only once."""
        if cache:  # not an empty one
            return cache.kept()
        k, v = self._project_kv(memory)
        return (k, v) if cache is None else cache.append(k, v)


def kv_heads(num_heads: int, num_kv_heads: int | None) -> int:
    """Return the number of key-value heads, with None replaced by its meaning.

    Raises:
        TypeError, ValueError: A number that is not a positive integer, or
            `num_kv_heads` does not divide `num_heads`.

    >>> kv_heads(8, None), kv_heads(8, 2)
    (8, 2)
    """
    require.positive_int("num_heads", num_heads)
    if num_kv_heads is None:
        return num_heads
    require.positive_int("num_kv_heads", num_kv_heads)
    require.divisible("num_heads", num_heads, "num_kv_heads", num_kv_heads)
    return num_kv_heads


def _rows(linear: nn.Module, x: Tensor, rows: slice) -> Tensor:
    """Apply some rows of a linear map."""
    if type(linear) is not nn.Linear:  # put in later: all or nothing
        return linear(x)[..., rows]
    bias = None if linear.bias is None else linear.bias[rows]
    return F.linear(x, linear.weight[rows], bias)


def _one_recorder(
    recorders: OrderedDict[int, Callable],
) -> Callable[[Tensor], None] | None:
    """Return a function that calls all recorders; None if there is none."""
    if not recorders:
        return None

    def record(weights: Tensor) -> None:
        for recorder in recorders.values():
            recorder(weights)

    return record


def _dims(
    d_model: int, num_heads: int, head_dim: int | None, value_dim: int | None
) -> tuple[int, int]:
    """Return head_dim and value_dim, with None replaced by its meaning."""
    require.positive_int("d_model", d_model)
    require.positive_int("num_heads", num_heads)
    if head_dim is None:
        require.divisible("d_model", d_model, "num_heads", num_heads)
        head_dim = d_model // num_heads
    require.positive_int("head_dim", head_dim)
    value_dim = head_dim if value_dim is None else value_dim
    require.positive_int("value_dim", value_dim)
    return head_dim, value_dim


def _check_options(
    qkv_bias: bool,
    proj_bias: bool,
    scale: float | None,
    attention_dropout: float,
    dropout: float,
) -> None:
    require.boolean("qkv_bias", qkv_bias)
    require.boolean("proj_bias", proj_bias)
    if scale is not None:
        require.number("scale", scale)
    require.rate("attention_dropout", attention_dropout)
    require.rate("dropout", dropout)
