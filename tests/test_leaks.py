"""The leak meter: it finds what leaks, and leaves no trace."""

import pytest
import torch
from helpers import draw, refuses
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


@pytest.mark.parametrize("sequence", [0, 1])
def test_a_leak_in_one_sequence_is_seen(sequence):
    def one_leaks(tokens):
        tokens[sequence] += tokens[1 - sequence].flip(0)
        return tokens

    kept = TOKENS.clone()
    assert torch.equal(leaks(one_leaks, TOKENS) > 0, EYE | EYE.flip(0))
    assert torch.equal(TOKENS, kept)


def test_dropout_comes_from_the_seed_alone():
    kept = []
    for state, seed in ((1, 7), (2, 7), (1, 8)):
        torch.manual_seed(state)
        found = leaks(nn.Dropout(), draw(1, 17, 1), seed=seed)
        kept.append(found.diagonal() > 0)
    assert torch.equal(kept[0], kept[1])
    assert not torch.equal(kept[0], kept[2])


def test_the_size_of_a_change_by_hand():
    tokens = torch.zeros(1, 2, 1).double()
    generator = torch.Generator().manual_seed(7)
    shift = 0.5 * torch.randn(1, 2, 1, generator=generator).abs().double()
    found = leaks(
        lambda x: 3 * x.cumsum(dim=1).relu(), tokens, noise=0.5, seed=7
    )
    expected = 3 * shift[0] * torch.tensor([[1.0, 1.0], [0.0, 1.0]]).double()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


def test_ids_are_replaced_by_every_alternative():
    # Only the word 6 reaches back: it takes all words to find it.
    def look_back(ids):
        seen = (ids == 6).flip(1).cumsum(dim=1).flip(1)
        return (ids + 100.0 * (seen > 0))[..., None]

    assert future_leak(leaks(look_back, IDS, alternatives=[5, 8])) == 0
    found = leaks(look_back, IDS, alternatives=range(WORDS))
    assert future_leak(found) == 100


def test_outputs_may_be_another_sequence():
    found = leaks(lambda x: x[:, 1:4].cumsum(dim=1), TOKENS)
    expected = torch.tensor(
        [[0, 0, 0], [1, 1, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]]
    )
    assert torch.equal((found > 0).long(), expected)


def test_logits_that_stay_hidden_have_not_changed():
    found = leaks(lambda x: torch.full_like(x, -torch.inf), TOKENS)
    assert torch.equal(found, torch.zeros(LENGTH, LENGTH).double())


MASK = padding_mask(IDS, 0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("mask", "closed"), [(MASK, True), (None, False)])
def test_padding_is_hidden_by_a_mask_alone(mask, closed, training):
    model = Causal(mask, dropout=0.3)
    found = padding_leak(model, TOKENS, REAL, training=training)
    assert (found == 0) == closed


def test_padded_ids_are_replaced_too():
    torch.manual_seed(0)
    table, model = nn.Embedding(WORDS, D_MODEL).double(), Causal(MASK)

    def sure(ids):
        return model(table(ids))

    def unsure(ids):
        return Causal(padding_mask(ids, 0))(table(ids))

    words = {"alternatives": range(WORDS)}
    assert padding_leak(sure, IDS, REAL, **words) == 0
    assert padding_leak(unsure, IDS, REAL, **words) > 1e-3


def test_which_outputs_count_can_be_said():
    def identity(x):
        return x

    everywhere = torch.ones_like(REAL)
    assert padding_leak(identity, TOKENS, REAL) == 0
    assert padding_leak(identity, TOKENS, REAL, counted=~REAL) > 0
    assert padding_leak(identity, TOKENS, REAL, counted=everywhere) > 0


class Counting(nn.Module):
    """Keeps a count, a shared buffer and a table that is made when used."""

    def __init__(self):
        super().__init__()
        self.inner = Normed()
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("table", None)
        self.inner.register_buffer("shared", self.calls)

    def forward(self, tokens):
        self.calls += 1
        assert self.inner.shared == self.calls
        self.table = tokens
        return self.inner(nn.functional.dropout(tokens, training=True))

    def named(self, tokens):
        return self(tokens)


class Outer(nn.Module):
    """Runs a model that is no part of it."""

    def __init__(self, model):
        super().__init__()
        self.hidden = [model]

    def forward(self, tokens):
        return self.hidden[0](tokens)


@pytest.mark.parametrize("training", [True, False, None])
@pytest.mark.parametrize("how", ["module", "method", "function", "outer"])
def test_nothing_of_the_model_changes(how, training):
    model = Counting()
    model.inner.eval()
    before = {name: x.clone() for name, x in model.state_dict().items()}
    objects = {name: id(x) for name, x in model.named_buffers()}
    state = torch.random.get_rng_state()
    functions = {
        "module": model,
        "method": model.named,
        "function": lambda x: model(x),
        "outer": Outer(model),
    }
    named = {"model": model} if how in ("function", "outer") else {}
    leaks(functions[how], TOKENS, training=training, **named)
    assert torch.equal(state, torch.random.get_rng_state())
    assert [m.training for m in model.modules()] == [True, False, False]
    assert model.table is None
    assert {name: id(x) for name, x in model.named_buffers()} == objects
    for name, x in model.state_dict().items():
        assert torch.equal(x, before[name]), name
    assert not TOKENS.requires_grad


def test_nothing_changes_after_an_error():
    model = Counting()
    state = torch.random.get_rng_state()
    with pytest.raises(RuntimeError, match="stopped"):
        leaks(stop_after(model), TOKENS, model=model, training=False)
    assert model.training
    assert model.calls == 0
    assert torch.equal(state, torch.random.get_rng_state())


def stop_after(model):
    def function(tokens):
        model(tokens)
        raise RuntimeError("stopped")

    return function


class Unsteady:
    """Gives other outputs each time."""

    def __init__(self, change):
        self.calls, self.change = 0, change

    def __call__(self, tokens):
        self.calls += 1
        return self.change(tokens, self.calls)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": True}, "model must be given for training"),
        (
            {"function": Unsteady(lambda x, n: x * n)},
            "function must repeat its outputs, but two equal runs differ",
        ),
        (
            {"function": Unsteady(lambda x, n: x[:, : 7 - n])},
            "outputs must keep their shape (2, 5, 6), got (2, 4, 6)",
        ),
    ],
)
def test_leaks_refuses(changes, message):
    arguments = {"function": lambda x: x, "inputs": TOKENS} | changes
    with refuses(ValueError, message):
        leaks(**arguments)
