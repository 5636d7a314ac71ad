"""Rotary positions: a query and a key, rotated pair by pair."""

from vitedu.widgets.base import Choice, Explorer, Integer, Number


class RotaryPairs(Explorer):
    """Eight pairs of a query and of a key, each rotated at its own speed.

    Args:
        key: The position of the key, in [0, 200].
        distance: How many positions later the query is, in [0, 64].
        base: Base of the speeds: pair i rotates by base ** (-i / 8) radians
            per position; in [10, 1,000,000].
        content: "the same" for query and key, or "drawn" at random.

    Source: Su et al. 2021, section 3.2.
    """

    files = "rotary_pairs"
    remembers = ("key", "distance", "base", "content")

    key = Integer(12, low=0, high=200)
    distance = Integer(5, low=0, high=64)
    base = Number(10_000.0, low=10.0, high=1_000_000.0)
    content = Choice("the same", "drawn")
