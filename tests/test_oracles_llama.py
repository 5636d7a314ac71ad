"""The block since 2021 against Hugging Face's, with copied random weights.

Llama and Qwen3 are stacks of our encoder blocks with a causal mask; Swin and
Bloom make the masks and the biases.
"""

from functools import partial

import pytest
import torch
from helpers import assert_all_close, draw, gradients
from test_oracles_huggingface import drawn, parameter_gradients
from torch import nn
from transformers import (
    LlamaConfig,
    LlamaModel,
    Qwen3Config,
    Qwen3Model,
    SwinConfig,
)
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.swin.modeling_swin import SwinLayer, window_partition

from vitedu.attention import (
    MultiHeadAttention,
    attention_weights,
    rotate,
    scaled_dot_product_attention,
)
from vitedu.cache import KeyValueCache
from vitedu.layers import EncoderBlock, FeedForward, make_norm
from vitedu.masks import causal_mask, sliding_window_mask, window_mask
from vitedu.positions import alibi_slopes, rotary_angles, with_alibi

# Different sizes: one axis taken for another would show.
BATCH, LENGTH, D_MODEL, HEADS, KV_HEADS, HEAD_DIM, D_FF = 2, 7, 18, 6, 3, 8, 17
EPS, BASE = 0.1, 50.0


class Stack(nn.Module):
    """Blocks of a language model and the norm after them."""

    def __init__(self, qk_norm):
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(
                MultiHeadAttention(
                    D_MODEL,
                    HEADS,
                    head_dim=HEAD_DIM,
                    num_kv_heads=KV_HEADS,
                    qkv_bias=False,
                    proj_bias=False,
                    qk_norm=qk_norm,
                    qk_norm_eps=EPS,
                ),
                FeedForward(D_MODEL, D_FF, activation="swiglu", bias=False),
                norm="rms",
                layer_norm_eps=EPS,
            )
            for _ in range(3)
        )
        self.norm = make_norm("rms", D_MODEL, eps=EPS)

    def forward(self, x, mask=None, start=0, caches=(None, None, None)):
        angles = rotary_angles(
            x.shape[1], HEAD_DIM, base=BASE, start=start, dtype=x.dtype
        )
        for block, cache in zip(self.blocks, caches, strict=True):
            x = block(x, mask, angles, cache)
        return self.norm(x)


class ExactAngles(nn.Module):
    """Their angles; theirs are rounded to single precision."""

    def forward(self, x, position_ids):
        pairs = torch.arange(0, HEAD_DIM, 2, dtype=torch.float64)
        angles = position_ids[..., None] / BASE ** (pairs / HEAD_DIM)
        return angles.repeat(1, 1, 2).cos(), angles.repeat(1, 1, 2).sin()


def exact_norm(norm, x):
    """Their norm; theirs computes in single precision."""
    square = x.square().mean(dim=-1, keepdim=True)
    return norm.weight * x * (square + norm.variance_epsilon).rsqrt()


NAMES = {
    r"blocks": "layers",
    r"attn.proj": "self_attn.o_proj",
    r"attn.": "self_attn.",
    r"norm1": "input_layernorm",
    r"norm2": "post_attention_layernorm",
    r"fc2": "down_proj",
}


def renamed(tensors):
    """Rename each tensor; what is fused here becomes two or three."""
    found = {}
    for name, tensor in tensors.items():
        for ours, theirs in NAMES.items():
            if f"self_{ours}" not in name:
                name = name.replace(ours, theirs)
        sizes = {name: len(tensor)}
        if "attn.qkv" in name:
            widths = (HEADS, KV_HEADS, KV_HEADS)
            sizes = {
                name.replace("qkv", f"{part}_proj"): HEAD_DIM * width
                for part, width in zip("qkv", widths, strict=True)
            }
        if "fc1" in name:
            parts = ("gate_proj", "up_proj")
            sizes = {name.replace("fc1", part): D_FF for part in parts}
        parts = tensor.split(list(sizes.values()))
        found |= dict(zip(sizes, parts, strict=True))
    return found


