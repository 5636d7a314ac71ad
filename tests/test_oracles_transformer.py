"""Decoder and Transformer against PyTorch's, with copied weights."""

import pytest
import torch
from helpers import assert_all_close, draw, gradients
from torch import nn

from vitedu.config import TransformerConfig
from vitedu.masks import causal_mask, padding_mask
from vitedu.transformer import Decoder, Encoder

D_MODEL, HEADS, D_FF, LAYERS = 14, 7, 17, 3
SRC = torch.tensor([[1, 2, 3, 4, 5], [1, 2, 3, 0, 0]])
TGT = torch.tensor([[1, 2, 3], [1, 2, 0]])
each_kind = pytest.mark.parametrize(
    ("norm_first", "activation", "bias"),
    [
        (True, "gelu", True),
        (True, "relu", False),
        (False, "relu", True),
        (False, "gelu", False),
    ],
)
# PyTorch says that its fast path does not apply.
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")
each_mode = pytest.mark.parametrize("training", [True, False])


class Stacks(nn.Module):
    """Our encoder and decoder, called as nn.Transformer is."""

    def __init__(self, norm_first, activation, bias):
        super().__init__()
        config = TransformerConfig(
            src_vocab_size=9,
            tgt_vocab_size=9,
            d_model=D_MODEL,
            num_layers=LAYERS,
            num_heads=HEADS,
            d_ff=D_FF,
            activation=activation,
            norm_first=norm_first,
            qkv_bias=bias,
            proj_bias=bias,
            dropout=0.0,
            final_norm=True,
        )
        self.encoder, self.decoder = Encoder(config), Decoder(config)

    def forward(self, src, tgt):
        padding = padding_mask(SRC, 0)
        return self.decoder(
            tgt,
            self.encoder(src, padding),
            causal_mask(TGT.shape[1]) & padding_mask(TGT, 0),
            padding,
        )


def attention_pairs(ours, theirs):
    yield ours.qkv.weight, theirs.in_proj_weight
    yield ours.qkv.bias, theirs.in_proj_bias
    yield ours.proj.weight, theirs.out_proj.weight
    yield ours.proj.bias, theirs.out_proj.bias


def layer_pairs(ours, theirs):
    yield ours.weight, theirs.weight
    yield ours.bias, theirs.bias


def pairs(ours, theirs):
    """Yield our parameters beside PyTorch's; ours may be None (no bias)."""
    for mine, peer in zip(
        ours.encoder.blocks, theirs.encoder.layers, strict=True
    ):
        yield from attention_pairs(mine.attn, peer.self_attn)
        yield from layer_pairs(mine.norm1, peer.norm1)
        yield from layer_pairs(mine.norm2, peer.norm2)
        yield from layer_pairs(mine.mlp.fc1, peer.linear1)
        yield from layer_pairs(mine.mlp.fc2, peer.linear2)
    for mine, peer in zip(
        ours.decoder.blocks, theirs.decoder.layers, strict=True
    ):
        yield from attention_pairs(mine.attn, peer.self_attn)
        yield from attention_pairs(mine.cross_attn, peer.multihead_attn)
        yield from layer_pairs(mine.norm1, peer.norm1)
        yield from layer_pairs(mine.norm2, peer.norm2)
        yield from layer_pairs(mine.norm3, peer.norm3)
        yield from layer_pairs(mine.mlp.fc1, peer.linear1)
        yield from layer_pairs(mine.mlp.fc2, peer.linear2)
    yield from layer_pairs(ours.encoder.norm, theirs.encoder.norm)
    yield from layer_pairs(ours.decoder.norm, theirs.decoder.norm)


def both(norm_first, activation, bias, training=True):
    torch.manual_seed(0)
    ours = Stacks(norm_first, activation, bias).double().train(training)
    theirs = nn.Transformer(
        D_MODEL,
        HEADS,
        LAYERS,
        LAYERS,
        D_FF,
        dropout=0.0,
        activation=activation,
        layer_norm_eps=1e-6,
        batch_first=True,
        norm_first=norm_first,
    )
    theirs = theirs.double().train(training)
    with torch.no_grad():
        for mine, peer in pairs(ours, theirs):
            # Where ours has no bias, theirs is zero.
            peer.zero_()
            if mine is not None:
                peer.copy_(nn.init.normal_(mine, std=0.5))
    return ours, theirs


def run(theirs, src, tgt):
    """Call nn.Transformer; its masks say who is blocked."""
    blocked = torch.ones(3, 3, dtype=torch.bool).triu(1)
    return theirs(
        src,
        tgt,
        tgt_mask=blocked,
        src_key_padding_mask=SRC == 0,
        tgt_key_padding_mask=TGT == 0,
        memory_key_padding_mask=SRC == 0,
    )


@each_kind
@each_mode
def test_the_stacks_are_those_of_pytorch(
    norm_first, activation, bias, training
):
    ours, theirs = both(norm_first, activation, bias, training)
    src, tgt = draw(2, 5, D_MODEL), draw(2, 3, D_MODEL, seed=1)
    assert_all_close(
        gradients(ours, src, tgt),
        gradients(lambda src, tgt: run(theirs, src, tgt), src, tgt),
        1e-10,
    )


@each_kind
def test_so_are_the_gradients_of_their_parameters(
    norm_first, activation, bias
):
    ours, theirs = both(norm_first, activation, bias)
    src, tgt = draw(2, 5, D_MODEL), draw(2, 3, D_MODEL, seed=1)
    upstream = draw(2, 3, D_MODEL, seed=2)
    ours(src, tgt).backward(upstream)
    run(theirs, src, tgt).backward(upstream)
    compared = 0
    for mine, peer in pairs(ours, theirs):
        if mine is not None:
            assert_all_close((mine.grad,), (peer.grad,), 1e-9)
            compared += 1
    assert compared == len(list(ours.parameters()))
