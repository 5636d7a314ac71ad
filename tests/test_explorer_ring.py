"""The rounds of the explorer Ring, against those of chapter 19."""

from collections.abc import Iterator

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
