"""Looking inside: recorded attention and how far it reaches."""

import math

import jaxtyping
import pytest
import torch
from helpers import PROPERTY, assert_all_close, draw
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from vitedu.analysis import (
    attention_distance,
    attention_rollout,
    capture_attention,
    patch_distances,
    position_similarity,
    uniform_distance,
)
from vitedu.attention import MultiHeadAttention
from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

SIDES = st.integers(1, 5)
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


def test_capture_names_the_maps_of_every_layer():
    model = make()
    with capture_attention(model) as maps:
        assert maps == {}
        model(IMAGES)
    assert list(maps) == [f"blocks.{i}.attn" for i in range(3)]
    for weights in maps.values():
        assert weights.shape == (2, 7, 10, 10)
        assert not weights.requires_grad
        total = weights.sum(dim=-1)
        assert_all_close((total,), (torch.ones_like(total),))


def test_the_maps_are_those_that_the_forward_pass_uses():
    model = make()
    with capture_attention(model) as maps:
        model(IMAGES)
    block = model.blocks[0]
    x = block.norm1(model.embed(IMAGES))
    q, k, _ = block.attn.qkv(x).view(2, 10, 3, 7, 2).permute(2, 0, 3, 1, 4)
    expected = (q @ k.transpose(-2, -1) / 2**0.5).softmax(dim=-1)
    assert_all_close((maps["blocks.0.attn"],), (expected.detach(),))


def test_capture_does_not_change_the_outputs():
    model = make()
    nn.init.normal_(model.head.weight)
    plain = model(IMAGES)
    with capture_attention(model):
        recorded = model(IMAGES)
    assert_all_close((recorded,), (plain,))


def test_the_maps_are_taken_before_dropout():
    model = make(attention_dropout=0.9)
    with capture_attention(model) as maps:
        model(IMAGES)
    total = maps["blocks.2.attn"].sum(dim=-1)
    assert_all_close((total,), (torch.ones_like(total),))


def test_a_second_pass_replaces_the_maps():
    model = make()
    with capture_attention(model) as maps:
        model(IMAGES)
        first = dict(maps)
        model(IMAGES + 1)
    assert list(maps) == list(first)
    assert not torch.equal(maps["blocks.0.attn"], first["blocks.0.attn"])


@pytest.mark.parametrize("whole", [True, False])
def test_a_compiled_model_is_recorded_too(whole):
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        model = make(num_layers=1)
        with capture_attention(model) as expected:
            model(IMAGES)
        for module in [model] if whole else model.blocks:
            module.compile(backend="eager")
        model(IMAGES)
        with capture_attention(model) as maps:
            model(IMAGES)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
    assert list(maps) == ["blocks.0.attn"]
    assert_all_close((*maps.values(),), (*expected.values(),))


def recorders(model):
    return [
        len(module._recorders)
        for module in model.modules()
        if isinstance(module, MultiHeadAttention)
    ]


def test_nothing_stays_on_the_model():
    model = make()
    with capture_attention(model) as maps:
        assert recorders(model) == [1, 1, 1]
    model(IMAGES)
    assert maps == {}
    assert recorders(model) == [0, 0, 0]


def stop_while_recording(model):
    with capture_attention(model):
        raise RuntimeError("stopped")


def test_nothing_stays_on_the_model_after_an_error():
    model = make()
    with pytest.raises(RuntimeError, match="stopped"):
        stop_while_recording(model)
    assert recorders(model) == [0, 0, 0]


def test_an_attention_alone_has_an_empty_name():
    layer = MultiHeadAttention(14, 7).double()
    with capture_attention(layer) as maps:
        layer(draw(2, 5, 14))
    assert list(maps) == [""]


def test_distances_of_a_small_grid_by_hand():
    far = math.hypot(3, 3)
    expected = [
        [0, 3, 3, far],
        [3, 0, far, 3],
        [3, far, 0, 3],
        [far, 3, 3, 0],
    ]
    found = patch_distances((2, 2), 3)
    assert_all_close((found,), (torch.tensor(expected).double(),), 1e-6)


def test_patches_are_numbered_row_by_row():
    row = patch_distances((3, 5), 7)[0]
    assert row[4].item() == pytest.approx(28)
    assert row[5].item() == pytest.approx(7)
    assert row[9].item() == pytest.approx(7 * math.hypot(1, 4))


