"""The library against implementations and numbers that are not ours."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw, gradients
from torch import nn
from torch.profiler import profile

from vitedu import attention
from vitedu.analysis.attention_maps import attention_distance, uniform_distance
from vitedu.attention import MultiHeadAttention, scaled_dot_product_attention
from vitedu.book.proofs import attention_inputs, attention_masks
from vitedu.config import ViTConfig
from vitedu.layers import EncoderBlock, FeedForward
from vitedu.masks import causal_mask, padding_mask
from vitedu.vit import VisionTransformer

BATCH, LENGTH, D_MODEL, HEADS, D_FF = 2, 5, 14, 7, 17
TOKENS = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0]])
MASKS = {
    "none": None,
    "causal": causal_mask(LENGTH),
    "padding": padding_mask(TOKENS, 0),
    "both": causal_mask(LENGTH) & padding_mask(TOKENS, 0),
}


@pytest.fixture(params=["recorded", "written out", "fused"])
def way(request, monkeypatch):
    """Go each of the ways in which attention is computed."""
    if request.param == "fused":
        monkeypatch.setattr(attention, "_SMALL_MAP", 0)
    return request.param


@pytest.mark.parametrize("name", dict(attention_masks()))
def test_attention_is_that_of_pytorch(name, way):
    mask = dict(attention_masks())[name]
    record = (lambda weights: None) if way == "recorded" else None
    assert_all_close(
        gradients(
            lambda q, k, v: scaled_dot_product_attention(
                q, k, v, mask, record=record
            ),
            *attention_inputs(),
        ),
        gradients(
            lambda q, k, v: F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask
            ),
            *attention_inputs(),
        ),
    )


def as_pytorch(mask, length):
    """Turn True = may attend into nn.MultiheadAttention's True = blocked."""
    if mask is None:
        return None
    full = mask.expand(BATCH, HEADS, LENGTH, length)
    return ~full.reshape(BATCH * HEADS, LENGTH, length)


def copy_attention(ours, theirs):
    with torch.no_grad():
        theirs.in_proj_weight.copy_(ours.qkv.weight)
        theirs.in_proj_bias.copy_(ours.qkv.bias)
        theirs.out_proj.weight.copy_(ours.proj.weight)
        theirs.out_proj.bias.copy_(ours.proj.bias)


def both_attentions():
    torch.manual_seed(0)
    ours = MultiHeadAttention(D_MODEL, HEADS).double()
    nn.init.normal_(ours.qkv.bias)
    theirs = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True).double()
    copy_attention(ours, theirs)
    return ours, theirs


@pytest.mark.parametrize("name", MASKS)
def test_self_attention_is_that_of_pytorch(name, way):
    ours, theirs = both_attentions()
    weights = []
    if way == "recorded":
        ours.register_recorder(weights.append)
    x, mask = draw(BATCH, LENGTH, D_MODEL), MASKS[name]

    def run(x):
        return theirs(
            x,
            x,
            x,
            attn_mask=as_pytorch(mask, LENGTH),
            average_attn_weights=False,
        )

    assert_all_close(
        gradients(lambda x: ours(x, mask=mask), x),
        gradients(lambda x: run(x)[0], x),
    )
    if way == "recorded":
        assert_all_close((weights[-1],), (run(x)[1],))


@pytest.mark.usefixtures("way")
def test_cross_attention_is_that_of_pytorch():
    ours, theirs = both_attentions()
    x, memory = draw(BATCH, LENGTH, D_MODEL), draw(BATCH, 3, D_MODEL, seed=1)
    keys = torch.tensor([[1, 2, 3], [1, 0, 0]])
    mask = padding_mask(keys, 0)
    assert_all_close(
        gradients(lambda x, m: ours(x, m, mask), x, memory),
        gradients(
            lambda x, m: theirs(x, m, m, key_padding_mask=keys == 0)[0],
            x,
            memory,
        ),
    )


def copy_block(ours, theirs):
    copy_attention(ours.attn, theirs.self_attn)
    pairs = (
        (ours.norm1, theirs.norm1),
        (ours.norm2, theirs.norm2),
        (ours.mlp.fc1, theirs.linear1),
        (ours.mlp.fc2, theirs.linear2),
    )
    with torch.no_grad():
        for source, target in pairs:
            target.weight.copy_(source.weight)
            target.bias.copy_(source.bias)


def parameter_gradients(block):
    """Return the gradients of both blocks' parameters in the same order."""
    if isinstance(block, EncoderBlock):
        attn = (block.attn.qkv, block.attn.proj)
        rest = (block.norm1, block.norm2, block.mlp.fc1, block.mlp.fc2)
        parts = [(m.weight, m.bias) for m in (*attn, *rest)]
    else:
        attn = block.self_attn
        rest = (attn.out_proj, block.norm1, block.norm2)
        rest += (block.linear1, block.linear2)
        parts = [(attn.in_proj_weight, attn.in_proj_bias)]
        parts += [(m.weight, m.bias) for m in rest]
    return tuple(p.grad for pair in parts for p in pair)


