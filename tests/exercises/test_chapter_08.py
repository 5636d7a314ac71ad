"""The exercises of chapter 8, the decoder."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.analysis import capture_attention
from vitedu.attention import MultiHeadAttention
from vitedu.exercises import chapter_08 as check


def test_cross_weights_accepts_what_a_layer_computes():
    layer = MultiHeadAttention(16, 8)
    with capture_attention(layer) as maps:
        layer(torch.randn(2, 7, 16), torch.randn(2, 11, 16))
    (weights,) = maps.values()
    assert check.cross_weights(weights.numel())
    assert check.cross_weights(1232.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (784, "the self-attention of the target"),
        (1936, "the self-attention of the source"),
        (5184, "not put into one sequence"),
        (77, "that is one map"),
        (154, "that is one head"),
        (616, "that is one pair"),
        (1233, "is not it"),
    ],
)
def test_cross_weights_names_the_mistake(answer, thought):
    expect_thought(check.cross_weights(answer), thought)


def on_a_tape(x, memory, look_back, look_across, network, norms):
    """Solve it with a list of what each branch adds."""
    added = [x]
    added.append(look_back(norms[0](x)))
    added.append(look_across(norms[1](sum(added)), memory))
    added.append(network(norms[2](sum(added))))
    return sum(added)


def test_decoder_block_accepts_a_solution():
    assert check.decoder_block(on_a_tape)


def as_on_the_page(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](x), norms[1](memory))
    return y + network(norms[2](y))


def query_too_early(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](x), memory)
    return y + network(norms[2](y))


def memory_normalised(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    y = y + look_across(norms[1](y), norms[1](memory))
    return y + network(norms[2](y))


def across_first(x, memory, look_back, look_across, network, norms):
    y = x + look_across(norms[1](x), memory)
    y = y + look_back(norms[0](y))
    return y + network(norms[2](y))


def memory_asks(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    y = y + look_across(memory, norms[1](y))
    return y + network(norms[2](y))


def replaced(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    y = look_across(norms[1](y), memory)
    return y + network(norms[2](y))


def post_norm(x, memory, look_back, look_across, network, norms):
    y = norms[0](x + look_back(x))
    y = norms[1](y + look_across(y, memory))
    return norms[2](y + network(y))


def bare_back(x, memory, look_back, look_across, network, norms):
    y = x + look_back(x)
    y = y + look_across(norms[1](y), memory)
    return y + network(norms[2](y))


def bare_query(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    y = y + look_across(y, memory)
    return y + network(norms[2](y))


def thoughtless(x, memory, look_back, look_across, network, norms):
    y = x + look_back(norms[0](x))
    return y + look_across(norms[1](y), memory)


@pytest.mark.parametrize(
    ("wrong", "thought"),
    [
        (as_on_the_page, "two mistakes are left, and one of them: the query"),
        (query_too_early, "tokens: the query comes from what entered"),
        (memory_normalised, "the memory is normalised"),
        (across_first, "before you look back"),
        (memory_asks, "swapped: the target asks"),
        (replaced, "replaces the stream"),
        (post_norm, "the stream itself is normalised"),
        (bare_back, "without norm1"),
        (bare_query, "the query has no norm"),
        (thoughtless, "network is missing"),
    ],
)
def test_decoder_block_names_the_mistake(wrong, thought):
    expect_thought(check.decoder_block(wrong), thought)


def test_unfinished_answers():
    expect_unfinished(check.cross_weights, check.decoder_block)
