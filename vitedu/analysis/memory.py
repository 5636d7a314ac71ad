"""How many bytes a Vision Transformer keeps in training, from its config.

Numbers in single precision take four bytes each.
"""

from collections import Counter

from vitedu import require
from vitedu.analysis.counting import head_widths, parameter_counts
from vitedu.config import BlockConfig, TransformerConfig, ViTConfig

_FLOAT = 4


def attention_map_bytes(
    num_heads: int, num_tokens: int, *, batch_size: int = 1
) -> int:
    """Return the size of one layer's attention weights.

    A fused kernel never stores them; attention that is written out does.

    Args:
        num_heads: Heads of the layer.
        num_tokens: Length of the sequence.
        batch_size: Number of sequences.

    Raises:
        TypeError, ValueError: A number is not an integer of at least 1.

    Derived in: 15-counting

    >>> round(attention_map_bytes(12, 197) / 1024**2, 2)
    1.78
    """
    require.positive_int("num_heads", num_heads)
    require.positive_int("num_tokens", num_tokens)
    require.positive_int("batch_size", batch_size)
    return batch_size * num_heads * num_tokens**2 * _FLOAT


def training_state_bytes(
    config: ViTConfig | TransformerConfig,
) -> dict[str, int]:
    """Return the bytes of a model that do not depend on the batch.

    Adam remembers two running means for each parameter, so everything but the
    parameters themselves takes three times their size.

    Args:
        config: The model.

    Returns:
        "parameters", "gradients" and "adam"; Adam's step counters, one number
        per tensor, are left out.

    Raises:
        TypeError: `config` is not the config of a model.

    Derived in: 15-counting

    >>> training_state_bytes(ViTConfig.digits())["adam"]
    1089104
    """
    size = _FLOAT * sum(parameter_counts(config).values())
    return {"parameters": size, "gradients": size, "adam": 2 * size}


def kv_cache_bytes(
    config: BlockConfig,
    num_tokens: int,
    *,
    batch_size: int = 1,
    number_bytes: int = 4,
) -> int:
    """Return the bytes of the keys and values that decoding keeps.

    They are those of self-attention, in all layers. With fewer KV heads there
    are fewer of them; the queries are not kept.

    Args:
        config: The model.
        num_tokens: Tokens so far.
        batch_size: Number of sequences.
        number_bytes: Bytes per number: 4 in single precision, 2 in half.

    Raises:
        TypeError, ValueError: `config` is not the config of a model, or a
            number is not an integer of at least 1.

    Source: Shazeer 2019, section 3.1; Ainslie et al. 2023, section 2.2.

    >>> sizes = {"d_model": 4096, "num_layers": 32, "num_heads": 32}
    >>> for heads in (None, 8, 1):
    ...     config = BlockConfig(**sizes, num_kv_heads=heads)
    ...     print(kv_cache_bytes(config, 4096, number_bytes=2) // 2**20)
    2048
    512
    64
    """
    require.instance("config", config, BlockConfig)
    require.positive_int("num_tokens", num_tokens)
    require.positive_int("batch_size", batch_size)
    require.positive_int("number_bytes", number_bytes)
    numbers = config.num_layers * sum(config.qkv_widths[1:])
    return batch_size * num_tokens * numbers * number_bytes


def activation_bytes(
    config: ViTConfig, *, batch_size: int = 1, fused: bool = False
) -> dict[str, int]:
    """Count what a forward pass in training keeps for the backward pass.

    A linear map keeps its input, a normalisation its input and two numbers
    per token, GELU its input, ReLU its output, dropout a factor per number.
    Sums and concatenations keep nothing. What two operations both keep counts
    once. Parameters are not counted.

    Args:
        config: The model.
        batch_size: Number of images.
        fused: How attention is computed. False: written out, as this library
            does on a CPU for up to 362 tokens; the weights of every layer are
            kept. True: by PyTorch's fused kernel for the CPU, which keeps one
            number per query instead.

    Returns:
        Part -> bytes, zero where nothing is kept. "images" is the input;
        "attention" and "feed_forward" also hold their inputs; "attention_maps"
        are the weights; "norms" and "layer_scale" hold what enters them.

    Raises:
        TypeError: `config` is not a ViTConfig, or `fused` is not a bool.
        ValueError: `batch_size` is below 1; a config that asks for what came
            after the ViT of 2021, which was not measured; `fused` with
            dropout on the attention weights, which the kernel cannot do;
            values whose width differs from that of the keys, where the copies
            depend on the batch.

    Deviates: Measured with PyTorch 2.13 on a CPU; other kernels keep other
        copies.
    Derived in: 15-counting

    >>> config = ViTConfig.b16()
    >>> kept = activation_bytes(config), activation_bytes(config, fused=True)
    >>> [round(sum(parts.values()) / 1024**2, 1) for parts in kept]
    [140.8, 112.7]
    """
    _check(config, batch_size, fused)
    length = config.num_prefix_tokens + config.num_patches
    tokens = batch_size * length
    numbers = Counter(_embedding(config, batch_size, tokens))
    for _ in range(config.num_layers):
        numbers.update(_attention(config, batch_size, length, fused))
        numbers.update(_feed_forward(config, tokens))
        numbers.update(_factors(config, tokens))
    numbers.update(_after_the_blocks(config, batch_size, tokens))
    # Stochastic depth keeps one factor per branch and image.
    skipped = sum(rate > 0 for rate in config.drop_path_rates)
    numbers["dropout"] += 2 * batch_size * skipped
    return {part: _FLOAT * count for part, count in numbers.items()}


