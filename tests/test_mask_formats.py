"""Masks in five formats, each run by the library it is made for."""

import math

import pytest
import torch
import torch.nn.functional as F
from helpers import PROPERTY, assert_all_close, draw, gradients
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from transformers import BertConfig, BertModel
from transformers.models.bert.modeling_bert import eager_attention_forward

from vitedu.attention import MultiHeadAttention, scaled_dot_product_attention
from vitedu.mask_formats import (
    from_additive,
    from_fused,
    from_hugging_face,
    from_key_padding,
    from_multihead,
    to_additive,
    to_fused,
    to_hugging_face,
    to_key_padding,
    to_multihead,
)

BATCH, HEADS, QUERY, KEY, HEAD_DIM = 2, 3, 5, 7, 11
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
HIDDEN = {"-inf": lambda dtype: -math.inf, "min": lambda d: torch.finfo(d).min}
SIZES = {"batch": BATCH, "num_heads": HEADS, "query": QUERY}


def random_mask(*shape, seed=0, dead=False):
    mask = draw(*shape, seed=seed) > 0
    mask[..., 0] = True
    if dead:
        mask[0, :, 0] = False
    return mask


SHAPES = [
    (batch, heads, query, KEY)
    for batch in (1, BATCH)
    for heads in (1, HEADS)
    for query in (1, QUERY)
]
each_shape = pytest.mark.parametrize("shape", SHAPES)
each_dtype = pytest.mark.parametrize("dtype", DTYPES)
Q = draw(BATCH, HEADS, QUERY, HEAD_DIM, seed=1)
K = draw(BATCH, HEADS, KEY, HEAD_DIM, seed=2)
V = draw(BATCH, HEADS, KEY, HEAD_DIM, seed=3)


def eager(q, k, v, mask):
    """Run the written-out attention of Hugging Face."""
    out, _ = eager_attention_forward(nn.Module(), q, k, v, mask)
    return out.transpose(1, 2)


def fused(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@PROPERTY
@given(st.sampled_from(SHAPES), st.integers(0, 99), st.booleans())
def test_every_mask_comes_back(shape, seed, dead):
    mask = random_mask(*shape, seed=seed, dead=dead)
    assert torch.equal(from_fused(to_fused(mask)), mask)
    for dtype in DTYPES:
        for hidden in HIDDEN:
            found = from_additive(to_additive(mask, dtype, hidden=hidden))
            assert torch.equal(found, mask)
    found = from_multihead(to_multihead(mask, **SIZES), num_heads=HEADS)
    assert torch.equal(found, mask.expand(BATCH, HEADS, QUERY, KEY))


@PROPERTY
@given(st.integers(0, 99), st.booleans(), st.sampled_from([1, BATCH]))
def test_every_padding_mask_comes_back(seed, dead, batch):
    mask = random_mask(batch, 1, 1, KEY, seed=seed, dead=dead)
    same = mask.expand(BATCH, 1, 1, KEY)
    for wide in (mask, mask.expand(batch, HEADS, QUERY, KEY)):
        found = from_key_padding(to_key_padding(wide, batch=BATCH))
        assert torch.equal(found, same)
        found = from_hugging_face(to_hugging_face(wide, batch=BATCH))
        assert torch.equal(found, same)


@each_shape
@pytest.mark.parametrize("dead", [False, True])
def test_fused_attention_gives_what_ours_gives(shape, dead):
    mask = random_mask(*shape, dead=dead)

    def ours(q, k, v):
        return scaled_dot_product_attention(
            q, k, v, mask, record=lambda weights: None
        )

    expected = gradients(ours, Q, K, V)
    for theirs in (to_fused(mask), to_additive(mask, torch.float64)):
        found = gradients(lambda *x, m=theirs: fused(*x, m), Q, K, V)
        assert_all_close(found, expected)


def peers(heads=HEADS):
    torch.manual_seed(0)
    ours = MultiHeadAttention(12, heads).double()
    theirs = nn.MultiheadAttention(12, heads, batch_first=True).double()
    nn.init.normal_(theirs.out_proj.bias)
    with torch.no_grad():
        ours.qkv.weight.copy_(theirs.in_proj_weight)
        ours.qkv.bias.copy_(theirs.in_proj_bias)
        ours.proj.load_state_dict(theirs.out_proj.state_dict())
    return ours, theirs


@each_shape
def test_multihead_attention_gives_what_ours_gives(shape):
    ours, theirs = peers()
    mask = random_mask(*shape)
    x, memory = draw(BATCH, QUERY, 12), draw(BATCH, KEY, 12, seed=1)
    wanted = gradients(lambda x, m: ours(x, m, mask), x, memory)
    formats = [{"attn_mask": to_multihead(mask, **SIZES)}]
    if shape[1:3] == (1, 1):
        formats.append({"key_padding_mask": to_key_padding(mask, batch=BATCH)})
    for theirs_mask in formats:
        found = gradients(
            lambda x, m, t=theirs_mask: theirs(x, m, m, **t)[0], x, memory
        )
        assert_all_close(found, wanted)


def bert(attention):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=13,
        hidden_size=12,
        num_hidden_layers=2,
        num_attention_heads=HEADS,
        intermediate_size=11,
        max_position_embeddings=KEY,
        attn_implementation=attention,
    )
    return BertModel(config, add_pooling_layer=False).double().eval()


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_model_of_hugging_face_reads_both_of_its_formats(attention):
    model, ids = bert(attention), torch.arange(2 * KEY).view(2, KEY) % 13
    mask = random_mask(BATCH, 1, 1, KEY)

    def run(mask):
        return model(ids, attention_mask=mask).last_hidden_state.detach()

    wide = mask.expand(BATCH, 1, KEY, KEY)
    found = run(to_hugging_face(mask, batch=BATCH))
    added = run(to_additive(wide, torch.float64, hidden="min"))
    assert_all_close((found,), (added,))
    # Each sentence without its padding, a peer of its own. Words that are
    # left keep their positions.
    for sentence, real in enumerate(mask[:, 0, 0]):
        alone = model(
            ids[sentence, real][None],
            position_ids=torch.arange(KEY)[real][None],
        ).last_hidden_state.detach()
        assert_all_close((found[sentence, real][None],), (alone,))


DEAD = random_mask(BATCH, 1, QUERY, KEY, dead=True)
MEAN = V[0].mean(dim=1)


@each_dtype
def test_dead_rows_in_the_fused_kernel(dtype):
    q, k, v = (x.to(dtype) for x in (Q, K, V))
    for mask in (to_fused(DEAD), to_additive(DEAD, dtype)):
        assert (fused(q, k, v, mask)[0, :, 0] == 0).all()
    least = to_additive(DEAD, dtype, hidden="min")
    row, free = fused(q, k, v, least)[0, :, 0], fused(q, k, v, None)[0, :, 0]
    expected = free.double() if dtype == torch.float16 else MEAN
    tolerance = max(4 * torch.finfo(dtype).eps, 1e-12)
    assert_all_close((row.double(),), (expected,), tolerance)
    assert (MEAN - free.double()).abs().max() > 0.1
