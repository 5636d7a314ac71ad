"""A model checks its inputs at its door; its layers trust it, and only it."""

import threading

import pytest
import torch
from helpers import draw, refuses

from vitedu import require
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.decoding.search import greedy_search
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

SIZES = {"d_model": 8, "num_layers": 2, "num_heads": 2, "d_ff": 11}
SRC, TGT = torch.tensor([[5, 3, 0]]), torch.tensor([[1, 5]])
WRONG = draw(1, 3, 9)


@pytest.fixture
def vit():
    config = ViTConfig(**SIZES, image_size=6, patch_size=3)
    return VisionTransformer(config).double().eval()


@pytest.fixture
def translator():
    vocabulary = {"src_vocab_size": 7, "tgt_vocab_size": 7}
    return Transformer(TransformerConfig(**SIZES, **vocabulary)).eval()


def refuse_all(*_):
    raise AssertionError("checked again")


def test_layers_of_a_model_check_nothing_again(vit, translator, monkeypatch):
    images = draw(1, 3, 6, 6)
    monkeypatch.setattr(require, "tokens", refuse_all)
    monkeypatch.setattr(require, "queries_keys_values", refuse_all)
    assert vit(images).shape == (1, 1000)
    assert translator(SRC, TGT).shape == (1, 2, 7)
    assert translator.encode(SRC).shape == (1, 3, 8)
    greedy_search(translator, SRC, bos_id=1, eos_id=2, max_len=3)
    for layer in (vit.blocks[0], vit.blocks[0].attn, vit.blocks[0].mlp):
        with pytest.raises(AssertionError, match="checked again"):
            layer(draw(1, 3, 8))


@pytest.mark.parametrize("nested", [False, True])
def test_after_an_error_layers_check_again(vit, translator, nested):
    model = translator.double() if nested else vit
    block = model.encoder.blocks[0] if nested else vit.blocks[0]
    inputs = (SRC, TGT) if nested else (draw(1, 3, 6, 6),)
    hook = block.register_forward_hook(lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        model(*inputs)
    hook.remove()
    with refuses(ValueError, "x must have d_model = 8 features, got 9"):
        block(WRONG)


def test_layers_check_in_another_thread(vit):
    found = []

    def call():
        try:
            vit.blocks[1](WRONG)
        except ValueError as error:
            found.append(str(error))

    def hook(*_):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()

    vit.blocks[0].register_forward_hook(hook)
    vit(draw(1, 3, 6, 6))
    assert found == ["x must have d_model = 8 features, got 9"]


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        (7, 1, "src must lie in 0 to 6, got 7 to 7"),
        (1, 7, "tgt must lie in 0 to 6, got 7 to 7"),
        (1, -1, "tgt must lie in 0 to 6, got -1 to -1"),
    ],
)
def test_an_id_outside_the_table_is_named(translator, src, tgt, message):
    src, tgt = torch.tensor([[src]]), torch.tensor([[tgt]])
    with refuses(ValueError, message):
        translator(src, tgt)
    with refuses(ValueError, "x must have the axes"):
        translator.encoder.blocks[0](draw(8))
