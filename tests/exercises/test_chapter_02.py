"""The checks of chapter 2: solutions pass, foreseen mistakes are named."""

import math

import pytest
import torch

from vitedu.exercises import chapter_02 as check
from vitedu.sinusoids import sinusoidal_table

TURN = 2 * math.pi


@pytest.mark.parametrize("answer", [628, 628.3, 200 * math.pi])
def test_wavelength_accepts_the_right_number(answer):
    assert check.wavelength(answer).right


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (100, "a full turn is 2 pi"),
        (10 * TURN, "counted from 0"),
        (6283, "pair 3"),
        (62_832, "the exponent 1"),
        (TURN, "pair 0"),
        (0.01, "the frequency"),
        (300, "is not it"),
        (None, "write your prediction"),
        ("628", "a number is asked for"),
    ],
)
def test_wavelength_names_the_thought(answer, thought):
    verdict = check.wavelength(answer)
    assert not verdict
    assert thought in verdict.message


def test_the_right_wavelength_is_right():
    """After 628 positions the pair is back, and not before."""
    pair = sinusoidal_table(700, 8, dtype=torch.float64)[:, 4:6]
    assert (pair[628] - pair[0]).norm() < 0.005
    assert (pair[1:620] - pair[0]).norm(dim=1).min() > 0.005


def by_complex_numbers(rows, steps):
    """Turn each pair as one complex number: a second way to be right."""
    d_model = rows.shape[1]
    hands = torch.complex(rows[:, 1::2], rows[:, 0::2])
    angles = steps * 10_000 ** (-torch.arange(0, d_model, 2) / d_model)
    turned = hands * torch.exp(1j * angles.double())
    return torch.stack([turned.imag, turned.real], dim=-1).flatten(1)


def by_angles(rows, steps, *, sign=1, frequency=None, halves=False):
    """Read each angle off its pair, with one thing wrong if asked for."""
    d_model = rows.shape[1]
    moved = rows.clone()
    for i in range(d_model // 2):
        sine, cosine = 2 * i, 2 * i + 1
        if halves:
            sine, cosine = i, d_model // 2 + i
        slow = 10_000 ** (2 * i / d_model)
        step = 1 / slow if frequency is None else frequency(i, d_model)
        angle = torch.atan2(rows[:, sine], rows[:, cosine])
        # A wrong pair is no clock hand: its length is not 1.
        length = torch.hypot(rows[:, sine], rows[:, cosine])
        moved[:, sine] = length * (angle + sign * steps * step).sin()
        moved[:, cosine] = length * (angle + sign * steps * step).cos()
    return moved


@pytest.mark.parametrize("solution", [by_complex_numbers, by_angles])
def test_move_accepts_solutions(solution):
    assert check.move(solution).right


def mistaken(**options):
    return lambda rows, steps: by_angles(rows, steps, **options)


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (mistaken(sign=-1), "backwards"),
        (
            mistaken(frequency=lambda i, d: 10_000 ** (-i / d)),
            "left out the 2",
        ),
        (mistaken(frequency=lambda i, d: 1.0), "by the same angle"),
        (
            mistaken(frequency=lambda i, d: 10_000 ** (2 * i / d)),
            "multiply by the wavelength",
        ),
        (mistaken(halves=True), "two halves"),
        (
            lambda rows, steps: (
                rows
                + sinusoidal_table(
                    1, rows.shape[1], start=steps, dtype=torch.float64
                )
            ),
            "their sines do not",
        ),
        (lambda rows, steps: rows + steps, "to the numbers"),
        (
            lambda rows, steps: torch.cat(
                [
                    rows[steps % len(rows) :],
                    rows[: steps % len(rows)],
                ]
            ),
            "push rows down",
        ),
        (lambda rows, steps: rows.clone(), "nothing has moved"),
        (lambda rows, steps: rows[:, :1], "the shape is"),
        (lambda rows, steps: None, "returned NoneType"),
        (lambda rows, steps: rows.add_(0) * rows.mul_(2), "changed its input"),
        (lambda rows, steps: rows @ rows, "your function stopped"),
    ],
)
def test_move_names_the_mistake(candidate, thought):
    verdict = check.move(candidate)
    assert not verdict
    assert thought in verdict.message


def table(
    sine=lambda i, d: i / d,
    cosine=None,
    *,
    first=0,
    order=(torch.sin, torch.cos),
    apart=False,
):
    """Fill the table number by number; `i` is the column of the sine."""
    cosine = sine if cosine is None else cosine

    def candidate(length, d_model):
        filled = torch.zeros(length, d_model, dtype=torch.float64)
        for position in range(length):
            for i in range(0, d_model, 2):
                for odd, exponent in enumerate((sine, cosine)):
                    angle = (position + first) / 10_000 ** exponent(i, d_model)
                    place = i // 2 + odd * d_model // 2 if apart else i + odd
                    filled[position, place] = order[odd](torch.tensor(angle))
        return filled

    return candidate


def from_one_wave(length, d_model):
    """Read sine and cosine off powers of one complex number a pair."""
    slow = torch.full((d_model // 2,), 100.0, dtype=torch.float64)
    frequency = slow ** -(torch.arange(d_model // 2) * 4 / d_model)
    turned = torch.polar(torch.ones_like(frequency), frequency)
    rows = turned ** torch.arange(length)[:, None]
    return torch.view_as_real(rows).flip(-1).flatten(1)


@pytest.mark.parametrize(
    "solution",
    [table(), from_one_wave, lambda length, d: sinusoidal_table(length, d)],
)
def test_turning_hands_accepts_solutions(solution):
    assert check.turning_hands(solution).right


def twice(i, d):
    return 2 * i / d


def next_column(i, d):
    return (i + 1) / d


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (
            table(twice, lambda i, d: 2 * (i + 1) / d),
            "stand nearly still",
        ),
        (table(cosine=next_column), "have two angles"),
        (table(twice), "it is 2i already"),
        (table(cosine=lambda i, d: 2 * (i + 1) / d), "here it lags"),
        (table(twice, lambda i, d: i / d), "look at the sines again"),
        (table(twice, next_column), "only if they share it"),
        (table(lambda i, d: i // 2 / d), "the base 100"),
        (table(lambda i, d: i // d), "without remainder"),
        (table(lambda i, d: -i / d), "faster from pair to pair"),
        (table(first=1), "count from 0"),
        (table(order=(torch.cos, torch.sin)), "cosine stands before"),
        (table(apart=True), "all sines first"),
        (lambda length, d: table()(length, d)[:, ::2], "the shape is"),
        (lambda length, d: None, "returned NoneType"),
    ],
)
def test_turning_hands_names_the_mistake(candidate, thought):
    verdict = check.turning_hands(candidate)
    assert not verdict
    assert thought in verdict.message


def test_the_broken_table_says_only_what_is_seen():
    broken = table(twice, lambda i, d: 2 * (i + 1) / d)
    message = check.turning_hands(broken).message
    assert "exponent" not in message
    assert "cosine" not in message
