"""The exercises of chapter 4, masking."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.attention import scaled_dot_product_attention
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


@pytest.mark.parametrize(
    ("candidate", "pair"),
    [
        (
            lambda t, p: real_keys(t, p) & triangle(t, 1),
            "In sentence 0, row 0 sees token 1.",
        ),
        (
            lambda t, p: real_keys(t, p) & triangle(t, -1),
            "In sentence 0, row 0 lacks token 0.",
        ),
        (
            lambda t, p: triangle(t) & all_keys(t),
            "In sentence 1, row 3 sees token 3.",
        ),
    ],
)
def test_decoder_mask_names_a_pair(candidate, pair):
    expect_thought(check.decoder_mask(candidate), pair)


def padded(*, axes=None, fill=-torch.inf, weights=1.0, values=None, rows=None):
    """Write the attention out, with one thing wrong if asked for."""

    def candidate(q, k, v, real):
        keep = real[:, None, None] if axes is None else axes(real)
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / q.shape[-1] ** 0.5
        hidden = torch.full_like(scores, fill)
        weights = torch.where(keep, scores, hidden).softmax(dim=-1)
        out = weights @ (v if values is None else values(v, real))
        return out if rows is None else out * rows(real)

    return candidate


def one_sentence_at_a_time(q, k, v, real):
    """Cut the padding off, so that nothing has to be hidden."""
    answers = []
    for i, words in enumerate(real):
        scores = q[i] @ k[i][:, words].mT / q.shape[-1] ** 0.5
        answers.append(scores.softmax(dim=-1) @ v[i][:, words])
    return torch.stack(answers)


@pytest.mark.parametrize(
    "solution",
    [
        padded(),
        padded(fill=-1e9),
        padded(fill=torch.finfo(torch.float64).min),
        one_sentence_at_a_time,
        lambda q, k, v, real: scaled_dot_product_attention(
            q, k, v, real[:, None, None]
        ),
    ],
)
def test_words_alone_accepts_solutions(solution):
    assert check.words_alone(solution).right


def queries(real):
    return real[:, None, :, None]


def both(real):
    return queries(real) & real[:, None, None]


def everything(real):
    return torch.ones_like(real)[:, None, None]


def times_the_mask(q, k, v, real):
    scores = q @ k.mT / q.shape[-1] ** 0.5 * real[:, None, None]
    return scores.softmax(dim=-1) @ v


def causal_too(real):
    return real[:, None, None] & causal_mask(real.shape[1])


def nothing_from_padding(v, real):
    return v * real[:, None, :, None]


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (padded(axes=queries, fill=-1e9), "words still take from padding"),
        (padded(axes=both, fill=-1e9), "cannot ask any more"),
        (padded(rows=queries), "emptied the rows of padding"),
        (padded(axes=both), "not finite"),
        (
            padded(axes=lambda real: ~real[:, None, None], fill=-1e9),
            "hide the",
        ),
        (times_the_mask, "is a score like others"),
        (padded(fill=1e-9), "is a score like others"),
        (padded(fill=1e9), "have to be very low"),
        (
            padded(axes=everything, values=nothing_from_padding),
            "keeps its share of the weight",
        ),
        (padded(axes=lambda real: real[:, None]), "axis of the heads"),
        (padded(axes=causal_too), "but so is the future"),
        (padded(axes=everything), "nothing is hidden"),
        (lambda q, k, v, real: q @ k.mT, "the shape is"),
    ],
)
def test_words_alone_names_the_mistake(candidate, thought):
    expect_thought(check.words_alone(candidate), thought)


@pytest.mark.parametrize(
    ("axes", "where"),
    [
        (queries, "In sentence 1, row 0 moves when the value of the padding"),
        (everything, "In sentence 1, row 0 moves"),
        (both, ""),
    ],
)
def test_words_alone_names_a_row_that_leaks(axes, where):
    message = check.words_alone(padded(axes=axes, fill=-1e9)).message
    assert where in message
    assert ("moves" in message) == bool(where)


def test_unfinished_answers():
    expect_unfinished(check.allowed_pairs, check.decoder_mask)
    expect_unfinished(check.allowed_pairs, check.words_alone)
