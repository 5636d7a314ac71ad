"""The rounds of the explorer Ring, against those of chapter 19."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
import torch
from chapter_files import CHAPTERS, read
from javascript import run

from vitedu.widgets.ring import GRADIENTS

COUNTS = range(2, 9)


def chapter_ring() -> dict:
    """Return what the cell of the chapter that holds the ring defines."""
    [path] = [path for path in CHAPTERS if path.stem.startswith("19-")]
    [cell] = [
        cell
        for cell in read(path).cells
        if cell.id == "def-ring-all-reduce-vectors-yield"
    ]
    names: dict = {}
    exec(cell.source, names)
    return names


def gradients(count: int) -> list[list[int]]:
    return [list(row[:count]) for row in GRADIENTS[:count]]


def rounds_of_chapter(vectors: list[torch.Tensor]) -> Iterator[tuple]:
    for held, sent in chapter_ring()["ring_all_reduce"](vectors):
        yield [torch.cat(chunks).tolist() for chunks in held], list(sent)


@pytest.mark.parametrize("count", COUNTS)
def test_each_round_is_that_of_the_chapter(count):
    found = run(
        "ring_maths",
        """Array.from({ length: roundsOf(gradients.length) + 1 },
          (_, step) => ringAfter(gradients, step))""",
        gradients=gradients(count),
    )
    vectors = [torch.tensor(row) for row in gradients(count)]
    bits = [torch.full((count,), 1 << rank) for rank in range(count)]
    expected = list(rounds_of_chapter(vectors))
    whose = list(rounds_of_chapter(bits))
    assert len(found) == len(expected) == 2 * (count - 1) + 1
    for step, (held, sent) in enumerate(expected):
        shown = found[step]["held"]
        numbers = [[chunk["number"] for chunk in row] for row in shown]
        owners = [[chunk["whose"] for chunk in row] for row in shown]
        assert numbers == held
        assert owners == whose[step][0]
        assert found[step]["sent"] == sent
    share = found[-1]["sent"][0] / count
    assert share == pytest.approx(2 * (count - 1) / count)


@pytest.mark.parametrize("count", COUNTS)
def test_the_chunk_that_was_sent_is_the_one_that_changed(count):
    found = run(
        "ring_maths",
        """Array.from({ length: roundsOf(gradients.length) + 1 },
          (_, step) => ringAfter(gradients, step))""",
        # Every number a power of another, so that no sum stays as it was.
        gradients=[[10**rank for _ in range(count)] for rank in range(count)],
    )
    for before, after in pairwise(found):
        changed = {
            (rank, place)
            for rank in range(count)
            for place in range(count)
            if before["held"][rank][place] != after["held"][rank][place]
        }
        assert changed == {
            ((rank + 1) % count, place)
            for rank, place in enumerate(after["last"])
        }


@pytest.mark.parametrize("count", COUNTS)
def test_the_other_way_ends_with_the_same_sums(count):
    found = run(
        "ring_maths",
        """Array.from({ length: roundsOf(gradients.length) + 1 },
          (_, step) => collectAfter(gradients, step))""",
        gradients=gradients(count),
    )
    whole = np.sum(gradients(count), axis=0).tolist()
    first, last = found[0], found[-1]
    assert [row["numbers"] for row in first["held"]] == gradients(count)
    assert [row["numbers"] for row in last["held"]] == [whole] * count
    # Nobody has the sum before the one who collects has all of it.
    half = found[count - 1]["held"]
    assert [row["numbers"] == whole for row in half] == [
        True,
        *[False] * (count - 1),
    ]
    assert last["sent"] == [count - 1, *[1] * (count - 1)]
    assert last["received"] == [count - 1, *[1] * (count - 1)]
    for step, now in enumerate(found):
        assert sum(now["sent"]) == sum(now["received"]) == step
