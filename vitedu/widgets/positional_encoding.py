"""Positions as sines and cosines, and what they say about offsets."""

from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Choice, Explorer, Flag, Integer, Number

MAX_LENGTH = 200
# What "rescaled" stretches every sentence to.
RESCALED_TO = 200
FORMULAS = ("paper", "wrong exponent", "rescaled")


class PositionalEncoding(Explorer):
    """The encoding table, the dot products of its rows, its clock hands.

    Args:
        d_model: Width of an encoding; even, in [4, 128].
        base: Of the wavelengths, in [10, 100,000].
        length: Number of positions in the table, in [10, 200]. When it
            shrinks, `position` and `other` move to the last that is left.
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
    parts = ("positional_encoding_maths", "positional_encoding_charts")

    d_model = Integer(64, low=4, high=128)
    base = Number(10_000.0, low=10.0, high=100_000.0)
    length = Integer(100, low=10, high=MAX_LENGTH)
    position = Integer(20, low=0, high=MAX_LENGTH - 1)
    other = Integer(50, low=0, high=MAX_LENGTH - 1)
    formula = Choice(*FORMULAS)
    together = Flag(False)

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


def frequencies(d_model: int, base: float, formula: str) -> np.ndarray:
    """By how much a step of one turns each component, (d_model,).

    Args:
        d_model: Width of an encoding.
        base: Of the wavelengths.
        formula: One of `FORMULAS`; "rescaled" has the paper's frequencies.
    """
    component = np.arange(d_model)
    if formula != "wrong exponent":
        component -= component % 2
    return base ** -(component / d_model)


def encoding_table(
    d_model: int, base: float, length: int, formula: str
) -> np.ndarray:
    """One row per position, (length, d_model), in float64.

    Args:
        d_model: Width of an encoding.
        base: Of the wavelengths.
        length: Number of positions.
        formula: One of `FORMULAS`.
    """
    positions = np.arange(length)
    if formula == "rescaled":
        positions = positions / length * RESCALED_TO
    angles = positions[:, None] * frequencies(d_model, base, formula)
    sine = np.arange(d_model) % 2 == 0
    return np.where(sine, np.sin(angles), np.cos(angles))


def readings(explorer: PositionalEncoding) -> dict[str, float | np.ndarray]:
    """What the page shows for the present settings of an explorer.

    Returns:
        encoding and other_encoding (d_model,), the rows of p and of q; norm
        and other_norm, their lengths; norms (length,), of all rows;
        similarity and other_similarity (length,), their dot products with
        every row; offset, q - p; dot_product, of the two rows; smallest and
        largest (length,), the bounds of the dot product of any two rows that
        are 0, 1, 2, ... positions apart; moved, by how far the row of p
        moves when the sentence has one token more.
    """
    settings = (explorer.d_model, explorer.base)
    p, q, length = explorer.position, explorer.other, explorer.length
    table = encoding_table(*settings, length, explorer.formula)
    longer = encoding_table(*settings, length + 1, explorer.formula)
    products = table @ table.T
    apart = [products.diagonal(offset) for offset in range(length)]
    norms = np.linalg.norm(table, axis=1)
    return {
        "encoding": table[p],
        "other_encoding": table[q],
        "norm": norms[p],
        "other_norm": norms[q],
        "norms": norms,
        "similarity": products[p],
        "other_similarity": products[q],
        "offset": q - p,
        "dot_product": products[p, q],
        "smallest": np.array([values.min() for values in apart]),
        "largest": np.array([values.max() for values in apart]),
        "moved": np.linalg.norm(longer[p] - table[p]),
    }