def random_weights(rows, columns, prefix=0, seed=0):
    tokens = prefix + rows * columns
    return draw(2, 3, tokens, tokens, seed=seed).softmax(dim=-1)


def test_distance_by_loops():
    weights = random_weights(3, 5, prefix=2)
    centres = [(7 * r, 7 * c) for r in range(3) for c in range(5)]
    expected = torch.zeros(3).double()
    for head in range(3):
        for image in range(2):
            for i, a in enumerate(centres):
                row = weights[image, head, i + 2, 2:].tolist()
                gathered = zip(row, centres, strict=True)
                mean = sum(w * math.dist(a, b) for w, b in gathered) / sum(row)
                expected[head] += mean / (2 * 15)
    found = attention_distance(weights, grid_size=(3, 5), patch_size=7)
    assert_all_close((found,), (expected,))


def test_leading_axes_are_averaged_alike():
    weights = random_weights(3, 5)
    several = attention_distance(
        weights[None].expand(5, 2, 3, 15, 15), grid_size=(3, 5), patch_size=7
    )
    once = attention_distance(weights, grid_size=(3, 5), patch_size=7)
    alone = attention_distance(weights[0], grid_size=(3, 5), patch_size=7)
    other = attention_distance(weights[1], grid_size=(3, 5), patch_size=7)
    assert_all_close((several, (alone + other) / 2), (once, once))


@PROPERTY
@given(SIDES, SIDES, st.integers(1, 16), st.integers(0, 2), st.integers(0, 99))
def test_a_distance_lies_between_zero_and_the_diagonal(
    rows, columns, size, prefix, seed
):
    found = attention_distance(
        random_weights(rows, columns, prefix, seed),
        grid_size=(rows, columns),
        patch_size=size,
    )
    diagonal = size * math.hypot(rows - 1, columns - 1)
    assert found.shape == (3,)
    assert ((found >= 0) & (found <= diagonal + 1e-9)).all()


@PROPERTY
@given(SIDES, SIDES, st.integers(0, 99))
def test_a_mirrored_image_has_the_same_distance(rows, columns, seed):
    weights = random_weights(rows, columns, seed=seed)
    sides = {"grid_size": (rows, columns), "patch_size": 7}
    turned = weights.flip(dims=(-2, -1))
    assert_all_close(
        (attention_distance(turned, **sides),),
        (attention_distance(weights, **sides),),
    )


@PROPERTY
@given(st.floats(0, 0.999))
def test_what_the_class_token_takes_does_not_matter(share):
    weights = random_weights(3, 5, prefix=1)
    weights[..., 1:] *= (1 - share) / weights[..., 1:].sum(-1, keepdim=True)
    weights[..., 0] = share
    alone = weights[..., 1:, 1:] / (1 - share)
    sides = {"grid_size": (3, 5), "patch_size": 7}
    assert_all_close(
        (attention_distance(weights, **sides),),
        (attention_distance(alone, **sides),),
    )


def test_a_row_without_any_weight_counts_as_no_distance():
    weights = torch.zeros(1, 4, 4).double()
    weights[0, 0, 1] = 1.0
    found = attention_distance(weights, grid_size=(2, 2), patch_size=8)
    assert found.item() == pytest.approx(8 / 4)


def test_a_row_that_looks_at_the_class_token_alone_counts_as_no_distance():
    weights = torch.zeros(1, 5, 5)
    weights[..., 0] = 1.0
    found = attention_distance(weights, grid_size=(2, 2), patch_size=8)
    assert found.item() == 0


def test_uniform_distance_is_that_of_uniform_weights():
    weights = torch.full((1, 15, 15), 1 / 15).double()
    found = attention_distance(weights, grid_size=(3, 5), patch_size=7)
    assert uniform_distance((3, 5), 7) == pytest.approx(found.item())


@pytest.mark.parametrize("prefix", [0, 1, 2])
def test_prefix_tokens_are_counted_or_given(prefix):
    weights = random_weights(3, 5, prefix=prefix)
    sides = {"grid_size": (3, 5), "patch_size": 7}
    counted = attention_distance(weights, **sides)
    given = attention_distance(weights, **sides, num_prefix_tokens=prefix)
    assert_all_close((counted,), (given,))


