"""Position embeddings."""

import pytest
import torch
from helpers import draw, gradients, refuses

from vitedu.positional import LearnedPositionEmbedding


def make(**options):
    torch.manual_seed(0)
    return LearnedPositionEmbedding(5, 7, **options).double()


def test_each_position_adds_its_own_vector():
    embedding, tokens = make(), draw(2, 5, 7)
    expected = tokens + torch.stack([embedding.weight[0]] * 2)
    assert torch.equal(embedding(tokens), expected)


def test_gradients():
    embedding, tokens = make(), draw(2, 5, 7)
    _, gradient = gradients(embedding, tokens)
    upstream = draw(2, 5, 7, seed=99)
    assert torch.equal(gradient, upstream)
    embedding(tokens).backward(upstream)
    torch.testing.assert_close(
        embedding.weight.grad, upstream.sum(dim=0, keepdim=True)
    )


def test_the_standard_deviation_is_what_was_asked_for():
    torch.manual_seed(0)
    weight = LearnedPositionEmbedding(211, 199, std=0.5).weight
    assert abs(weight.std().item() - 0.5) < 0.01
    assert abs(weight.mean().item()) < 0.01
    torch.manual_seed(0)
    default = LearnedPositionEmbedding(211, 199).weight
    assert abs(default.std().item() - 0.02) < 0.001


def test_a_standard_deviation_of_zero_starts_without_positions():
    assert torch.equal(make(std=0)(draw(2, 5, 7)), draw(2, 5, 7))


@pytest.mark.parametrize("shape", [(2, 4, 7), (2, 6, 7), (2, 5, 8)])
def test_refuses_other_grids_and_widths(shape):
    with refuses(
        ValueError,
        f"tokens must have (position, d_model) = (5, 7), got {shape[1:]}",
    ):
        make()(draw(*shape))


def test_refuses_other_axes_and_numbers():
    with refuses(ValueError, "tokens must have the axes (batch position"):
        make()(draw(5, 7))
    with refuses(TypeError, "tokens must have the dtype of the weights"):
        make()(torch.zeros(2, 5, 7))


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        ((0, 7), {}, ValueError, "num_positions must be at least 1, got 0"),
        ((5, 7.0), {}, TypeError, "d_model must be an integer, got 7.0"),
        ((5, 7), {"std": -1}, ValueError, "std must be at least 0, got -1"),
        ((5, 7), {"std": "a"}, TypeError, "std must be a number, got 'a'"),
    ],
)
def test_refuses_sizes(arguments, options, error, message):
    with refuses(error, message):
        LearnedPositionEmbedding(*arguments, **options)
