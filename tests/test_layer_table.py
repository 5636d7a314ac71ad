"""The printed layer table: row by row, its totals, and what it misses."""

from collections import Counter

import pytest
import torch
from configs import vit_configs
from helpers import PROPERTY, refuses
from hypothesis import given
from torch import nn
from usual_vit import UsualViT

from vitedu.analysis.layer_table import (
    called_layers,
    layer_table,
)
from vitedu.config import ViTConfig

B32 = layer_table(ViTConfig.b32(num_classes=5))


def images_for(config):
    return torch.zeros(1, config.num_channels, *config.image_shape)


@PROPERTY
@given(vit_configs())
def test_the_table_is_that_of_a_model_that_runs(config):
    model = UsualViT(config)
    assert layer_table(config) == called_layers(model, images_for(config))


def test_stochastic_depth_has_rows_of_its_own():
    config = ViTConfig.digits(drop_path=0.1)
    rows = layer_table(config)
    assert rows == called_layers(UsualViT(config), images_for(config))
    kinds = Counter(row.name.split("-")[0] for row in rows)
    # The rate of the first block is zero.
    assert (kinds["DropPath"], kinds["Identity"]) == (2 * 3, 2 + 2)


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


def test_a_module_that_is_called_twice_counts_twice():
    linear = nn.Linear(5, 5)
    rows = called_layers(
        nn.Sequential(linear, nn.ReLU(), linear), torch.ones(2, 5)
    )
    assert rows == [
        ("Linear-1", (5,), 30),
        ("ReLU-2", (5,), 0),
        ("Linear-3", (5,), 30),
    ]


def test_nothing_stays_on_the_model():
    model = nn.Sequential(nn.Linear(5, 7))
    called_layers(model, torch.ones(2, 5))
    with pytest.raises(RuntimeError):
        called_layers(model, torch.ones(2, 3))
    assert not model[0]._forward_hooks


def test_modules_that_return_no_tensor_are_refused():
    model = nn.Sequential(nn.GRU(3, 5))
    with refuses(TypeError, "that return a tensor, GRU returned tuple"):
        called_layers(model, torch.ones(2, 7, 3))
