"""Configs with every option, drawn for the tests that count."""

from collections import ChainMap

from hypothesis import strategies as st

from vitedu.config import TransformerConfig, ViTConfig

# Prime and pairwise different, so that no size can stand in for another.
OPTIONS = {
    "d_model": st.sampled_from([12, 24]),
    "num_layers": st.integers(1, 3),
    "num_heads": st.sampled_from([2, 3]),
    "head_dim": st.sampled_from([None, 5, 8]),
    "value_dim": st.sampled_from([None, 7, 8]),
    "d_ff": st.sampled_from([17, 31]),
    "activation": st.sampled_from(["gelu", "relu"]),
    "norm_first": st.booleans(),
    "qkv_bias": st.booleans(),
    "proj_bias": st.booleans(),
}
# What came after the ViT of 2021; some of what counts refuses it.
LATER = {
    "num_kv_heads": st.sampled_from([None, 1]),
    "activation": st.sampled_from(["gelu", "swiglu"]),
    "ff_bias": st.booleans(),
    "norm": st.sampled_from(["layer", "rms"]),
    "qk_norm": st.booleans(),
}
LATER_VIT = LATER | {
    "norm_first": st.just(True),
    "parallel": st.booleans(),
    "head_dim": st.just(8),
    "positions": st.sampled_from(["learned", "rotary"]),
}
VIT_OPTIONS = {
    "image_size": st.sampled_from([30, (15, 30), (10, 25)]),
    "patch_size": st.sampled_from([5, (5, 5)]),
    "num_channels": st.sampled_from([1, 3]),
    "num_classes": st.sampled_from([0, 11]),
    "patch_method": st.sampled_from(["convolution", "linear"]),
    "patch_norm": st.booleans(),
    "positions": st.sampled_from(["learned", "sinusoidal", "none"]),
    "pool_norm": st.sampled_from(["before", "after"]),
    "layer_scale": st.sampled_from([None, 0.1]),
    "num_registers": st.sampled_from([0, 4]),
}
HEADS = st.sampled_from(
    [
        {},
        {"distilled": True},
        {"representation_size": 13},
        *({"pool": pool} for pool in ("mean", "mean_patches", "mean_all")),
        {"pool": "mean", "representation_size": 13},
    ]
)
VOCABULARIES = st.sampled_from(
    [
        {"tie_source": True, "src_vocab_size": 37, "tgt_vocab_size": 37},
        {"tie_source": False, "src_vocab_size": 41, "tgt_vocab_size": 37},
    ]
)
POSITIONS = st.sampled_from(
    [
        {"positions": "sinusoidal"},
        {"positions": "learned", "max_len": 19},
        {"positions": "none"},
    ]
)
SCALES = st.sampled_from(
    [
        {"tie_output": True, "embedding_scale": "logits"},
        {"tie_output": True, "embedding_scale": "embedding"},
        {"tie_output": False, "embedding_scale": "none"},
    ]
)
TRANSFORMER_OPTIONS = {
    "embedding_norm": st.booleans(),
    "final_norm": st.sampled_from([None, True, False]),
}


def _joined(kind: type, *parts: st.SearchStrategy) -> st.SearchStrategy:
    return st.tuples(*parts).map(lambda fields: kind(**ChainMap(*fields)))


def vit_configs(**options: st.SearchStrategy) -> st.SearchStrategy[ViTConfig]:
    """Draw a ViT; `options` replace or add fields."""
    fields = st.fixed_dictionaries(OPTIONS | VIT_OPTIONS | options)
    return _joined(ViTConfig, fields, HEADS)


def transformer_configs(
    **options: st.SearchStrategy,
) -> st.SearchStrategy[TransformerConfig]:
    """Draw a Transformer; `options` replace or add fields."""
    fields = st.fixed_dictionaries(OPTIONS | TRANSFORMER_OPTIONS | options)
    return _joined(TransformerConfig, fields, VOCABULARIES, POSITIONS, SCALES)
