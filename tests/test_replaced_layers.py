"""Layers that others have put in: adapters, and weights of few bits."""

import pytest
import torch
from helpers import assert_all_close, draw
from torch import nn

from vitedu.config import TransformerConfig, ViTConfig
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

SIZES = {"d_model": 8, "num_layers": 2, "num_heads": 2, "d_ff": 11}
VIT = ViTConfig(**SIZES, image_size=6, patch_size=3, num_classes=5)
TRANSLATOR = TransformerConfig(
    **SIZES,
    src_vocab_size=7,
    tgt_vocab_size=7,
    dropout=0.0,
    tie_source=False,
    tie_output=False,
)
SRC, TGT = torch.tensor([[5, 3, 0], [4, 6, 2]]), torch.tensor([[1, 5], [1, 4]])


class Adapted(nn.Module):
    """A frozen map and a small one beside it; no weight of its own."""

    def __init__(self, base):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(draw(1, base.in_features))
        self.up = nn.Parameter(draw(base.out_features, 1, seed=1))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T

    def merged(self):
        self.base.weight += self.up @ self.down
        return self.base


class Rounded(nn.Module):
    """A map or a table whose `weight` are integers of 8 bits."""

    def __init__(self, base):
        super().__init__()
        self.base = base
        self.weight = (16 * base.weight.detach()).round().to(torch.int8)
        base.weight.data = self.weight / 16.0

    def forward(self, x):
        return self.base(x)

    def merged(self):
        return self.base


def replace(model, kinds, change):
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, kinds):
                setattr(parent, name, change(child))


@pytest.mark.parametrize(
    ("layer", "kinds"),
    [(Adapted, nn.Linear), (Rounded, (nn.Linear, nn.Embedding))],
)
@pytest.mark.parametrize("kind", ["vit", "transformer"])
def test_a_model_works_with_layers_that_were_put_in(kind, layer, kinds):
    torch.manual_seed(0)
    if kind == "vit":
        model, inputs = VisionTransformer(VIT), (draw(2, 3, 6, 6),)
        nn.init.normal_(model.head.weight)
    else:
        model, inputs = Transformer(TRANSLATOR), (SRC, TGT)
    replace(model.double(), kinds, layer)
    out = model.double()(*inputs)
    with torch.no_grad():
        replace(model, layer, layer.merged)
    assert_all_close((out,), (model(*inputs),))
    assert out.abs().max() > 0.1


def test_both_parts_of_an_adapter_get_gradients_in_cross_attention():
    torch.manual_seed(0)
    block = Transformer(TRANSLATOR).double().decoder.blocks[0]
    block.cross_attn.qkv = Adapted(block.cross_attn.qkv)
    x, memory = draw(2, 3, 8), draw(2, 4, 8, seed=1)
    # What a norm returns always has the same sum: weigh it.
    (block(x, memory) * draw(2, 3, 8, seed=2)).sum().backward()
    assert (block.cross_attn.qkv.up.grad != 0).all()
    assert (block.cross_attn.qkv.down.grad != 0).all()
