"""Configs: frozen, checked when made, presets as published."""

from dataclasses import FrozenInstanceError, asdict

import pytest
from helpers import refuses

from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.layers import swiglu_width

# d_model, num_layers, num_heads, d_ff, patch_size
PUBLISHED = {
    "ti16": (192, 12, 3, 768, 16),
    "s16": (384, 12, 6, 1536, 16),
    "b16": (768, 12, 12, 3072, 16),
    "b32": (768, 12, 12, 3072, 32),
    "l16": (1024, 24, 16, 4096, 16),
    "l32": (1024, 24, 16, 4096, 32),
    "h14": (1280, 32, 16, 5120, 14),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_presets_are_the_published_sizes(name):
    config = getattr(ViTConfig, name)()
    sizes = (
        config.d_model,
        config.num_layers,
        config.num_heads,
        config.d_ff,
        config.patch_size,
    )
    assert sizes == PUBLISHED[name]
    assert (config.image_size, config.num_classes) == (224, 1000)


def test_the_modern_preset_has_the_size_of_that_of_the_digits():
    modern, older = ViTConfig.modern(), ViTConfig.digits()
    same = ("image_size", "patch_size", "num_classes", "d_model", "num_layers")
    for name in (*same, "num_heads", "drop_path"):
        assert getattr(modern, name) == getattr(older, name)
    assert modern.d_ff == swiglu_width(older.d_ff)
    assert older.later_choices == []
    assert set(modern.later_choices) == {
        *("num_kv_heads", "activation", "ff_bias", "norm", "qk_norm"),
        "positions",
    }
    assert ViTConfig.modern(parallel=True).later_choices[-2] == "parallel"
    assert ViTConfig.modern(d_ff=31, num_registers=4).d_ff == 31


def test_a_misspelt_field_is_refused():
    with refuses(TypeError, "num_head"):
        ViTConfig.b16(num_head=3)


def test_configs_are_frozen_and_keyword_only():
    with pytest.raises(FrozenInstanceError):
        ViTConfig().d_model = 5
    with pytest.raises(FrozenInstanceError):
        TrainConfig(num_epochs=1).num_epochs = 2
    with pytest.raises(TypeError, match="positional"):
        TrainConfig(1)


def test_a_pair_may_come_as_a_list_and_is_a_pair_then():
    config = ViTConfig(image_size=[32, 48], patch_size=[8, 16])
    assert config == ViTConfig(image_size=(32, 48), patch_size=(8, 16))
    assert hash(config) == hash(ViTConfig(**asdict(config)))


B16, BASE = ViTConfig.b16, TransformerConfig.base


@pytest.mark.parametrize(
    ("make", "changes", "message"),
    [
        (B16, {"num_heads": 5}, "d_model must be divisible by num_heads"),
        (B16, {"num_kv_heads": 5}, "num_heads must be divisible by num_kv_"),
        (B16, {"image_size": (224, 225)}, "image_size must be divisible by"),
        (B16, {"distilled": True, "pool": "mean"}, "distilled needs pool="),
        (
            B16,
            {"distilled": True, "representation_size": 7},
            "representation_size must be None if distilled",
        ),
        (
            B16,
            {"any_image_size": True, "positions": "sinusoidal"},
            "positions must be 'learned', 'rotary' or 'none' with any_image_",
        ),
        (
            B16,
            {"positions": "rotary", "head_dim": 6},
            "positions must be others than 'rotary'",
        ),
        (B16, {"parallel": True, "norm_first": False}, "parallel needs norm"),
        (BASE, {"src_pad_id": 37_000}, "src_pad_id must be below src_vocab"),
        (BASE, {"tgt_pad_id": 1}, "tie_source needs one vocabulary and one"),
        (
            BASE,
            {"embedding_scale": "logits", "tie_output": False},
            "embedding_scale='logits' needs tie_output",
        ),
        (BASE, {"max_len": 5}, "max_len must be given with learned pos"),
        (BASE, {"positions": "learned"}, "max_len must be given with learn"),
    ],
)
def test_fields_that_do_not_fit_are_refused(make, changes, message):
    with refuses(ValueError, message):
        make(**changes)
