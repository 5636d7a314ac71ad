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


def on_a_tape(x, memory, context, *parts):
    """Solve it with a list of what each branch adds."""
    back, across, aside, network, norms = parts
    added = [x]
    added.append(back(norms[0](x)))
    added.append(across(norms[1](sum(added)), memory))
    added.append(aside(norms[2](sum(added)), context))
    added.append(network(norms[3](sum(added))))
    return sum(added)


def branch_by_branch(x, memory, context, *parts):
    """Solve it with one line for all branches."""
    back, across, aside, network, norms = parts
    branches = (
        back,
        lambda x: across(x, memory),
        lambda x: aside(x, context),
        network,
    )
    for branch, norm in zip(branches, norms, strict=True):
        x = x + branch(norm(x))
    return x


@pytest.mark.parametrize("solution", [on_a_tape, branch_by_branch])
def test_two_memories_accepts_a_solution(solution):
    assert check.two_memories(solution)


def as_on_the_page(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    asking = norms[1](y)
    y = y + across(asking, memory)
    y = x + aside(asking, context)
    return y + network(norms[3](y))


def old_query(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    asking = norms[1](y)
    y = y + across(asking, memory)
    y = y + aside(asking, context)
    return y + network(norms[3](y))


def restarted(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), memory)
    y = x + aside(norms[2](y), context)
    return y + network(norms[3](y))


def norm_twice(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), memory)
    y = y + aside(norms[1](y), context)
    return y + network(norms[3](y))


def bare_look(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), memory)
    y = y + aside(y, context)
    return y + network(norms[3](y))


def memory_normed(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), norms[1](memory))
    y = y + aside(norms[2](y), context)
    return y + network(norms[3](y))


def context_normed(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), memory)
    y = y + aside(norms[2](y), norms[2](context))
    return y + network(norms[3](y))


def swapped(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), context)
    y = y + aside(norms[2](y), memory)
    return y + network(norms[3](y))


def aside_first(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + aside(norms[2](y), context)
    y = y + across(norms[1](y), memory)
    return y + network(norms[3](y))


def early_queries(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](x), memory)
    y = y + aside(norms[2](x), context)
    return y + network(norms[3](y))


def replaced(x, memory, context, *parts):
    back, across, aside, network, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), memory)
    y = aside(norms[2](y), context)
    return y + network(norms[3](y))


def thoughtless(x, memory, context, *parts):
    back, across, aside, _, norms = parts
    y = x + back(norms[0](x))
    y = y + across(norms[1](y), memory)
    return y + aside(norms[2](y), context)


@pytest.mark.parametrize(
    ("wrong", "thought"),
    [
        (as_on_the_page, "two mistakes are left"),
        (old_query, "as the one before did"),
        (restarted, "lost two branches"),
        (norm_twice, "not through norm3"),
        (bare_look, "has no norm"),
        (memory_normed, "the memory is normalised"),
        (context_normed, "the context is normalised"),
        (swapped, "memory and context are swapped"),
        (aside_first, "before you look across"),
        (early_queries, "what entered the block"),
        (replaced, "replaces the stream"),
        (thoughtless, "network is missing"),
    ],
)
def test_two_memories_names_the_mistake(wrong, thought):
    expect_thought(check.two_memories(wrong), thought)


def test_unfinished_answers():
    expect_unfinished(check.cross_weights, check.two_memories)
