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


def double(values) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.double)


def halves(pairs):
    """Turn (pair, 2) into a head as the library has it: (1, 1, 1, 16)."""
    return pairs.T.reshape(1, 1, 1, 16)


def test_hands_and_score_are_those_of_the_library():
    vectors, *all_found = run(
        "rotary_pairs_maths",
        "[Object.fromEntries(Object.entries(CONTENTS).map(([name, make]) =>"
        " [name, make()])), ...views.map(readings)]",
        views=SETTINGS,
    )
    for view, found in zip(SETTINGS, all_found, strict=True):
        query, key = (
            halves(double(vectors[view["content"]][name]))
            for name in ("query", "key")
        )
        late = turned(query, view["key"] + view["distance"], view["base"])
        early = turned(key, view["key"], view["base"])
        score = pytest.approx((late @ early.mT / 4).item(), abs=1e-9)
        for name, vector in {"queries": late, "keys": early}.items():
            shown = halves(double(found[name]))
            torch.testing.assert_close(shown, vector, atol=1e-6, rtol=1e-6)
        assert sum(found["parts"]) == score
        assert found["score"] == score
        assert found["curve"][view["distance"]] == score


def turned(x, place, base):
    return rotate(
        x, rotary_angles(1, 16, base=base, start=place, dtype=torch.double)
    )
