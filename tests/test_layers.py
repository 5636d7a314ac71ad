"""The layers around attention."""

import pytest
import torch
from helpers import assert_all_close, draw, gradients, refuses

from vitedu.attention import MultiHeadAttention
from vitedu.layers import (
    DecoderBlock,
    DropPath,
    EncoderBlock,
    FeedForward,
    make_norm,
    swiglu_width,
)
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


@pytest.mark.parametrize("bias", [True, False])
def test_swiglu_lets_through_what_its_gate_opens(bias):
    mlp, x = make_mlp(activation="swiglu", bias=bias), draw(2, 5, 7)
    assert mlp.fc1.weight.shape == (22, 7)

    def by_hand(x):
        rows = mlp.fc1.weight.split(11)
        gate, other = (x @ row.T for row in rows)
        if bias:
            gate, other = gate + mlp.fc1.bias[:11], other + mlp.fc1.bias[11:]
        hidden = gate / (1 + (-gate).exp()) * other
        out = hidden @ mlp.fc2.weight.T
        return out + mlp.fc2.bias if bias else out

    assert_all_close(gradients(mlp, x), gradients(by_hand, x))
    assert {name for name, _ in mlp.named_parameters()} == {
        f"{layer}.{kind}"
        for layer in ("fc1", "fc2")
        for kind in ("weight", "bias")[: 1 + bias]
    }


@pytest.mark.parametrize("d_ff", [3, 48, 3072])
def test_two_thirds_of_the_width_make_as_many_weights(d_ff):
    plain, gated = (
        sum(
            p.numel()
            for p in FeedForward(16, n, activation=x, bias=False).parameters()
        )
        for n, x in ((d_ff, "gelu"), (swiglu_width(d_ff), "swiglu"))
    )
    assert plain == gated
    # Rounded up to whole multiples; Llama 2 70B widens by 1.3 before.
    assert swiglu_width(int(1.3 * 32768), multiple_of=4096) == 28672
    assert [swiglu_width(n) for n in (1, 2, 4)] == [1, 2, 3]


def test_root_mean_squares_are_a_norm_without_mean_and_bias():
    norm, x = make_norm("rms", 7, eps=0.3).double(), draw(2, 5, 7)
    torch.nn.init.normal_(norm.weight)

    def by_hand(x):
        square = (x * x).sum(dim=-1, keepdim=True) / 7
        return x / (square + 0.3).sqrt() * norm.weight

    assert_all_close(gradients(norm, x), gradients(by_hand, x))
    assert [name for name, _ in norm.named_parameters()] == ["weight"]
    assert isinstance(make_norm("layer", 7), torch.nn.LayerNorm)


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


def test_drop_path_changes_nothing_in_evaluation_or_at_rate_zero():
    x = draw(5, 2, 3)
    assert torch.equal(DropPath(0.9).eval()(x), x)
    assert torch.equal(DropPath(0.0)(x), x)


def test_parallel_branches_read_the_same_input():
    block = make_block(parallel=True, layer_scale=0.5)
    x = draw(2, 5, 7)
    with torch.no_grad():
        for parameter in (*block.norm1.parameters(), block.ls2.gamma):
            parameter.copy_(draw(7, seed=parameter.numel()))

    def by_hand(x, mask=None):
        y = torch.nn.functional.layer_norm(
            x, (7,), block.norm1.weight, block.norm1.bias, 1e-6
        )
        return (
            x + 0.5 * block.attn(y, mask=mask) + block.ls2.gamma * block.mlp(y)
        )

    for mask in (None, causal_mask(5)):
        assert_all_close(
            gradients(lambda x, mask=mask: block(x, mask), x),
            gradients(lambda x, mask=mask: by_hand(x, mask), x),
        )
    assert not any("norm2" in name for name in block.state_dict())
    with refuses(ValueError, "norm_first must be True with parallel"):
        make_block(parallel=True, norm_first=False)


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
