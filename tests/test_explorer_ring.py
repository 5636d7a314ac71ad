"""The rounds of the explorer Ring, against those of chapter 19."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from chapter_files import CHAPTERS, read
from javascript import run

from vitedu.widgets.ring import GRADIENTS

LOOK = """((found) => ({
  ...found.published, shares: found.shares, said: say(found),
  chunks: ringRows(found).slice(1).map((row) => row.children.slice(1).map(
    ({ attributes, children: [number] }) =>
      [attributes.class, number.attributes.text])),
  rows: collectRows(found).map((row) => row.children[1].attributes.class),
  bars: sentRows(found.collect.sent, found).map(({ children: [, track] }) =>
    track.children.map(({ attributes }) => attributes)),
}))"""


def rounds_of_chapter(vectors: list[torch.Tensor]) -> Iterator[tuple]:
    [path] = [path for path in CHAPTERS if path.stem.startswith("19-")]
    [code] = [
        cell.source
        for cell in read(path).cells
        if cell.id == "def-ring-all-reduce-vectors-yield"
    ]
    names: dict = {}
    exec(code, names)
    for held, sent in names["ring_all_reduce"](vectors):
        yield torch.cat([*map(torch.cat, held)]).tolist(), list(sent)


def looks(count: int) -> list[dict]:
    """Return what each round of so many processes shows."""
    return run(
        "ring ring_panels",
        f"Array.from({{ length: rounds }}, (_, step) => {LOOK}(compute("
        "{ num_processes: count, step }, { gradients })))",
        gradients=GRADIENTS,
        count=count,
        rounds=2 * (count - 1) + 1,
    )


@pytest.mark.parametrize("count", [2, 5, 8])
def test_each_round_is_that_of_the_chapter(count):
    vectors = [torch.tensor(row[:count]) for row in GRADIENTS[:count]]
    bits = [torch.full((count,), 1 << rank) for rank in range(count)]
    expected = rounds_of_chapter(vectors)
    owners = rounds_of_chapter(bits)
    found = looks(count)
    for shown, (held, sent), (whose, _) in zip(
        found, expected, owners, strict=True
    ):
        assert (shown["held"], shown["whose"]) == (held, whose)
        assert shown["sent"] == sent
        classes, texts = np.array(shown["chunks"]).reshape(-1, 2).T
        assert [int(one.replace("−", "-")) for one in texts] == held
        finished = [one == 2**count - 1 for one in whose]
        assert ["whole" in one.split() for one in classes] == finished
        for kind in ("sent", "got"):
            moved = sum(kind in one.split() for one in classes)
            rows = sum(kind in row.split() for row in shown["rows"])
            assert (moved, rows) == ((count, 1) if shown["step"] else (0, 0))
        widths = [float(bar["width"]) for _, bar, _ in shown["bars"]]
        most = max(count - 1, 2 * (count - 1) / count)
        shares = np.array(shown["collectSent"]) / most
        assert widths == pytest.approx(100 * shares, abs=0.01)
    last = found[-1]
    sums = torch.stack(vectors).sum(0).tolist() * count
    assert last["held"] == last["collected"] == sums
    assert last["shares"] == pytest.approx([2 * (count - 1) / count] * count)
    assert last["collectSent"][0] == last["collectReceived"][0] == count - 1


def test_words_say_what_has_been_sent():
    assert looks(4)[3]["said"]["sentences"].endswith(
        "Each process now has 1 of 4 sums. In the ring each process has sent "
        "0.75 gradients. In the other scheme, process 0 has sent 0 and "
        "received 3, taking 4 times as long."
    )
