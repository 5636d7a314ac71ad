"""The models in one file each are those of the library."""

import importlib.util
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.testing import assert_close

from vitedu.config import TransformerConfig, ViTConfig
from vitedu.pretrained.models import save_vit
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

FOLDER = Path(__file__).parents[1] / "book/one-file"


def module(name):
    """Import a file as a reader would who copied it."""
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def expect_equal(one, two, gradients):
    """Require equal outputs and, by pairs of weights, equal gradients."""
    assert_close(one, two, rtol=0, atol=1e-12)
    seed = torch.randn_like(one)
    one.backward(seed)
    two.backward(seed)
    for mine, theirs in gradients():
        assert_close(mine.flatten(), theirs.flatten(), rtol=0, atol=1e-12)


@pytest.fixture(autouse=True)
def doubles():
    """Compute with 64 bits, from the same numbers each time."""
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(3)
    yield
    torch.set_default_dtype(torch.float32)


def test_the_vit_is_that_of_the_library_and_loads_its_files(tmp_path):
    config = ViTConfig(
        image_size=12,
        patch_size=4,
        num_classes=5,
        d_model=24,
        num_layers=2,
        num_heads=3,
        d_ff=40,
    )
    theirs, file = (
        VisionTransformer(config).eval(),
        tmp_path / "vit.safetensors",
    )
    for weight in theirs.parameters():
        weight.data += 0.1 * torch.randn_like(weight)
    save_vit(file, theirs)
    ours = module("vit").ViT(12, 4, 3, 5, dim=24, depth=2, heads=3, hidden=40)
    ours.load_state_dict(load_file(file))
    images = torch.randn(2, 3, 12, 12)

    def gradients():
        for name, weight in ours.named_parameters():
            same = name.replace("pos_embed", "pos_embed.weight")
            yield weight.grad, theirs.get_parameter(same).grad

    expect_equal(ours(images), theirs(images), gradients)


def test_the_vit_has_the_parameters_of_the_paper():
    with torch.device("meta"):
        model = module("vit").ViT()
    assert sum(p.numel() for p in model.parameters()) == 86_567_656


# A part of theirs -> what is ours.
NAMES = {
    "src_embed.tokens": "table",
    "encoder.blocks": "encoder",
    "decoder.blocks": "decoder",
    "cross_attn": "cross",
    "norm1": "sum1.norm",
    "norm2": "sum2.norm",
    "norm3": "sum3.norm",
    ".proj": ".out",
}


def ours_of(tensors):
    """Return theirs under our names, with q, k and v apart."""
    found = {}
    for name, tensor in tensors.items():
        for one, other in NAMES.items():
            name = name.replace(one, other)
        if "qkv" in name:
            for part, rows in zip("qkv", tensor.chunk(3), strict=True):
                found[name.replace("qkv", part)] = rows
        elif not name.startswith(("tgt_embed", "generator")):  # tied
            found[name] = tensor
    return found


def test_the_transformer_is_that_of_the_library():
    config = TransformerConfig(
        src_vocab_size=11,
        tgt_vocab_size=11,
        d_model=24,
        num_layers=2,
        num_heads=3,
        d_ff=40,
    )
    theirs = Transformer(config).eval()
    ours = module("transformer").Transformer(11, 24, 2, 3, 40).eval()
    ours.load_state_dict(ours_of(theirs.state_dict()))
    source, target = torch.randint(1, 11, (2, 3, 7))
    source[0, 5:] = target[1, 4:] = 0  # padding

    def gradients():
        wanted = ours_of({n: p.grad for n, p in theirs.named_parameters()})
        for name, weight in ours.named_parameters():
            yield weight.grad, wanted[name]

    expect_equal(ours(source, target), theirs(source, target), gradients)


def test_the_transformer_writes_the_likeliest_words():
    ours = module("transformer").Transformer(11, 24, 2, 3, 40).eval()
    source = torch.randint(2, 11, (3, 6))
    written = ours.translate(source, 5)
    begun = torch.cat([torch.ones(3, 1).long(), written[:, :-1]], dim=1)
    assert_close(ours(source, begun).argmax(dim=-1), written)


@pytest.mark.soak
def test_the_vit_reads_digits_within_a_minute():
    torch.set_default_dtype(torch.float32)
    assert module("vit").learn_digits() >= 0.97
