"""What the configs of a Transformer and of a ViT have in common."""

from dataclasses import dataclass, field, fields
from types import NoneType
from typing import Any, Literal, get_args, get_origin

from vitedu import require


def _check_fields(config: Any) -> None:
    """Check each field by its annotation; numbers by the rule for a rate."""
    for item in fields(config):
        name, value = item.name, getattr(config, item.name)
        kinds = get_args(item.type) or (item.type,)
        if value is None and NoneType in kinds:
            continue
        if get_origin(item.type) is Literal:
            require.choice(name, value, kinds)
        elif bool in kinds:
            require.boolean(name, value)
        elif float in kinds and "drop" in name:
            require.rate(name, value)
        elif float in kinds:
            require.number(name, value)
        elif int in kinds and len(kinds) > 1 and NoneType not in kinds:
            require.sides(name, value)
        else:
            require.integer(name, value, **item.metadata)


def size_field(default: Any) -> Any:
    """Return a field that holds an integer of at least 1."""
    return field(default=default, metadata={"at_least": 1})


def count_field(default: Any) -> Any:
    """Return a field that holds an integer of at least 0."""
    return field(default=default, metadata={"at_least": 0})


@dataclass(frozen=True, kw_only=True)
class BlockConfig:
    """What the blocks of a Transformer and of a ViT have in common.

    Every field is checked when the object is made, so that a model never
    meets a config that cannot work.

    Attributes:
        d_model: Width of a token.
        num_layers: Blocks of a stack.
        num_heads: Attention heads per block.
        head_dim: Width of a query and a key of one head; None means
            d_model // num_heads, which then has to come out even.
        value_dim: Width of a value of one head; None means `head_dim`.
        d_ff: Hidden width of the feed-forward network.
        activation: What stands between its two linear maps.
        norm_first: True normalises what enters a residual branch (pre-norm),
            False normalises after the sum (post-norm).
        layer_norm_eps: Epsilon inside every layer normalisation.
        qkv_bias: Whether the q, k, v projection has a bias.
        proj_bias: Whether the output projection of attention has one.
        scale: Factor on the scores; None means head_dim ** -0.5.
        dropout: Rate at the end of every residual branch, in [0, 1).
        attention_dropout: Rate on the attention weights, in [0, 1).
        activation_dropout: Rate after the activation, in [0, 1); None means
            `dropout`.
        embedding_dropout: Rate after the positions are added, in [0, 1); None
            means `dropout`.
        drop_path: Rate of stochastic depth in the last block; it grows
            linearly from 0 in the first; in [0, 1).

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range, or two do not fit.

    Source: table 1 of Dosovitskiy et al. 2021 and table 3 of Vaswani et al.
        2017 name the sizes; `drop_path` is Huang et al. 2016.
    """

    d_model: int = size_field(768)
    num_layers: int = size_field(12)
    num_heads: int = size_field(12)
    head_dim: int | None = size_field(None)
    value_dim: int | None = size_field(None)
    d_ff: int = size_field(3072)
    activation: Literal["gelu", "relu"] = "gelu"
    norm_first: bool = True
    layer_norm_eps: float = 1e-6
    qkv_bias: bool = True
    proj_bias: bool = True
    scale: float | None = None
    dropout: float = 0.0
    attention_dropout: float = 0.0
    activation_dropout: float | None = None
    embedding_dropout: float | None = None
    drop_path: float = 0.0

    def __post_init__(self) -> None:
        _check_fields(self)
        require.number("layer_norm_eps", self.layer_norm_eps, above=0)
        if self.head_dim is None:
            require.divisible(
                "d_model", self.d_model, "num_heads", self.num_heads
            )

    @property
    def head_widths(self) -> tuple[int, int]:
        """Return (head_dim, value_dim), with None replaced by its meaning."""
        head_dim = self.head_dim or self.d_model // self.num_heads
        return head_dim, self.value_dim or head_dim

    @property
    def attention(self) -> dict[str, Any]:
        """The arguments of `MultiHeadAttention`, by name."""
        return {
            "d_model": self.d_model,
            "num_heads": self.num_heads,
            "head_dim": self.head_dim,
            "value_dim": self.value_dim,
            "qkv_bias": self.qkv_bias,
            "proj_bias": self.proj_bias,
            "scale": self.scale,
            "attention_dropout": self.attention_dropout,
            "dropout": self.dropout,
        }

    @property
    def feed_forward(self) -> dict[str, Any]:
        """The arguments of `FeedForward`, by name."""
        return {
            "d_model": self.d_model,
            "d_ff": self.d_ff,
            "activation": self.activation,
            "activation_dropout": self.activation_dropout,
            "dropout": self.dropout,
        }

    @property
    def residual(self) -> dict[str, Any]:
        """The arguments that every block of a stack shares, by name."""
        return {
            "norm_first": self.norm_first,
            "layer_norm_eps": self.layer_norm_eps,
        }

    @property
    def drop_path_rates(self) -> list[float]:
        """The rate of each block: from 0 in equal steps to `drop_path`."""
        steps = max(self.num_layers - 1, 1)
        return [i * self.drop_path / steps for i in range(self.num_layers)]

    @property
    def first_dropout(self) -> float:
        """The rate after the positions are added."""
        if self.embedding_dropout is None:
            return self.dropout
        return self.embedding_dropout
