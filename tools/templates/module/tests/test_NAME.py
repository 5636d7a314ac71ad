"""TODO: what `vitedu.ROOM.NAME` promises."""

from itertools import pairwise

import pytest

from vitedu.ROOM.NAME import NAME_example


def test_squares_grow_by_odd_numbers():
    found = NAME_example(7)
    steps = [b - a for a, b in pairwise(found)]
    assert found[0] == 0
    assert steps == [1, 3, 5, 7, 9, 11]


@pytest.mark.parametrize(
    ("count", "error"), [(0, ValueError), (2.0, TypeError)]
)
def test_a_wrong_count_is_named(count, error):
    with pytest.raises(error, match=f"count must be .* got {count}"):
        NAME_example(count)
