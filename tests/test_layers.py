"""The layers around attention."""

import pytest
import torch
from helpers import assert_all_close, draw, gradients

from vitedu.attention import MultiHeadAttention
from vitedu.cache import KeyValueCache
from vitedu.layers import DecoderBlock, DropPath, EncoderBlock, FeedForward
from vitedu.masks import causal_mask


def make_mlp(**options):
    torch.manual_seed(0)
    return FeedForward(7, 11, **options).double()


def make_block(d_model=7, mlp_width=7, **options):
    torch.manual_seed(0)
    attn = MultiHeadAttention(d_model, 3, head_dim=5)
    return EncoderBlock(attn, FeedForward(mlp_width, 11), **options).double()


def gelu(x):
    return x * (1 + torch.erf(x / 2**0.5)) / 2


def relu(x):
    return x.clamp_min(0)


@pytest.mark.parametrize(("name", "formula"), [("gelu", gelu), ("relu", relu)])
def test_feed_forward_is_two_maps_with_an_activation_between(name, formula):
    mlp, x = make_mlp(activation=name), draw(2, 5, 7)

    def by_hand(x):
        hidden = formula(x @ mlp.fc1.weight.T + mlp.fc1.bias)
        return hidden @ mlp.fc2.weight.T + mlp.fc2.bias

    assert_all_close(gradients(mlp, x), gradients(by_hand, x))


def test_gelu_is_the_default():
    x = draw(2, 5, 7)
    assert torch.equal(make_mlp()(x), make_mlp(activation="gelu")(x))


def test_feed_forward_treats_each_token_alone():
    mlp, x = make_mlp(), draw(2, 5, 7)
    assert_all_close((mlp(x)[:, 3:4],), (mlp(x[:, 3:4]),))


def test_feed_forward_drops_after_the_activation_and_at_the_end():
    mlp = make_mlp(dropout=0.25)
    hidden = []
    mlp.fc2.register_forward_pre_hook(lambda _, args: hidden.append(args[0]))
    out = mlp(draw(300, 5, 7))
    assert abs((hidden[0] == 0).double().mean().item() - 0.25) < 0.02
    assert abs((out == 0).double().mean().item() - 0.25) < 0.02
    mlp.eval()
    assert_all_close((mlp(draw(2, 5, 7)),), (make_mlp()(draw(2, 5, 7)),))


def test_the_rate_after_the_activation_may_be_another():
    rates = [
        (mlp.drop1.p, mlp.drop2.p)
        for mlp in (
            make_mlp(dropout=0.3),
            make_mlp(dropout=0.3, activation_dropout=0.0),
            make_mlp(activation_dropout=0.2),
        )
    ]
    assert rates == [(0.3, 0.3), (0.0, 0.3), (0.2, 0.0)]


def test_drop_path_skips_samples_and_lets_the_others_grow():
    torch.manual_seed(0)
    path = DropPath(0.25)
    x = draw(4000, 2, 3)
    out = path(x)
    kept = (out != 0).flatten(1)
    assert torch.equal(kept.any(dim=1), kept.all(dim=1))
    kept = kept.all(dim=1)
    assert abs(kept.double().mean().item() - 0.75) < 0.03
    assert_all_close((out[kept],), (x[kept] / 0.75,))


def test_drop_path_of_a_kept_sample_passes_the_gradient():
    path = DropPath(0.5)
    torch.manual_seed(0)
    x = draw(20, 3).requires_grad_()
    out = path(x)
    out.sum().backward()
    assert_all_close((x.grad,), (2.0 * (out != 0).double(),))


def test_drop_path_changes_nothing_in_evaluation_or_at_rate_zero():
    x = draw(5, 2, 3)
    assert torch.equal(DropPath(0.9).eval()(x), x)
    assert torch.equal(DropPath(0.0)(x), x)


def test_drop_path_shows_its_rate():
    assert repr(DropPath(0.25)) == "DropPath(rate=0.25)"


def pre_norm(block, x, mask):
    x = x + block.attn(block.norm1(x), mask=mask)
    return x + block.mlp(block.norm2(x))


def post_norm(block, x, mask):
    x = block.norm1(x + block.attn(x, mask=mask))
    return block.norm2(x + block.mlp(x))


