"""PositionalEncoding in Python: what it accepts, and the numbers it shows."""

import math

import numpy as np
import pytest
import torch

from vitedu.sinusoids import sinusoidal_table
from vitedu.widgets import PositionalEncoding
from vitedu.widgets.positional_encoding import (
    FORMULAS,
    encoding_table,
    readings,
)


def one_by_one(d_model, base, length, formula):
    """Write every component down by its formula."""
    table = np.empty((length, d_model))
    for j in range(length):
        place = j / length * 200 if formula == "rescaled" else j
        for i in range(d_model // 2):
            odd = 2 * i + 1 if formula == "wrong exponent" else 2 * i
            table[j, 2 * i] = math.sin(place / base ** (2 * i / d_model))
            table[j, 2 * i + 1] = math.cos(place / base ** (odd / d_model))
    return table


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize(
    ("d_model", "base", "length"),
    [(4, 10.0, 11), (14, 1e4, 23), (128, 7e3, 200)],
)
def test_the_table_is_its_formula(d_model, base, length, formula):
    settings = (d_model, base, length, formula)
    np.testing.assert_allclose(
        encoding_table(*settings), one_by_one(*settings), atol=1e-12
    )


@pytest.mark.parametrize(("d_model", "base"), [(4, 10.0), (38, 12_345.6)])
def test_the_papers_table_is_that_of_the_library(d_model, base):
    expected = sinusoidal_table(31, d_model, base=base, dtype=torch.float64)
    np.testing.assert_allclose(
        encoding_table(d_model, base, 31, "paper"), expected, atol=1e-12
    )


@pytest.mark.parametrize("formula", FORMULAS)
def test_readings_are_those_of_the_table(formula):
    explorer = PositionalEncoding(
        d_model=10, base=50.0, length=13, position=7, other=2, formula=formula
    )
    shown = readings(explorer)
    table = one_by_one(10, 50.0, 13, formula)
    longer = one_by_one(10, 50.0, 14, formula)
    products = [
        [sum(a * b for a, b in zip(x, y, strict=True)) for y in table]
        for x in table
    ]
    apart = [
        [products[x][x + offset] for x in range(13 - offset)]
        for offset in range(13)
    ]
    expected = {
        "encoding": table[7],
        "other_encoding": table[2],
        "norm": math.hypot(*table[7]),
        "other_norm": math.hypot(*table[2]),
        "norms": [math.hypot(*row) for row in table],
        "similarity": products[7],
        "other_similarity": products[2],
        "offset": -5,
        "dot_product": products[7][2],
        "smallest": [min(values) for values in apart],
        "largest": [max(values) for values in apart],
        "moved": math.dist(table[7], longer[7]),
    }
    assert shown.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(
            shown[name], value, rtol=1e-9, atol=1e-12, err_msg=name
        )


def spread(**settings):
    shown = readings(PositionalEncoding(**settings))
    return (shown["largest"] - shown["smallest"]).max()


@pytest.mark.parametrize("d_model", [4, 26, 64, 128])
def test_with_the_papers_formula_only_the_offset_counts(d_model):
    shown = readings(PositionalEncoding(d_model=d_model))
    np.testing.assert_allclose(shown["norms"], math.sqrt(d_model / 2))
    assert spread(d_model=d_model) < 1e-11
    assert shown["moved"] == 0


@pytest.mark.parametrize("d_model", [4, 26, 64, 128])
def test_with_the_wrong_exponent_the_place_counts_too(d_model):
    settings = {"d_model": d_model, "formula": "wrong exponent"}
    norms = readings(PositionalEncoding(**settings))["norms"]
    assert norms.max() - norms.min() > 0.4
    assert spread(**settings) > 1.5


def test_rescaled_positions_change_with_the_length_of_the_sentence():
    rescaled = {"formula": "rescaled", "d_model": 32}
    short, long = (
        readings(PositionalEncoding(**rescaled, length=n, position=3, other=6))
        for n in (10, 20)
    )
    np.testing.assert_allclose(
        short["encoding"], long["other_encoding"], atol=1e-12
    )
    assert abs(short["encoding"] - long["encoding"]).max() > 0.5
    assert short["moved"] > 1
    # Within one sentence the offset alone still counts.
    assert spread(**rescaled) < 1e-11


@pytest.mark.parametrize(
    ("traits", "error", "message"),
    [
        ({"d_model": 7}, ValueError, "d_model must be even, got 7"),
        ({"d_model": 2}, ValueError, r"d_model must lie in \[4, 128\], got 2"),
        ({"d_model": 130}, ValueError, "d_model must lie in .*got 130"),
        ({"d_model": 8.0}, TypeError, "d_model must be an integer, got 8.0"),
        ({"base": 9.9}, ValueError, r"base must lie in \[10.0, 100000.0\]"),
        ({"base": math.nan}, ValueError, "base must lie in .*got nan"),
        ({"base": "1"}, TypeError, "base must be a number, got '1'"),
        ({"length": 9}, ValueError, r"length must lie in \[10, 200\], got 9"),
        ({"length": 201}, ValueError, "length must lie in .*got 201"),
        ({"position": -1}, ValueError, r"position must lie in \[0, 199\]"),
        ({"position": 100}, ValueError, "position must lie below length=100"),
        ({"other": 100}, ValueError, "other must lie below length=100.*100"),
        ({"other": 1.5}, TypeError, "other must be an integer, got 1.5"),
        ({"formula": "papr"}, ValueError, "formula must be one of .*'papr'"),
        ({"together": 1}, TypeError, "together must be True or False, got 1"),
        ({"dim": 4}, TypeError, "PositionalEncoding has no argument 'dim'"),
    ],
)
def test_wrong_settings_say_what_is_wrong(traits, error, message):
    with pytest.raises(error, match=message):
        PositionalEncoding(**traits)
    explorer = PositionalEncoding()
    before = {name: getattr(explorer, name, None) for name in traits}
    if explorer.has_trait(next(iter(traits))):
        with pytest.raises(error, match=message):
            explorer.set_trait(*next(iter(traits.items())))
    assert {name: getattr(explorer, name, None) for name in traits} == before


def test_a_position_is_checked_against_the_length_given_with_it():
    explorer = PositionalEncoding(length=200, position=199, other=150)
    assert (explorer.position, explorer.other) == (199, 150)
    with pytest.raises(ValueError, match="other must lie below length=20"):
        PositionalEncoding(length=20, position=3, other=20)


def test_positions_stay_in_a_table_that_shrinks():
    explorer = PositionalEncoding(position=7, other=60)
    explorer.length = 15
    assert (explorer.position, explorer.other) == (7, 14)
    explorer.length = 150
    assert (explorer.position, explorer.other) == (7, 14)
    # The usual positions too, where others were not given.
    assert PositionalEncoding(length=10).position == 9


def test_the_page_can_set_everything_at_once():
    explorer = PositionalEncoding(position=90, other=95)
    explorer.set_state({"length": 12, "position": 11, "other": 3})
    assert (explorer.length, explorer.position, explorer.other) == (12, 11, 3)
