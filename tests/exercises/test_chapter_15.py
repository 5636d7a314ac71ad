"""The exercises of chapter 15, counting."""

import pytest
from judging import expect_thought, expect_unfinished

from vitedu.config import ViTConfig
from vitedu.counting import parameter_counts
from vitedu.exercises import chapter_15 as check


def test_parameters_gained_accepts_the_number():
    before, after = (
        sum(parameter_counts(ViTConfig.b32(image_size=size)).values())
        for size in (224, (256, 384))
    )
    assert check.parameters_gained(after - before)
    assert check.parameters_gained(36_096.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (0, "something in front of them does"),
        (47, "each holds 768 numbers"),
        (96, "some of them are not new"),
        (73_728, "only those that are new"),
        (74_496, "only those that are new"),
        (36_864, "had its position before"),
        (72_960, "a square of 384"),
        (48_128, "those are pixels"),
        (47 * 32 * 32 * 3, "count positions for patches of 32"),
        (36_097, "is not it"),
    ],
)
def test_parameters_gained_names_the_mistake(answer, thought):
    expect_thought(check.parameters_gained(answer), thought)


def windowed(batch, tokens, d_model, window):
    """Add up the block window by window."""
    windows = batch * (tokens // window)
    return windows * (24 * window * d_model**2 + 4 * window**2 * d_model)


def token_by_token(batch, tokens, d_model, window):
    """Add up layers and products, a float for each sequence."""
    maps = 4 * 2 * d_model * d_model
    network = 2 * 2 * d_model * 4 * d_model
    products = 2 * 2 * window * d_model
    return sum(tokens * float(maps + network + products) for _ in range(batch))


def test_windowed_flops_accepts_a_solution():
    assert check.windowed_flops(windowed).right
    assert check.windowed_flops(token_by_token).right


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (
            lambda b, s, h, w: 24 * b * s * h**2 + 4 * b * s**2 * h,
            "still attends to all tokens",
        ),
        (
            lambda b, s, h, w: 24 * b * s * h**2 + 4 * b * w**2 * h,
            "the pairs of one window",
        ),
        (
            lambda b, s, h, w: 24 * b * s * h**2 + 4 * b * w * h,
            "the keys of one token",
        ),
        (
            lambda b, s, h, w: 24 * b * s * h**2 + 4 * b * (s // w) ** 2 * h,
            "pair whole windows",
        ),
        (
            lambda b, s, h, w: 24 * b * s * h**2 + 2 * b * s * w * h,
            "count the pairs once",
        ),
        (
            lambda b, s, h, w: 24 * b * w * h**2 + 4 * b * s * w * h,
            "work on all tokens",
        ),
        (
            lambda b, s, h, w: windowed(b, w, h, w),
            "that is one window",
        ),
        (
            lambda b, s, h, w: windowed(b, s, h, w) - 16 * b * s * h**2,
            "feed-forward network is missing",
        ),
        (
            lambda b, s, h, w: windowed(b, s, h, w) - 8 * b * s * h**2,
            "four maps of the attention are missing",
        ),
        (lambda b, s, h, w: 4 * b * s * w * h, "linear layers are missing"),
        (
            lambda b, s, h, w: 24 * b * s * h**2,
            "attention products are missing",
        ),
        (lambda *sizes: windowed(*sizes) // 2, "counts as two"),
        (lambda b, *sizes: windowed(1, *sizes), "the batch is missing"),
        (lambda *sizes: windowed(*sizes) + 1000, "off by"),
        (lambda *sizes: windowed(sizes[0]), "stopped with TypeError"),
    ],
)
def test_windowed_flops_names_the_mistake(answer, thought):
    expect_thought(check.windowed_flops(answer), thought)


def test_unfinished_answers():
    expect_unfinished(check.parameters_gained, check.windowed_flops)
    nothing = check.windowed_flops(lambda *sizes: None)
    expect_thought(nothing, "a number is asked for")
