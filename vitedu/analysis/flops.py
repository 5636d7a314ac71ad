"""How many floating-point operations a model takes, from its config alone.

A multiply-add counts as two operations. Only matrix products count: what else
there is (softmax, normalisations, sums) takes time, but few operations.
"""

from vitedu import require
from vitedu.analysis.counting import head_widths
from vitedu.config import BlockConfig, TransformerConfig, ViTConfig


def vit_flops(config: ViTConfig, *, batch_size: int = 1) -> dict[str, int]:
    """Count the operations of a Vision Transformer's forward pass.

    The number of heads has no influence as long as they divide d_model among
    them.

    Args:
        config: The model.
        batch_size: Number of images.

    Returns:
        Part -> floating-point operations. "attention_projections" make the
        queries, keys and values and join the heads; "attention_products",
        queries with keys and weights with values, grow with the square of
        the number of tokens.

    Raises:
        TypeError, ValueError: `config` is not a ViTConfig, or `batch_size` is
            not an integer of at least 1.

    Derived in: 15-counting

    >>> round(sum(vit_flops(ViTConfig.b16()).values()) / 1e9, 2)
    35.13
    """
    _require_config(config, ViTConfig)
    require.positive_int("batch_size", batch_size)
    length = config.num_prefix_tokens + config.num_patches
    height, width = config.patch_shape
    pixels = config.num_channels * height * width
    features = config.representation_size
    read = (1 + config.distilled) * (features or config.d_model)
    layer = {
        "attention_projections": length * _four_maps(config),
        "attention_products": length**2 * _of_pair(config),
        "feed_forward": length * _of_feed_forward(config),
    }
    products = {
        "patch_embed": config.num_patches * pixels * config.d_model,
        **{part: config.num_layers * n for part, n in layer.items()},
        "pre_logits": config.d_model * (features or 0),
        "head": read * config.num_classes,
    }
    return _operations(products, batch_size)


def transformer_flops(
    config: TransformerConfig,
    src_len: int,
    tgt_len: int,
    *,
    batch_size: int = 1,
) -> dict[str, int]:
    """Count the operations of a Transformer's forward pass.

    Padding and masked positions cost as much as any others, because they are
    computed and thrown away. Looking up an embedding is not a product and
    costs nothing.

    Args:
        config: The model.
        src_len: Tokens of a source sentence, padding included.
        tgt_len: Tokens of a target sentence, padding included.
        batch_size: Number of sentence pairs.

    Returns:
        Part -> floating-point operations; "projections" and "products" as
        for `vit_flops`, for the encoder, the decoder and the cross-attention
        between them.

    Raises:
        TypeError, ValueError: `config` is not a TransformerConfig, or a number
            is not an integer of at least 1.

    >>> flops = transformer_flops(TransformerConfig.base(), 64, 48)
    >>> sum(flops.values())
    6867517440
    """
    _require_config(config, TransformerConfig)
    require.positive_int("src_len", src_len)
    require.positive_int("tgt_len", tgt_len)
    require.positive_int("batch_size", batch_size)
    maps, pair = _two_maps(config), _of_pair(config)
    keys = _of_keys_and_values(config)
    feed_forward = _of_feed_forward(config)
    layer = {
        "encoder_projections": src_len * (maps + keys),
        "encoder_products": src_len**2 * pair,
        "encoder_feed_forward": src_len * feed_forward,
        "decoder_projections": tgt_len * (maps + keys),
        "decoder_products": tgt_len**2 * pair,
        "cross_projections": tgt_len * maps + src_len * keys,
        "cross_products": tgt_len * src_len * pair,
        "decoder_feed_forward": tgt_len * feed_forward,
    }
    products = {
        **{part: config.num_layers * n for part, n in layer.items()},
        "generator": tgt_len * config.d_model * config.tgt_vocab_size,
    }
    return _operations(products, batch_size)


def cached_step_flops(
    config: TransformerConfig,
    src_len: int,
    tgt_len: int,
    *,
    batch_size: int = 1,
) -> dict[str, int]:
    """Count the operations of decoding one more token with a cache.

    The encoder has run by then, and the first step has projected the keys and
    values of the source for all steps. From step to step, only one row of
    attention becomes longer.

    Args:
        config: The model.
        src_len: Tokens of a source sentence, padding included.
        tgt_len: Target tokens with the new one, at least 2: the keys that it
            sees.
        batch_size: Number of hypotheses.

    Returns:
        Part -> floating-point operations, named as by `transformer_flops`.

    Raises:
        TypeError, ValueError: `config` is not a TransformerConfig, or a number
            is too small or not an integer.
    """
    _require_config(config, TransformerConfig)
    require.positive_int("src_len", src_len)
    require.integer("tgt_len", tgt_len, at_least=2)
    require.positive_int("batch_size", batch_size)
    layer = {
        "decoder_projections": _four_maps(config),
        "decoder_products": tgt_len * _of_pair(config),
        "cross_projections": _two_maps(config),
        "cross_products": src_len * _of_pair(config),
        "decoder_feed_forward": _of_feed_forward(config),
    }
    products = {
        **{part: config.num_layers * n for part, n in layer.items()},
        "generator": config.d_model * config.tgt_vocab_size,
    }
    return _operations(products, batch_size)


