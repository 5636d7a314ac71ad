"""The exercises of chapter 6, residuals, norms, feed-forward."""

import pytest
import torch
import torch.nn.functional as F
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


def test_doubled_token_accepts_the_number():
    token = torch.tensor([4.0, 8.0, 8.0, 12.0])
    assert check.doubled_token(1.41)
    assert check.doubled_token(F.layer_norm(token, (4,))[3].item())


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (2.83, "spread doubles, too"),
        (4, "that is step 1"),
        (0.5, "divided by the variance"),
        (1.22, "not by 3"),
        (12, "is not it"),
    ],
)
def test_doubled_token_names_the_mistake(answer, thought):
    expect_thought(check.doubled_token(answer), thought)


def stack(
    *,
    before=True,
    after=None,
    keep=True,
    stream=False,
    old=False,
    one=False,
    count=None,
    first=False,
    last=True,
    each=False,
):
    """Write a stack out, with one thing wrong if asked for."""

    def candidate(x, branches, norms, last_norm):
        x = last_norm(x) if first else x
        given = x
        for i, branch in enumerate(branches[:count]):
            norm = norms[0 if one else i]
            x = norm(x) if stream else x
            read = given if old else x
            added = branch(norm(read) if before and not stream else read)
            added = norm(added) if after == "branch" else added
            x = x + added if keep else added
            x = norm(x) if after == "sum" else x
            x = last_norm(x) if each else x
        return last_norm(x) if last else x

    return candidate


def by_recursion(x, branches, norms, last_norm):
    if not branches:
        return last_norm(x)
    x = branches[0](norms[0](x)) + x
    return by_recursion(x, branches[1:], norms[1:], last_norm)


def as_a_sum(x, branches, norms, last_norm):
    added = [x]
    for i in range(len(norms)):
        added.append(branches[i](norms[i](sum(added))))
    return last_norm(sum(added))


def test_pre_norm_stack_accepts_solutions():
    assert check.pre_norm_stack(stack())
    assert check.pre_norm_stack(by_recursion)
    assert check.pre_norm_stack(as_a_sum)


POST = {"before": False, "after": "sum"}


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"last": False}, "last norm is missing: the stream"),
        ({"last": False, "first": True}, "at the end, not at the start"),
        ({"last": False, "each": True}, "not in the loop"),
        (POST, "that is post-norm: you"),
        (POST | {"last": False}, "post-norm, and the last norm is missing"),
        ({"stream": True}, "to the normalised x"),
        ({"before": False, "after": "branch"}, "what leaves a branch"),
        ({"one": True}, "first norm each time"),
        ({"before": False}, "norms of the branches are missing"),
        ({"keep": False}, "nothing is added"),
        ({"old": True}, "the sum before it"),
        ({"count": 1}, "only the first branch"),
        ({"count": 2}, "only the first two"),
        ({"stream": True, "last": False}, "a number is off"),
    ],
)
def test_pre_norm_stack_names_the_mistake(options, thought):
    expect_thought(check.pre_norm_stack(stack(**options)), thought)


def test_an_input_changed_in_place_is_noticed():
    def in_place(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x += branch(norm(x))
        return last_norm(x)

    expect_thought(check.pre_norm_stack(in_place), "changed its input")


def test_unfinished_answers():
    expect_unfinished(check.block_parameters, check.pre_norm_stack)
    expect_thought(check.doubled_token(None), "write your prediction")
