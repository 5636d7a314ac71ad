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
        (0.707, "old distance over the new spread"),
        (4.243, "the mean is missing"),
        (1.5, "that is 12 / 8"),
        (1, "no range is stretched"),
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


def norm(mean=2, spread=2, *, root=True, fewer=0, gains=True, keep_mean=False):
    """Write the norm out, with one thing wrong if asked for."""

    def candidate(x, gain, shift):
        centred = x - x.mean(mean, keepdim=True)
        if spread is not None:
            squares = centred if not keep_mean else x
            variance = (squares**2).mean(spread, keepdim=True)
            variance = variance * 7 / (7 - fewer) + 1e-6
            divisor = variance.sqrt() if root else variance
            centred = (x if keep_mean else centred) / divisor
        return torch.addcmul(shift, centred, gain) if gains else centred

    return candidate


def norm_in_loops(x, gain, shift):
    out = torch.empty_like(x)
    for b, t in torch.cartesian_prod(*map(torch.arange, x.shape[:2])):
        token = x[b, t] - sum(x[b, t]) / x.shape[2]
        spread = (token @ token / x.shape[2] + 1e-6) ** 0.5
        out[b, t] = token / spread * gain + shift
    return out


@pytest.mark.parametrize(
    "solution",
    [
        norm(),
        norm_in_loops,
        lambda x, gain, shift: F.layer_norm(x, (7,), gain, shift, 1e-6),
    ],
)
def test_each_token_alone_accepts_solutions(solution):
    assert check.each_token_alone(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (norm(2, (1, 2)), "when tokens are put behind"),
        (norm((1, 2), (1, 2)), "now they share the mean as well"),
        (norm((1, 2)), "but the mean is shared"),
        (norm(1, 1), "one feature at a time"),
        (norm(2, 1), "spread is that of a feature"),
        (norm(0, 0), "average over the sentences"),
        (norm((0, 1), (0, 1)), "that is BatchNorm"),
        (norm(spread=None), "nothing is divided by the spread"),
        (norm(root=False), "its root is the spread"),
        (norm(fewer=1), "one less than their number"),
        (norm(keep_mean=True), "mean is not subtracted"),
        (norm(gains=False), "gain and shift are gone"),
        (lambda x, gain, shift: x * gain + shift, "a number is off"),
    ],
)
def test_each_token_alone_names_the_mistake(candidate, thought):
    expect_thought(check.each_token_alone(candidate), thought)


def test_the_broken_norm_says_only_what_is_seen():
    message = check.each_token_alone(norm(2, (1, 2))).message
    assert "spread" not in message
    assert "variance" not in message


NAMES = {
    "A": "post-norm, warm-up",
    "B": "no sums",
    "C": "pre-norm, warm-up",
    "D": "no norms",
    "E": "post-norm",
    "F": "pre-norm",
}


def test_failing_stacks_accepts_the_names_in_any_order():
    assert check.failing_stacks(NAMES)
    assert check.failing_stacks(dict(reversed(NAMES.items())))


def test_the_letters_of_the_figure_are_those_of_the_check():
    names = {name: name for name in NAMES.values()}
    assert check.lettered(names) == NAMES
    assert list(check.lettered(names)) == list("ABCDEF")


@pytest.mark.parametrize(
    ("letter", "said", "thought"),
    [
        ("A", "post-norm", "spoil that network for good"),
        ("E", "post-norm, warm-up", "before it comes back"),
        ("B", "post-norm", "the spread is 1 after every block"),
        ("E", "no sums", "the spread falls at once"),
        ("A", "pre-norm", "spread rises from block to block"),
        ("C", "pre-norm", "takes large steps from the start"),
        ("F", "pre-norm, warm-up", "neither leaps nor falls"),
        ("F", "no norms", "far above that of guessing"),
        ("D", "pre-norm, warm-up", "neither leaps nor falls"),
        ("D", "no sums", "the spread falls at once"),
        ("C", "dropout", "is not one of the letters A, B, C, D, E, F"),
        ("G", "no sums", "is not one of the letters"),
    ],
)
def test_failing_stacks_says_why_a_curve_is_not_so(letter, said, thought):
    verdict = check.failing_stacks(NAMES | {letter: said})
    expect_thought(verdict, thought)
    others = {name for name in NAMES if f"{name} is not" in verdict.message}
    assert others <= {letter}


def test_failing_stacks_says_why_for_every_wrong_pair():
    for letter, drawn in NAMES.items():
        for said in set(NAMES.values()) - {drawn}:
            message = check.failing_stacks({letter: said}).message
            assert message.startswith(f"{letter} is not {said!r}: ")
            assert message.count("is not") == 1
            assert drawn not in message.replace(said, "")


def test_failing_stacks_names_what_is_left_to_do():
    some = {"E": "post-norm", "F": "pre-norm", "A": "...", "B": None}
    verdict = check.failing_stacks(some)
    expect_thought(verdict, "no mistake so far; still to do: A, B, C, D.")


@pytest.mark.parametrize(
    "answer", [None, {}, "A", dict.fromkeys(NAMES, "...")]
)
def test_failing_stacks_asks_for_names_first(answer):
    expect_thought(check.failing_stacks(answer), "write a name beside")


def test_unfinished_answers():
    expect_unfinished(check.block_parameters, check.pre_norm_stack)
    expect_unfinished(check.block_parameters, check.each_token_alone)
    expect_thought(check.doubled_token(None), "write your prediction")
