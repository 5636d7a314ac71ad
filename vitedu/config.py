"""What a model or a training run is made of: frozen, checked, with presets."""

from dataclasses import dataclass
from typing import Any, Literal, Self

from vitedu import require
from vitedu.fields import check_fields, count, number, rate, ruled, size


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
            d_model // num_heads, which then has to be an integer.
        num_kv_heads: Number of key-value heads, a divisor of `num_heads`; None
            means `num_heads`, 1 is multi-query attention.
        value_dim: Width of a value of one head; None means `head_dim`.
        d_ff: Hidden width of the feed-forward network.
        activation: The nonlinearity between its two linear layers; with
            "swiglu" the first has twice `d_ff` rows, see `SwiGLU`.
        ff_bias: Whether both of these layers have biases.
        norm_first: True normalises what enters a residual branch (pre-norm),
            False normalises after the sum (post-norm).
        norm: "layer" normalisation or "rms", see `make_norm`: in the blocks
            and around them. Patches, where they are normalised, keep "layer".
        layer_norm_eps: Epsilon inside every normalisation.
        qkv_bias: Whether the q, k, v projection has a bias.
        proj_bias: Whether the output projection of attention has one.
        scale: Factor on the scores; None means head_dim ** -0.5.
        qk_norm: Whether queries and keys are normalised, see
            `MultiHeadAttention`.
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
        ValueError: A field is outside its range, or two do not fit together.

    Source: table 1 of Dosovitskiy et al. 2021 and table 3 of Vaswani et al.
        2017 list the sizes; `drop_path` is Huang et al. 2016. "rms", "swiglu",
        no biases and `num_kv_heads` are those of Llama (Touvron et al. 2023,
        section 2.2) and of Llama 2.
    """

    d_model: int = size(768)
    num_layers: int = size(12)
    num_heads: int = size(12)
    head_dim: int | None = size(None)
    num_kv_heads: int | None = size(None)
    value_dim: int | None = size(None)
    d_ff: int = size(3072)
    activation: Literal["gelu", "relu", "swiglu"] = "gelu"
    ff_bias: bool = True
    norm_first: bool = True
    norm: Literal["layer", "rms"] = "layer"
    layer_norm_eps: float = number(1e-6, above=0)
    qkv_bias: bool = True
    proj_bias: bool = True
    scale: float | None = None
    qk_norm: bool = False
    dropout: float = rate(0.0)
    attention_dropout: float = rate(0.0)
    activation_dropout: float | None = rate(None)
    embedding_dropout: float | None = rate(None)
    drop_path: float = rate(0.0)

    def __post_init__(self) -> None:
        check_fields(self)
        self.validate()

    def validate(self) -> None:
        """Check that fields fit together; each by itself is already valid.

        A subclass extends this method, and calls its base class's.

        Raises:
            ValueError: Two fields do not fit together.
        """
        if self.head_dim is None:
            require.divisible(
                "d_model", self.d_model, "num_heads", self.num_heads
            )
        if self.num_kv_heads is not None:
            require.divisible(
                "num_heads", self.num_heads, "num_kv_heads", self.num_kv_heads
            )

    @property
    def later_choices(self) -> list[str]:
        """Names of the fields whose values came after the ViT of 2021.

        Code that counts, draws or packs only the older block refuses them.
        """
        older = {
            "num_kv_heads": (None, self.num_heads),
            "activation": ("gelu", "relu"),
            "ff_bias": (True,),
            "norm": ("layer",),
            "qk_norm": (False,),
        }
        return [
            x for x, known in older.items() if getattr(self, x) not in known
        ]

    @property
    def head_widths(self) -> tuple[int, int]:
        """Return (head_dim, value_dim), with None replaced by its meaning."""
        head_dim = self.head_dim or self.d_model // self.num_heads
        return head_dim, self.value_dim or head_dim

    @property
    def qkv_widths(self) -> list[int]:
        """Features of the queries, keys and values, all heads together."""
        head_dim, value_dim = self.head_widths
        shared = self.num_kv_heads or self.num_heads
        return [
            self.num_heads * head_dim,
            shared * head_dim,
            shared * value_dim,
        ]

    @property
    def attention(self) -> dict[str, Any]:
        """The arguments of `MultiHeadAttention`, by name."""
        names = ["d_model", "num_heads", "head_dim", "value_dim", "qkv_bias"]
        names += ["proj_bias", "scale", "attention_dropout", "dropout"]
        names += ["num_kv_heads", "qk_norm"]
        given = {name: getattr(self, name) for name in names}
        return given | {"qk_norm_eps": self.layer_norm_eps}

    @property
    def feed_forward(self) -> dict[str, Any]:
        """The arguments of `FeedForward`, by name."""
        names = ["d_model", "d_ff", "activation"]
        names += ["activation_dropout", "dropout"]
        given = {name: getattr(self, name) for name in names}
        return given | {"bias": self.ff_bias}

    @property
    def residual(self) -> dict[str, Any]:
        """The arguments that every block of a stack shares, by name."""
        return {
            "norm_first": self.norm_first,
            "norm": self.norm,
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


def _family(
    d_model: int, num_layers: int, num_heads: int, patch_size: int, source: str
) -> classmethod:
    def preset(cls: type, **changes: Any) -> Any:
        sizes = {
            "d_model": d_model,
            "num_layers": num_layers,
            "num_heads": num_heads,
            "d_ff": 4 * d_model,
            "patch_size": patch_size,
        }
        return cls(**(sizes | changes))

    preset.__doc__ = (
        f"Width {d_model}, {num_layers} blocks, {num_heads} heads, "
        f"{patch_size}-pixel patches ({source}, table 1)."
    )
    return classmethod(preset)


@dataclass(frozen=True, kw_only=True)
class ViTConfig(BlockConfig):
    """The sizes, rates and choices of a Vision Transformer.

    The defaults are ViT-B/16. It also has the fields of `BlockConfig`.

    Attributes:
        image_size: Side of a square image, or (height, width), in pixels.
        patch_size: Side of a square patch, or (height, width), in pixels;
            divides `image_size`.
        num_channels: Channels of the image (1 grey, 3 colour).
        num_classes: Outputs of the head; 0 means no head: the model returns
            what the head would read.
        patch_method: How the patch embedding is computed; both give the same
            result.
        patch_norm: Whether the patch embedding is normalised.
        positions: A learned vector per position, the fixed 2-D sinusoids,
            "rotary", by which each attention layer rotates the queries and
            keys of patches, but not of other tokens, or none.
        rotary_base: Base of the angles, see `rotary_angles_2d`.
        position_std: Standard deviation of the initial learned positions.
        class_token_std: Standard deviation of the initial class and
            distillation tokens. Where no learned position is added to it, a
            token of zeros gets very large gradients from the first layer
            normalisation; 0.02 avoids that.
        pool: What the head reads. "class_token"; "mean": there is no class
            token, the head reads the mean of the patches; "mean_patches": the
            same mean, but a class token takes part in the attention;
            "mean_all": the class token is part of the mean.
        pool_norm: Whether the last layer normalisation comes "before" pooling
            or "after"; for the class token this makes no difference.
        distilled: Whether there is a distillation token with its own head.
        representation_size: Width of a linear map and a tanh before the head;
            None means neither.
        weights_init: How linear layers are initialised: "xavier" as in the
            authors' code, "truncated_normal" with standard deviation 0.02 as
            in timm, "pytorch" as PyTorch's layers are by default. The head
            starts at zero except with "pytorch".
        parallel: Whether attention and feed-forward network read the same
            input, see `EncoderBlock`; needs `norm_first`.
        layer_scale: Initial value of the learned factors of both residual
            branches, one factor per feature; None means that there are none.
        num_registers: Learned tokens between the class token and the patches
            that represent no part of the image and have no position: room for
            the model to store information. The head reads them only with the
            pool "mean_all".
        any_image_size: Whether the model takes every image whose sides the
            patch divides. Learned positions, which are for `image_size`, are
            then resampled to the image's grid; rotary ones are computed for
            that grid; sinusoids are for one grid only.
        resampling: How they are then resampled: a mode of
            `interpolate_positions`.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range, or two do not fit together.

    Source: Dosovitskiy et al. 2021, sections 3.1 and 4.1, table 1 and
        appendix B.1; `layer_norm_eps` as in the authors' code;
        `distilled` from Touvron et al. 2021, section 4; `layer_scale` from
        Touvron et al. 2021b; `num_registers` from Darcet et al. 2024;
        rotary positions from Heo et al. 2024; `parallel` and `qk_norm` from
        Dehghani et al. 2023.
    Derived in: 13-vision-transformer, 14-training-a-vit
    """

    image_size: int | tuple[int, int] = ruled(require.sides, 224)
    patch_size: int | tuple[int, int] = ruled(require.sides, 16)
    num_channels: int = size(3)
    num_classes: int = count(1000)
    patch_method: Literal["convolution", "linear"] = "convolution"
    patch_norm: bool = False
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = "learned"
    rotary_base: float = number(100.0, above=0)
    position_std: float = number(0.02, at_least=0)
    class_token_std: float = number(0.0, at_least=0)
    pool: Literal["class_token", "mean", "mean_patches", "mean_all"] = (
        "class_token"
    )
    pool_norm: Literal["before", "after"] = "before"
    distilled: bool = False
    representation_size: int | None = size(None)
    weights_init: Literal["xavier", "truncated_normal", "pytorch"] = "xavier"
    parallel: bool = False
    layer_scale: float | None = number(None, above=0)
    num_registers: int = count(0)
    any_image_size: bool = False
    resampling: Literal["bicubic", "bicubic_antialias", "bilinear"] = "bicubic"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("image_size", "patch_size"):
            if isinstance(getattr(self, name), list):
                # As JSON has it; a config is to be hashed and compared.
                object.__setattr__(self, name, tuple(getattr(self, name)))

    def validate(self) -> None:
        super().validate()
        for i in (0, 1):
            require.divisible(
                "image_size",
                self.image_shape[i],
                "patch_size",
                self.patch_shape[i],
            )
        if self.distilled and self.pool != "class_token":
            raise ValueError(
                "distilled needs pool='class_token': its second head reads a "
                f"token, too; got pool={self.pool!r}"
            )
        if self.distilled and self.representation_size is not None:
            raise ValueError(
                "representation_size must be None if distilled, "
                f"got {self.representation_size}"
            )
        if self.any_image_size and self.positions == "sinusoidal":
            raise ValueError(
                "positions must be 'learned', 'rotary' or 'none' with "
                f"any_image_size, got {self.positions!r}"
            )
        if self.positions == "rotary" and self.head_widths[0] % 4:
            raise ValueError(
                "positions must be others than 'rotary' where 4 does not "
                f"divide head_dim, got head_dim={self.head_widths[0]}"
            )
        if self.parallel and not self.norm_first:
            raise ValueError(
                "parallel needs norm_first, since one norm stands before both "
                f"branches, got norm_first={self.norm_first}"
            )

    @property
    def later_choices(self) -> list[str]:
        """Names of the fields whose values came after the ViT of 2021."""
        found = super().later_choices + ["parallel"] * self.parallel
        return found + ["positions"] * (self.positions == "rotary")

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width of the image in pixels."""
        return require.sides("image_size", self.image_size)

    @property
    def patch_shape(self) -> tuple[int, int]:
        """Height and width of a patch in pixels."""
        return require.sides("patch_size", self.patch_size)

    @property
    def grid_size(self) -> tuple[int, int]:
        """Rows and columns of the grid of patches."""
        (height, width), (p1, p2) = self.image_shape, self.patch_shape
        return height // p1, width // p2

    @property
    def num_patches(self) -> int:
        """Patches of one image."""
        rows, columns = self.grid_size
        return rows * columns

    @property
    def num_prefix_tokens(self) -> int:
        """Tokens before the patches: class, distillation, registers."""
        return self.num_placed_tokens + self.num_registers

    @property
    def num_placed_tokens(self) -> int:
        """Prefix tokens that have a position: all but the registers."""
        return int(self.pool != "mean") + int(self.distilled)

    @property
    def residual(self) -> dict[str, Any]:
        """The arguments that every block of a stack shares, by name."""
        return super().residual | {
            "layer_scale": self.layer_scale,
            "parallel": self.parallel,
        }

    ti16 = _family(192, 12, 3, 16, "Touvron et al. 2021")
    s16 = _family(384, 12, 6, 16, "Touvron et al. 2021")
    b16 = _family(768, 12, 12, 16, "Dosovitskiy et al. 2021")
    b32 = _family(768, 12, 12, 32, "Dosovitskiy et al. 2021")
    l16 = _family(1024, 24, 16, 16, "Dosovitskiy et al. 2021")
    l32 = _family(1024, 24, 16, 32, "Dosovitskiy et al. 2021")
    h14 = _family(1280, 32, 16, 14, "Dosovitskiy et al. 2021")

    @classmethod
    def s14(cls, **changes) -> Self:
        """Width 384, 12 blocks, 6 heads, 14-pixel patches, no head.

        Its learned factors and its positions, for 518 pixels, are those of
        the small model of Oquab et al. 2024; it takes images of any size that
        14 divides.
        """
        sizes = {"d_model": 384, "num_layers": 12, "num_heads": 6}
        sizes |= {"d_ff": 1536, "image_size": 518, "patch_size": 14}
        rest = {"num_classes": 0, "layer_scale": 1e-5, "any_image_size": True}
        return cls(**(sizes | rest | changes))

    @classmethod
    def digits(cls, **changes) -> Self:
        """A small ViT for the 8 x 8 handwritten digits of chapter 14.

        The position embedding starts at 0.5, as large as the content of a
        patch, because with 0.02 so small a network learns far more slowly.
        Many narrow heads classify digits better than a few wide ones.
        """
        sizes = {"image_size": 8, "patch_size": 2, "num_channels": 1}
        sizes |= {"d_model": 64, "num_layers": 4, "num_heads": 16, "d_ff": 128}
        rates = {"position_std": 0.5, "drop_path": 0.1}
        return cls(**({"num_classes": 10} | sizes | rates | changes))

    @classmethod
    def modern(cls, **changes) -> Self:
        """The size of `digits`, with a modern block, as built since 2021.

        Rotary positions, RMS normalisation, SwiGLU, normalised queries and
        keys, four key-value heads for all queries, no biases. The hidden width
        is 2/3 of that of `digits`, so that the feed-forward network has as
        many parameters. The class token starts at random, since no position is
        added to it.
        """
        block = {"norm": "rms", "activation": "swiglu", "d_ff": 86}
        block |= {"qk_norm": True, "num_kv_heads": 4, "positions": "rotary"}
        biases = dict.fromkeys(("qkv_bias", "proj_bias", "ff_bias"), False)
        start = {"class_token_std": 0.02}
        return cls.digits(**(block | biases | start | changes))


