"""The numbers of the explorer RotaryPairs, against the library."""

from itertools import product

import pytest
import torch
from javascript import run

from vitedu.attention import rotate
from vitedu.positions import rotary_angles

SETTINGS = [
    {"key": key, "distance": distance, "base": base, "content": content}
    for key, distance, base, content in product(
        (0, 7, 200), (0, 3, 64), (10.0, 1e4), ("the same", "drawn")
    )
]


def halves(pairs):
    """Turn (pair, 2) into a head as the library has it: (1, 1, 1, 16)."""
    return pairs.T.reshape(1, 1, 1, 16)


@pytest.mark.parametrize("view", SETTINGS)
def test_hands_and_score_are_those_of_the_library(view):
    found = run("rotary_pairs_maths", "readings(view)", view=view)
    vectors = run(
        *("rotary_pairs_maths", "CONTENTS[content]()"), content=view["content"]
    )
    query, key = (
        halves(torch.tensor(vectors[name], dtype=torch.double))
        for name in ("query", "key")
    )

    def at(place, x):
        angles = rotary_angles(
            *(1, 16), base=view["base"], start=place, dtype=torch.double
        )
        return rotate(x, angles)

    late = at(view["key"] + view["distance"], query)
    early = at(view["key"], key)
    scores = late @ early.mT / 4
    for name, vector in {"queries": late, "keys": early}.items():
        shown = halves(torch.tensor(found[name]).double())
        torch.testing.assert_close(shown, vector, atol=1e-6, rtol=1e-6)
    assert sum(found["parts"]) == pytest.approx(scores.item(), abs=1e-9)
    assert found["score"] == pytest.approx(scores.item(), abs=1e-9)
    assert found["curve"][view["distance"]] == pytest.approx(
        found["score"], abs=1e-9
    )


def test_the_score_knows_the_distance_alone():
    curves = [
        run(
            "rotary_pairs_maths",
            "readings(view).curve",
            view={"key": key, "distance": 5, "base": 1e4, "content": "drawn"},
        )
        for key in (0, 111)
    ]
    assert curves[0] == pytest.approx(curves[1], abs=1e-9)
    assert max(curves[0]) - min(curves[0]) > 1
