"""The exercises of chapter 2, positional encoding."""

import math

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise
from vitedu.positions import sinusoidal_table

_BASE = 10_000.0


def _table(sine, cosine=None, *, start=0, swap=False, halves=False):
    """Return a function that makes the table with these exponents."""

    def table(length: int, d_model: int) -> Tensor:
        i = torch.arange(0, d_model, 2, dtype=torch.float64)
        p = torch.arange(start, start + length)[:, None]
        parts = [
            (p / _BASE ** sine(i, d_model)).sin(),
            (p / _BASE ** (cosine or sine)(i, d_model)).cos(),
        ]
        parts = parts[::-1] if swap else parts
        if halves:
            return torch.cat(parts, dim=1)
        return torch.stack(parts, dim=-1).flatten(1)

    return table


def _rows(positions: list[int], d_model: int) -> Tensor:
    table = sinusoidal_table(
        max(positions) + 1, d_model, base=_BASE, dtype=torch.float64
    )
    return table[positions]


def _make_wavelength() -> NumberExercise:
    turn = 2 * math.pi
    return NumberExercise(
        "2.1",
        "wavelength",
        hints=(
            "By what angle does the hand of this pair turn from one position "
            "to the next?",
            "First find the frequency of the pair: 1 divided by a power of "
            "10,000. Then find how many steps make a full turn of `2pi`.",
            "The exponent is `2i / d_model`, with `i = 2` and `d_model = 8`. "
            "Divide the full turn by the resulting frequency.",
        ),
        right=100 * turn,
        why="the frequency is 1 / 10000 ** (4 / 8) = 1 / 100, and a full turn "
        "is 2 pi.",
        wrong={
            100: "after 100 positions the hand has turned by 1 radian; a full "
            "turn is 2 pi.",
            10 * turn: "that is pair 1. Pairs are counted from 0, and the "
            "exponent is 2i / d_model, not i / d_model.",
            1000 * turn: "that is pair 3, the last one.",
            _BASE * turn: "that would be an exponent of 1; pair 2 has 4 / 8.",
            turn: "that is pair 0, the fastest.",
            0.01: "that is the frequency, the angle of one step. How many "
            "steps make a full turn?",
        },
    )


# the wavelength of pair 2 of a row of 8 numbers.
wavelength = _make_wavelength()


