"""Looking inside: recorded attention and how far it reaches."""

import itertools
import math
from contextlib import suppress

import pytest
import torch
from helpers import assert_all_close, draw
from safetensors.torch import load_file, save_file

from vitedu.analysis.attention_maps import (
    attention_distance,
    attention_rollout,
    capture_attention,
    position_similarity,
)
from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

IMAGES = draw(2, 1, 6, 6)


def make(**changes):
    sizes = {
        "image_size": 6,
        "patch_size": 2,
        "num_channels": 1,
        "num_classes": 5,
        "d_model": 14,
        "num_layers": 3,
        "num_heads": 7,
        "d_ff": 11,
    }
    torch.manual_seed(0)
    return VisionTransformer(ViTConfig(**(sizes | changes))).double()


def test_capture_records_what_each_layer_uses_before_dropout():
    model = make(attention_dropout=0.9)
    with capture_attention(model) as maps:
        assert maps == {}
        model(IMAGES + 1)
        model(IMAGES)
    assert list(maps) == [f"blocks.{i}.attn" for i in range(3)]
    for weights in maps.values():
        assert not weights.requires_grad
        total = weights.sum(dim=-1)
        assert_all_close((total,), (torch.ones(2, 7, 10).double(),))
    block = model.blocks[0]
    x = block.norm1(model.embed(IMAGES))
    q, k, _ = block.attn.qkv(x).view(2, 10, 3, 7, 2).permute(2, 0, 3, 1, 4)
    expected = (q @ k.transpose(-2, -1) / 2**0.5).softmax(dim=-1)
    assert_all_close((maps["blocks.0.attn"],), (expected.detach(),))
    assert_all_close(
        (attention_rollout(maps),), (attention_rollout(list(maps.values())),)
    )


def test_nothing_stays_on_the_model():
    model = make()
    with capture_attention(model) as maps:
        pass
    model(IMAGES)
    assert maps == {}
    with suppress(RuntimeError), capture_attention(model) as maps:
        raise RuntimeError("stopped")
    model(IMAGES)
    assert maps == {}


def random_weights(rows, columns, prefix=0, seed=0):
    tokens = prefix + rows * columns
    return draw(2, 3, tokens, tokens, seed=seed).softmax(dim=-1)


@pytest.mark.parametrize("prefix", [0, 1, 2, 4])
def test_distance_by_loops(prefix):
    weights = random_weights(3, 5, prefix)
    centres = [(7 * r, 11 * c) for r in range(3) for c in range(5)]
    expected = torch.zeros(3).double()
    for head, image in itertools.product(range(3), range(2)):
        for i, a in enumerate(centres):
            row = weights[image, head, i + prefix, prefix:].tolist()
            gathered = zip(row, centres, strict=True)
            mean = sum(w * math.dist(a, b) for w, b in gathered) / sum(row)
            expected[head] += mean / (2 * 15)
    sides = {"grid_size": (3, 5), "patch_size": (7, 11)}
    found = attention_distance(weights, num_prefix_tokens=prefix, **sides)
    assert_all_close((found,), (expected,))
    if prefix < 3:
        found = attention_distance(weights[None], **sides)
        assert_all_close((found,), (expected,))


def test_the_last_layer_stands_in_front():
    maps = [random_weights(1, 5, seed=i) for i in range(3)]
    eye = torch.eye(5).double()
    a, b, c = (0.3 * eye + 0.7 * x.mean(dim=1) for x in maps)
    found = attention_rollout(maps, residual=0.3)
    assert_all_close((found,), (c @ b @ a,))


@pytest.mark.parametrize("shuffle", [sorted, reversed, list])
@pytest.mark.parametrize("name", ["blocks.{}.attn", "vit16.layer{}", "{}"])
def test_maps_of_a_file_are_put_in_order(tmp_path, name, shuffle):
    """safetensors lists names by the alphabet, and 10 comes before 2 there."""
    maps = [random_weights(1, 5, seed=i) for i in range(13)]
    named = {name.format(i): maps[i].contiguous() for i in range(13)}
    save_file(named, tmp_path / "maps.safetensors")
    again = load_file(tmp_path / "maps.safetensors")
    again = {key: again[key] for key in shuffle(list(again))}
    assert list(again) != list(named)
    found = attention_rollout(again)
    assert torch.equal(found, attention_rollout(maps))


@pytest.mark.parametrize("fusion", ["max", "min"])
def test_fused_heads_share_out_one_again(fusion):
    weights = random_weights(1, 5)
    fused = getattr(weights, f"a{fusion}")(dim=1)
    fused = fused / fused.sum(dim=-1, keepdim=True)
    found = attention_rollout([weights], residual=0.3, fusion=fusion)
    expected = 0.3 * torch.eye(5).double() + 0.7 * fused
    assert_all_close((found,), (expected,))


@pytest.mark.parametrize("prefix", [0, 2])
def test_similarity_by_loops(prefix):
    weight = draw(1, prefix + 15, 11).requires_grad_()
    found = position_similarity(
        weight, grid_size=(3, 5), num_prefix_tokens=prefix
    )
    assert not found.requires_grad
    alone = position_similarity(
        weight[0], grid_size=(3, 5), num_prefix_tokens=prefix
    )
    assert torch.equal(alone, found)
    patches = weight.detach()[0, prefix:].view(3, 5, 11)
    for i, j, k, m in torch.cartesian_prod(
        *(torch.arange(n) for n in (3, 5, 3, 5))
    ).tolist():
        expected = torch.cosine_similarity(patches[i, j], patches[k, m], dim=0)
        assert_all_close((found[i, j, k, m],), (expected,))
