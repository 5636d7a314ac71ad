"""The layers around attention: feed-forward, factors, skipping, blocks."""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention
from vitedu.cache import KeyValueCache


class SwiGLU(nn.Module):
    """Multiply one half of the features by a gate made of the other half.

    The first half passes through x * sigmoid(x) and becomes the gate; the
    second is what it lets through. The linear layer before it is twice as
    wide, with the rows of the gate first and then the others, because one
    product is faster than two.

    Source: Shazeer 2020, section 2, equation 6.
    Deviates: Hugging Face's Llama keeps the two layers separate, as
        `gate_proj` and `up_proj`; timm's `SwiGLUPacked` has them in one, in
        this order.
    """

    def forward(
        self, x: Float[Tensor, "batch token twice"]
    ) -> Float[Tensor, "batch token d_ff"]:
        gate, rest = x.chunk(2, dim=-1)
        return F.silu(gate) * rest


def swiglu_width(d_ff: int, *, multiple_of: int = 1) -> int:
    """Return the hidden width that gives SwiGLU the same parameter count.

    With a gate there are three matrices instead of two, so each may be 2/3 as
    wide.

    Args:
        d_ff: Hidden width of a network without a gate.
        multiple_of: The result is rounded up to a multiple of this.

    Raises:
        TypeError, ValueError: A number is not an integer of at least 1.

    Source: Shazeer 2020, section 2; Touvron et al. 2023 (Llama), section 2.2.
    Derived in: 22-the-block-since

    >>> swiglu_width(3072), swiglu_width(4 * 4096, multiple_of=256)
    (2048, 11008)
    """
    require.positive_int("d_ff", d_ff)
    require.positive_int("multiple_of", multiple_of)
    # Rounded up: the negative of what is rounded down below zero.
    return -(-2 * d_ff // (3 * multiple_of)) * multiple_of


_ACTIVATIONS = {"gelu": nn.GELU, "relu": nn.ReLU, "swiglu": SwiGLU}
_NORMS = {"layer": nn.LayerNorm, "rms": nn.RMSNorm}


def make_norm(
    norm: Literal["layer", "rms"], d_model: int, *, eps: float = 1e-6
) -> nn.Module:
    """Make the layer that normalises each token.

    Args:
        norm: "layer" subtracts the mean, divides by the standard deviation,
            and has learned factors and biases. "rms" divides by the root mean
            square and has only factors.
        d_model: Width of a token.
        eps: Added to the mean square; above 0.

    Raises:
        TypeError, ValueError: An unknown `norm`, a width that is not a
            positive integer, an epsilon that is not above 0.

    Source: Ba et al. 2016, section 3; Zhang & Sennrich 2019, section 4.
    Derived in: 22-the-block-since

    >>> make_norm("rms", 4)
    RMSNorm((4,), eps=1e-06, elementwise_affine=True)
    """
    require.choice("norm", norm, tuple(_NORMS))
    require.positive_int("d_model", d_model)
    require.number("eps", eps, above=0)
    return _NORMS[norm](d_model, eps=eps)


class FeedForward(nn.Module):
    """Two linear layers with a nonlinearity between, for each token by itself.

    Args:
        d_model: Width of a token.
        d_ff: Hidden width; usually 4 * d_model, with "swiglu" 2/3 of that
            (`swiglu_width`).
        activation: "gelu" (ViT), "relu" (the Transformer of 2017) or "swiglu"
            (Llama), for which the first layer is twice as wide: see `SwiGLU`.
        bias: Whether the two layers have biases.
        activation_dropout: Rate after the activation, in [0, 1); None means
            `dropout` (ViT; the Transformer of 2017 has none there).
        dropout: Rate after the second layer, in [0, 1).

    Raises:
        TypeError, ValueError: Sizes that are not positive integers, an unknown
            activation, a rate outside [0, 1).

    Source: Vaswani et al. 2017, section 3.3; GELU and both dropouts as in
        Dosovitskiy et al. 2021, section 3.1 and appendix B.1; SwiGLU: Shazeer
        2020, section 2.
    Derived in: 06-residuals-norms-feed-forward, 14-training-a-vit
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Literal["gelu", "relu", "swiglu"] = "gelu",
        bias: bool = True,
        activation_dropout: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if activation_dropout is None:
            activation_dropout = dropout
        require.positive_int("d_model", d_model)
        require.positive_int("d_ff", d_ff)
        require.choice("activation", activation, tuple(_ACTIVATIONS))
        require.boolean("bias", bias)
        require.rate("dropout", dropout)
        require.rate("activation_dropout", activation_dropout)
        self.d_model = d_model
        inner = 2 * d_ff if activation == "swiglu" else d_ff
        self.fc1 = nn.Linear(d_model, inner, bias=bias)
        self.act = _ACTIVATIONS[activation]()
        self.drop1 = nn.Dropout(activation_dropout)
        self.fc2 = nn.Linear(d_ff, d_model, bias=bias)
        self.drop2 = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch token d_model"]:
        hidden = self.drop1(self.act(self.fc1(x)))
        return self.drop2(self.fc2(hidden))


class DropPath(nn.Module):
    """Skip a residual branch for whole samples at random while training.

    Kept branches are multiplied by 1 / (1 - rate), so that the expected output
    is that of the full branch. In evaluation the input passes unchanged.

    Args:
        rate: Probability of skipping, in [0, 1).

    Raises:
        TypeError, ValueError: A rate outside [0, 1).

    Source: Huang et al. 2016, section 3.
    Deviates: The paper drops for a whole batch and rescales in evaluation;
        here each sample is drawn independently and we rescale in training.
    Derived in: 06-residuals-norms-feed-forward, 14-training-a-vit
    """

    def __init__(self, rate: float = 0.0) -> None:
        super().__init__()
        require.rate("rate", rate)
        self.rate = rate

    def forward(self, x: Float[Tensor, "batch ..."]) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        shape = (x.shape[0],) + (1,) * (x.ndim - 1)
        kept = torch.rand(shape, device=x.device) >= self.rate
        return x * (kept.to(x.dtype) / (1 - self.rate))

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


class LayerScale(nn.Module):
    """Multiply each feature by a learned factor of its own.

    At the end of a residual branch, with factors that start close to zero,
    every block at first passes on its input almost unchanged.

    Args:
        d_model: Width of a token.
        initial: Initial value of all factors; above 0.

    Raises:
        TypeError, ValueError: A width that is not a positive integer, an
            `initial` that is not above 0.

    Source: Touvron et al. 2021b, section 2.
    """

    def __init__(self, d_model: int, initial: float) -> None:
        super().__init__()
        require.positive_int("d_model", d_model)
        require.number("initial", initial, above=0)
        self.gamma = nn.Parameter(torch.full((d_model,), float(initial)))

    def forward(
        self, x: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch token d_model"]:
        return x * self.gamma

    def extra_repr(self) -> str:
        return f"d_model={len(self.gamma)}"


class EncoderBlock(nn.Module):
    """Attention among the tokens, then a feed-forward network for each.

    Each of the two is a residual branch: the input plus what it adds. With a
    causal mask it is the block of a language model.

    Args:
        attn: The attention of the block.
        mlp: The feed-forward network of the block.
        drop_path: Rate at which a branch is skipped, in [0, 1).
        norm_first: True normalises what enters a branch (pre-norm, ViT);
            False normalises after the sum (post-norm, Vaswani et al. 2017).
        norm: "layer" or "rms", see `make_norm`.
        layer_norm_eps: Epsilon of both normalisations.
        layer_scale: Initial value of the `LayerScale` at the end of each
            branch, `ls1` and `ls2`; None means that there is none.
        parallel: Whether both read the same normalised input, and form one
            residual branch: x + attn(norm1(x)) + mlp(norm1(x)). There is no
            `norm2` then. This needs `norm_first`.

    Raises:
        TypeError, ValueError: `attn` and `mlp` of different widths, a rate
            outside [0, 1), an epsilon or a `layer_scale` that is not above 0,
            an unknown `norm`, `parallel` without `norm_first`.

    Source: Dosovitskiy et al. 2021, equations 2 and 3; post-norm: Vaswani
        et al. 2017, section 3.1; `parallel`: Wang & Komatsuzaki 2021 (GPT-J),
        Dehghani et al. 2023 (ViT-22B), section 2.
    Deviates: GPT-NeoX, parallel too, has a norm for each of the two.
    Derived in: 06-residuals-norms-feed-forward, 07-encoder, 14-training-a-vit
    """

    def __init__(
        self,
        attn: MultiHeadAttention,
        mlp: FeedForward,
        *,
        drop_path: float = 0.0,
        norm_first: bool = True,
        norm: Literal["layer", "rms"] = "layer",
        layer_norm_eps: float = 1e-6,
        layer_scale: float | None = None,
        parallel: bool = False,
    ) -> None:
        super().__init__()
        _require_parts(mlp, attn=attn)
        require.rate("drop_path", drop_path)
        require.boolean("norm_first", norm_first)
        require.number("layer_norm_eps", layer_norm_eps, above=0)
        require.boolean("parallel", parallel)
        if parallel and not norm_first:
            raise ValueError(
                "norm_first must be True with parallel, whose one norm stands "
                "before both branches, got False"
            )
        self.norm_first, self.parallel = norm_first, parallel
        self.norm1 = make_norm(norm, attn.d_model, eps=layer_norm_eps)
        self.attn = attn
        self.ls1 = _factors(attn.d_model, layer_scale)
        self.norm2 = (
            nn.Identity()
            if parallel
            else make_norm(norm, attn.d_model, eps=layer_norm_eps)
        )
        self.mlp = mlp
        self.ls2 = _factors(attn.d_model, layer_scale)
        self.drop_path = DropPath(drop_path)

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        mask: Bool[Tensor, "#batch #heads #token key"] | None = None,
        rotary: Float[Tensor, "token pair"] | None = None,
        cache: KeyValueCache | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        """Return the tokens after both branches.

        `rotary` holds the angles of the tokens, see `MultiHeadAttention`. With
        a `cache`, `x` holds the new tokens only; `mask` then has a key for
        every token so far.
        """
        if self.parallel:
            y = self.norm1(x)
            seen = self.attn(y, mask=mask, cache=cache, rotary=rotary)
            return x + self.drop_path(self.ls1(seen) + self.ls2(self.mlp(y)))
        if self.norm_first:
            y = self.norm1(x)
            y = self.attn(y, mask=mask, cache=cache, rotary=rotary)
            x = x + self.drop_path(self.ls1(y))
            return x + self.drop_path(self.ls2(self.mlp(self.norm2(x))))
        y = self.attn(x, mask=mask, cache=cache, rotary=rotary)
        x = self.norm1(x + self.drop_path(self.ls1(y)))
        return self.norm2(x + self.drop_path(self.ls2(self.mlp(x))))


class DecoderBlock(nn.Module):
    """Attention among target tokens, then to the source, then feed-forward.

    Three residual branches. The queries of the second attention layer come
    from the same tokens after the first branch; its keys and values come from
    the encoder.

    Args:
        attn: The self-attention.
        cross_attn: The attention to the encoder's output.
        mlp: The feed-forward network.
        drop_path: Rate at which a branch is skipped, in [0, 1).
        norm_first: True normalises what enters a branch (pre-norm); False
            normalises after the sum (post-norm, Vaswani et al. 2017).
        norm: "layer" or "rms", see `make_norm`.
        layer_norm_eps: Epsilon of the three normalisations.

    Raises:
        TypeError, ValueError: As for `EncoderBlock`.

    Source: Vaswani et al. 2017, section 3.1.
    Derived in: 08-decoder
    """

    def __init__(
        self,
        attn: MultiHeadAttention,
        cross_attn: MultiHeadAttention,
        mlp: FeedForward,
        *,
        drop_path: float = 0.0,
        norm_first: bool = True,
        norm: Literal["layer", "rms"] = "layer",
        layer_norm_eps: float = 1e-6,
    ) -> None:
        super().__init__()
        _require_parts(mlp, attn=attn, cross_attn=cross_attn)
        require.rate("drop_path", drop_path)
        require.boolean("norm_first", norm_first)
        require.number("layer_norm_eps", layer_norm_eps, above=0)
        self.norm_first = norm_first
        self.norm1 = make_norm(norm, attn.d_model, eps=layer_norm_eps)
        self.attn = attn
        self.norm2 = make_norm(norm, attn.d_model, eps=layer_norm_eps)
        self.cross_attn = cross_attn
        self.norm3 = make_norm(norm, attn.d_model, eps=layer_norm_eps)
        self.mlp = mlp
        self.drop_path = DropPath(drop_path)

    def forward(
        self,
        x: Float[Tensor, "batch tgt d_model"],
        memory: Float[Tensor, "batch src d_model"],
        mask: Bool[Tensor, "#batch #heads #tgt key"] | None = None,
        memory_mask: Bool[Tensor, "#batch #heads #tgt src"] | None = None,
        cache: tuple[KeyValueCache, KeyValueCache] | None = None,
    ) -> Float[Tensor, "batch tgt d_model"]:
        """Return the tokens after the three branches.

        With a `cache` (self, cross), `x` holds the new tokens only; `mask`
        then has a key for every token so far.
        """
        own, other = (None, None) if cache is None else cache
        if self.norm_first:
            y = self.attn(self.norm1(x), mask=mask, cache=own)
            x = x + self.drop_path(y)
            y = self.cross_attn(self.norm2(x), memory, memory_mask, other)
            x = x + self.drop_path(y)
            return x + self.drop_path(self.mlp(self.norm3(x)))
        y = self.attn(x, mask=mask, cache=own)
        x = self.norm1(x + self.drop_path(y))
        y = self.cross_attn(x, memory, memory_mask, other)
        x = self.norm2(x + self.drop_path(y))
        return self.norm3(x + self.drop_path(self.mlp(x)))


class TiedTable(nn.Module):
    """A model whose output projection may be the target embedding's table.

    One parameter has two names then. PyTorch would make two parameters of it
    in `to_empty` and in ``load_state_dict(assign=True)``; here it remains one.

    Attributes:
        tgt_embed: Its `tokens` is the table.
        generator: The output projection.
    """

    tgt_embed: Any
    generator: Any

    def _is_tied(self) -> bool:
        table = getattr(self.tgt_embed.tokens, "weight", None)
        # What an adapter has put in place of the map is its own affair.
        return type(self.generator) is nn.Linear and (
            self.generator.weight is table
        )

    def _apply(self, *args: Any, **options: Any) -> nn.Module:
        tied = self._is_tied()
        super()._apply(*args, **options)
        if tied:
            self.generator.weight = self.tgt_embed.tokens.weight
        return self

    def _load_from_state_dict(
        self, state: dict[str, Tensor], prefix: str, *args: Any
    ) -> None:
        names = [
            f"{prefix}{x}.weight" for x in ("tgt_embed.tokens", "generator")
        ]
        if self._is_tied() and state.keys() >= set(names):
            one = nn.Parameter(state[names[1]], requires_grad=False)
            state.update(dict.fromkeys(names, one))
        super()._load_from_state_dict(state, prefix, *args)


def _factors(d_model: int, layer_scale: float | None) -> nn.Module:
    if layer_scale is None:
        return nn.Identity()
    require.number("layer_scale", layer_scale, above=0)
    return LayerScale(d_model, layer_scale)


def _require_parts(mlp: FeedForward, **attentions: MultiHeadAttention) -> None:
    require.instance("mlp", mlp, FeedForward)
    for name, attn in attentions.items():
        require.instance(name, attn, MultiHeadAttention)
    for name, part in {**attentions, "mlp": mlp}.items():
        if part.d_model != attentions["attn"].d_model:
            raise ValueError(
                f"{name} must have the d_model of attn, "
                f"{attentions['attn'].d_model}, got {part.d_model}"
            )
