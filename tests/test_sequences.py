"""Vocabularies, padded pairs, the shift of teacher forcing, their batches."""

from dataclasses import FrozenInstanceError

import pytest
import torch
from helpers import PROPERTY
from hypothesis import given
from hypothesis import strategies as st

from vitedu.sequences import Pairs, Vocabulary, pair_batches

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


def test_marks_come_first():
    assert ENGLISH.encode(["<pad>", "<bos>", "<eos>"]) == [0, 1, 2]
    assert (ENGLISH.pad_id, ENGLISH.bos_id, ENGLISH.eos_id) == (0, 1, 2)
    assert ENGLISH.encode(["three", "one"]) == [5, 3]
    assert len(ENGLISH) == 6


@PROPERTY
@given(st.lists(st.sampled_from(CHINESE.words)))
def test_decoding_undoes_encoding(words):
    assert CHINESE.decode(CHINESE.encode(words)) == words
    assert CHINESE.decode(torch.tensor(CHINESE.encode(words)).long()) == words


def test_decoding_stops_at_the_first_end_and_drops_marks():
    assert ENGLISH.decode([1, 4, 0, 3, 2, 5, 2]) == ["two", "one"]
    # What comes after the end may be anything.
    assert ENGLISH.decode([3, 2, 99]) == ["one"]
    assert ENGLISH.decode([2]) == []


def test_pairs_are_padded_and_marked():
    assert PAIRS.src.tolist() == [[5, 6, 3], [4, 0, 0], [6, 0, 0]]
    assert PAIRS.tgt.tolist() == [[1, 5, 3, 2], [1, 4, 2, 0], [1, 2, 0, 0]]
    assert PAIRS.words == [(list(x), list(y)) for x, y in SENTENCES]


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


def test_iteration_ends():
    assert [pair.words[0] for pair in PAIRS] == PAIRS.words


def test_vocabularies_and_pairs_are_frozen():
    with pytest.raises(FrozenInstanceError):
        ENGLISH.words = ()
    with pytest.raises(FrozenInstanceError):
        PAIRS.src = PAIRS.tgt


def test_batches_show_each_pair_once_in_an_order_of_the_seed():
    loader = pair_batches(numbered(13), batch_size=4, seed=0)
    assert len(loader) == 3
    epochs = [list(loader) for _ in range(2)]
    first, second = (
        [x for batch in epoch for x in batch.src[:, 0].tolist()]
        for epoch in epochs
    )
    for epoch in epochs:
        for batch in epoch:
            assert torch.equal(batch.tgt_input[:, 0], batch.src[:, 0] + 100)
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


def test_a_batch_holds_what_a_model_reads_and_has_to_say():
    [batch] = pair_batches(PAIRS, batch_size=len(PAIRS), seed=0)
    order = [PAIRS.src.tolist().index(row) for row in batch.src.tolist()]
    assert torch.equal(batch.tgt_input, PAIRS.tgt[order, :-1])
    assert torch.equal(batch.tgt_labels, PAIRS.tgt[order, 1:])


def test_batches_leave_the_global_generator_alone():
    state = torch.get_rng_state()
    list(pair_batches(numbered(5), batch_size=2, seed=0))
    assert torch.equal(torch.get_rng_state(), state)