def _check(config: ViTConfig, batch_size: int, fused: bool) -> None:
    if not isinstance(config, ViTConfig):
        raise TypeError(
            f"config must be a ViTConfig, got {type(config).__name__}"
        )
    require.positive_int("batch_size", batch_size)
    require.boolean("fused", fused)
    if config.later_choices:
        raise ValueError(
            "config must be of the layout of 2021, got others in "
            f"{', '.join(config.later_choices)}"
        )
    if fused and config.attention_dropout > 0:
        raise ValueError(
            "fused must be False with dropout on the attention weights, got "
            f"True and attention_dropout={config.attention_dropout}"
        )
    head_dim, value_dim = head_widths(config)
    if head_dim != value_dim:
        raise ValueError(
            f"value_dim must be head_dim, {head_dim}, got {value_dim}"
        )


def _embedding(
    config: ViTConfig, batch_size: int, tokens: int
) -> dict[str, int]:
    height, width = config.image_shape
    patches = batch_size * config.num_patches
    return {
        "images": batch_size * config.num_channels * height * width,
        "norms": config.patch_norm * patches * (config.d_model + 2),
        "dropout": (config.first_dropout > 0) * tokens * config.d_model,
    }


def _attention(
    config: ViTConfig, batch_size: int, length: int, fused: bool
) -> dict[str, int]:
    inner = config.num_heads * head_widths(config)[0]
    # What enters, then q, k and v, then what the output projection reads.
    per_token = config.d_model + 4 * inner
    maps = 0
    if fused:
        # Each query's sum of exponentials.
        per_token += config.num_heads
    else:
        # The product of matrices takes a batch of them, which q, k and v of
        # one image or of one head are as they lie, and the others are once
        # copied. As they lie, the scaled queries come on top.
        as_they_lie = batch_size == 1 or config.num_heads == 1
        per_token += as_they_lie * inner
        # With dropout: the weights, the factors and their product.
        copies = 3 if config.attention_dropout > 0 else 1
        maps = copies * batch_size * config.num_heads * length**2
    tokens = batch_size * length
    return {
        "attention": tokens * per_token,
        "attention_maps": maps,
        "norms": tokens * (config.d_model + 2),
        "dropout": (config.dropout > 0) * tokens * config.d_model,
    }


def _feed_forward(config: ViTConfig, tokens: int) -> dict[str, int]:
    rate = config.activation_dropout
    dropped = (config.dropout if rate is None else rate) > 0
    # GELU keeps its input, ReLU its output, the second map its own input:
    # that is ReLU's output if there is no dropout between the two.
    hidden = 2 if config.activation == "gelu" or dropped else 1
    factors = (config.dropout > 0) * config.d_model + dropped * config.d_ff
    return {
        "feed_forward": tokens * (config.d_model + hidden * config.d_ff),
        "norms": tokens * (config.d_model + 2),
        "dropout": tokens * factors,
    }


def _factors(config: ViTConfig, tokens: int) -> dict[str, int]:
    """Count the outputs of both branches, kept for LayerScale's factors."""
    is_scaled = config.layer_scale is not None
    return {"layer_scale": is_scaled * 2 * tokens * config.d_model}


def _after_the_blocks(
    config: ViTConfig, batch_size: int, tokens: int
) -> dict[str, int]:
    heads = batch_size * (1 + config.distilled)
    features = config.representation_size or 0
    # One token of a tensor keeps the whole tensor alive.
    pooled = (tokens if config.pool == "class_token" else heads) * (
        config.d_model
    )
    if config.pool_norm == "before":
        norms, read = tokens * (config.d_model + 2), pooled
    else:
        norms, read = pooled + 2 * heads, heads * config.d_model
    is_read = config.num_classes > 0 or features > 0
    return {"norms": norms, "head": is_read * read + batch_size * features}
