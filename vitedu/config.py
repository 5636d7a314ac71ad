"""What a model or a training run is made of: frozen, checked, with presets."""

from dataclasses import dataclass, fields
from typing import Literal, Self

from vitedu import require


@dataclass(frozen=True, kw_only=True)
class ViTConfig:
    """The sizes and rates of a Vision Transformer.

    The defaults are ViT-B/16. Every field is checked when the object is made,
    so that a model never meets a config that cannot work.

    Attributes:
        image_size: Side of the square input image, in pixels.
        patch_size: Side of a square patch, in pixels; divides `image_size`.
        num_channels: Channels of the image (1 grey, 3 colour).
        num_classes: Outputs of the head.
        d_model: Width of a token; divisible by `num_heads`.
        num_layers: Encoder blocks.
        num_heads: Attention heads per block.
        d_ff: Hidden width of the feed-forward network.
        dropout: Rate after every dense layer but the q, k, v projection, and
            after adding the position embedding; in [0, 1).
        attention_dropout: Rate on the attention weights; in [0, 1).
        drop_path: Rate of stochastic depth in the last block; it grows
            linearly from 0 in the first; in [0, 1).
        pool: What the head reads: the class token, or the mean of the
            patches.
        position_std: Standard deviation of the initial position embedding.
        layer_norm_eps: Epsilon inside every layer normalisation.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range, or two do not fit.

    Source: Dosovitskiy et al. 2021, sections 3.1 and 4.1, table 1 and
        appendix B.1; `layer_norm_eps` as in the authors' code.
    Derived in: 14-training-a-vit
    """

    image_size: int = 224
    patch_size: int = 16
    num_channels: int = 3
    num_classes: int = 1000
    d_model: int = 768
    num_layers: int = 12
    num_heads: int = 12
    d_ff: int = 3072
    dropout: float = 0.0
    attention_dropout: float = 0.0
    drop_path: float = 0.0
    pool: Literal["class_token", "mean"] = "class_token"
    position_std: float = 0.02
    layer_norm_eps: float = 1e-6

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.type is int:
                require.positive_int(field.name, getattr(self, field.name))
        for name in ("dropout", "attention_dropout", "drop_path"):
            require.rate(name, getattr(self, name))
        require.number("position_std", self.position_std, at_least=0)
        require.number("layer_norm_eps", self.layer_norm_eps, above=0)
        require.choice("pool", self.pool, ("class_token", "mean"))
        require.divisible(
            "image_size", self.image_size, "patch_size", self.patch_size
        )
        require.divisible("d_model", self.d_model, "num_heads", self.num_heads)

    @property
    def grid_size(self) -> tuple[int, int]:
        """Rows and columns of the grid of patches."""
        side = self.image_size // self.patch_size
        return side, side

    @property
    def num_patches(self) -> int:
        """Patches of one image."""
        rows, columns = self.grid_size
        return rows * columns

    @classmethod
    def ti16(cls, **changes) -> Self:
        """ViT-Ti/16, the smallest of DeiT (Touvron et al. 2021, table 1)."""
        return cls._family(192, 12, 3, 16, changes)

    @classmethod
    def s16(cls, **changes) -> Self:
        """ViT-S/16 (Touvron et al. 2021, table 1)."""
        return cls._family(384, 12, 6, 16, changes)

    @classmethod
    def b16(cls, **changes) -> Self:
        """ViT-B/16 (Dosovitskiy et al. 2021, table 1)."""
        return cls._family(768, 12, 12, 16, changes)

    @classmethod
    def b32(cls, **changes) -> Self:
        """ViT-B/32 (Dosovitskiy et al. 2021, table 1)."""
        return cls._family(768, 12, 12, 32, changes)

    @classmethod
    def l16(cls, **changes) -> Self:
        """ViT-L/16 (Dosovitskiy et al. 2021, table 1)."""
        return cls._family(1024, 24, 16, 16, changes)

    @classmethod
    def l32(cls, **changes) -> Self:
        """ViT-L/32 (Dosovitskiy et al. 2021, table 1)."""
        return cls._family(1024, 24, 16, 32, changes)

    @classmethod
    def h14(cls, **changes) -> Self:
        """ViT-H/14 (Dosovitskiy et al. 2021, table 1); head_dim is 80."""
        return cls._family(1280, 32, 16, 14, changes)

    @classmethod
    def digits(cls, **changes) -> Self:
        """A small ViT for the 8 x 8 handwritten digits of chapter 14.

        The position embedding starts at 0.5, as large as what a patch holds:
        with 0.02 the tokens of so small a network hardly learn where they
        are. Many narrow heads read digits better than few wide ones.
        """
        sizes = {
            "image_size": 8,
            "patch_size": 2,
            "num_channels": 1,
            "num_classes": 10,
            "d_model": 64,
            "num_layers": 4,
            "num_heads": 16,
            "d_ff": 128,
            "drop_path": 0.1,
            "position_std": 0.5,
        }
        return cls(**(sizes | changes))

    @classmethod
    def _family(
        cls,
        d_model: int,
        num_layers: int,
        num_heads: int,
        patch_size: int,
        changes: dict,
    ) -> Self:
        sizes = {
            "d_model": d_model,
            "num_layers": num_layers,
            "num_heads": num_heads,
            "d_ff": 4 * d_model,
            "patch_size": patch_size,
        }
        return cls(**(sizes | changes))


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained: AdamW with a one-cycle learning rate.

    Attributes:
        num_epochs: Passes over the training data.
        learning_rate: The highest rate, reached after the warm-up.
        warmup: Share of the steps in which the rate rises, in (0, 1).
        weight_decay: Decoupled decay of every parameter.
        label_smoothing: Share of the target spread over all classes, in
            [0, 1).
        max_grad_norm: Longer gradients are shortened to this length.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range.

    Source: Loshchilov & Hutter 2019 (AdamW); Smith & Topin 2018 (one cycle).
    Derived in: 14-training-a-vit
    """

    num_epochs: int
    learning_rate: float = 1e-3
    warmup: float = 0.2
    weight_decay: float = 0.05
    label_smoothing: float = 0.0
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        require.positive_int("num_epochs", self.num_epochs)
        require.number("learning_rate", self.learning_rate, above=0)
        require.number("warmup", self.warmup, above=0, below=1)
        require.number("weight_decay", self.weight_decay, at_least=0)
        require.rate("label_smoothing", self.label_smoothing)
        require.number("max_grad_norm", self.max_grad_norm, above=0)

    @classmethod
    def digits(cls, **changes) -> Self:
        """The recipe of chapter 14; chosen on validation images only."""
        recipe = {
            "num_epochs": 28,
            "learning_rate": 4e-3,
            "weight_decay": 0.2,
            "label_smoothing": 0.05,
        }
        return cls(**(recipe | changes))
