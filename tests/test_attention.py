"""Attention: the formula, its fused path, several heads."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients, refuses
from torch import nn

from vitedu import attention
from vitedu.attention import (
    MultiHeadAttention,
    attention_weights,
    blockwise_attention,
    scaled_dot_product_attention,
)
from vitedu.book.proofs import attention_inputs, attention_masks
from vitedu.cache import KeyValueCache
from vitedu.masks import causal_mask

MASKS = dict(attention_masks())
each_mask = pytest.mark.parametrize("name", MASKS)


@pytest.fixture(autouse=True, params=["fused", "written out"])
def path_without_record(request, monkeypatch):
    """Let every test see both ways of computing without `record`."""
    if request.param == "fused":
        monkeypatch.setattr(attention, "_SMALL_MAP", -1)


def ignore(weights):
    """Switch the recorded path on."""


@each_mask
@pytest.mark.parametrize("scale", [None, 0.7, 0.0, -0.3])
def test_any_scale_and_any_width_of_the_values(name, scale):
    q, k, _ = attention_inputs()
    v, mask = draw(2, 3, 7, 13), MASKS[name]
    expected = F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask, scale=scale
    )
    weights = attention_weights(q, k, mask, scale=scale)
    assert_all_close((weights @ v,), (expected,))
    for record in (None, ignore):
        found = scaled_dot_product_attention(
            q, k, v, mask, scale=scale, record=record
        )
        assert_all_close((found,), (expected,))


@pytest.mark.parametrize("record", [None, ignore])
def test_a_query_that_sees_nothing_gets_zeros_and_no_gradient(record):
    out, grad_q, grad_k, grad_v = gradients(
        lambda q, k, v: scaled_dot_product_attention(
            q, k, v, MASKS["dead row"], record=record
        ),
        *attention_inputs(),
    )
    assert torch.equal(out[:, :, 1], torch.zeros(2, 3, 11).double())
    assert torch.equal(grad_q[:, :, 1], torch.zeros(2, 3, 11).double())
    assert grad_k.isfinite().all()
    assert grad_v.isfinite().all()
    assert (grad_v != 0).all()


@pytest.mark.parametrize("record", [None, ignore])
def test_what_is_hidden_weighs_less_than_any_score(record):
    q, k, v = attention_inputs()
    q, k = torch.full_like(q, -100.0), torch.full_like(k, 100.0)
    mask = MASKS["causal"]
    assert (q @ k.mT / 11**0.5).max() < -3e4
    out = scaled_dot_product_attention(q, k, v, mask, record=record)
    # All scores are equal: a mean over what each query may see.
    expected = mask.double() / mask.sum(dim=-1, keepdim=True)
    assert_all_close((out,), (expected @ v,))


@pytest.mark.parametrize("record", [None, ignore])
@pytest.mark.parametrize("mask", [None, MASKS["dead row"][:, :, :2]])
def test_dropout_clears_its_share_and_lets_the_rest_grow(record, mask):
    torch.manual_seed(0)
    q, k = draw(1000, 3, 2, 5), draw(1000, 3, 7, 5, seed=1)
    # With the unit matrix for values the output is the weights themselves.
    v = torch.eye(7).double().expand(1000, 3, 7, 7)
    full = attention_weights(q, k, mask)
    out = scaled_dot_product_attention(
        q, k, v, mask, dropout=0.25, record=record
    )
    seen = full > 0
    kept = out > 0
    assert abs(kept[seen].double().mean().item() - 0.75) < 0.01
    assert_all_close((out[kept],), (full[kept] / 0.75,))
    assert torch.equal(kept & seen, kept)


each_block_size = pytest.mark.parametrize("size", [1, 2, 3, 7, 50])


@each_mask
@each_block_size
@pytest.mark.parametrize("scale", [None, -0.3])
def test_blocks_of_keys_give_what_the_whole_gives(name, size, scale):
    q, k, _ = attention_inputs()
    v, mask = draw(2, 3, 7, 13), MASKS[name]
    found, expected = (
        gradients(
            lambda q, k, v, attend=attend, more=more: attend(
                q, k, v, mask, scale=scale, **more
            ),
            *(q, k, v),
        )
        for attend, more in (
            (blockwise_attention, {"block_size": size}),
            (scaled_dot_product_attention, {}),
        )
    )
    assert_all_close(found, expected)


def make(**options):
    torch.manual_seed(0)
    options = {"num_heads": 3, "head_dim": 5, **options}
    return MultiHeadAttention(7, **options).double()


def multi_head_by_hand(layer, x, memory, mask=None):
    """Compute the same head by head, from the rows of each head."""
    heads, width = layer.num_heads, layer.head_dim
    dims = [width, width, layer.value_dim]
    shared = layer.num_kv_heads
    parts = [
        n * dim for n, dim in zip((heads, shared, shared), dims, strict=True)
    ]
    weights = layer.qkv.weight.split(parts)
    biases = (
        [weight.new_zeros(len(weight)) for weight in weights]
        if layer.qkv.bias is None
        else layer.qkv.bias.split(parts)
    )
    outs = []
    for head in range(heads):
        other = head // (heads // shared)
        q, k, v = (
            tokens @ weight[i * dim :][:dim].T + bias[i * dim :][:dim]
            for i, tokens, weight, bias, dim in zip(
                *((head, other, other), (x, memory, memory)),
                *(weights, biases, dims),
                strict=True,
            )
        )
        if not isinstance(layer.q_norm, nn.Identity):
            q, k = (
                y
                * (y.square().mean(dim=-1, keepdim=True) + norm.eps).rsqrt()
                * norm.weight
                for y, norm in ((q, layer.q_norm), (k, layer.k_norm))
            )
        scores = q @ k.transpose(1, 2) * (layer.scale or width**-0.5)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, 0], float("-inf"))
        outs.append(scores.softmax(dim=-1) @ v)
    out = torch.cat(outs, dim=-1) @ layer.proj.weight.T
    return out if layer.proj.bias is None else out + layer.proj.bias


each_choice = pytest.mark.parametrize(
    "options",
    [
        {},
        {"qkv_bias": False},
        {"proj_bias": False},
        {"value_dim": 11, "scale": 2.0},
        {"value_dim": 2, "qkv_bias": False, "proj_bias": False},
        {"num_heads": 4, "num_kv_heads": 2, "value_dim": 3},
        {"num_kv_heads": 1, "qk_norm": True, "qk_norm_eps": 0.1},
    ],
    ids=str,
)


@each_choice
def test_any_options_give_what_one_computes_by_hand(options):
    layer, mask = make(**options), causal_mask(5)
    x, memory = draw(2, 5, 7), draw(2, 11, 7, seed=1)
    whole = gradients(lambda x: layer(x, mask=mask), x)
    assert_all_close(
        whole, gradients(lambda x: multi_head_by_hand(layer, x, x, mask), x)
    )
    assert_all_close(
        gradients(layer, x, memory),
        gradients(lambda x, m: multi_head_by_hand(layer, x, m), x, memory),
    )
    cache = KeyValueCache()
    steps = [layer(x[:, :2], mask=causal_mask(2), cache=cache)]
    steps += [layer(x[:, i : i + 1], cache=cache) for i in (2, 3, 4)]
    assert len(cache) == 5
    assert_all_close((torch.cat(steps, dim=1),), whole[:1])


def test_the_matrices_of_q_k_and_v_are_parts_of_one():
    layer = make(value_dim=11)
    matrices = layer.qkv_weights()
    assert [len(matrix) for matrix in matrices] == [15, 15, 33]
    assert torch.equal(torch.cat(matrices), layer.qkv.weight)
    matrices[2].fill_(7.0)
    assert (layer.qkv.weight[-33:] == 7).all()


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.ones(2, 1, 5, 5), TypeError, "mask must be boolean"),
        (torch.ones(5, 5).bool(), ValueError, "mask must have the axes"),
        (torch.ones(2, 1, 5, 1).bool(), ValueError, "mask must fit"),
    ],
)
def test_a_mask_that_would_mean_something_else(mask, error, message):
    """Of numbers it might be added; with other axes it might be stretched."""
    with refuses(error, message):
        make()(draw(2, 5, 7), mask=mask)


def test_cross_attention_reads_the_memory_once():
    layer, x, memory = make(), draw(2, 5, 7), draw(2, 11, 7, seed=1)
    cache = KeyValueCache()
    whole = layer(x, memory)
    found = [layer(x[:, i : i + 1], memory, None, cache) for i in range(5)]
    assert len(cache) == 11
    assert_all_close((torch.cat(found, dim=1),), (whole,))
    with torch.no_grad():
        layer.qkv_weights()[2].zero_()
    again = layer(x, memory, None, cache)
    assert_all_close((again,), (whole,))
    with refuses(ValueError, "cache must hold keys and values, it is empty"):
        KeyValueCache().kept()


@pytest.mark.parametrize("rate", ["attention_dropout", "dropout"])
def test_dropout_is_active_in_training_only(rate):
    layer, x = make(**{rate: 0.5}), draw(2, 5, 7)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
    assert_all_close((layer(x),), (make().eval()(x),))


def test_recorders_get_the_weights_until_they_are_removed():
    layer, x = make(), draw(2, 5, 7)
    first, second = [], []
    one = layer.register_recorder(first.append)
    two = layer.register_recorder(second.append)
    layer(x)
    one.remove()
    layer(x)
    two.remove()
    layer(x)
    assert (len(first), len(second)) == (1, 2)
    assert first[0].shape == (2, 3, 5, 5)
    assert_all_close((first[0].sum(dim=-1),), (torch.ones(2, 3, 5).double(),))
