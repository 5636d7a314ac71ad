"""The encoder, the decoder and the whole Transformer."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, refuses
from torch import nn

from vitedu.cache import DecoderCache
from vitedu.config import TransformerConfig
from vitedu.layers import FeedForward
from vitedu.transformer import Transformer

SIZES = {
    "src_vocab_size": 13,
    "tgt_vocab_size": 13,
    "d_model": 6,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 11,
    "dropout": 0.0,
}
APART = {"tgt_vocab_size": 17, "tie_source": False, "tie_output": False}
SRC = torch.tensor([[5, 3, 7, 9, 2], [4, 6, 8, 0, 0]])
TGT = torch.tensor([[1, 5, 3, 12], [1, 4, 2, 0]])


def config(**changes):
    return TransformerConfig(**(SIZES | changes))


def make(**changes):
    """Make a model whose every parameter counts."""
    torch.manual_seed(0)
    model = Transformer(config(**changes)).double()
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            nn.init.normal_(parameter)
        assert parameter.abs().max() > 0, name
    return model


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("norm_first", "pad"), [(True, 0), (False, 10)])
def test_the_future_and_padding_change_nothing(training, norm_first, pad):
    model = make(norm_first=norm_first, src_pad_id=pad, tgt_pad_id=pad)
    src, tgt = (x.masked_fill(x == 0, pad) for x in (SRC, TGT))
    before = model.train(training)(src, tgt)
    for place in range(4):
        changed = tgt.clone()
        changed[:, place] = 11
        after = model(src, changed)
        assert torch.equal(after[:, :place], before[:, :place])
        assert (after[:, place:] - before[:, place:]).abs().max() > 1e-3
    longer = F.pad(src, (0, 3), value=pad)
    assert_all_close((model(longer, tgt),), (before,))
    real = model(src[1:, :3], tgt[1:, :3])
    assert_all_close((before[1:, :3],), (real,))


@pytest.mark.parametrize("front", [[0, 0], [0]])
@pytest.mark.parametrize("behind", [[], [0]])
def test_padding_in_front_of_a_source_is_refused(front, behind):
    """It would move the tokens to later positions, and so change them."""
    padded = [[*front, 4, 6, *behind], [*(5, 3), *front, *behind]]
    src, tgt = torch.tensor(padded), TGT
    with refuses(ValueError, "src must have its padding, 0, behind the toke"):
        make()(src, tgt)
    with refuses(ValueError, "got it in front of sentence 0"):
        make(positions="learned", max_len=9).encode(src)
    # Where there are no positions it does not matter.
    model = make(positions="none")
    real = torch.tensor([[4, 6]])
    assert_all_close((model(src, tgt)[:1],), (model(real, tgt[:1]),))


@pytest.mark.parametrize("source", [[7, 0, 3], [7, 3, 0], [0, 0, 0]])
def test_other_padding_of_a_source_is_accepted(source):
    assert make()(torch.tensor([source]), TGT[:1]).isfinite().all()


def test_the_row_of_the_padding_starts_at_zero():
    torch.manual_seed(0)
    model = Transformer(config(**APART, src_pad_id=3))
    assert (model.src_embed.tokens.weight[3] == 0).all()
    assert (model.tgt_embed.tokens.weight[0] == 0).all()
    assert (model.tgt_embed.tokens.weight[1:].abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize(
    ("embedding_scale", "std"),
    [("embedding", 1 / 8), ("logits", 1.0), ("none", 1 / 8)],
)
def test_initial_sizes(embedding_scale, std):
    torch.manual_seed(0)
    model = Transformer(
        config(
            src_vocab_size=500,
            tgt_vocab_size=500,
            d_model=64,
            num_heads=4,
            d_ff=256,
            qkv_bias=True,
            embedding_scale=embedding_scale,
        )
    )
    weight = model.tgt_embed.tokens.weight
    assert weight.std().item() == pytest.approx(std, rel=0.02)
    attn = model.decoder.blocks[1].cross_attn
    for matrix in (*attn.qkv_weights(), attn.proj.weight):
        bound = math.sqrt(6 / (64 + 64))
        assert 0.98 * bound < matrix.abs().max() <= bound
    mlp = next(m for m in model.modules() if isinstance(m, FeedForward))
    bound = math.sqrt(6 / (64 + 256))
    assert 0.98 * bound < mlp.fc1.weight.abs().max() <= bound


def test_both_places_of_the_factor_are_one_function():
    embedding, logits = make(), make(embedding_scale="logits")
    logits.load_state_dict(embedding.state_dict())
    with torch.no_grad():
        logits.tgt_embed.tokens.weight.mul_(6**0.5)
    assert_all_close((logits(SRC, TGT),), (embedding(SRC, TGT),))


def test_every_sublayer_has_the_rates_of_the_config():
    model = make(
        num_layers=3,
        dropout=0.3,
        attention_dropout=0.2,
        activation_dropout=0.1,
        drop_path=0.4,
    )
    for stack in (model.encoder, model.decoder):
        rates = [block.drop_path.rate for block in stack.blocks]
        assert rates == pytest.approx([0.0, 0.2, 0.4])
        for block in stack.blocks:
            assert (block.mlp.drop1.p, block.mlp.drop2.p) == (0.1, 0.3)
            for name in ("attn", "cross_attn"):
                attn = getattr(block, name, block.attn)
                assert attn.proj_drop.p == 0.3
                assert attn.attention_dropout == 0.2


def test_a_cache_goes_on_and_never_back():
    model = make()
    memory, cache = model.encode(SRC), DecoderCache(2)
    model.decode(TGT, memory, SRC, cache)
    with refuses(
        ValueError, "tgt must hold more than the 4 tokens decoded so far"
    ):
        model.decode(TGT, memory, SRC, cache)