PEERS = {
    "Llama": (LlamaModel, LlamaConfig, False),
    "Qwen3": (Qwen3Model, Qwen3Config, True),
}
each_peer = pytest.mark.parametrize("name", PEERS)


def both(name):
    model, kind, qk_norm = PEERS[name]
    ours = drawn(Stack(qk_norm)).double()
    theirs = model(
        kind(
            vocab_size=3,
            hidden_size=D_MODEL,
            intermediate_size=D_FF,
            num_hidden_layers=3,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            head_dim=HEAD_DIM,
            rms_norm_eps=EPS,
            rope_theta=BASE,
            rope_parameters={"rope_type": "default", "rope_theta": BASE},
            use_cache=False,
            pad_token_id=None,
            bos_token_id=None,
            eos_token_id=None,
        )
    ).double()
    missing, unexpected = theirs.load_state_dict(
        renamed(ours.state_dict()), strict=False
    )
    assert (missing, unexpected) == (["embed_tokens.weight"], [])
    angles = theirs.rotary_emb(draw(1), torch.arange(LENGTH)[None])
    theirs.rotary_emb = ExactAngles()
    exact = theirs.rotary_emb(draw(1), torch.arange(LENGTH)[None])
    assert_all_close(angles, exact, 1e-5)
    for module in theirs.modules():
        if type(module).__name__.endswith("RMSNorm"):
            x = draw(2, *module.weight.shape)
            assert_all_close((module(x),), (exact_norm(module, x),), 1e-5)
            module.forward = partial(exact_norm, module)
    return ours, theirs


def their_run(theirs):
    return lambda x: theirs(inputs_embeds=x).last_hidden_state


@each_peer
def test_a_stack_of_blocks_is_theirs(name):
    ours, theirs = both(name)
    x, mask = draw(BATCH, LENGTH, D_MODEL), causal_mask(LENGTH)
    assert_all_close(
        gradients(lambda x: ours(x, mask), x), gradients(their_run(theirs), x)
    )


@each_peer
def test_so_are_the_gradients_of_its_parameters(name):
    ours, theirs = both(name)
    x, mask = draw(BATCH, LENGTH, D_MODEL), causal_mask(LENGTH)
    upstream = draw(*x.shape, seed=1)
    ours(x, mask).backward(upstream)
    their_run(theirs)(x).backward(upstream)
    found = renamed(parameter_gradients(ours))
    expected = parameter_gradients(theirs)
    assert expected.pop("embed_tokens.weight") is None
    assert found.keys() == expected.keys()
    for key, gradient in found.items():
        assert_all_close((gradient,), (expected[key],))


@each_peer
def test_token_by_token_it_is_theirs_too(name):
    """Keys are turned before they are kept; the second step adds two."""
    ours, theirs = both(name)
    x, mask = draw(BATCH, LENGTH, D_MODEL), causal_mask(LENGTH)
    caches, steps = [KeyValueCache() for _ in range(3)], []
    for start, stop in ((0, 2), (2, 4), (4, 5), (5, LENGTH)):
        seen = mask[:, :, start:stop, :stop]
        steps.append(ours(x[:, start:stop], seen, start, caches))
    assert_all_close((torch.cat(steps, dim=1),), (their_run(theirs)(x),))
    for cache in caches:
        shapes = {tuple(part.shape) for part in cache.kept()}
        assert shapes == {(BATCH, KV_HEADS, LENGTH, HEAD_DIM)}


def test_a_sliding_window_is_that_of_qwen3():
    ours, theirs = both("Qwen3")
    x, window = draw(BATCH, LENGTH, D_MODEL), 3
    theirs.config.sliding_window = window
    theirs.config.layer_types = ["sliding_attention"] * 3
    theirs.has_sliding_layers = True
    for layer in theirs.layers:
        layer.self_attn.sliding_window = window
    mask = sliding_window_mask(LENGTH, window)
    assert_all_close((ours(x, mask),), (their_run(theirs)(x),))
    assert not torch.allclose(ours(x, mask), ours(x, causal_mask(LENGTH)))


