"""The Vision Transformer, in named steps."""

from collections import OrderedDict
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention
from vitedu.config import ViTConfig
from vitedu.layers import EncoderBlock, FeedForward, make_norm
from vitedu.masks import visible_tokens
from vitedu.patches import PatchEmbed
from vitedu.positions import (
    LearnedPositionEmbedding,
    SinusoidalPositionEncoding2d,
    interpolate_positions,
    rotary_angles_2d,
)

Logits = Float[Tensor, "batch num_classes"]


class VisionTransformer(nn.Module):
    """Classify an image from the sequence of its patches.

    Attributes are named as in timm: `patch_embed`, `cls_token`, `dist_token`,
    `reg_token`, `pos_embed`, `blocks`, `norm`, `fc_norm`, `pre_logits`,
    `head`, `head_dist`. A token or head that the config leaves out is None.
    `class_names` are words for the classes, and `normalisation` is what the
    pixels go through (`vitedu.data.normalisation`), where they are known.

    Args:
        config: Sizes, rates and choices.

    Raises:
        TypeError: `config` is not a ViTConfig; images of another dtype than
            the weights; a `patch_mask` that is not boolean.
        ValueError: Images or a `patch_mask` of another shape; an image
            without any real patch, which a captured graph does not notice.

    Source: Dosovitskiy et al. 2021, section 3.1, equations 1 to 4; the
        distillation token from Touvron et al. 2021, section 4; registers
        from Darcet et al. 2024, section 2.2. Initial weights: "xavier" as in
        the code of Dosovitskiy et al. 2021, "truncated_normal" as in timm.
    Deviates: With ``pool="mean"`` there is no class token at all; the head
        reads the mean of the normalised patches. `patch_mask` is not in the
        paper. With both of these, the head starts at zero, while timm
        initialises it at random, and `pre_logits` starts like every other
        linear layer. With "xavier", q, k and v are drawn as one matrix, which
        makes them smaller by the square root of 2 than if they were drawn
        separately; patch weights are normal, not truncated normal; biases of
        the feed-forward network are 0, not 1e-6. With "truncated_normal",
        patch weights remain as PyTorch draws them, and the truncation, at 2,
        is a hundred standard deviations away: both as in timm. Registers, to
        which no position is added, have a standard deviation of 0.02 rather
        than 1e-6, for the sake of their gradients.
    Derived in: 13-vision-transformer, 14-training-a-vit
    """

    class_names: tuple[str, ...] | None = None
    normalisation: Any = None

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        require.instance("config", config, ViTConfig)
        self.config = config
        self.num_prefix_tokens = config.num_prefix_tokens
        self.patch_embed = _patches(config)
        self.cls_token = _token(config, int(config.pool != "mean"))
        self.dist_token = _token(config, int(config.distilled))
        self.reg_token = _token(config, config.num_registers)
        self.pos_embed = _positions(config)
        self.pos_drop = nn.Dropout(config.first_dropout)
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(**config.attention),
                FeedForward(**config.feed_forward),
                drop_path=rate,
                **config.residual,
            )
            for rate in config.drop_path_rates
        )
        self.norm = _norm(config, config.pool_norm == "before")
        self.fc_norm = _norm(config, config.pool_norm == "after")
        self.pre_logits = _pre_logits(config)
        self.head = _head(config)
        self.head_dist = _head(config) if config.distilled else None
        self._initialise()

    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        patch_mask: Bool[Tensor, "batch patch"] | None = None,
    ) -> Logits | tuple[Logits, Logits]:
        """Return logits, not probabilities: the loss applies the softmax.

        With a distillation token, training returns the logits of both heads
        (class token, distillation token) and evaluation their mean. Without
        classes the logits are what the head would have read.
        """
        tokens = self.forward_features(images, patch_mask)
        logits = self.head(self.pre_logits(self.pool(tokens, patch_mask)))
        if self.head_dist is None:
            return logits
        distilled = self.head_dist(self.fc_norm(tokens[:, 1]))
        if self.training:
            return logits, distilled
        return (logits + distilled) / 2

    def forward_features(
        self,
        images: Float[Tensor, "batch channel height width"],
        patch_mask: Bool[Tensor, "batch patch"] | None = None,
    ) -> Float[Tensor, "batch token d_model"]:
        """Return every token after the last block.

        First comes the class token, then the distillation token, then the
        registers, then the patches row by row, as far as the config has them.
        They are normalised, unless the config normalises after pooling.

        Args:
            images: Pixels, in the dtype of the weights.
            patch_mask: True = real patch. No token attends to the others,
                which still have tokens of their own in the result; the class
                token and the distillation token are always visible. None: all
                patches are real.
        """
        x = self.embed(images)
        mask = self._visible(patch_mask, x)
        if mask is not None:
            mask = mask[:, None, None, :]  # keys only, the same in all heads
        turned = self._turned(x, self.patch_embed.grid_of(images))
        for block in self.blocks:
            x = block(x, mask, **turned)
        return self.norm(x)

    def layer_features(
        self,
        images: Float[Tensor, "batch channel height width"],
        patch_mask: Bool[Tensor, "batch patch"] | None = None,
    ) -> list[Float[Tensor, "batch token d_model"]]:
        """Return every token after each of the blocks, from first to last.

        These tokens are not normalised: apply `norm` to do so, as
        `forward_features` does to the last ones. Arguments and order of tokens
        are those of `forward_features`.
        """
        features: list[Tensor] = []
        handles = [
            block.register_forward_hook(lambda *x: features.append(x[-1]))
            for block in self.blocks
        ]
        try:
            self.forward_features(images, patch_mask)
        finally:
            for handle in handles:
                handle.remove()
        return features

    def embed(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch token d_model"]:
        """Return the tokens that enter the first block."""
        patches = self.patch_embed(images)
        prefix = [
            token.expand(patches.shape[0], -1, -1)
            for token in (self.cls_token, self.dist_token)
            if token is not None
        ]
        tokens = torch.cat([*prefix, patches], dim=1)
        tokens = self._placed(tokens, self.patch_embed.grid_of(images))
        if self.reg_token is not None:
            registers = self.reg_token.expand(patches.shape[0], -1, -1)
            first, rest = tokens.tensor_split([len(prefix)], dim=1)
            tokens = torch.cat([first, registers, rest], dim=1)
        return self.pos_drop(tokens)

    def _placed(
        self, tokens: Float[Tensor, "batch token d_model"], grid: tuple
    ) -> Float[Tensor, "batch token d_model"]:
        """Add positions, resampled where the config has a different grid."""
        config, learned = self.config, self.pos_embed
        if grid == config.grid_size or not isinstance(
            learned, LearnedPositionEmbedding
        ):
            return learned(tokens)
        return tokens + interpolate_positions(
            learned.weight,
            config.grid_size,
            grid,
            num_prefix_tokens=config.num_placed_tokens,
            mode=config.resampling,
        )

    def _turned(
        self, tokens: Float[Tensor, "batch token d_model"], grid: tuple
    ) -> dict[str, Tensor]:
        """Return the angles that every block gets, if positions are rotary."""
        config = self.config
        if config.positions != "rotary":
            return {}
        angles = rotary_angles_2d(
            grid,
            config.head_widths[0],
            num_prefix_tokens=config.num_prefix_tokens,
            base=config.rotary_base,
            # Half precision would make neighbours of far patches alike.
            dtype=torch.promote_types(tokens.dtype, torch.float32),
            device=tokens.device,
        )
        return {"rotary": angles}

    def pool(
        self,
        tokens: Float[Tensor, "batch token d_model"],
        patch_mask: Bool[Tensor, "batch patch"] | None = None,
    ) -> Float[Tensor, "batch d_model"]:
        """Return what the head reads: the class token or a mean.

        Patches that are not real do not count in a mean.
        """
        _check_tokens(tokens, self.config)
        visible = self._visible(patch_mask, tokens)
        if self.config.pool == "class_token":
            return self.fc_norm(tokens[:, 0])
        first = 0 if self.config.pool == "mean_all" else self.num_prefix_tokens
        tokens = tokens[:, first:]
        if visible is None:
            return self.fc_norm(tokens.mean(dim=1))
        real = visible[:, first:, None].to(tokens.dtype)
        return self.fc_norm((tokens * real).sum(dim=1) / real.sum(dim=1))

    def reset_head(self, num_classes: int) -> None:
        """Put in a new head, for other classes, and update the config.

        It is initialised by `config.weights_init`, on the device and in the
        dtype of the weights. With a distillation token, there are two new
        heads.

        Raises:
            TypeError, ValueError: `num_classes` is not an integer of at
                least 0.
        """
        self.config = replace(self.config, num_classes=num_classes)
        self.class_names = None
        self.head = self._new_head()
        if self.head_dist is not None:
            self.head_dist = self._new_head()

    def no_weight_decay(self) -> set[str]:
        """Return the names of learned tokens and positions.

        `vitedu.training.loop.fit` spares them from weight decay by itself, as
        it does biases and norms; timm's optimisers need the names.
        """
        names = {"cls_token", "dist_token", "reg_token", "pos_embed.weight"}
        return names & {name for name, _ in self.named_parameters()}

    def _new_head(self) -> nn.Module:
        like = next(self.parameters())
        head = _head(self.config, device=like.device, dtype=like.dtype)
        _initialise_head(head, self.config)
        return head.train(self.training)

    def _initialise(self) -> None:
        """Draw initial tokens and weights; positions initialise themselves."""
        config = self.config
        for token in (self.cls_token, self.dist_token):
            if token is not None and config.class_token_std > 0:
                nn.init.normal_(token, std=config.class_token_std)
        if self.reg_token is not None:
            # Alike at first, they would be alike for ever.
            nn.init.normal_(self.reg_token, std=0.02)
        if config.weights_init == "pytorch":
            return
        for module in self.modules():
            if isinstance(module, nn.Linear):
                if config.weights_init == "xavier":
                    nn.init.xavier_uniform_(module.weight)
                else:
                    nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if config.weights_init == "xavier":
            patch = self.patch_embed.proj
            nn.init.kaiming_normal_(patch.weight, nonlinearity="linear")
            if patch.bias is not None:
                nn.init.zeros_(patch.bias)
        for head in (self.head, self.head_dist):
            _initialise_head(head, config)

    def _visible(
        self, patch_mask: Tensor | None, tokens: Tensor
    ) -> Bool[Tensor, "batch token"] | None:
        batch, prefix = tokens.shape[0], self.num_prefix_tokens
        patches = tokens.shape[1] - prefix
        return visible_tokens(patch_mask, batch, patches, prefix)


def _patches(config: ViTConfig) -> PatchEmbed:
    return PatchEmbed(
        config.image_size,
        config.patch_size,
        config.num_channels,
        config.d_model,
        method=config.patch_method,
        norm=config.patch_norm,
        layer_norm_eps=config.layer_norm_eps,
        any_image_size=config.any_image_size,
    )


def _token(config: ViTConfig, count: int) -> nn.Parameter | None:
    """Return learned tokens before the patches, at first zero."""
    if not count:
        return None
    return nn.Parameter(torch.zeros(1, count, config.d_model))


def _positions(config: ViTConfig) -> nn.Module:
    prefix = config.num_placed_tokens
    if config.positions == "learned":
        return LearnedPositionEmbedding(
            prefix + config.num_patches,
            config.d_model,
            std=config.position_std,
        )
    if config.positions == "sinusoidal":
        return SinusoidalPositionEncoding2d(
            config.grid_size, config.d_model, num_prefix_tokens=prefix
        )
    return nn.Identity()


def _norm(config: ViTConfig, wanted: bool) -> nn.Module:
    if not wanted:
        return nn.Identity()
    return make_norm(config.norm, config.d_model, eps=config.layer_norm_eps)


def _pre_logits(config: ViTConfig) -> nn.Module:
    if config.representation_size is None:
        return nn.Identity()
    fc = nn.Linear(config.d_model, config.representation_size)
    return nn.Sequential(OrderedDict(fc=fc, act=nn.Tanh()))


def _head(config: ViTConfig, **factory: Any) -> nn.Module:
    if config.num_classes == 0:
        return nn.Identity()
    width = config.representation_size or config.d_model
    return nn.Linear(width, config.num_classes, **factory)


def _initialise_head(head: nn.Module | None, config: ViTConfig) -> None:
    """Let a head predict uniformly: its loss is then ln num_classes."""
    if isinstance(head, nn.Linear) and config.weights_init != "pytorch":
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)


def _check_tokens(tokens: Tensor, config: ViTConfig) -> None:
    require.rank("tokens", tokens, "batch token d_model")
    require.floating("tokens", tokens)
    prefix = config.num_prefix_tokens
    expected = (prefix + config.num_patches, config.d_model)
    if config.any_image_size and tokens.shape[1] > prefix:
        expected = (tokens.shape[1], config.d_model)
    if tokens.shape[1:] != expected:
        raise ValueError(
            f"tokens must have (token, d_model) = {expected}, "
            f"got {tuple(tokens.shape[1:])}"
        )
