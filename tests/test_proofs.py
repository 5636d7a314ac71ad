"""Proofs: what is the same passes, what is not is named."""

import math

import pytest
import torch
from helpers import draw

from vitedu.book.proofs import same, same_attention

X, Y = draw(3, 5), draw(5, 7)


def test_same_returns_the_largest_difference():
    assert same(torch.matmul, lambda a, b: a @ b, X, Y) == 0.0
    found = same(
        lambda a: a * 3, lambda a: a + a + a + 1e-12, X, tolerance=1e-10
    )
    assert 5e-13 < found < 2e-12


def right_value_wrong_gradient(a):
    return a + 1e-3 * (a - a.detach())


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (lambda a: a * 2, lambda a: a * 2 + 1e-9, "output: differs by 1e-09"),
        (lambda a: a, right_value_wrong_gradient, "gradient 0: differs"),
        (lambda a: a, lambda a: a.detach(), "gradient 0: differs"),
        (lambda a: a, lambda a: None, "output: a tensor is asked for, got No"),
        (lambda a: a.T, lambda a: a, "output: shapes differ, (5, 3) and (3,"),
        (lambda a: a * math.nan, lambda a: a, "output: differs by nan"),
        (
            lambda a: a * math.nan,
            lambda a: a * math.nan,
            "output: differs by nan",
        ),
    ],
)
def test_same_finds_what_differs(first, second, message):
    with pytest.raises(AssertionError) as caught:
        same(first, second, X)
    assert message in str(caught.value)


def test_same_names_the_input_whose_gradient_differs():
    with pytest.raises(AssertionError, match="gradient 1: differs by"):
        same(lambda a, b: a @ b, lambda a, b: a @ b.detach(), X, Y)


def test_same_attention_accepts_the_formula():
    def by_hand(q, k, v, mask):
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if mask is None:
            return scores.softmax(dim=-1) @ v
        powers = scores.exp() * mask
        total = powers.sum(dim=-1, keepdim=True)
        return powers / total.clamp_min(1e-300) @ v

    found = same_attention(by_hand)
    assert list(found) == ["none", "causal", "padding", "dead row"]
    assert max(found.values()) < 1e-12


def broken(*, scale=True, axis=-1, flip=False, fill=-1e9):
    def attention(q, k, v, mask):
        scores = q @ k.transpose(-2, -1)
        if scale:
            scores = scores / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask if flip else ~mask, fill)
        return scores.softmax(dim=axis) @ v

    return attention


@pytest.mark.parametrize(
    ("candidate", "mask"),
    [
        (broken(scale=False), "none"),
        (broken(axis=-2), "none"),
        (broken(flip=True), "causal"),
        (broken(fill=0.0), "causal"),
        (broken(), "dead row"),
        (broken(fill=-math.inf), "dead row"),
    ],
)
def test_same_attention_names_the_mask_under_which_one_breaks(candidate, mask):
    with pytest.raises(AssertionError, match=f"^mask {mask}: "):
        same_attention(candidate)
