"""Positions as sines and cosines, and what they show about offsets."""

from typing import Any

import traitlets

from vitedu.widgets.base import Choice, Explorer, Flag, Integer, Number

MAX_LENGTH = 200
FORMULAS = ("paper", "wrong exponent", "rescaled")


class PositionalEncoding(Explorer):
    """The encoding table, the dot products of its rows, its clock hands.

    Args:
        d_model: Width of an encoding; even, in [4, 128].
        base: Base of the wavelengths, in [10, 100,000].
        length: Number of positions in the table, in [10, 200]. When it
            shrinks, `position` and `other` move to the last position that
            remains.
        position: The position called p, below `length`.
        other: The position called q, below `length`.
        formula: "paper" takes the frequency base ** -(2i / d_model) for both
            components of pair i; "wrong exponent" takes
            base ** -((2i + 1) / d_model) for the cosines; "rescaled" is the
            paper's with j / length * 200 in place of position j.
        together: Whether p and q keep their offset when the reader moves one.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A number outside its interval, an odd `d_model`, a
            position that is not in the table, or an unknown formula.
    """

    files = "positional_encoding"
    remembers = (
        "d_model",
        "base",
        "length",
        "position",
        "other",
        "formula",
        "together",
    )

    d_model = Integer(64, low=4, high=128)
    base = Number(10_000.0, low=10.0, high=100_000.0)
    length = Integer(100, low=10, high=MAX_LENGTH)
    position = Integer(20, low=0, high=MAX_LENGTH - 1)
    other = Integer(50, low=0, high=MAX_LENGTH - 1)
    formula = Choice(*FORMULAS)
    together = Flag(False)

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {"d_model": {"step": 2}}

    @traitlets.validate("d_model")
    def _check_even(self, proposal: Any) -> int:
        if proposal["value"] % 2:
            raise ValueError(f"d_model must be even, got {proposal['value']}")
        return proposal["value"]

    @traitlets.validate("position", "other")
    def _check_inside(self, proposal: Any) -> int:
        name, value = proposal["trait"].name, proposal["value"]
        if value >= self.length:
            raise ValueError(
                f"{name} must lie below length={self.length}, got {value}"
            )
        return value

    @traitlets.observe("length")
    def _keep_inside(self, change: Any) -> None:
        last = change["new"] - 1
        self.position = min(self.position, last)
        self.other = min(self.other, last)
