"""ViTs as others write them, timm's names, and published parameter counts."""

import math

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from helpers import assert_all_close, draw, gradients
from torch import nn

from vitedu.analysis.counting import parameter_counts
from vitedu.attention import MultiHeadAttention
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.layers import DecoderBlock, EncoderBlock, FeedForward
from vitedu.masks import causal_mask, padding_mask
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer


def drawn(model, std=0.3):
    """Draw every parameter, biases and norms too: nothing stays 0 or 1."""
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std, generator=generator)
    return model.double()


def linear(x, state, name):
    return F.linear(x, state[f"{name}.weight"], state.get(f"{name}.bias"))


def norm(x, state, name):
    """Normalise as the formula says; the state holds epsilon, too."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
    return centred / (variance + state["eps"]).sqrt() * weight + bias


def gelu(x):
    return x / 2 * (1 + torch.erf(x / math.sqrt(2)))


def patches_by_convolution(images, state, p):
    weight = state["patch_embed.proj.weight"]
    bias = state["patch_embed.proj.bias"]
    return F.conv2d(images, weight, bias, stride=p).flatten(2).mT


def patches_by_einops(images, state, p):
    """Flatten a patch with the channel last, and the kernel with it."""
    rows = rearrange(
        images, "b c (h p1) (w p2) -> b (h w) (p1 p2 c)", p1=p, p2=p
    )
    weight = rearrange(
        state["patch_embed.proj.weight"], "d c p1 p2 -> d (p1 p2 c)"
    )
    return rows @ weight.T + state["patch_embed.proj.bias"]


def heads_by_reshape(qkv, heads):
    batch, length, width = qkv.shape
    split = qkv.reshape(batch, length, 3, heads, width // (3 * heads))
    return split.permute(2, 0, 3, 1, 4)


def heads_by_chunks(qkv, heads):
    return [
        rearrange(part, "b n (h d) -> b h n d", h=heads)
        for part in qkv.chunk(3, dim=-1)
    ]


def attend(q, k, v):
    """Take one head at a time, so that no axis can hide another."""
    outs = []
    for head in range(q.shape[1]):
        scores = torch.einsum("bid,bjd->bij", q[:, head], k[:, head])
        weights = (scores / math.sqrt(q.shape[-1])).exp()
        weights = weights / weights.sum(dim=-1, keepdim=True)
        outs.append(torch.einsum("bij,bjd->bid", weights, v[:, head]))
    return torch.cat(outs, dim=-1)


def vit_by_hand(images, state, config, patches, heads):
    x = patches(images, state, config.patch_size)
    if config.patch_norm:
        x = norm(x, state, "patch_embed.norm")
    first = state["cls_token"].repeat(len(x), 1, 1)
    x = torch.cat([first, x], dim=1) + state["pos_embed.weight"]
    for i in range(config.num_layers):
        name = f"blocks.{i}"
        y = norm(x, state, f"{name}.norm1")
        y = attend(
            *heads(linear(y, state, f"{name}.attn.qkv"), config.num_heads)
        )
        x = x + linear(y, state, f"{name}.attn.proj")
        y = norm(x, state, f"{name}.norm2")
        y = gelu(linear(y, state, f"{name}.mlp.fc1"))
        x = x + linear(y, state, f"{name}.mlp.fc2")
    return linear(norm(x[:, 0], state, "norm"), state, "head")


VIT = {
    "image_size": 15,
    "patch_size": 5,
    "num_channels": 3,
    "num_classes": 11,
    "d_model": 14,
    "num_layers": 3,
    "num_heads": 7,
    "d_ff": 17,
}
# What the sources of the book choose, and how each of them computes it.
VARIANTS = {
    "linear patches, free heads, no q, k, v biases": (
        {"qkv_bias": False, "head_dim": 5, "layer_norm_eps": 1e-5},
        patches_by_einops,
        heads_by_chunks,
    ),
    "normalised patches, no attention biases, narrow": (
        {
            "patch_norm": True,
            "qkv_bias": False,
            "proj_bias": False,
            "d_ff": 14,
            "layer_norm_eps": 1e-5,
        },
        patches_by_convolution,
        heads_by_reshape,
    ),
    "linear patches, free heads, all biases": (
        {"head_dim": 3, "layer_norm_eps": 1e-5},
        patches_by_einops,
        heads_by_chunks,
    ),
    "convolution, all biases": ({}, patches_by_convolution, heads_by_reshape),
}


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("patch_method", ["convolution", "linear"])
@pytest.mark.parametrize("training", [True, False])
def test_the_vits_of_the_sources_are_one_function(
    name, patch_method, training
):
    changes, patches, heads = VARIANTS[name]
    config = ViTConfig(**(VIT | changes), patch_method=patch_method)
    ours = drawn(VisionTransformer(config)).train(training)
    state = ours.state_dict() | {"eps": config.layer_norm_eps}
    images = draw(2, 3, 15, 15)
    assert_all_close(
        gradients(ours, images),
        gradients(
            lambda x: vit_by_hand(x, state, config, patches, heads), images
        ),
    )


def attend_masked(x, memory, mask, state, name, heads):
    """Fill with -1e9, as was the custom; no row here is hidden whole."""
    width = len(state[f"{name}.qkv.weight"]) // 3
    rows = state[f"{name}.qkv.weight"].split(width)
    q, k, v = (
        rearrange(source @ weight.T, "b n (h d) -> b h n d", h=heads)
        for source, weight in zip((x, memory, memory), rows, strict=True)
    )
    scores = (q / q.shape[-1] ** 0.5) @ k.mT
    weights = scores.masked_fill(mask == 0, -1e9).softmax(dim=-1)
    out = rearrange(weights @ v, "b h n d -> b n (h d)")
    return out @ state[f"{name}.proj.weight"].T


def feed_forward(x, state):
    return linear(linear(x, state, "mlp.fc1").clamp(min=0), state, "mlp.fc2")


def test_the_encoder_layer_of_the_sources_is_ours():
    ours = drawn(
        EncoderBlock(
            MultiHeadAttention(
                14, 7, head_dim=3, qkv_bias=False, proj_bias=False
            ),
            FeedForward(14, 17, activation="relu"),
            norm_first=False,
        )
    )
    state = ours.state_dict() | {"eps": 1e-6}
    mask = padding_mask(torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0]]), 0)

    def by_hand(x):
        y = attend_masked(x, x, mask, state, "attn", 7)
        x = norm(y + x, state, "norm1")
        return norm(feed_forward(x, state) + x, state, "norm2")

    x = draw(2, 5, 14)
    assert_all_close(
        gradients(lambda x: ours(x, mask), x), gradients(by_hand, x)
    )


def test_the_decoder_layer_of_the_sources_is_ours():
    bias_free = {"head_dim": 3, "qkv_bias": False, "proj_bias": False}
    ours = drawn(
        DecoderBlock(
            MultiHeadAttention(14, 7, **bias_free),
            MultiHeadAttention(14, 7, **bias_free),
            FeedForward(14, 17, activation="relu"),
            norm_first=False,
        )
    )
    state = ours.state_dict() | {"eps": 1e-6}
    past = causal_mask(3)
    mask = padding_mask(torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0]]), 0)

    def by_hand(x, memory):
        y = attend_masked(x, x, past, state, "attn", 7)
        x = norm(y + x, state, "norm1")
        y = attend_masked(x, memory, mask, state, "cross_attn", 7)
        x = norm(y + x, state, "norm2")
        return norm(feed_forward(x, state) + x, state, "norm3")

    x, memory = draw(2, 3, 14), draw(2, 5, 14, seed=1)
    assert_all_close(
        gradients(lambda x, m: ours(x, m, past, mask), x, memory),
        gradients(by_hand, x, memory),
    )


def count(config):
    """Count the parameters of the built model; the closed form agrees."""
    kind = VisionTransformer if isinstance(config, ViTConfig) else Transformer
    with torch.device("meta"):
        found = sum(p.numel() for p in kind(config).parameters())
    assert sum(parameter_counts(config).values()) == found
    return found


# Without the head.
BACKBONES = {
    "b16": 85_798_656,
    "b32": 87_455_232,
    "l16": 303_301_632,
    "l32": 305_510_400,
    "h14": 630_764_800,
}


@pytest.mark.parametrize("name", BACKBONES)
def test_parameters_of_the_family_are_as_many_as_published(name):
    preset = getattr(ViTConfig, name)
    h = preset().d_model
    for classes in (0, 5, 1000, 21_843):
        expected = BACKBONES[name] + classes * (h + 1)
        assert count(preset(num_classes=classes)) == expected
        config = preset(num_classes=classes, representation_size=h)
        assert count(config) == expected + h * h + h


SHALLOW = {"num_layers": 8, "num_heads": 8, "d_ff": 768, "num_classes": 10}
NO_BIASES = {"qkv_bias": False, "proj_bias": False, "patch_norm": True}


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (ViTConfig.ti16(), 5_717_416),
        (ViTConfig.s16(), 22_050_664),
        (ViTConfig.b16(distilled=True), 87_338_192),
        (ViTConfig.b16(qkv_bias=False), 86_540_008),
        (ViTConfig.l16(qkv_bias=False), 304_252_904),
        # Heads of 64 features are right for B and L; H has heads of 80.
        (ViTConfig.h14(qkv_bias=False, head_dim=64), 589_979_880),
        (ViTConfig.h14(qkv_bias=False, head_dim=80), 631_922_920),
        (ViTConfig.b16(**SHALLOW, **NO_BIASES), 29_101_834),
        (TransformerConfig.base(), 63_047_680),
        (TransformerConfig.base(tie_source=False), 81_991_680),
        (TransformerConfig.base(tie_output=False), 81_991_680),
        (
            TransformerConfig.base(tie_source=False, tie_output=False),
            100_935_680,
        ),
        (TransformerConfig.big(), 214_175_744),
    ],
)
def test_parameters_of_the_others_are_too(config, expected):
    assert count(config) == expected


def test_the_stacks_are_as_large_as_those_of_pytorch():
    config = TransformerConfig.base(
        qkv_bias=True, proj_bias=True, embedding_norm=False, final_norm=True
    )
    with torch.device("meta"):
        theirs = nn.Transformer(512, 8, 6, 6, 2048, batch_first=True)
    stacks = sum(p.numel() for p in theirs.parameters())
    assert stacks == 44_140_544
    assert count(config) == stacks + 37_000 * 512
