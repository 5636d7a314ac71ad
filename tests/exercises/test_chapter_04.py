"""The exercises of chapter 4, masking."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_04 as check
from vitedu.masks import causal_mask, padding_mask


def test_allowed_pairs_accepts_the_number():
    assert check.allowed_pairs(33)
    assert check.allowed_pairs(33.0)


def test_the_number_is_right():
    tokens = torch.tensor([[5, 5, 5, 5, 5, 5, 0, 0]])
    mask = causal_mask(8) & padding_mask(tokens, 0)
    assert mask.sum() == 33


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (36, "the causal mask alone"),
        (48, "the padding mask alone"),
        (64, "nothing hidden"),
        (21, "left out the rows of padding"),
        (27, "the diagonal is missing"),
        (31, "number of hidden pairs"),
        (32, "not it"),
    ],
)
def test_allowed_pairs_names_the_mistake(answer, thought):
    expect_thought(check.allowed_pairs(answer), thought)


def by_library(tokens, pad_id):
    return causal_mask(tokens.shape[1]) & padding_mask(tokens, pad_id)


def by_positions(tokens, pad_id):
    positions = torch.arange(tokens.shape[1])
    earlier = positions <= positions[:, None]
    return (earlier & (tokens != pad_id)[:, None]).unsqueeze(1)


@pytest.mark.parametrize("solution", [by_library, by_positions])
def test_decoder_mask_accepts_a_solution(solution):
    assert check.decoder_mask(solution).right


def triangle(tokens, diagonal=0):
    length = tokens.shape[1]
    return torch.ones(length, length, dtype=torch.bool).tril(diagonal)


def real_keys(tokens, pad_id):
    return (tokens != pad_id)[:, None, None]


def all_keys(tokens):
    return torch.ones(len(tokens), 1, 1, 1, dtype=torch.bool)


def hides_queries(tokens, pad_id):
    real = tokens != pad_id
    return by_library(tokens, pad_id) & real[:, None, :, None]


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (lambda t, p: ~by_library(t, p), "says what is hidden"),
        (lambda t, p: real_keys(t, p) | triangle(t), "combined them with |"),
        (lambda t, p: real_keys(t, p) & triangle(t, -1), "diagonal is False"),
        (lambda t, p: real_keys(t, p) & triangle(t, 1), "one token too far"),
        (lambda t, p: triangle(t) & all_keys(t), "the padding is not"),
        (
            lambda t, p: real_keys(t, p) & triangle(t, t.shape[1]),
            "the future is not",
        ),
        (hides_queries, "rows that see nothing"),
        (lambda t, p: by_library(t, p)[:, 0], "axis of the heads"),
        (lambda t, p: by_library(t, p).long(), "make it boolean"),
        (lambda t, p: by_library(t, 0), "padding with another id"),
        (lambda t, p: t.nothing, "AttributeError"),
    ],
)
def test_decoder_mask_names_the_mistake(candidate, thought):
    expect_thought(check.decoder_mask(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.allowed_pairs, check.decoder_mask)
