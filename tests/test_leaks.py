"""The leak meter: it finds what leaks, and leaves no trace."""

import pytest
import torch
from helpers import draw
from torch import nn

from vitedu.analysis.leaks import future_leak, leaks, padding_leak
from vitedu.attention import MultiHeadAttention
from vitedu.layers import EncoderBlock, FeedForward
from vitedu.masks import causal_mask, padding_mask

LENGTH, D_MODEL, WORDS = 5, 6, 11
TOKENS = draw(2, LENGTH, D_MODEL)
IDS = torch.tensor([[3, 1, 7, 0, 0], [2, 2, 9, 4, 0]])
REAL = IDS != 0
EYE = torch.eye(LENGTH, dtype=torch.bool)


class Causal(nn.Module):
    """An encoder block that sees what `mask` says."""

    def __init__(self, mask, dropout=0.0):
        super().__init__()
        torch.manual_seed(0)
        self.block = EncoderBlock(
            MultiHeadAttention(D_MODEL, 3, attention_dropout=dropout),
            FeedForward(D_MODEL, 7, dropout=dropout),
            drop_path=dropout,
        ).double()
        self.mask = mask

    def forward(self, tokens):
        return self.block(tokens, self.mask)


class Normed(nn.Module):
    """Batch normalisation over all tokens: each one sees all others."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(D_MODEL).double()

    def forward(self, tokens):
        return self.norm(tokens.flatten(0, 1)).view(tokens.shape)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_a_causal_block_leaks_nothing(training, dropout):
    model = Causal(causal_mask(LENGTH), dropout=dropout)
    found = leaks(model, TOKENS, training=training)
    assert future_leak(found) == 0
    # What may be seen is seen, where no branch is dropped.
    if not (training and dropout):
        assert torch.equal(found > 0, causal_mask(LENGTH)[0, 0].T)
    assert (found.diagonal() > 0).all()


@pytest.mark.parametrize("training", [True, False])
def test_batch_normalisation_leaks_while_training(training):
    found = leaks(Normed(), TOKENS, training=training)
    assert torch.equal(found > 0, EYE | training)


def test_the_size_of_a_change_by_hand():
    tokens = torch.zeros(1, 2, 1).double()
    generator = torch.Generator().manual_seed(7)
    shift = 0.5 * torch.randn(1, 2, 1, generator=generator).abs().double()
    found = leaks(
        lambda x: 3 * x.cumsum(dim=1).relu(), tokens, noise=0.5, seed=7
    )
    expected = 3 * shift[0] * torch.tensor([[1.0, 1.0], [0.0, 1.0]]).double()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


MASK = padding_mask(IDS, 0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("mask", "closed"), [(MASK, True), (None, False)])
def test_padding_is_hidden_by_a_mask_alone(mask, closed, training):
    model = Causal(mask, dropout=0.3)
    found = padding_leak(model, TOKENS, REAL, training=training)
    assert (found == 0) == closed


def test_which_outputs_count_can_be_said():
    def identity(x):
        return x

    everywhere = torch.ones_like(REAL)
    assert padding_leak(identity, TOKENS, REAL) == 0
    assert padding_leak(identity, TOKENS, REAL, counted=~REAL) > 0
    assert padding_leak(identity, TOKENS, REAL, counted=everywhere) > 0
