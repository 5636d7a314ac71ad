"""The exercises of chapter 6, residuals, norms, feed-forward."""

import pytest
from judging import expect_thought, expect_unfinished

from vitedu.attention import MultiHeadAttention
from vitedu.exercises import chapter_06 as check
from vitedu.layers import EncoderBlock, FeedForward

H, D_FF = 64, 128


def the_block():
    return EncoderBlock(MultiHeadAttention(H, 4), FeedForward(H, D_FF))


def test_block_parameters_accepts_the_number():
    assert check.block_parameters(33_472)
    counted = sum(p.numel() for p in the_block().parameters())
    assert check.block_parameters(counted)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (49_984, "hidden width of 4h"),
        (33_216, "two norms are missing"),
        (33_344, "you counted one norm"),
        (33_024, "the biases are missing"),
        (32_768, "the six matrices"),
        (29_312, "output projection"),
        (16_896, "feed-forward network is missing"),
        (16_832, "attention is missing"),
        (33_344 - 1, "is not it"),
        (33_472.5, "is not it"),
        ("33,472", "a number is asked for"),
    ],
)
def test_block_parameters_names_the_mistake(answer, thought):
    expect_thought(check.block_parameters(answer), thought)


def block(
    *,
    before=(True, True),
    after=(False, False),
    keep=(True, True),
    order=(0, 1),
    norms=(0, 1),
    stream=False,
    old=False,
    branches=2,
):
    """Write a block out, with one thing wrong if asked for."""

    def candidate(x, attention, network, norm1, norm2):
        given = x
        parts, both = (attention, network), (norm1, norm2)
        for i in range(branches):
            branch, norm = parts[order[i]], both[norms[i]]
            x = norm(x) if stream else x
            read = given if old else x
            read = norm(read) if before[i] and not stream else read
            added = branch(read)
            added = norm(added) if after[i] == "branch" else added
            x = x + added if keep[i] else added
            x = norm(x) if after[i] == "sum" else x
        return x

    return candidate


def in_two_lines(x, attention, network, norm1, norm2):
    middle = attention(norm1(x)) + x
    return network(norm2(middle)) + middle


def test_pre_norm_block_accepts_solutions():
    assert check.pre_norm_block(block())
    assert check.pre_norm_block(in_two_lines)


NOT_BEFORE = (False, False)


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"before": NOT_BEFORE, "after": ("sum",) * 2}, "that is post-norm"),
        ({"keep": (False, False)}, "nothing is added to the input"),
        ({"stream": True}, "to the normalised x"),
        ({"old": True}, "reads the old x"),
        ({"norms": (1, 0)}, "two norms are swapped"),
        (
            {"before": NOT_BEFORE, "after": ("branch",) * 2},
            "what leaves the branch",
        ),
        ({"norms": (0, 0)}, "used norm1 twice"),
        ({"before": NOT_BEFORE}, "the norms are missing"),
        ({"keep": (True, False)}, "second branch is not added"),
        ({"keep": (False, True)}, "first branch is not added"),
        ({"order": (1, 0)}, "attention comes first"),
        ({"branches": 1}, "feed-forward network, is missing"),
        ({"norms": (1, 1)}, "a number is off"),
    ],
)
def test_pre_norm_block_names_the_mistake(options, thought):
    expect_thought(check.pre_norm_block(block(**options)), thought)


def test_an_input_changed_in_place_is_noticed():
    def in_place(x, attention, network, norm1, norm2):
        x += attention(norm1(x))
        return x + network(norm2(x))

    expect_thought(check.pre_norm_block(in_place), "changed its input")


def test_unfinished_answers():
    expect_unfinished(check.block_parameters, check.pre_norm_block)
