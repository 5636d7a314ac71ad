"""What a reader is told about a wrong result that nobody foresaw."""

import math
import time

import pytest
import torch

from vitedu.attention import scaled_dot_product_attention
from vitedu.book.grading import judge_function
from vitedu.book.misreadings import misread_input
from vitedu.masks import causal_mask

PEN = torch.Generator().manual_seed(0)
Q, K, V = torch.randn(3, 2, 4, 5, 6, generator=PEN, dtype=torch.float64)


def attention(q, k, v):
    return scaled_dot_product_attention(q, k, v, causal_mask(5))


def weights(q, k):
    return (q @ k.mT / 6**0.5).softmax(-1)


def told(candidate, right, inputs=(Q, K, V)) -> str:
    verdict = judge_function(candidate, right, {}, {"a case": inputs})
    assert not verdict
    return verdict.message


def changed(change):
    """Return causal attention whose result is changed."""
    return lambda q, k, v: change(attention(q, k, v))


def with_mask(mask):
    return lambda q, k, v: scaled_dot_product_attention(q, k, v, mask)


SHORT = causal_mask(5).clone()
SHORT[..., 4, 0] = False
AHEAD = causal_mask(5).clone()
AHEAD[..., 1, 3] = True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda y: y * 8, "every number is 8 times what it should be."),
        (lambda y: -y, "every number has the wrong sign."),
        (lambda y: y * 0, "every number is 0."),
        (lambda y: y + 0.25, "every number is off by 0.25."),
        (lambda y: y * 0 + 3, "all numbers are the same."),
        (lambda y: y.flip(2), "axis 2 runs backwards."),
        (lambda y: y.roll(1, 2), "everything on axis 2 is one position too"),
        (
            lambda y: y[:, :, [1, 3, 0, 4, 2]],
            "the numbers are right, but on axis 2 they are out of order.",
        ),
        (
            lambda y: y / y.norm(dim=-1, keepdim=True),
            "each row is a multiple of what it should be",
        ),
        (
            lambda y: y - 2 * y.mean(dim=-1, keepdim=True),
            "each row is shifted by its own number.",
        ),
        (lambda y: y * 1.001 - 1e-3, "the numbers are nearly right"),
        (
            lambda y: torch.cat([y[:, :, :3], y[:, :, 3:] ** 3], 2),
            "of the 5 positions on axis 2, only positions 3 and 4 are wrong.",
        ),
        (lambda y: y.transpose(1, 2), "The numbers are right; axes are"),
        (lambda y: y.flatten(1, 2), "The numbers are right; reshape them."),
        (lambda y: y.mean(1), "Axis 1 is averaged and should be kept."),
        (lambda y: y[:, :, -1], "Only the last of axis 2 is there."),
        (lambda y: y / 0, "no number is finite. Infinity comes from a div"),
        (lambda y: y.transpose(2, 3).flip(2).mT, "axis 3 runs backwards."),
        (
            lambda y: y.roll(2, 2),
            "everything on axis 2 is 2 positions too late",
        ),
        (lambda y: y.exp(), "the exponential of what it should be."),
        (lambda y: y.abs(), "the numbers are right except for their signs."),
        (lambda y: y[:, :1].expand_as(y), "on axis 1 hold the same numbers"),
        (
            lambda y: y + torch.arange(1, 7),
            "each position on axis 3 is shifted by",
        ),
        (lambda y: y[:, :, [0, 2, 3]], "On axis 2: 1 and 4 are missing; the"),
        (lambda y: y + V, "`v` was added and should not be, or was added"),
        (lambda y: y + torch.rand(5, 6), "Each call gives different numbers."),
    ],
)
def test_a_broken_property_is_named(change, said):
    assert said in told(changed(change), attention)


def test_what_has_to_add_up_to_1_is_named():
    message = told(lambda q, k: weights(k, q).mT, weights, (Q, K))
    assert "the sum over axis 3 should be 1, but it is" in message


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        (
            AHEAD,
            "Row [0, 0, 1] of the result changes when row 3 of `k` changes, "
            "but should not. It looks ahead.",
        ),
        (
            SHORT,
            "Row [0, 0, 4] of the result should change when row 0 of `k` "
            "changes, but does not.",
        ),
    ],
)
def test_what_is_read_and_should_not_be_is_named(mask, said):
    def right(query, key, value):
        return attention(query, key, value)

    assert said in told(with_mask(mask), right)


def test_the_first_number_and_the_cases_that_pass_are_named():
    def upper(x):
        return x.triu()

    square, wide = torch.ones(3, 3), torch.ones(2, 3)
    verdict = judge_function(
        lambda x: x.triu() + (x.shape != x.mT.shape),
        upper,
        {},
        {"a square": (square,), "a wide one": (wide,)},
    )
    assert verdict.message == (
        "a wide one: every number is off by 1. The first that differs is at "
        "[0, 0]: 2 instead of 1. It is right for a square."
    )


def test_whole_numbers_and_truths_are_described():
    count = torch.arange(12).view(3, 4)
    assert "axis 0 runs backwards" in told(
        lambda x: x.flip(0), lambda x: x, (count,)
    )
    assert "right function returns" not in told(
        lambda x: x > 5, lambda x: x > 3, (count,)
    )
    assert "False and True, are swapped" in told(
        lambda x: x <= 3, lambda x: x > 3, (count,)
    )
    # What lies behind the point is not cut off.
    assert told(lambda x: x + 0.5, lambda x: x, (count,))


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
@pytest.mark.parametrize("wrong", [0.5, math.nan, math.inf])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 2)])
def test_no_input_and_no_result_is_too_odd(kind, wrong, shape):
    given = (torch.arange(3) > 1).to(kind)
    answer = torch.full(shape, wrong)
    for right in (given.sum(), given, given.expand(2, 3)):
        assert told(lambda x: answer, lambda x, y=right: y, (given,))


def test_a_saturated_softmax_is_no_reason_to_call_a_look_wrong():
    def right(x, y):
        return (1e3 * x @ y.mT).softmax(-1) @ y

    message = told(lambda x, y: right(x, y).sin() + x, right, (Q, K))
    assert "should not" not in message


def test_a_slow_machine_is_told_the_same():
    """Work of the processor is put into the right function, as on such one."""

    def slow(k, x):
        start = time.thread_time()
        while time.thread_time() - start < 0.11:
            pass
        return (x + k).sin()

    message = told(lambda k, x: slow(k + 1, x), slow, (3, Q))
    assert "right function returns for `k` = 4, not 3" in message


def test_no_more_inputs_are_tried_than_there_is_time_for():
    calls = []

    def right(*numbers):
        calls.append(numbers)
        return torch.tensor(numbers).double().cumsum(0).sin()

    many = tuple(range(2, 42))
    names = tuple(f"n{n}" for n in many)
    wrong = torch.rand(40, generator=PEN)
    assert misread_input(wrong, right, many, names) == ""
    assert len(calls) == 500