def test_any_number_of_prefix_tokens_can_be_given():
    weights = random_weights(3, 5, prefix=4)
    sides = {"grid_size": (3, 5), "patch_size": 7}
    assert_all_close(
        (attention_distance(weights, **sides, num_prefix_tokens=4),),
        (attention_distance(weights[..., 4:, 4:], **sides),),
    )


def test_patches_need_not_be_square():
    row = patch_distances((3, 5), (7, 11))[0]
    assert row[4].item() == pytest.approx(44)
    assert row[5].item() == pytest.approx(7)
    assert row[9].item() == pytest.approx(math.hypot(7, 44))
    assert uniform_distance((1, 2), (7, 11)) == pytest.approx(11 / 2)
    swap = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    found = attention_distance(swap, grid_size=(2, 1), patch_size=(7, 11))
    assert found.item() == pytest.approx(7)


def test_rollout_by_hand():
    first = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]]).double()
    second = torch.tensor([[[[1.0, 0.0], [1.0, 0.0]]]]).double()
    # Token 1 is half itself and half token 0 at the top; each of these was
    # half itself and half the other one layer further down.
    mixed = torch.full((2, 2), 0.5).double()
    expected = torch.tensor([[1.0, 0.0], [0.5, 0.5]]).double() @ mixed
    assert_all_close((attention_rollout([first, second]),), (expected[None],))


def test_the_last_layer_stands_in_front():
    maps = [random_weights(1, 5, seed=i) for i in range(3)]
    eye = torch.eye(5).double()
    a, b, c = (0.3 * eye + 0.7 * x.mean(dim=1) for x in maps)
    found = attention_rollout(maps, residual=0.3)
    assert_all_close((found,), (c @ b @ a,))


@pytest.mark.parametrize("fusion", ["max", "min"])
def test_fused_heads_share_out_one_again(fusion):
    weights = random_weights(1, 5)
    fused = getattr(weights, f"a{fusion}")(dim=1)
    fused = fused / fused.sum(dim=-1, keepdim=True)
    found = attention_rollout([weights], residual=0.3, fusion=fusion)
    expected = 0.3 * torch.eye(5).double() + 0.7 * fused
    assert_all_close((found,), (expected,))


@PROPERTY
@given(
    st.integers(1, 4),
    st.floats(0, 0.99),
    st.sampled_from(["mean", "max", "min"]),
    st.integers(0, 99),
)
def test_rows_of_a_rollout_are_distributions(depth, residual, fusion, seed):
    maps = [random_weights(1, 5, 1, seed + i) for i in range(depth)]
    found = attention_rollout(maps, residual=residual, fusion=fusion)
    assert (found >= 0).all()
    assert_all_close((found.sum(dim=-1),), (torch.ones(2, 6).double(),))


def test_a_token_that_sees_nothing_keeps_itself():
    weights = random_weights(1, 5)
    weights[:, :, 2] = 0
    row = attention_rollout([weights])[:, 2]
    assert_all_close((row,), (torch.eye(5)[2].double().expand(2, 5),))
    assert (attention_rollout([weights], residual=0)[:, 2] == 0).all()


def test_rollout_takes_what_was_captured():
    model = make()
    with capture_attention(model) as maps:
        model(IMAGES)
    found = attention_rollout(maps)
    assert found.shape == (2, 10, 10)
    assert_all_close((found,), (attention_rollout(list(maps.values())),))


@pytest.mark.parametrize("prefix", [0, 2])
def test_similarity_by_loops(prefix):
    weight = draw(1, prefix + 15, 11).requires_grad_()
    found = position_similarity(
        weight, grid_size=(3, 5), num_prefix_tokens=prefix
    )
    assert not found.requires_grad
    patches = weight.detach()[0, prefix:].view(3, 5, 11)
    for i, j, k, m in torch.cartesian_prod(
        *(torch.arange(n) for n in (3, 5, 3, 5))
    ).tolist():
        expected = torch.cosine_similarity(patches[i, j], patches[k, m], dim=0)
        assert_all_close((found[i, j, k, m],), (expected,))


def test_similarity_takes_a_table_and_the_positions_of_a_model():
    model = make()
    weight = model.pos_embed.weight
    options = {"grid_size": (3, 3), "num_prefix_tokens": 1}
    assert_all_close(
        (position_similarity(weight, **options),),
        (position_similarity(weight[0], **options),),
    )
