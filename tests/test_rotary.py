"""Rotary positions: angles, what they do to scores, and a ViT with them."""

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients, refuses

from vitedu.attention import MultiHeadAttention, rotate
from vitedu.cache import KeyValueCache
from vitedu.config import ViTConfig
from vitedu.layers import EncoderBlock, FeedForward
from vitedu.masks import causal_mask
from vitedu.positions import rotary_angles, rotary_angles_2d
from vitedu.vit import VisionTransformer

DOUBLE = {"dtype": torch.float64}


def test_a_pair_is_one_complex_number():
    x, angles = draw(2, 3, 5, 8), rotary_angles(5, 8, **DOUBLE)

    def by_hand(x):
        turned = torch.complex(x[..., :4], x[..., 4:]) * torch.polar(
            torch.ones_like(angles), angles
        )
        return torch.cat([turned.real, turned.imag], dim=-1)

    found = gradients(lambda x: rotate(x, angles), x)
    assert_all_close(found, gradients(by_hand, x))
    assert_all_close((found[0].norm(dim=-1),), (x.norm(dim=-1),))


def make_attention(**options):
    torch.manual_seed(0)
    sizes = {"head_dim": 8, "num_kv_heads": 2, "value_dim": 3}
    return MultiHeadAttention(7, 6, **sizes, **options).double()


@pytest.mark.parametrize("qk_norm", [False, True])
def test_attention_turns_queries_and_keys_and_no_values(qk_norm):
    layer = make_attention(qk_norm=qk_norm, qk_norm_eps=0.1)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter)
    x, angles = draw(2, 5, 7), rotary_angles(5, 8, **DOUBLE)

    def normed(x, factors):
        square = x.square().mean(dim=-1, keepdim=True)
        return x * (square + 0.1).rsqrt() * factors

    def by_hand(x):
        q, k, v = layer.qkv(x).split([48, 16, 6], dim=-1)
        heads = []
        for head in range(6):
            shared = head // 3
            one = q[..., 8 * head : 8 * head + 8]
            two = k[..., 8 * shared : 8 * shared + 8]
            if qk_norm:
                one = normed(one, layer.q_norm.weight)
                two = normed(two, layer.k_norm.weight)
            one, two = (rotate(y[:, None], angles)[:, 0] for y in (one, two))
            scores = one @ two.mT / 8**0.5
            value = v[..., 3 * shared : 3 * shared + 3]
            heads.append(scores.softmax(dim=-1) @ value)
        return layer.proj(torch.cat(heads, dim=-1))

    assert_all_close(
        gradients(lambda x: layer(x, rotary=angles), x), gradients(by_hand, x)
    )


@pytest.mark.parametrize("parallel", [False, True])
def test_a_cached_block_is_the_whole_and_keeps_the_shared_heads(parallel):
    layer = make_attention(qk_norm=True)
    mlp = FeedForward(7, 9, activation="swiglu", bias=False)
    block = EncoderBlock(layer, mlp, norm="rms", parallel=parallel).double()
    x, cache = draw(2, 5, 7), KeyValueCache()
    angles = rotary_angles(5, 8, **DOUBLE)
    whole = block(x, causal_mask(5), angles)
    steps = [block(x[:, :2], causal_mask(2), angles[:2], cache)]
    for i in (2, 3, 4):
        new = rotary_angles(1, 8, start=len(cache), **DOUBLE)
        steps.append(block(x[:, i : i + 1], None, new, cache))
    assert_all_close((torch.cat(steps, dim=1),), (whole,))
    k, v = cache.kept()
    assert (k.shape, v.shape) == ((2, 2, 5, 8), (2, 2, 5, 3))
    assert cache.nbytes == 8 * (k.numel() + v.numel())
    assert KeyValueCache().nbytes == 0


def test_angles_have_to_fit():
    layer, x = make_attention(), draw(2, 5, 7)
    angles = rotary_angles(5, 8, **DOUBLE)
    with refuses(ValueError, "angles must have (token, head_dim / 2) for 5"):
        layer(x, rotary=angles[1:])
    with refuses(ValueError, "rotary must be None with a memory"):
        layer(x, x, rotary=angles)
    with refuses(ValueError, "head_dim must be divisible by 4, got 6"):
        rotary_angles_2d((2, 3), 6)
    with refuses(ValueError, "positions must be others than 'rotary'"):
        ViTConfig(d_model=18, num_heads=3, positions="rotary")


