"""The layers around attention: feed-forward, stochastic depth, blocks."""

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention

_ACTIVATIONS = {"gelu": nn.GELU, "relu": nn.ReLU}


class FeedForward(nn.Module):
    """Two linear maps with a non-linearity between, for each token alone.

    Args:
        d_model: Width of a token.
        d_ff: Hidden width; usually 4 * d_model.
        activation: "gelu" (ViT) or "relu" (the Transformer of 2017).
        dropout: Rate after the activation and after the second map.

    Raises:
        TypeError, ValueError: Sizes that are no positive integers, an unknown
            activation, a rate outside [0, 1); tokens of another width.

    Source: Vaswani et al. 2017, section 3.3; GELU and both dropouts as in
        Dosovitskiy et al. 2021, section 3.1 and appendix B.1.
    Derived in: 14-training-a-vit
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Literal["gelu", "relu"] = "gelu",
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require.positive_int("d_model", d_model)
        require.positive_int("d_ff", d_ff)
        require.choice("activation", activation, tuple(_ACTIVATIONS))
        require.rate("dropout", dropout)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.act = _ACTIVATIONS[activation]()
        self.drop1 = nn.Dropout(dropout)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.drop2 = nn.Dropout(dropout)

    def forward(
        self, x: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch token d_model"]:
        require.tokens("x", x, self.fc1.weight)
        hidden = self.drop1(self.act(self.fc1(x)))
        return self.drop2(self.fc2(hidden))


class DropPath(nn.Module):
    """Skip a residual branch for whole samples at random while training.

    Kept branches grow by 1 / (1 - rate), so that the expected output is that
    of the full branch. In evaluation the input passes unchanged.

    Args:
        rate: Probability of skipping, in [0, 1).

    Raises:
        TypeError, ValueError: A rate outside [0, 1).

    Source: Huang et al. 2016, section 3.
    Deviates: The paper drops for a whole batch and rescales in evaluation;
        here each sample is drawn by itself and the rescaling is in training.
    Derived in: 14-training-a-vit
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
        return x * kept / (1 - self.rate)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


class EncoderBlock(nn.Module):
    """Attention among the tokens, then a feed-forward network for each.

    Each of the two is a residual branch: the input plus what it adds.

    Args:
        attn: The attention of the block.
        mlp: The feed-forward network of the block.
        drop_path: Rate at which a branch is skipped, in [0, 1).
        norm_first: True normalises what enters a branch (pre-norm, ViT);
            False normalises after the sum (post-norm, Vaswani et al. 2017).
        layer_norm_eps: Epsilon of both layer normalisations.

    Raises:
        TypeError, ValueError: `attn` and `mlp` of different widths, a rate
            outside [0, 1), an epsilon that is not above 0; tokens of another
            width.

    Source: Dosovitskiy et al. 2021, equations 2 and 3; post-norm: Vaswani
        et al. 2017, section 3.1.
    Derived in: 14-training-a-vit
    """

    def __init__(
        self,
        attn: MultiHeadAttention,
        mlp: FeedForward,
        *,
        drop_path: float = 0.0,
        norm_first: bool = True,
        layer_norm_eps: float = 1e-6,
    ) -> None:
        super().__init__()
        if mlp.fc1.in_features != attn.d_model:
            raise ValueError(
                f"mlp must have the d_model of attn, {attn.d_model}, "
                f"got {mlp.fc1.in_features}"
            )
        require.rate("drop_path", drop_path)
        require.number("layer_norm_eps", layer_norm_eps, above=0)
        self.norm_first = norm_first
        self.norm1 = nn.LayerNorm(attn.d_model, eps=layer_norm_eps)
        self.attn = attn
        self.norm2 = nn.LayerNorm(attn.d_model, eps=layer_norm_eps)
        self.mlp = mlp
        self.drop_path = DropPath(drop_path)

    def forward(
        self,
        x: Float[Tensor, "batch token d_model"],
        mask: Bool[Tensor, "#batch #heads #token token"] | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        require.tokens("x", x, self.norm1.weight)
        if self.norm_first:
            x = x + self.drop_path(self.attn(self.norm1(x), mask=mask))
            return x + self.drop_path(self.mlp(self.norm2(x)))
        x = self.norm1(x + self.drop_path(self.attn(x, mask=mask)))
        return self.norm2(x + self.drop_path(self.mlp(x)))