def _make_move() -> FunctionExercise:
    def variant(*, sign=1, exponent=2, invert=False, halves=False):
        def turned(rows, steps):
            d_model = rows.shape[1]
            i = torch.arange(d_model // 2, dtype=rows.dtype)
            power = _BASE ** (exponent * i / d_model)
            angle = sign * steps * (power if invert else 1 / power)
            if halves:
                sine, cosine = rows.chunk(2, dim=1)
            else:
                sine, cosine = rows[:, 0::2], rows[:, 1::2]
            parts = [
                sine * angle.cos() + cosine * angle.sin(),
                cosine * angle.cos() - sine * angle.sin(),
            ]
            if halves:
                return torch.cat(parts, dim=1)
            return torch.stack(parts, dim=-1).flatten(1)

        return turned

    def rows_added(rows, steps):
        return rows + _rows([steps], rows.shape[1])

    wrong = {
        "you turn the hands backwards: these are the rows that many positions "
        "earlier.": variant(sign=-1),
        "the exponent of a frequency is 2i / d_model; you left out the 2.": (
            variant(exponent=1)
        ),
        "you turn every pair by the same angle; each has its own "
        "frequency.": variant(exponent=0),
        "you multiply by the wavelength; a slow hand turns less, so divide "
        "by 10000 ** (2i / d_model).": variant(invert=True),
        "the sine and cosine of a pair are side by side, in columns 2i and 2i "
        "+ 1; you split the row into two halves.": variant(halves=True),
        "you add the row of `steps`; angles add up, their sines do not.": (
            rows_added
        ),
        "you add `steps` to the numbers; it is the angles that grow.": (
            lambda rows, steps: rows + steps
        ),
        "you shift rows down the table; the rows need not be neighbours. Turn "
        "each one.": lambda rows, steps: rows.roll(-steps, 0),
        "nothing has moved.": lambda rows, steps: rows,
    }
    # Few steps: also angles in single precision are exact enough then.
    cases = {
        "8 columns, 3 steps": (_rows([0, 7, 2, 90, 31], 8), 3),
        "26 columns, 7 steps": (_rows([5, 300, 41], 26), 7),
        "2 columns, 1 step": (_rows([0, 1, 2, 11], 2), 1),
    }
    return FunctionExercise(
        "2.2",
        "move",
        hints=(
            "Do you need to know where a hand points to turn it further by a "
            "known angle?",
            "Each pair turns by its own angle, `steps` times its frequency. "
            "The matrix product above turns one pair.",
            "Sines are in the even columns, `rows[:, 0::2]`, cosines in the "
            "odd ones. The new sine needs both of them, and so does the new "
            "cosine. At the end they have to alternate again.",
        ),
        right=variant(),
        wrong=wrong,
        cases=cases,
    )


# ``candidate(rows, steps)`` turns every pair.
move = _make_move()


def _make_turning_hands() -> FunctionExercise:
    # The exponents of a pair whose sine stands in column i.
    def right(i, d_model):
        return i / d_model

    def twice(i, d_model):
        return 2 * i / d_model

    def next_column(i, d_model):
        return (i + 1) / d_model

    def twice_next(i, d_model):
        return 2 * (i + 1) / d_model

    lag = (
        "the sines are right. A pair is one hand, though: its cosine belongs "
        "to the same angle, and here it lags."
    )
    wrong = {
        "the rows are not equally long, and most hands barely move.": (
            _table(twice, twice_next)
        ),
        "most hands now move as they should, but the rows are still not "
        "equally long: the sine and cosine of a pair have different "
        "angles.": (_table(right, next_column)),
        "the rows are now equally long, but most hands barely move. Your i "
        "counts columns, 0, 2, 4 and so on: it is already 2i.": (
            _table(twice)
        ),
        lag: _table(right, twice_next),
        "the cosines are right; look at the sines again.": (
            _table(twice, right)
        ),
        "the cosines move at the right pace only if they share it with their "
        "sines; now the two of a pair move at different paces.": (
            _table(twice, next_column)
        ),
        "your exponent is half as large as it should be: that is a table with "
        "base 100.": _table(lambda i, d_model: i / 2 / d_model),
        "an integer division makes every exponent 0: all hands turn at the "
        "same pace.": _table(lambda i, d_model: 0 * i),
        "your hands get faster from pair to pair; divide the position by the "
        "power.": _table(lambda i, d_model: -i / d_model),
        "your first row is position 1; count from 0.": _table(right, start=1),
        "the cosine now comes before the sine.": _table(right, swap=True),
        "the sine and cosine of a pair belong side by side; you put all sines "
        "first.": _table(right, halves=True),
    }
    cases = {"8 columns": (7, 8), "26 columns": (11, 26), "one row": (1, 2)}
    return FunctionExercise(
        "2.3",
        "turning hands",
        hints=(
            "Print the lengths of a few rows, and some columns of a long "
            "table. Which promises of the chapter does the table break?",
            "The two numbers of a pair are the sine and the cosine of one "
            "angle. And the slowest hand goes round in less than 2 pi times "
            "10,000 positions.",
            "Write down the exponents for `d_model = 8`: once as the "
            "formula gives them for the pairs 0, 1, 2, 3, and once as this "
            "loop does. What does its `i` count?",
        ),
        right=_table(right),
        wrong=wrong,
        cases=cases,
    )


# ``candidate(length, d_model)`` is the table.
turning_hands = _make_turning_hands()
