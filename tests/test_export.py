"""Graphs for any batch: torch.export, torch.jit.trace, torch.func.vmap.

ONNX files begin with torch.export, too. They are not written here.
"""

import warnings

import jaxtyping
import pytest
import torch
from helpers import assert_all_close, draw
from torch.export import Dim
from torch.func import functional_call, grad, vmap

from vitedu.config import TransformerConfig, ViTConfig
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

SIZES = {"d_model": 8, "num_layers": 1, "num_heads": 2, "d_ff": 11}
BATCH = {0: Dim("batch")}
MODERN = {"positions": "rotary", "norm": "rms", "activation": "swiglu"}
MODERN |= {"qk_norm": True, "num_kv_heads": 1, "ff_bias": False}


@pytest.fixture(autouse=True)
def without_shape_checks():
    """Readers have none, and a graph goes through none."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def vit(**changes):
    torch.manual_seed(0)
    sizes = {"image_size": (6, 9), "patch_size": 3, "num_classes": 5}
    model = VisionTransformer(ViTConfig(**SIZES | sizes | changes))
    torch.nn.init.normal_(model.head.weight)
    return model.double().eval()


def translator(**changes):
    torch.manual_seed(0)
    sizes = {"src_vocab_size": 7, "tgt_vocab_size": 7, "dropout": 0.0}
    model = Transformer(TransformerConfig(**SIZES | sizes | changes))
    return model.double().eval()


def images(batch):
    mask = torch.arange(6) < torch.arange(2, 2 + batch)[:, None]
    return draw(batch, 3, 6, 9), mask


def sentences(batch, src, tgt):
    generator = torch.Generator().manual_seed(batch)
    src, tgt = (
        torch.randint(1, 7, (batch, n), generator=generator)
        for n in (src, tgt)
    )
    src[0, -1] = 0
    return src, tgt


@pytest.mark.parametrize(
    ("changes", "masked"),
    [
        ({}, False),
        ({}, True),
        ({"pool": "mean"}, True),
        (MODERN, False),
        (MODERN, True),
    ],
)
@pytest.mark.parametrize("how", ["export", "trace"])
def test_a_vit_for_any_batch(changes, how, masked):
    model, count = vit(**changes), 1 + masked
    if how == "export":
        graph = torch.export.export(
            model, images(3)[:count], dynamic_shapes=(BATCH,) * count
        ).module()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = torch.jit.trace(model, images(3)[:count])
    for batch in (2, 5):
        inputs = images(batch)[:count]
        assert_all_close((graph(*inputs),), (model(*inputs),))


@pytest.mark.parametrize("how", ["export", "trace"])
def test_a_transformer_for_any_batch_and_lengths(how):
    model = translator()
    model(*sentences(2, 40, 40))  # a table of 40 positions is kept from it
    if how == "export":
        src, tgt = Dim("src", max=99), Dim("tgt", max=99)
        graph = torch.export.export(
            model,
            sentences(3, 5, 4),
            dynamic_shapes=(BATCH | {1: src}, BATCH | {1: tgt}),
        ).module()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            graph = torch.jit.trace(model, sentences(3, 5, 4))
    for sizes in ((2, 47, 9), (5, 3, 43)):
        inputs = sentences(*sizes)
        assert_all_close((graph(*inputs),), (model(*inputs),))


def test_gradients_for_each_sample():
    model, (src, tgt) = translator(tie_source=False), sentences(3, 5, 4)
    weights = dict(model.named_parameters())

    def loss(weights, src, tgt):
        given = (src[None], tgt[None])
        return functional_call(model, weights, given).square().sum()

    each = vmap(grad(loss), in_dims=(None, 0, 0))(weights, src, tgt)
    together = grad(
        lambda x: functional_call(model, x, (src, tgt)).square().sum()
    )
    for name, expected in together(weights).items():
        assert_all_close((each[name].sum(dim=0),), (expected,), 1e-9)