def test_interleaved_pairs_are_the_same_in_another_order():
    """The other convention, in complex numbers as in Meta's code."""
    q, k = draw(1, 2, LENGTH, HEAD_DIM), draw(1, 2, LENGTH, HEAD_DIM, seed=1)
    angles = rotary_angles(LENGTH, HEAD_DIM, dtype=torch.float64)

    def interleaved(x):
        numbers = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        turned = numbers * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(-2)

    def as_theirs(x):
        return torch.stack(x.chunk(2, dim=-1), dim=-1).flatten(-2)

    for x in (q, k):
        assert_all_close(
            (as_theirs(rotate(x, angles)),), (interleaved(as_theirs(x)),)
        )
    assert not torch.allclose(rotate(q, angles), interleaved(q))


def their_swin_layer(side, shift):
    config = SwinConfig(window_size=side, num_heads=[1], depths=[1])
    return SwinLayer(config, 2, (8, 12), 1, shift_size=shift)


@pytest.mark.parametrize(
    ("grid", "side", "shift"),
    [
        ((8, 12), 4, 0),
        ((8, 12), 4, 2),
        ((12, 8), 4, 1),
        ((8, 8), 4, 3),
        ((4, 8), 2, 1),
        ((4, 8), 4, 0),
    ],
)
def test_shifted_windows_are_those_of_swin(side, shift, grid):
    """Their windows are cut out of an image that is rolled."""
    layer = their_swin_layer(side, shift)
    rows, columns = grid
    number = torch.arange(rows * columns).reshape(1, rows, columns, 1)
    members = window_partition(layer.cyclic_shift(number), side)
    members = members.reshape(-1, side * side)
    added = layer.get_attn_mask(rows, columns, torch.float32, "cpu")
    expected = torch.zeros(rows * columns, rows * columns, dtype=torch.bool)
    for i, patches in enumerate(members):
        seen = True if added is None else added[i] == 0
        expected[patches[:, None], patches[None]] = seen
    found = window_mask(grid, side, shift=shift)
    assert torch.equal(found[0, 0], expected)


@pytest.mark.parametrize("heads", [1, 2, 3, 6, 8, 12, 13])
def test_alibi_is_that_of_bloom(heads):
    q, k = draw(BATCH, heads, 5, 3), draw(BATCH, heads, 5, 3, seed=1)
    v, mask = draw(BATCH, heads, 5, 4, seed=2), causal_mask(5)
    bias = build_alibi_tensor(torch.ones(BATCH, 5), heads, torch.float64)
    slopes = bias.reshape(BATCH, heads, 5)[0, :, 1]
    assert_all_close((alibi_slopes(heads, dtype=q.dtype),), (slopes,), 1e-7)
    # Their slopes are rounded to single precision.
    bias = bias.reshape(BATCH, heads, 1, 5)

    def by_hand(q, k, v):
        scores = q @ k.mT * 3**-0.5 + bias
        hidden = scores.masked_fill(~mask, -torch.inf)
        return hidden.softmax(dim=-1) @ v

    def ours(q, k, v):
        return scaled_dot_product_attention(*with_alibi(q, k), v, mask)

    assert_all_close(
        gradients(ours, q, k, v), gradients(by_hand, q, k, v), 1e-6
    )


def test_alibi_takes_off_the_slope_for_each_token_of_distance():
    q, k = draw(1, 4, 6, 3), draw(1, 4, 6, 3, seed=1)
    far = torch.arange(6)[:, None] - torch.arange(6)
    slopes = 2.0 ** -torch.tensor([2.0, 4, 6, 8], dtype=torch.float64)
    scores = q @ k.mT * 3**-0.5 - slopes[:, None, None] * far
    hidden = scores.masked_fill(~causal_mask(6), -torch.inf)
    assert_all_close(
        (attention_weights(*with_alibi(q, k), causal_mask(6)),),
        (hidden.softmax(dim=-1),),
    )