@pytest.mark.parametrize(
    ("norm_first", "formula"), [(True, pre_norm), (False, post_norm)]
)
def test_block_is_two_residual_branches(norm_first, formula):
    block, x = make_block(norm_first=norm_first), draw(2, 5, 7)
    with torch.no_grad():
        for norm in (block.norm1, block.norm2):
            norm.weight.copy_(draw(7, seed=1))
            norm.bias.copy_(draw(7, seed=2))
    for mask in (None, causal_mask(5)):
        assert_all_close(
            gradients(lambda x, mask=mask: block(x, mask), x),
            gradients(lambda x, mask=mask: formula(block, x, mask), x),
        )


def test_pre_norm_is_the_default():
    assert make_block().norm_first
    assert make_block().norm1.eps == make_block().norm2.eps == 1e-6
    assert make_block(layer_norm_eps=0.1).norm2.eps == 0.1


def test_a_block_skips_each_branch_for_whole_samples():
    torch.manual_seed(0)
    block, x = make_block(drop_path=0.5), draw(400, 5, 7)
    block.train()
    out = block(x)
    both_skipped = (out == x).flatten(1).all(dim=1).double().mean().item()
    assert abs(both_skipped - 0.25) < 0.06
    block.eval()
    assert_all_close((block(x),), (make_block().eval()(x),))


def make_decoder_block(cross_width=7, mlp_width=7, **options):
    torch.manual_seed(0)
    block = DecoderBlock(
        MultiHeadAttention(7, 3, head_dim=5),
        MultiHeadAttention(cross_width, 2, head_dim=3),
        FeedForward(mlp_width, 11),
        **options,
    ).double()
    for norm in (block.norm1, block.norm2, block.norm3):
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    return block


def decode_pre_norm(block, x, memory, mask, memory_mask):
    x = x + block.attn(block.norm1(x), mask=mask)
    x = x + block.cross_attn(block.norm2(x), memory, memory_mask)
    return x + block.mlp(block.norm3(x))


def decode_post_norm(block, x, memory, mask, memory_mask):
    x = block.norm1(x + block.attn(x, mask=mask))
    x = block.norm2(x + block.cross_attn(x, memory, memory_mask))
    return block.norm3(x + block.mlp(x))


each_decoder = pytest.mark.parametrize(
    ("norm_first", "formula"),
    [(True, decode_pre_norm), (False, decode_post_norm)],
)
MEMORY_MASK = (torch.arange(4) < torch.tensor([[4], [2]]))[:, None, None]


@each_decoder
def test_decoder_block_is_three_residual_branches(norm_first, formula):
    block = make_decoder_block(norm_first=norm_first)
    for masks in ((None, None), (causal_mask(5), MEMORY_MASK)):
        assert_all_close(
            gradients(
                lambda x, m, masks=masks: block(x, m, *masks),
                draw(2, 5, 7),
                draw(2, 4, 7, seed=1),
            ),
            gradients(
                lambda x, m, masks=masks: formula(block, x, m, *masks),
                draw(2, 5, 7),
                draw(2, 4, 7, seed=1),
            ),
        )


@each_decoder
def test_decoder_block_token_by_token_is_all_at_once(norm_first, formula):
    block = make_decoder_block(norm_first=norm_first)
    x, memory = draw(2, 5, 7), draw(2, 4, 7, seed=1)
    cache = KeyValueCache(), KeyValueCache()
    steps = [
        block(x[:, i : i + 1], memory, None, MEMORY_MASK, cache)
        for i in range(5)
    ]
    whole = block(x, memory, causal_mask(5), MEMORY_MASK)
    assert_all_close((torch.cat(steps, dim=1),), (whole,))


@pytest.mark.parametrize("norm_first", [True, False])
def test_a_decoder_block_skips_each_branch_for_whole_samples(norm_first):
    torch.manual_seed(0)
    block = make_decoder_block(drop_path=0.5, norm_first=norm_first)
    x, memory = draw(1, 5, 7), draw(1, 4, 7, seed=1)
    outs = {
        tuple(round(value, 6) for value in out.flatten().tolist())
        for out in block(x.expand(200, -1, -1), memory.expand(200, -1, -1))
    }
    assert len(outs) == 8


def test_pre_norm_is_the_default_of_a_decoder_block_too():
    block = make_decoder_block()
    assert block.norm_first
    assert block.norm1.eps == block.norm2.eps == block.norm3.eps == 1e-6
    assert make_decoder_block(layer_norm_eps=0.1).norm3.eps == 0.1
