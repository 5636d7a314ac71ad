"""The copy task."""

import torch

from vitedu.data.letters import copy_task

SMALL = {"num_train": 31, "num_test": 17, "num_symbols": 5, "lengths": (2, 4)}


def sources(pairs):
    return ["".join(source) for source, _ in pairs.words]


def test_copy_walks_through_as_its_docstring_says():
    train, test = copy_task()
    first = train[0]
    assert first.words == [(list("bcdf"), list("bcdf"))]
    assert first.src.tolist() == [[4, 5, 6, 8, 0, 0, 0, 0, 0]]
    assert first.tgt[0, :6].tolist() == [1, 4, 5, 6, 8, 2]
    assert first.tgt_input[0, :5].tolist() == [1, 4, 5, 6, 8]
    assert first.tgt_labels[0, :5].tolist() == [4, 5, 6, 8, 2]
    assert (len(train), len(test)) == (2000, 500)


def test_every_answer_is_right_and_no_sequence_comes_twice():
    train, test = copy_task(**SMALL)
    for part, count in ((train, 31), (test, 17)):
        assert len(part) == count
        for source, target in part.words:
            assert target == source
            assert 2 <= len(source) <= 4
            assert set(source) <= set("abcde")
    assert len({*sources(train), *sources(test)}) == 48


def test_the_seed_decides_and_nothing_else_does():
    first = sources(copy_task(**SMALL)[0])
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert sources(copy_task(**SMALL)[0]) == first
    assert torch.equal(torch.get_rng_state(), state)
    assert sources(copy_task(**SMALL, seed=1)[0]) != first