@dataclass(frozen=True, kw_only=True)
class TransformerConfig(BlockConfig):
    """The sizes, rates and choices of an encoder-decoder Transformer.

    The defaults are the choices of Vaswani et al. 2017 in their base size. It
    also has the fields of `BlockConfig`.

    Attributes:
        src_vocab_size: Words of the source language.
        tgt_vocab_size: Words of the target language.
        src_pad_id: The id that pads short source sentences.
        tgt_pad_id: The id that pads short target sentences.
        positions: The fixed sinusoids, a learned vector per position, or
            none.
        max_len: Longest sequence of learned positions; None for the others,
            which have no limit.
        tie_output: Whether the output projection is the target embedding.
        tie_source: Whether source and target share one embedding, which
            requires one vocabulary with one padding id.
        embedding_scale: Where the factor of a shared embedding is applied.
            "embedding": tokens are multiplied by sqrt(d_model) (the paper).
            "logits": logits are divided by sqrt(d_model) instead; this is the
            same function if the table is sqrt(d_model) times as large, and it
            is initialised so. "none": neither.
        embedding_norm: Whether there is a layer normalisation before the
            stack.
        final_norm: Whether there is one after it; None means only with
            `norm_first`, since pre-norm stacks need it.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range, or two do not fit together.

    Source: Vaswani et al. 2017, sections 3.1 to 3.4 and table 3.
    Derived in: 09-transformer
    """

    d_model: int = 512
    num_layers: int = 6
    num_heads: int = 8
    d_ff: int = 2048
    activation: Literal["gelu", "relu", "swiglu"] = "relu"
    norm_first: bool = False
    qkv_bias: bool = False
    proj_bias: bool = False
    dropout: float = 0.1
    activation_dropout: float | None = 0.0
    src_vocab_size: int = size()
    tgt_vocab_size: int = size()
    src_pad_id: int = count(0)
    tgt_pad_id: int = count(0)
    positions: Literal["sinusoidal", "learned", "none"] = "sinusoidal"
    max_len: int | None = size(None)
    tie_output: bool = True
    tie_source: bool = True
    embedding_scale: Literal["embedding", "logits", "none"] = "embedding"
    embedding_norm: bool = False
    final_norm: bool | None = None

    def validate(self) -> None:
        super().validate()
        for side in ("src", "tgt"):
            pad, vocabulary = f"{side}_pad_id", f"{side}_vocab_size"
            if getattr(self, pad) >= getattr(self, vocabulary):
                raise ValueError(
                    f"{pad} must be below {vocabulary} = "
                    f"{getattr(self, vocabulary)}, got {getattr(self, pad)}"
                )
        source = (self.src_vocab_size, self.src_pad_id)
        target = (self.tgt_vocab_size, self.tgt_pad_id)
        if self.tie_source and source != target:
            raise ValueError(
                "tie_source needs one vocabulary and one padding id, got "
                f"(vocab_size, pad_id) = {source} and {target}; "
                "tie_source=False keeps two embeddings"
            )
        if self.embedding_scale == "logits" and not self.tie_output:
            raise ValueError(
                "embedding_scale='logits' needs tie_output: it moves the "
                "factor of the shared table; got tie_output=False"
            )
        if (self.positions == "learned") != (self.max_len is not None):
            raise ValueError(
                "max_len must be given with learned positions, and only "
                f"then; got positions={self.positions!r} and "
                f"max_len={self.max_len}"
            )

    @property
    def has_final_norm(self) -> bool:
        """Whether there is a layer normalisation after each stack."""
        return self.norm_first if self.final_norm is None else self.final_norm

    @classmethod
    def numerals(cls, **changes) -> Self:
        """The translator of chapter 9: two embeddings, no dropout."""
        sizes = {"src_vocab_size": 18, "tgt_vocab_size": 35}
        sizes |= {"d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 128}
        return cls(**(sizes | {"tie_source": False, "dropout": 0.0} | changes))

    @classmethod
    def base(cls, **changes) -> Self:
        """The base model with the article's vocabulary of 37,000.

        Deviates: A layer normalisation before each stack, as in a widely read
        port: 63,047,680 parameters. ``embedding_norm=False`` leaves out the
        2,048 of these norms, as the paper does.
        """
        sizes = {
            "src_vocab_size": 37_000,
            "tgt_vocab_size": 37_000,
            "embedding_norm": True,
        }
        return cls(**(sizes | changes))

    @classmethod
    def big(cls, **changes) -> Self:
        """The big model: 214,175,744 parameters; for the rest see `base`."""
        sizes = {
            "d_model": 1024,
            "num_heads": 16,
            "d_ff": 4096,
            "dropout": 0.3,
        }
        return cls.base(**(sizes | changes))


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained: AdamW with a one-cycle learning rate.

    Attributes:
        num_epochs: Passes over the training data.
        learning_rate: The highest learning rate, reached after the warm-up.
        warmup: Fraction of the steps in which the learning rate rises, in
            (0, 1). Where that is one step or less, there is no warm-up.
        weight_decay: Decoupled decay of the weights of linear layers and
            convolutions; see `decay_all`.
        label_smoothing: Fraction of the target distributed over all classes,
            in [0, 1).
        max_grad_norm: Longer gradients are shortened to this length.
        pad_id: Positions with this target are padding and do not count; None
            means that all count.
        accumulation: Micro-batches into which each batch is cut, in each
            process. Gradients, steps and losses stay those of the whole batch,
            up to rounding and to random draws; the memory for activations is
            that of one micro-batch.
        precision: Type of number in which outputs are computed, by
            `torch.autocast`: "float32" or "bfloat16". Weights, gradients,
            the optimiser and the loss stay in the dtype of the weights.
        decay_all: Let every parameter decay. If not, these are spared: biases
            and norms, that is, all with fewer than two axes; learned tokens
            and positions, known by their names; embedding tables, even where
            they serve as the output projection.
        layer_decay: Factor on the learning rate from each layer to the one
            below it, in (0, 1], for fine-tuning: see `parameter_groups`.

    Raises:
        TypeError: A field has the wrong type.
        ValueError: A field is outside its range.

    Source: Loshchilov & Hutter 2019 (AdamW); Smith & Topin 2018 (one cycle).
    Deviates: AdamW's paper decays every parameter, which `decay_all` does;
        without it, we spare what timm spares, and the embeddings as well, as
        in the code of ViT's authors (big_vision). The schedule is PyTorch's
        `OneCycleLR`: half a cosine wave each way, from 1/25 of the highest
        rate and down to 1/10,000 of that; while the rate rises, beta1 of AdamW
        falls from 0.95 to 0.85, and it rises again while the rate falls. ViT's
        authors warm up linearly and leave beta1 alone.
    Derived in: 14-training-a-vit
    """

    num_epochs: int = size()
    learning_rate: float = number(1e-3, above=0)
    warmup: float = number(0.2, above=0, below=1)
    weight_decay: float = number(0.05, at_least=0)
    label_smoothing: float = rate(0.0)
    max_grad_norm: float = number(1.0, above=0)
    pad_id: int | None = count(None)
    accumulation: int = size(1)
    precision: Literal["float32", "bfloat16"] = "float32"
    decay_all: bool = False
    layer_decay: float = number(1.0, above=0)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.layer_decay > 1:
            raise ValueError(
                f"layer_decay must be at most 1, got {self.layer_decay}"
            )

    @classmethod
    def digits(cls, **changes) -> Self:
        """The recipe of chapter 14; chosen on validation images only.

        Every parameter decays, because the stored results were computed so.
        """
        recipe = {
            "num_epochs": 28,
            "learning_rate": 4e-3,
            "weight_decay": 0.2,
            "label_smoothing": 0.05,
            "decay_all": True,
        }
        return cls(**(recipe | changes))

    @classmethod
    def numerals(cls, **changes) -> Self:
        """The recipe of chapter 9, for batches of 64 of 5,000 pairs.

        Every parameter decays, because the stored results were computed so.
        """
        recipe = {
            "num_epochs": 20,
            "learning_rate": 3e-3,
            "warmup": 0.1,
            "weight_decay": 0.01,
            "pad_id": 0,
            "decay_all": True,
        }
        return cls(**(recipe | changes))
