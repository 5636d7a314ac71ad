"""TODO: what it shows, in a line."""

from vitedu.widgets.base import Explorer, Integer


class CLASS(Explorer):
    """TODO: A number and its square.

    Args:
        number: TODO, in [0, 10].
    """

    files = "NAME"
    parts = ("NAME_maths",)
    remembers = ("number",)

    number = Integer(3, low=0, high=10)
