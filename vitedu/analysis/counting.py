"""How many parameters a model has, part by part, from its config alone."""

from vitedu.config import BlockConfig, TransformerConfig, ViTConfig


def parameter_counts(config: ViTConfig | TransformerConfig) -> dict[str, int]:
    """Count the trainable numbers of a model.

    Args:
        config: The model. It need not be built for this.

    Returns:
        Part -> parameters, zero where the model lacks the part. The sum equals
        that of the built model. A table that two parts share counts once,
        where it first appears.

    Raises:
        TypeError: `config` is neither of the two kinds.

    Source: Dosovitskiy et al. 2021, table 1, and Vaswani et al. 2017, table
        3, give the sums, rounded to millions.
    Derived in: 15-counting

    >>> counts = parameter_counts(ViTConfig.b16())
    >>> counts["cls_token"], counts["pos_embed"], counts["head"]
    (768, 151296, 769000)
    >>> sum(counts.values())
    86567656
    """
    if isinstance(config, ViTConfig):
        return _vit(config)
    if isinstance(config, TransformerConfig):
        return _transformer(config)
    raise TypeError(
        "config must be a ViTConfig or a TransformerConfig, "
        f"got {type(config).__name__}"
    )


def head_widths(config: BlockConfig) -> tuple[int, int]:
    """Return (head_dim, value_dim), with None replaced by what it means.

    Raises:
        TypeError: `config` is not the config of a model.

    >>> head_widths(ViTConfig.h14())
    (80, 80)
    """
    if not isinstance(config, BlockConfig):
        raise TypeError(
            f"config must be a BlockConfig, got {type(config).__name__}"
        )
    return config.head_widths


def _vit(config: ViTConfig) -> dict[str, int]:
    width, layers = config.d_model, config.num_layers
    height, columns = config.patch_shape
    pixels = config.num_channels * height * columns
    positions = config.num_placed_tokens + config.num_patches
    features = config.representation_size
    heads = 1 + config.distilled
    return {
        "patch_embed": _linear(pixels, width) + 2 * width * config.patch_norm,
        "cls_token": width * (config.pool != "mean"),
        "dist_token": width * config.distilled,
        "reg_token": width * config.num_registers,
        "pos_embed": positions * width * (config.positions == "learned"),
        "attention": layers * _attention(config),
        "feed_forward": layers * _feed_forward(config),
        "norms": (layers * (2 - config.parallel) + 1) * _norm(config)
        + layers * _query_key_norms(config),
        "layer_scale": 2 * layers * width * (config.layer_scale is not None),
        "pre_logits": 0 if features is None else _linear(width, features),
        "head": heads * _linear(features or width, config.num_classes),
    }


def _transformer(config: TransformerConfig) -> dict[str, int]:
    width, layers = config.d_model, config.num_layers
    source = config.src_vocab_size * width
    target = config.tgt_vocab_size * width
    positions = 2 * width * (config.max_len or 0)
    # Of each stack: one before it, one after it.
    around = 2 * (config.embedding_norm + config.has_final_norm)
    of_attentions = 3 * layers * _query_key_norms(config)
    return {
        "src_embed": source,
        "tgt_embed": 0 if config.tie_source else target,
        "positions": positions,
        "encoder_attention": layers * _attention(config),
        "encoder_feed_forward": layers * _feed_forward(config),
        "decoder_attention": layers * _attention(config),
        "cross_attention": layers * _attention(config),
        "decoder_feed_forward": layers * _feed_forward(config),
        "norms": (5 * layers + around) * _norm(config) + of_attentions,
        "generator": 0 if config.tie_output else target,
    }


def _attention(config: BlockConfig) -> int:
    merged = config.num_heads * head_widths(config)[1]
    qkv = _linear(config.d_model, sum(config.qkv_widths), config.qkv_bias)
    return qkv + _linear(merged, config.d_model, config.proj_bias)


def _query_key_norms(config: BlockConfig) -> int:
    return 2 * head_widths(config)[0] * config.qk_norm


def _norm(config: BlockConfig) -> int:
    return config.d_model * (2 if config.norm == "layer" else 1)


def _feed_forward(config: BlockConfig) -> int:
    inner = (1 + (config.activation == "swiglu")) * config.d_ff
    first = _linear(config.d_model, inner, config.ff_bias)
    return first + _linear(config.d_ff, config.d_model, config.ff_bias)


def _linear(inputs: int, outputs: int, bias: bool = True) -> int:
    return inputs * outputs + bias * outputs
