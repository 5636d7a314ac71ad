"""The exercises of chapter 3, scaled dot-product attention."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_03 as check


def test_score_spread_accepts_the_number():
    assert check.score_spread(40)
    assert check.score_spread(40.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (1600, "variance"),
        (10, "components of variance 1"),
        (20, "has variance 16"),
        (4, "after scaling"),
        (400, "100 * 4"),
        (16, "one product"),
        (160, "not that of 16"),
        (2, "spread of one component"),
        (41, "is not it"),
    ],
)
def test_score_spread_names_the_mistake(answer, thought):
    expect_thought(check.score_spread(answer), thought)


def test_the_spread_is_right():
    torch.manual_seed(0)
    q, k = 2 * torch.randn(2, 20_000, 100)
    assert (q * k).sum(dim=-1).std().item() == pytest.approx(40, rel=0.02)


def attention(
    *, scale=lambda q, k: q.shape[-1] ** -0.5, axis=-1, hide=None, zeros=True
):
    """Write attention out, with one thing wrong if asked for."""

    def candidate(q, k, v, mask):
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) * scale(q, k)
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
            if hide is not None:
                scores = hide(q @ k.transpose(-2, -1) * scale(q, k), mask)
        weights = scores.softmax(dim=axis)
        return (weights.nan_to_num(0.0) if zeros else weights) @ v

    return candidate


def in_loops(q, k, v, mask):
    """Leave hidden keys out, one query at a time."""
    out = q.new_zeros(*q.shape[:-1], v.shape[-1])
    seen = torch.ones(*q.shape[:-1], k.shape[-2], dtype=torch.bool)
    seen = seen if mask is None else seen & mask
    for b, h, i in torch.cartesian_prod(*map(torch.arange, q.shape[:3])):
        keys, values = k[b, h, seen[b, h, i]], v[b, h, seen[b, h, i]]
        powers = (keys @ q[b, h, i] / q.shape[-1] ** 0.5).exp()
        if len(powers):
            out[b, h, i] = powers @ values / powers.sum()
    return out


def with_lowest_number(q, k, v, mask):
    scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-2, -1)
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    lowest = torch.finfo(scores.dtype).min
    return (torch.where(mask, scores, lowest).softmax(dim=-1) * mask) @ v


def with_a_billion(q, k, v, mask):
    scores = torch.einsum("bhqd,bhkd->bhqk", q, k).div(q.shape[-1] ** 0.5)
    if mask is None:
        return scores.softmax(dim=-1) @ v
    out = scores.masked_fill(~mask, -1e9).softmax(dim=-1) @ v
    return out * mask.any(dim=-1, keepdim=True)


@pytest.mark.parametrize(
    "solution", [attention(), in_loops, with_lowest_number, with_a_billion]
)
def test_attention_accepts_solutions(solution):
    assert check.attention(solution).right


def hidden_after_the_softmax(q, k, v, mask):
    weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(dim=-1)
    return (weights if mask is None else weights * mask) @ v


def test_attention_names_weights_that_are_hidden_too_late():
    verdict = check.attention(hidden_after_the_softmax)
    expect_thought(verdict, "no longer adds up to 1")


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"scale": lambda q, k: 1.0}, "left out the scale"),
        ({"scale": lambda q, k: 1 / q.shape[-1]}, "its square root is right"),
        (
            {"scale": lambda q, k: k.shape[-2] ** -0.5},
            "the root of the number of keys",
        ),
        ({"scale": lambda q, k: q.shape[-1] ** 0.5}, "divide by it"),
        ({"axis": -2}, "softmax runs over the queries"),
        (
            {"hide": lambda s, m: s.masked_fill(m, -1e9)},
            "mask the wrong way round",
        ),
        ({"hide": lambda s, m: s * m}, "a score of 0 hides nothing"),
        ({"hide": lambda s, m: s}, "ignore the mask"),
        (
            {"hide": lambda s, m: s.masked_fill(~m, -1e9)},
            "gets the mean of all values",
        ),
        ({"zeros": False}, "not finite"),
    ],
)
def test_attention_names_the_mistake(options, thought):
    expect_thought(check.attention(attention(**options)), thought)


def test_unfinished_answers():
    expect_unfinished(check.score_spread, check.attention)
