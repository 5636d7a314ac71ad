"""The printed layer table: row by row, its totals, and what it misses."""

import torch
from configs import vit_configs
from helpers import PROPERTY
from hypothesis import given
from usual_vit import UsualViT

from vitedu.analysis.layer_table import called_layers, layer_table
from vitedu.config import ViTConfig

B32 = layer_table(ViTConfig.b32(num_classes=5))


def images_for(config):
    return torch.zeros(1, config.num_channels, *config.image_shape)


@PROPERTY
@given(vit_configs())
def test_the_table_is_that_of_a_model_that_runs(config):
    model = UsualViT(config)
    assert layer_table(config) == called_layers(model, images_for(config))


def test_the_rows_of_base_32():
    tokens, block = (50, 768), B32[4:20]
    assert B32[:4] == [
        ("Conv2d-1", (768, 7, 7), 2_360_064),
        ("Identity-2", (49, 768), 0),
        ("PatchEmbed-3", (49, 768), 0),
        ("Dropout-4", tokens, 0),
    ]
    assert block == [
        ("LayerNorm-5", tokens, 1_536),
        ("Linear-6", (50, 2304), 1_771_776),
        ("Dropout-7", (12, 50, 50), 0),
        ("Linear-8", tokens, 590_592),
        ("Dropout-9", tokens, 0),
        ("Attention-10", tokens, 0),
        ("Identity-11", tokens, 0),
        ("LayerNorm-12", tokens, 1_536),
        ("Linear-13", (50, 3072), 2_362_368),
        ("GELU-14", (50, 3072), 0),
        ("Dropout-15", (50, 3072), 0),
        ("Linear-16", tokens, 2_360_064),
        ("Dropout-17", tokens, 0),
        ("Mlp-18", tokens, 0),
        ("Identity-19", tokens, 0),
        ("Block-20", tokens, 0),
    ]
    for i in range(12):
        same = B32[4 + 16 * i : 20 + 16 * i]
        assert [row[1:] for row in same] == [row[1:] for row in block]
    assert B32[196:] == [
        ("LayerNorm-197", tokens, 1_536),
        ("Identity-198", (768,), 0),
        ("Linear-199", (5,), 3_845),
    ]