def training_flops(forward: dict[str, int]) -> dict[str, int]:
    """Count the operations of a forward and a backward pass.

    A product has two factors, and the gradient of each costs as much as the
    product, so the total is three times the forward pass. The pixels of an
    image need no gradient, so the patch embedding costs only twice its forward
    pass.

    Args:
        forward: What `vit_flops` or `transformer_flops` returns.

    Returns:
        Part -> floating-point operations of a training step, the optimiser
        aside.

    Raises:
        TypeError, ValueError: `forward` is not a dict of counts.

    Deviates: A kernel that does not keep the attention weights multiplies
        queries by keys once more in the backward pass; that is left out.
    Derived in: 15-counting

    >>> training_flops({"patch_embed": 10, "head": 5})
    {'patch_embed': 20, 'head': 15}
    """
    _require_counts("forward", forward)
    return {
        part: (2 if part == "patch_embed" else 3) * count
        for part, count in forward.items()
    }


def pretraining_exaflops(
    config: ViTConfig, *, num_epochs: int, num_images: int
) -> float:
    """Estimate what a whole training run takes, in 10**18 operations.

    Args:
        config: The model.
        num_epochs: How often each image is seen.
        num_images: Images of the data set.

    Raises:
        TypeError, ValueError: `config` is not a ViTConfig, or a number is not
            an integer of at least 1.

    Source: Dosovitskiy et al. 2021, table 6, whose numbers this reproduces
        with the 303 million images of their data set.
    Deviates: Three forward passes per image, the usual estimate. The exact
        `training_flops` are lower by the gradient of the pixels, 0.9% for B/32
        and less for the others.
    Derived in: 15-counting

    >>> exaflops = pretraining_exaflops(
    ...     ViTConfig.b16(), num_epochs=7, num_images=303_000_000
    ... )
    >>> round(exaflops, 1)
    223.5
    """
    require.positive_int("num_epochs", num_epochs)
    require.positive_int("num_images", num_images)
    forward = sum(vit_flops(config).values())
    return 3 * forward * num_epochs * num_images / 1e18


def quadratic_share(flops: dict[str, int]) -> float:
    """Return the fraction of operations that grows with the squared length.

    Args:
        flops: What one of the functions above returns.

    Returns:
        The parts named "..._products" over the sum, in [0, 1].

    Raises:
        TypeError, ValueError: `flops` is not a dict of counts, or all are 0.

    >>> round(quadratic_share(vit_flops(ViTConfig.b16())), 4)
    0.0407
    """
    _require_counts("flops", flops)
    products = [n for part, n in flops.items() if part.endswith("_products")]
    return sum(products) / sum(flops.values())


def crossover_length(config: BlockConfig) -> float:
    """Return how many tokens make half of an encoder block's FLOPs quadratic.

    With fewer tokens the projections and the feed-forward network cost more,
    with more tokens the attention between them.

    Args:
        config: The model.

    Returns:
        6 * d_model where d_ff is 4 * d_model and the heads divide d_model
        among them.

    Raises:
        TypeError: `config` is not the config of a model.

    >>> crossover_length(ViTConfig.b16())
    4608.0
    """
    _require_config(config, BlockConfig)
    linear = _four_maps(config) + _of_feed_forward(config)
    return linear / _of_pair(config)


def _two_maps(config: BlockConfig) -> int:
    """Multiply-adds of a token in W_q and the output projection."""
    return config.d_model * _of_pair(config)


def _of_keys_and_values(config: BlockConfig) -> int:
    """Multiply-adds of a token in W_k and W_v.

    As many as in the other two, unless heads share keys and values; in
    cross-attention other tokens enter them.
    """
    return config.d_model * sum(config.qkv_widths[1:])


def _four_maps(config: BlockConfig) -> int:
    return _two_maps(config) + _of_keys_and_values(config)


def _of_pair(config: BlockConfig) -> int:
    """Multiply-adds of a query and a key, and of a weight and a value."""
    return config.num_heads * sum(head_widths(config))


def _of_feed_forward(config: BlockConfig) -> int:
    matrices = 3 if config.activation == "swiglu" else 2
    return matrices * config.d_model * config.d_ff


def _operations(products: dict[str, int], batch_size: int) -> dict[str, int]:
    return {part: 2 * batch_size * count for part, count in products.items()}


def _require_config(config: BlockConfig, kind: type) -> None:
    if not isinstance(config, kind):
        raise TypeError(
            f"config must be a {kind.__name__}, got {type(config).__name__}"
        )


def _require_counts(name: str, counts: dict[str, int]) -> None:
    if not isinstance(counts, dict):
        raise TypeError(
            f"{name} must map parts to counts, got {type(counts).__name__}"
        )
    for part, count in counts.items():
        require.integer(f"{name}[{part!r}]", count, at_least=0)
    if not any(counts.values()):
        raise ValueError(f"{name} must count something, got {counts}")
