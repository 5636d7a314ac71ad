"""Learn without labels: predict the masked patches of an image."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention
from vitedu.config import ViTConfig
from vitedu.layers import EncoderBlock, FeedForward, make_norm
from vitedu.patches import patchify, unpatchify
from vitedu.positions import LearnedPositionEmbedding
from vitedu.vit import VisionTransformer


def random_hidden(
    num_images: int,
    num_patches: int,
    share: float = 0.75,
    *,
    generator: torch.Generator | None = None,
) -> Bool[Tensor, "image patch"]:
    """Sample which patches of each image are masked, equally many in each.

    Args:
        num_images: Rows, each sampled independently.
        num_patches: Patches of an image.
        share: Fraction that is masked, in [0, 1), rounded to whole patches; at
            least one is masked and one visible.
        generator: Source of the random numbers; None is PyTorch's own.

    Returns:
        True = masked.

    Raises:
        TypeError, ValueError: Counts that are not positive integers, fewer
            than two patches, a share outside [0, 1), something that is not a
            generator.

    Source: He et al. 2022, section 3, "Masking".

    >>> random_hidden(2, 8).sum(dim=1).tolist()
    [6, 6]
    """
    require.positive_int("num_images", num_images)
    require.integer("num_patches", num_patches, at_least=2)
    require.rate("share", share)
    require.instance("generator", generator, torch.Generator, optional=True)
    count = min(max(1, round(share * num_patches)), num_patches - 1)
    draws = torch.rand(num_images, num_patches, generator=generator)
    return draws.argsort(dim=1).argsort(dim=1) < count


class MaskedAutoencoder(nn.Module):
    """See a few patches of an image, and predict the pixels of the others.

    The encoder is a Vision Transformer that never receives a masked patch. A
    narrow, shallow decoder receives the encoder's output for the visible ones,
    and the same learned token at each masked position. Parts are named as in
    the authors' code. Only `encoder` is used for other tasks.

    Args:
        config: Config of the encoder, without a head.
        decoder_width: Width of a token in the decoder.
        decoder_layers: Number of its blocks.
        decoder_heads: Heads per block; they divide the width.
        normalise_patches: Whether a patch is predicted with its own mean
            subtracted and divided by its own standard deviation.

    Raises:
        TypeError: `config` is not a ViTConfig, an argument has another type.
        ValueError: A head; positions that are not added before the blocks;
            images of any size; sizes that do not fit. In calls: images or
            `hidden` of other axes; images that do not all have equally many
            masked patches, or one in which none is masked or none visible.

    Source: He et al. 2022 (MAE), section 3; its targets, table 1d.
    Deviates: The decoder's positions are learned, theirs are fixed sinusoids.
    Derived in: 23-without-labels
    """

    def __init__(
        self,
        config: ViTConfig,
        *,
        decoder_width: int = 64,
        decoder_layers: int = 1,
        decoder_heads: int = 4,
        normalise_patches: bool = False,
    ) -> None:
        super().__init__()
        _check_encoder(config)
        require.positive_int("decoder_width", decoder_width)
        require.positive_int("decoder_layers", decoder_layers)
        require.positive_int("decoder_heads", decoder_heads)
        require.divisible(
            "decoder_width", decoder_width, "decoder_heads", decoder_heads
        )
        require.boolean("normalise_patches", normalise_patches)
        inside = replace(
            config,
            d_model=decoder_width,
            num_layers=decoder_layers,
            num_heads=decoder_heads,
            num_kv_heads=None,
            head_dim=None,
            value_dim=None,
            d_ff=4 * decoder_width,
        )
        self.config, self.decoder_config = config, inside
        self.normalise_patches = normalise_patches
        self.encoder = VisionTransformer(config)
        self.decoder_embed = nn.Linear(config.d_model, decoder_width)
        self.mask_token = nn.Parameter(torch.randn(1, 1, decoder_width) * 0.02)
        self.decoder_pos_embed = LearnedPositionEmbedding(
            config.num_prefix_tokens + config.num_patches,
            decoder_width,
            std=config.position_std,
        )
        self.decoder_blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(**inside.attention),
                FeedForward(**inside.feed_forward),
                **inside.residual,
            )
            for _ in range(decoder_layers)
        )
        self.decoder_norm = make_norm(
            config.norm, decoder_width, eps=config.layer_norm_eps
        )
        height, width = config.patch_shape
        self.decoder_pred = nn.Linear(
            decoder_width, config.num_channels * height * width
        )

    def forward(
        self,
        images: Float[Tensor, "batch channel height width"],
        hidden: Bool[Tensor, "batch patch"],
    ) -> Float[Tensor, "batch patch values"]:
        """Return a prediction for every patch, in the form of `targets`.

        Args:
            images: Pixels, in the dtype of the weights.
            hidden: True = masked, equally many in each image.
        """
        self._check_images(images)
        self._check_hidden(images, hidden)
        seen = (~hidden).nonzero()[:, 1].view(len(images), -1, 1)
        return self.decode(self.encode(images, seen), seen)

    def encode(
        self,
        images: Float[Tensor, "batch channel height width"],
        seen: Int[Tensor, "batch seen 1"],
    ) -> Float[Tensor, "batch token d_model"]:
        """Return the tokens of only the visible patches, class token first.

        Args:
            images: Pixels, in the dtype of the weights.
            seen: Numbers of the visible patches, each once, in the order that
                their tokens are to have.
        """
        encoder, prefix = self.encoder, self.config.num_prefix_tokens
        first, patches = encoder.embed(images).tensor_split([prefix], dim=1)
        x = torch.cat([first, patches.take_along_dim(seen, dim=1)], dim=1)
        for block in encoder.blocks:
            x = block(x)
        return encoder.norm(x)

    def decode(
        self,
        tokens: Float[Tensor, "batch token d_model"],
        seen: Int[Tensor, "batch seen 1"],
    ) -> Float[Tensor, "batch patch values"]:
        """Put each token at its position, mask tokens elsewhere; predict.

        Args:
            tokens: As `encode` returns them.
            seen: As passed to `encode`.
        """
        prefix = self.config.num_prefix_tokens
        x = self.decoder_embed(tokens)
        first, patches = x.tensor_split([prefix], dim=1)
        everywhere = self.mask_token.expand(
            len(x), self.config.num_patches, -1
        )
        placed = everywhere.scatter(1, seen.expand_as(patches), patches)
        x = self.decoder_pos_embed(torch.cat([first, placed], dim=1))
        for block in self.decoder_blocks:
            x = block(x)
        return self.decoder_pred(self.decoder_norm(x))[:, prefix:]

    def targets(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch patch values"]:
        """Return what is to be predicted: pixels, normalised if so chosen.

        Patches and their values are in the order of `patchify`.
        """
        self._check_images(images)
        patches = patchify(images, self.config.patch_size)
        if not self.normalise_patches:
            return patches
        var, mean = torch.var_mean(patches, dim=-1, keepdim=True)
        return (patches - mean) / (var + 1e-6).sqrt()

    def loss(
        self,
        images: Float[Tensor, "batch channel height width"],
        hidden: Bool[Tensor, "batch patch"],
    ) -> Float[Tensor, ""]:
        """Return the mean squared error of the masked patches' values.

        The arguments are those of a call of the model.
        """
        errors = (self(images, hidden) - self.targets(images)).square()
        return errors[hidden].mean()

    def fill_in(
        self,
        images: Float[Tensor, "batch channel height width"],
        hidden: Bool[Tensor, "batch patch"],
    ) -> Float[Tensor, "batch channel height width"]:
        """Return the images with predictions in place of masked patches.

        The arguments are those of a call of the model.

        Raises:
            ValueError: Also where patches are normalised, because the mean of
                a masked patch is then unknown.
        """
        if self.normalise_patches:
            raise ValueError(
                "normalise_patches must be False to fill in pixels, got True"
            )
        guesses = self(images, hidden)
        patches = patchify(images, self.config.patch_size)
        filled = torch.where(hidden[..., None], guesses, patches)
        return unpatchify(
            filled, self.config.patch_size, self.config.grid_size
        )

    def _check_images(self, images: Tensor) -> None:
        self.encoder.patch_embed.grid_of(images)
        require.dtype_of("images", images, self.decoder_pred)
        if len(images) == 0:
            raise ValueError("images must be at least 1, got none")

    def _check_hidden(self, images: Tensor, hidden: Tensor) -> None:
        require.rank("hidden", hidden, "batch patch")
        if hidden.dtype != torch.bool:
            raise TypeError(f"hidden must be boolean, got {hidden.dtype}")
        expected = (len(images), self.config.num_patches)
        if tuple(hidden.shape) != expected:
            raise ValueError(
                f"hidden must have (batch, patch) = {expected}, got "
                f"{tuple(hidden.shape)}"
            )
        counts = set(hidden.sum(dim=1).tolist())
        if len(counts) != 1 or counts & {0, expected[1]}:
            raise ValueError(
                "hidden must hide equally many patches in each image, 1 to "
                f"{expected[1] - 1}, got {sorted(counts)}"
            )


def _check_encoder(config: ViTConfig) -> None:
    require.instance("config", config, ViTConfig)
    if config.num_classes:
        raise ValueError(
            "config must have num_classes=0, since nothing is classified, got "
            f"{config.num_classes}"
        )
    if config.positions not in ("learned", "sinusoidal"):
        raise ValueError(
            "config must have positions='learned' or 'sinusoidal', which are "
            f"added before patches go missing, got {config.positions!r}"
        )
    if config.any_image_size:
        raise ValueError(
            "config must have any_image_size=False, since the decoder has "
            "one grid, got True"
        )
