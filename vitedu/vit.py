"""The Vision Transformer, in named steps."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention
from vitedu.config import ViTConfig
from vitedu.layers import EncoderBlock, FeedForward
from vitedu.patches import PatchEmbed
from vitedu.positional import LearnedPositionEmbedding


class VisionTransformer(nn.Module):
    """Classify an image from the sequence of its patches.

    Attributes are named as in timm: `patch_embed`, `cls_token`, `pos_embed`,
    `blocks`, `norm`, `head`.

    Args:
        config: Sizes, rates and pooling.

    Raises:
        TypeError: `config` is no ViTConfig.

    Source: Dosovitskiy et al. 2021, section 3.1, equations 1 to 4; initial
        weights as in the authors' code.
    Deviates: With ``pool="mean"`` there is no class token at all; the head
        reads the mean of the normalised patches. Initial weights: q, k and v
        are drawn as one matrix, which makes them smaller by the square root
        of 2 than drawn apart; patch weights are normal, not truncated
        normal; biases of the feed-forward network are 0, not 1e-6.
    Derived in: 14-training-a-vit
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        if not isinstance(config, ViTConfig):
            raise TypeError(
                f"config must be a ViTConfig, got {type(config).__name__}"
            )
        self.config = config
        self.patch_embed = PatchEmbed(
            config.image_size,
            config.patch_size,
            config.num_channels,
            config.d_model,
        )
        self.num_prefix_tokens = int(config.pool == "class_token")
        self.cls_token = nn.Parameter(
            torch.zeros(1, self.num_prefix_tokens, config.d_model)
        )
        self.pos_embed = LearnedPositionEmbedding(
            self.num_prefix_tokens + config.num_patches,
            config.d_model,
            std=config.position_std,
        )
        self.pos_drop = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            _block(config, rate)
            for rate in _drop_path_rates(config.drop_path, config.num_layers)
        )
        self.norm = nn.LayerNorm(config.d_model, eps=config.layer_norm_eps)
        self.head = nn.Linear(config.d_model, config.num_classes)
        self._initialise()

    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch num_classes"]:
        """Return logits, not probabilities: the loss applies the softmax."""
        return self.head(self.pool(self.features(images)))

    def features(
        self,
        images: Float[Tensor, "batch channel height width"],
        mask: Bool[Tensor, "#batch #heads #token token"] | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        """Return every token after the last block, normalised."""
        x = self.embed(images)
        for block in self.blocks:
            x = block(x, mask)
        return self.norm(x)

    def embed(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch token d_model"]:
        """Return the tokens that enter the first block."""
        patches = self.patch_embed(images)
        prefix = self.cls_token.expand(len(patches), -1, -1)
        tokens = torch.cat([prefix, patches], dim=1)
        return self.pos_drop(self.pos_embed(tokens))

    def pool(
        self, tokens: Float[Tensor, "batch token d_model"]
    ) -> Float[Tensor, "batch d_model"]:
        """Return what the head reads: the class token or the mean patch."""
        require.rank("tokens", tokens, "batch token d_model")
        if self.config.pool == "mean":
            return tokens.mean(dim=1)
        return tokens[:, 0]

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
        nn.init.kaiming_normal_(
            self.patch_embed.proj.weight, nonlinearity="linear"
        )
        nn.init.zeros_(self.patch_embed.proj.bias)
        # A zero head starts at the uniform guess: the loss is ln num_classes.
        nn.init.zeros_(self.head.weight)


def _drop_path_rates(last: float, num_layers: int) -> list[float]:
    # On the CPU also where the model is made on another device.
    return torch.linspace(0, last, num_layers, device="cpu").tolist()


def _block(config: ViTConfig, drop_path: float) -> EncoderBlock:
    return EncoderBlock(
        MultiHeadAttention(
            config.d_model,
            config.num_heads,
            attention_dropout=config.attention_dropout,
            dropout=config.dropout,
        ),
        FeedForward(config.d_model, config.d_ff, dropout=config.dropout),
        drop_path=drop_path,
        layer_norm_eps=config.layer_norm_eps,
    )
