"""Attention in the plane: a query turns, and the output follows."""

import traitlets

from vitedu.widgets.base import Array, Explorer, Flag, Number, checked_words

KEY_POINTS = (
    (2.44, 0.89),
    (0.52, 1.93),
    (-1.61, 2.29),
    (-1.58, 0.28),
    (-1.92, -1.61),
    (0.19, -2.19),
    (2.38, -1.66),
)
VALUE_POINTS = (
    (-2.2, 1.6),
    (1.9, 2.3),
    (2.6, -0.4),
    (0.3, 0.4),
    (-0.6, -2.5),
    (-2.7, -0.8),
    (1.5, -2.2),
)
MAX_LENGTH = 4.0


class AttentionPlane(Explorer):
    """One query, a few keys and their values, all in the plane.

    Args:
        key_points: Points in [-4, 4], (key, 2).
        value_points: Points in [-4, 4], (key, 2).
        names: A word for each key and its value; by default numbers.
        asking: The word that the query belongs to, written beside its arrow.
        angle: Direction of the query in degrees, counter-clockwise.
        length: Length of the query.
        playing: Whether the query turns by itself. A reader who asked for
            reduced motion gets a still picture first.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Points outside the plane that is drawn, or different
            numbers of keys, values and names.
    """

    files = "attention_plane"
    remembers = ("angle", "length", "playing")

    key_points = Array("key 2", default=KEY_POINTS)
    value_points = Array("key 2", default=VALUE_POINTS)
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    asking = traitlets.Unicode().tag(sync=True)
    angle = Number(35.0, low=0.0, high=360.0)
    length = Number(2.5, low=0.0, high=MAX_LENGTH)
    playing = Flag(True)

    def __init__(self, **traits: object) -> None:
        if "names" in traits:
            traits["names"] = checked_words("names", traits["names"])
        super().__init__(**traits)
        keys, values = self.key_points, self.value_points
        if len(keys) != len(values):
            raise ValueError(
                "key_points and value_points must have as many rows, "
                f"got {len(keys)} and {len(values)}"
            )
        if self.names and len(self.names) != len(keys):
            raise ValueError(
                f"names must have {len(keys)} entries, as key_points has "
                f"rows, got {len(self.names)}"
            )
        for name in ("key_points", "value_points"):
            if abs(getattr(self, name)).max() > MAX_LENGTH:
                raise ValueError(
                    f"{name} must lie in [-4, 4], got {getattr(self, name)}"
                )