def both_blocks(norm_first, activation, training, heads=HEADS, std=1.0):
    torch.manual_seed(0)
    ours = EncoderBlock(
        MultiHeadAttention(D_MODEL, heads),
        FeedForward(D_MODEL, D_FF, activation=activation),
        norm_first=norm_first,
    ).double()
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=std)
    theirs = nn.TransformerEncoderLayer(
        D_MODEL,
        heads,
        D_FF,
        dropout=0.0,
        activation=activation,
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=norm_first,
    ).double()
    copy_block(ours, theirs)
    return ours.train(training), theirs.train(training)


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("training", [True, False])
def test_encoder_block_is_that_of_pytorch(
    norm_first, activation, name, training
):
    ours, theirs = both_blocks(norm_first, activation, training)
    x, mask = draw(BATCH, LENGTH, D_MODEL), MASKS[name]
    inverted = as_pytorch(mask, LENGTH)
    assert_all_close(
        gradients(lambda x: ours(x, mask), x),
        gradients(lambda x: theirs(x, src_mask=inverted), x),
    )
    upstream = draw(BATCH, LENGTH, D_MODEL, seed=3)
    ours(x, mask).backward(upstream)
    theirs(x, src_mask=inverted).backward(upstream)
    assert_all_close(
        parameter_gradients(ours), parameter_gradients(theirs), 1e-10
    )


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["gelu", "relu"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_so_is_the_one_kernel_that_pytorch_evaluates_with(
    norm_first, activation, dtype
):
    """Without gradients its layer runs a kernel of its own (even heads)."""
    ours, theirs = both_blocks(norm_first, activation, False, 2, std=0.3)
    x = draw(BATCH, LENGTH, D_MODEL).to(dtype)
    with torch.no_grad(), profile() as seen:
        found, expected = ours.to(dtype)(x), theirs.to(dtype)(x)
    names = {event.key for event in seen.key_averages()}
    assert "aten::_transformer_encoder_layer_fwd" in names
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    assert_all_close((found,), (expected,), tolerance)


class TorchViT(nn.Module):
    """A ViT of PyTorch's own layers, written as timm's forward reads."""

    def __init__(self, config):
        super().__init__()
        self.patch_embed = nn.Conv2d(
            config.num_channels,
            config.d_model,
            config.patch_size,
            config.patch_size,
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, config.d_model))
        self.pos_embed = nn.Parameter(
            torch.zeros(1, 1 + config.num_patches, config.d_model)
        )
        layer = nn.TransformerEncoderLayer(
            config.d_model,
            config.num_heads,
            config.d_ff,
            dropout=0.0,
            activation="gelu",
            layer_norm_eps=1e-6,
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            layer,
            config.num_layers,
            norm=nn.LayerNorm(config.d_model, eps=1e-6),
            enable_nested_tensor=False,
        )
        self.head = nn.Linear(config.d_model, config.num_classes)

    def forward(self, images):
        x = self.patch_embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.expand(len(x), -1, -1), x], dim=1)
        return self.head(self.encoder(x + self.pos_embed)[:, 0])


def copy_vit(ours, theirs):
    with torch.no_grad():
        theirs.cls_token.copy_(ours.cls_token)
        theirs.pos_embed.copy_(ours.pos_embed.weight)
    theirs.patch_embed.load_state_dict(ours.patch_embed.proj.state_dict())
    theirs.encoder.norm.load_state_dict(ours.norm.state_dict())
    theirs.head.load_state_dict(ours.head.state_dict())
    pairs = zip(ours.blocks, theirs.encoder.layers, strict=True)
    for source, target in pairs:
        copy_block(source, target)


def test_the_vision_transformer_is_one_of_pytorch_layers():
    config = ViTConfig(
        image_size=15,
        patch_size=5,
        num_classes=11,
        d_model=D_MODEL,
        num_layers=3,
        num_heads=HEADS,
        d_ff=D_FF,
    )
    torch.manual_seed(0)
    ours = VisionTransformer(config).double()
    for parameter in ours.parameters():
        nn.init.normal_(parameter, std=0.3)
    theirs = TorchViT(config).double()
    copy_vit(ours, theirs)
    images = draw(2, 3, 15, 15)
    assert_all_close(gradients(ours, images), gradients(theirs, images), 1e-10)


def neighbourhood_of_3_by_3(side):
    """Weigh a patch and those that touch it alike, in a side x side grid."""
    rows = torch.arange(side)
    close = (rows[:, None] - rows).abs() <= 1
    near = close[:, None, :, None] & close[None, :, None, :]
    near = near.reshape(side**2, side**2).double()
    return near / near.sum(dim=-1, keepdim=True)


@pytest.mark.parametrize(
    ("weights", "pixels"),
    [
        (torch.eye(196).double(), 0.0),
        (neighbourhood_of_3_by_3(14), 16.7),
        (torch.full((196, 196), 1 / 196).double(), 116.5),
    ],
    ids=["identity", "neighbourhood", "uniform"],
)
def test_attention_distance_has_the_reference_values(weights, pixels):
    found = attention_distance(
        weights[None], grid_size=(14, 14), patch_size=16
    )
    assert found.shape == (1,)
    assert round(found.item(), 1) == pixels


def test_uniform_distance_has_the_reference_value():
    assert round(uniform_distance((14, 14), 16), 1) == 116.5
    centres = [(row, column) for row in range(14) for column in range(14)]
    total = sum(math.dist(a, b) for a in centres for b in centres)
    assert math.isclose(uniform_distance((14, 14), 16), 16 * total / 196**2)
