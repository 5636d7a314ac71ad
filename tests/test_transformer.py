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
each_norm = pytest.mark.parametrize("norm_first", [True, False])


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


def test_positions_may_be_absent():
    twice = make(positions="none").src_embed(torch.tensor([[5, 5]]))
    assert torch.equal(twice[:, 0], twice[:, 1])


def test_dropout_follows_the_positions():
    embed = make(dropout=0.25).src_embed
    assert embed.drop.p == 0.25
    assert make(dropout=0.25, embedding_dropout=0.5).src_embed.drop.p == 0.5
    out = embed(SRC.repeat(500, 1))
    assert abs((out == 0).double().mean().item() - 0.25) < 0.02
    kept = out != 0
    full = make().src_embed(SRC.repeat(500, 1))
    assert_all_close((out[kept],), (full[kept] / 0.75,))


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


@each_norm
def test_rates_act_in_training_only(norm_first):
    for rate in ("dropout", "attention_dropout", "activation_dropout"):
        model = make(norm_first=norm_first, **{rate: 0.5})
        assert not torch.equal(model(SRC, TGT), model(SRC, TGT))
        plain = make(norm_first=norm_first).eval()
        assert_all_close((model.eval()(SRC, TGT),), (plain(SRC, TGT),))


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


@pytest.mark.parametrize("tie_source", [True, False])
def test_a_tied_table_stays_one(tie_source):
    sizes = {"tie_source": tie_source}
    model, other = make(**sizes), Transformer(config(**sizes)).double()
    with torch.device("meta"):
        empty = Transformer(config(**sizes))
    assert not empty.to_empty(device="cpu").generator.weight.is_meta
    nn.ModuleDict({"inner": other}).load_state_dict(
        {f"inner.{k}": x for k, x in model.state_dict().items()}, assign=True
    )
    assert_all_close((other(SRC, TGT),), (model(SRC, TGT),))
    for one in (empty, other, other.half()):
        table = one.tgt_embed.tokens.weight
        assert one.generator.weight is table
        assert (one.src_embed.tokens.weight is table) == tie_source
        assert table.requires_grad


def test_tables_that_were_parted_by_hand_stay_two():
    model, other = make(), make()
    for one in (model, other):
        one.generator.weight = nn.Parameter(one.generator.weight + 1)
    other.load_state_dict(model.state_dict(), assign=True)
    assert_all_close((other(SRC, TGT),), (model(SRC, TGT),))
    assert not torch.equal(
        other.to("cpu").generator.weight, other.tgt_embed.tokens.weight
    )


def test_a_cache_goes_on_and_never_back():
    model = make()
    memory, cache = model.encode(SRC), DecoderCache(2)
    model.decode(TGT, memory, SRC, cache)
    with refuses(
        ValueError, "tgt must hold more than the 4 tokens decoded so far"
    ):
        model.decode(TGT, memory, SRC, cache)


def test_a_refused_step_leaves_the_cache_as_it_was():
    model = make().eval()
    memory, cache = model.encode(SRC), DecoderCache(2)
    model.decode(TGT[:, :2], memory, SRC, cache)
    with refuses(ValueError, "of the cache, (2, 5), got (2, 4)"):
        model.decode(TGT[:, :3], memory[:, :4], SRC[:, :4], cache)
    step = model.decode(TGT[:, :3], memory, SRC, cache)
    assert_all_close((step,), (model(SRC, TGT[:, :3])[:, 2:],))
