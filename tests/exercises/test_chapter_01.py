"""The exercises of chapter 1, why attention."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.complexity import path_length
from vitedu.exercises import chapter_01 as check


def test_layers_to_cross_accepts_the_number():
    assert check.layers_to_cross(16)
    assert check.layers_to_cross(16.0)


def test_the_number_of_layers_is_right():
    assert path_length("convolution", 65, window=5) == 16
    assert path_length("convolution", 66, window=5) == 17


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (13, "did not overlap"),
        (17, "64 others"),
        (15, "4 too few"),
        (32, "windows in the middle"),
        (3, "with gaps"),
        (64, "recurrent network"),
        (1, "enough for attention"),
        (20, "is not it"),
    ],
)
def test_layers_to_cross_names_the_mistake(answer, thought):
    expect_thought(check.layers_to_cross(answer), thought)


def forwards_first(x, forwards, backwards):
    return torch.cat([forwards(x), backwards(x.flip(1)).flip(1)], dim=-1)


def one_token_at_a_time(x, forwards, backwards):
    """Take each state from a reading that ends at its token."""
    rows = [
        torch.cat(
            [
                forwards(x[:, : t + 1])[:, -1],
                backwards(x[:, t:].flip(1))[:, -1],
            ],
            dim=-1,
        )
        for t in range(x.shape[1])
    ]
    return torch.stack(rows, dim=1)


@pytest.mark.parametrize("solution", [forwards_first, one_token_at_a_time])
def test_read_both_ways_accepts_a_solution(solution):
    assert check.read_both_ways(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (
            lambda x, f, b: torch.cat([f(x), b(x)], -1),
            "runs from left to right, too",
        ),
        (
            lambda x, f, b: torch.cat([f(x), b(x.flip(1))], -1),
            "in the order in which they were made",
        ),
        (
            lambda x, f, b: torch.cat([f(x), b(x).flip(1)], -1),
            "but not the tokens",
        ),
        (
            lambda x, f, b: torch.cat([f(x), b(x.flip(2)).flip(2)], -1),
            "numbers inside each token",
        ),
        # Each sequence is read by itself: to turn the batch does nothing.
        (
            lambda x, f, b: torch.cat([f(x), b(x.flip(0)).flip(0)], -1),
            "runs from left to right, too",
        ),
        (
            lambda x, f, b: torch.cat([b(x.flip(1)).flip(1), f(x)], -1),
            "backward states come first",
        ),
        (lambda x, f, b: f(x) + b(x.flip(1)).flip(1), "you add both"),
        (
            lambda x, f, b: torch.cat([f(x), b(x.flip(1)).flip(1)], 1),
            "as further tokens",
        ),
        (
            lambda x, f, b: torch.cat([f(x), f(x.flip(1)).flip(1)], -1),
            "both readings use the same weights",
        ),
        (
            lambda x, f, b: torch.cat([b(x), b(x.flip(1)).flip(1)], -1),
            "weights of the backward one",
        ),
        (
            lambda x, f, b: torch.cat([b(x), f(x.flip(1)).flip(1)], -1),
            "exchanged the two functions",
        ),
        (lambda x, f, b: f(x), "the shape is"),
        (lambda x, f, b: f(x, b), "stopped with TypeError"),
    ],
)
def test_read_both_ways_names_the_mistake(candidate, thought):
    expect_thought(check.read_both_ways(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.layers_to_cross, check.read_both_ways)
