"""The Vision Transformer: its drop rates and its first weights."""

import math

import pytest
import torch
from helpers import draw

from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

CONFIG = {
    "image_size": 10,
    "patch_size": 5,
    "num_channels": 3,
    "num_classes": 11,
    "d_model": 14,
    "num_layers": 3,
    "num_heads": 2,
    "d_ff": 17,
    "position_std": 0.5,
}
IMAGES = draw(2, 3, 10, 10)


def make(**changes):
    """Make a model; its head would start at zero."""
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig(**(CONFIG | changes))).double()
    torch.nn.init.normal_(model.head.weight)
    return model


def test_every_rate_reaches_its_layers():
    model = make(
        dropout=0.3,
        attention_dropout=0.2,
        activation_dropout=0.1,
        embedding_dropout=0.4,
        drop_path=0.5,
    )
    rates = [
        (name, module.p)
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Dropout)
    ]
    of_a_block = {"attn.proj_drop": 0.3, "mlp.drop1": 0.1, "mlp.drop2": 0.3}
    assert rates == [("pos_drop", 0.4)] + [
        (f"blocks.{i}.{name}", rate)
        for i in range(3)
        for name, rate in of_a_block.items()
    ]
    assert {block.attn.attention_dropout for block in model.blocks} == {0.2}
    depth = [block.drop_path.rate for block in model.blocks]
    assert depth == pytest.approx([0.0, 0.25, 0.5])


def test_choices_that_no_count_shows_reach_their_layers():
    choices = {"scale": 0.7, "norm_first": False, "patch_method": "linear"}
    model = make(patch_norm=True, layer_norm_eps=0.1, **choices)
    assert model.patch_embed.method == "linear"
    for block in model.blocks:
        assert (block.attn.scale, block.norm_first) == (0.7, False)
    norms = [m for m in model.modules() if isinstance(m, torch.nn.LayerNorm)]
    assert [norm.eps for norm in norms] == [0.1] * 8


# Standard deviation and largest absolute value of a linear map from 192 to
# 768 features, and the former of the map of the patches, of 768 values.
# PyTorch draws uniformly up to one by the root of the width.
STARTS = {
    "xavier": (math.sqrt(2 / 960), math.sqrt(6 / 960), math.sqrt(1 / 768)),
    "truncated_normal": (0.02, 0.1, math.sqrt(1 / 3 / 768)),
    "pytorch": (math.sqrt(1 / 576), math.sqrt(1 / 192), math.sqrt(1 / 2304)),
}


@pytest.mark.parametrize("weights_init", STARTS)
def test_initial_weights(weights_init):
    torch.manual_seed(0)
    model = VisionTransformer(
        ViTConfig.ti16(
            num_layers=1,
            num_classes=7,
            distilled=True,
            position_std=0.5,
            class_token_std=0.3,
            weights_init=weights_init,
            num_registers=4,
            layer_scale=0.1,
        )
    )
    fc1, patch = model.blocks[0].mlp.fc1, model.patch_embed.proj
    std, largest, of_patches = STARTS[weights_init]
    assert fc1.weight.std().item() == pytest.approx(std, rel=0.01)
    assert 0.9 * largest < fc1.weight.abs().max() <= largest
    assert patch.weight.std().item() == pytest.approx(of_patches, rel=0.01)
    zero = weights_init != "pytorch"
    for bias in (fc1.bias, model.blocks[0].attn.qkv.bias):
        assert (bias == 0).all() == zero
    assert (patch.bias == 0).all() == (weights_init == "xavier")
    for head in (model.head, model.head_dist):
        assert (head.weight == 0).all() == zero
        assert (head.bias == 0).all() == zero
    for token in (model.cls_token, model.dist_token):
        assert token.std().item() == pytest.approx(0.3, rel=0.1)
    assert model.pos_embed.weight.std().item() == pytest.approx(0.5, rel=0.02)
    for block in model.blocks:
        assert (block.ls1.gamma == 0.1).all()
        assert (block.ls2.gamma == 0.1).all()
    # Registers that start alike would stay alike.
    assert model.reg_token.std().item() == pytest.approx(0.02, rel=0.1)
    assert model.no_weight_decay() == {
        *("cls_token", "dist_token", "reg_token", "pos_embed.weight")
    }
    default = VisionTransformer(ViTConfig(**CONFIG))
    assert (default.cls_token == 0).all()
