"""What the explorer AskPatch finds in the answers that it was given."""

import zlib

import numpy as np
import pytest
from explorers import GRID, HEADS, LAYERS, MAP, asked, asked_answers
from javascript import run

SCRIPTS = "ask_patch_maths ask_patch"
# Photographs are drawn where a page can; here they are as good as their names.
FOUND = """views.map((view) => compute(view, {
  photographs: about, mouse: { under: null }, load: () => ({
    photo: view.photograph,
    answers: readAnswers(Uint8Array.from(answers).buffer, layers, heads),
    ...(view.second && { secondPhoto: view.second, across: readCosines(
      Int8Array.from(between), SQUARES) }),
  }),
})).map((found) => [found.published, found.beside])"""


def unpacked(name: str, kind: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(asked()["data"][name]), kind)


@pytest.mark.parametrize(
    ("kind", "name", "second"),
    [("trained", "cat", "astronaut"), ("drawn", "astronaut", "cat")],
)
def test_it_finds_the_best_far_away_in_a_head_and_in_another(
    kind, name, second
):
    view = {"photograph": name, "drawn": kind == "drawn", "query": 29}
    view |= {"layer": 1, "head": 2, "second": ""}
    abouts = {it["name"]: it for it in asked()["photographs"]}
    steps = unpacked(f"{kind} {name} {second}", "i1")
    (shown, beside), (other, across), (same, _) = run(
        SCRIPTS,
        FOUND,
        views=[view, view | {"second": second}, view | {"second": name}],
        about=abouts,
        answers=unpacked(f"{kind} {name}", "u1"),
        between=steps,
        layers=LAYERS,
        heads=HEADS,
    )
    # It is not beside itself.
    assert same == shown
    all_cosines, shares, largest = asked_answers(name, kind)
    cosines = all_cosines[1, 29]
    row, column = (
        3 * at + abouts[name][axis] % 3
        for at, axis in ((3, "row"), (5, "column"))
    )
    assert (shown["row"], shown["column"]) == (row, column)
    assert cosines[row * GRID + column] == 1
    rows, columns = np.divmod(np.arange(GRID**2), GRID)
    far = np.maximum(abs(rows - row), abs(columns - column)) >= 6
    best = cosines[far].max()
    assert shown["like"] == pytest.approx(best)
    assert shown["likePlaces"] == [*np.flatnonzero(far & (cosines == best))]
    assert shown["mean"] == pytest.approx(cosines.mean())
    weights = shares[1, 2, 29]
    assert beside["photo"] == name
    np.testing.assert_allclose(beside["values"], np.sqrt(weights))
    assert shown["most"] == largest[1, 2, 29]
    assert shown["mostPlaces"] == [*np.flatnonzero(weights == 1)]
    between = steps.reshape(LAYERS, 64, MAP**2).cumsum(0, dtype=int)[1, 29]
    most = between.max()
    assert across["photo"] == second
    np.testing.assert_allclose(across["values"], between / most)
    assert other["most"] == pytest.approx(most / 20)
    assert other["mostPlaces"] == [*np.flatnonzero(between == most)]