SIZES = {
    "image_size": (6, 15),
    "patch_size": (3, 5),
    "num_channels": 2,
    "num_classes": 7,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 2,
    "head_dim": 8,
    "d_ff": 17,
}
MODERN = {
    "positions": "rotary",
    "norm": "rms",
    "activation": "swiglu",
    "qk_norm": True,
    "num_kv_heads": 1,
    "ff_bias": False,
    "qkv_bias": False,
    "proj_bias": False,
    "layer_norm_eps": 0.1,
}


def make_vit(**changes):
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig(**(SIZES | changes))).double()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def by_hand(model, images):
    """Compute a ViT with rotary positions, line by line, in loops."""
    config, state = model.config, dict(model.named_parameters())
    modern = config.norm == "rms"
    weight = state["patch_embed.proj.weight"]
    x = F.conv2d(images, weight, state["patch_embed.proj.bias"], stride=(3, 5))
    columns = x.shape[3]
    x = x.flatten(2).mT
    before = [state[n] for n in ("cls_token", "reg_token") if n in state]
    x = torch.cat([*(t.expand(len(x), -1, -1) for t in before), x], dim=1)
    prefix = sum(t.shape[1] for t in before)

    def norm(x, name):
        if modern:
            square = x.square().mean(dim=-1, keepdim=True)
            return (
                x
                / (square + config.layer_norm_eps).sqrt()
                * state[f"{name}.weight"]
            )
        factors = state[f"{name}.weight"], state[f"{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], *factors, config.layer_norm_eps)

    def linear(x, name):
        return F.linear(x, state[f"{name}.weight"], state.get(f"{name}.bias"))

    def turned(x):
        """Turn features 0 and 4 by the row, 2 and 6 by the column."""
        out = x.clone()
        for token in range(prefix, x.shape[1]):
            patch = token - prefix
            row, column = patch // columns, patch % columns
            for pair, angle in enumerate((row, row / 10, column, column / 10)):
                a, b = x[:, token, pair], x[:, token, pair + 4]
                turn = torch.tensor(angle, dtype=torch.float64)
                out[:, token, pair] = a * turn.cos() - b * turn.sin()
                out[:, token, pair + 4] = b * turn.cos() + a * turn.sin()
        return out

    def attend(x, name):
        shared = config.num_kv_heads or config.num_heads
        widths = [8 * n for n in (config.num_heads, shared, shared)]
        q, k, v = linear(x, f"{name}.qkv").split(widths, dim=-1)
        heads = []
        for head in range(config.num_heads):
            other = head * shared // config.num_heads
            one, two, value = (
                y[..., 8 * i : 8 * i + 8]
                for y, i in ((q, head), (k, other), (v, other))
            )
            if modern:
                one = norm(one, f"{name}.q_norm")
                two = norm(two, f"{name}.k_norm")
            scores = turned(one) @ turned(two).mT / 8**0.5
            heads.append(scores.softmax(dim=-1) @ value)
        return linear(torch.cat(heads, dim=-1), f"{name}.proj")

    def feed_forward(x, name):
        x = linear(x, f"{name}.fc1")
        x = F.silu(x[..., :17]) * x[..., 17:] if modern else F.gelu(x)
        return linear(x, f"{name}.fc2")

    for i in range(config.num_layers):
        y = norm(x, f"blocks.{i}.norm1")
        if config.parallel:
            x = x + attend(y, f"blocks.{i}.attn")
            x = x + feed_forward(y, f"blocks.{i}.mlp")
        else:
            x = x + attend(y, f"blocks.{i}.attn")
            y = norm(x, f"blocks.{i}.norm2")
            x = x + feed_forward(y, f"blocks.{i}.mlp")
    x = norm(x, "norm")
    read = x[:, 0] if config.pool == "class_token" else x[:, prefix:].mean(1)
    return linear(read, "head")


@pytest.mark.parametrize("registers", [0, 3])
@pytest.mark.parametrize("pool", ["class_token", "mean"])
@pytest.mark.parametrize(
    "changes",
    [{"positions": "rotary"}, MODERN, MODERN | {"parallel": True}],
    ids=["rotary", "modern", "parallel"],
)
def test_a_vit_is_what_one_computes_by_hand(changes, pool, registers):
    model = make_vit(**changes, pool=pool, num_registers=registers)
    images = draw(2, 2, 6, 15)
    found = gradients(model, images)
    assert_all_close(found, gradients(lambda x: by_hand(model, x), images))
    model(images).backward(draw(*found[0].shape, seed=99))
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().max() > 1e-9, name
