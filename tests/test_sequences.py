"""Vocabularies, padded pairs, the shift of teacher forcing, their batches."""

from dataclasses import replace

import pytest
import torch
from helpers import refuses

from vitedu.data.sequences import Pairs, Vocabulary, pair_batches

ENGLISH = Vocabulary(("one", "two", "three"))
CHINESE = Vocabulary(("一", "二", "三", "十"))
SENTENCES = [
    (["三", "十", "一"], ["three", "one"]),
    ("二", ["two"]),
    (["十"], []),
]
PAIRS = Pairs.encode(SENTENCES, CHINESE, ENGLISH)


def numbered(count):
    """Make pairs that carry their number: source 0 to count - 1."""
    names = Vocabulary(tuple(f"word {i}" for i in range(150)))
    number = torch.arange(count)[:, None]
    return Pairs(
        src=number,
        tgt=number.repeat(1, 2) + 100,
        src_vocabulary=names,
        tgt_vocabulary=names,
    )


def test_decoding_stops_at_the_first_end_and_drops_marks():
    assert ENGLISH.decode([1, 4, 0, 3, 2, 5, 2]) == ["two", "one"]
    # What comes after the end may be anything.
    assert ENGLISH.decode([3, 2, 99]) == ["one"]
    assert ENGLISH.decode([2]) == []


def test_pairs_are_padded_and_marked():
    assert PAIRS.src.tolist() == [[5, 6, 3], [4, 0, 0], [6, 0, 0]]
    assert PAIRS.tgt.tolist() == [[1, 5, 3, 2], [1, 4, 2, 0], [1, 2, 0, 0]]
    assert PAIRS.words == [(list(x), list(y)) for x, y in SENTENCES]
    # Iteration ends.
    assert [pair.words[0] for pair in PAIRS] == PAIRS.words


@pytest.mark.parametrize("side", ["src", "tgt"])
def test_padding_in_front_of_a_sentence_is_refused(side):
    """A model would take its words for later ones."""
    moved = {side: getattr(PAIRS, side).roll(1, dims=1)}
    with refuses(ValueError, f"{side} must have its padding, 0, behind the"):
        replace(PAIRS, **moved)


def test_teacher_forcing_asks_for_the_next_word():
    assert PAIRS.tgt_input.tolist() == [[1, 5, 3], [1, 4, 2], [1, 2, 0]]
    assert PAIRS.tgt_labels.tolist() == [[5, 3, 2], [4, 2, 0], [2, 0, 0]]


@pytest.mark.parametrize(
    ("index", "rows"),
    [(1, [1]), (-1, [2]), ([2, 0], [2, 0]), (slice(1, 3), [1, 2])],
)
def test_choosing_keeps_sources_beside_targets(index, rows):
    chosen = PAIRS[index]
    assert chosen.words == [PAIRS.words[row] for row in rows]
    assert len(chosen) == len(rows)
    assert chosen.src_vocabulary is CHINESE
    assert chosen.tgt_vocabulary is ENGLISH


def test_batches_show_each_pair_once_in_an_order_of_the_seed():
    state = torch.get_rng_state()
    loader = pair_batches(numbered(13), batch_size=4, seed=0)
    assert len(loader) == 3
    epochs = [list(loader) for _ in range(2)]
    assert torch.equal(torch.get_rng_state(), state)
    first, second = (
        [x for batch in epoch for x in batch.src[:, 0].tolist()]
        for epoch in epochs
    )
    for epoch in epochs:
        for batch in epoch:
            assert torch.equal(batch.tgt_input, batch.src + 100)
            assert torch.equal(batch.tgt_labels, batch.src + 100)
    assert len(set(first)) == len(first) == 12
    assert first != second
    again, other = (
        [
            x
            for batch in pair_batches(numbered(13), batch_size=4, seed=seed)
            for x in batch.src[:, 0].tolist()
        ]
        for seed in (0, 1)
    )
    assert again == first
    assert other != first
