"""TODO: what this module holds, in a line.

TODO: what it is for, and where it comes from.
"""

from vitedu import require


def NAME_example(count: int) -> list[int]:
    """TODO: Return the first square numbers.

    Args:
        count: How many, at least 1.

    Raises:
        TypeError: `count` is not an integer.
        ValueError: It is below 1.

    >>> NAME_example(3)
    [0, 1, 4]
    """
    require.positive_int("count", count)
    return [n * n for n in range(count)]
