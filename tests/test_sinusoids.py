"""Sinusoids: the formula, and what the paper says it is good for."""

import math

import pytest
import torch
from helpers import assert_all_close

from vitedu.positional import sinusoidal_table, sinusoidal_table_2d

EXACT = {"dtype": torch.float64}


@pytest.mark.parametrize("d_model", [2, 14, 512])
@pytest.mark.parametrize("base", [10_000.0, 7])
def test_each_entry_is_that_of_the_formula(d_model, base):
    table = sinusoidal_table(23, d_model, base=base, **EXACT)
    for position in (0, 1, 13, 22):
        for i in range(d_model // 2):
            angle = position / base ** (2 * i / d_model)
            sine, cosine = table[position, 2 * i : 2 * i + 2].tolist()
            assert sine == pytest.approx(math.sin(angle), abs=1e-12)
            assert cosine == pytest.approx(math.cos(angle), abs=1e-12)


@pytest.mark.parametrize("steps", [1, 5, 101])
def test_a_fixed_rotation_leads_from_a_position_to_a_later_one(steps):
    pairs = sinusoidal_table(1009, 14, **EXACT).unflatten(1, (7, 2))
    sine, cosine = pairs[steps].unbind(-1)
    there = torch.stack(
        [torch.stack([cosine, sine], -1), torch.stack([-sine, cosine], -1)],
        dim=-2,
    )
    turned = torch.einsum("iab,pib->pia", there, pairs[:-steps])
    swapped = torch.stack([cosine, -sine], -1)
    assert_all_close((turned,), (pairs[steps:],))
    assert (swapped - pairs[steps]).abs().max() > 0.1


def test_all_rows_are_equally_long():
    table = sinusoidal_table(1009, 14, **EXACT)
    assert_all_close(
        (table.square().sum(dim=1),), (torch.full((1009,), 7.0).double(),)
    )


@pytest.mark.parametrize("offset", [0, 1, 11])
def test_the_dot_product_depends_on_the_distance_only(offset):
    table = sinusoidal_table(211, 14, **EXACT)
    dots = (table[: 211 - offset] * table[offset:]).sum(dim=1)
    assert_all_close((dots,), (dots[:1].expand_as(dots).clone(),))


def test_wavelengths_run_from_two_pi_to_the_base():
    first = sinusoidal_table(2, 512, **EXACT)[1]
    per_position = torch.atan2(first[0::2], first[1::2])
    wavelengths = 2 * math.pi / per_position
    assert wavelengths[0].item() == pytest.approx(2 * math.pi)
    longest = 2 * math.pi * 10_000 ** (510 / 512)
    assert wavelengths[-1].item() == pytest.approx(longest)
    assert longest == pytest.approx(60_611, abs=1)


def test_a_table_may_start_anywhere():
    whole = sinusoidal_table(23, 14)
    assert torch.equal(sinusoidal_table(5, 14, start=18), whole[18:])
    (far,) = sinusoidal_table(1, 4, start=10**6, **EXACT)
    assert far[0].item() == pytest.approx(math.sin(10**6), abs=1e-12)
    assert far[3].item() == pytest.approx(math.cos(10**4), abs=1e-12)


@pytest.mark.parametrize("dtype", [None, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "make",
    [
        lambda **options: sinusoidal_table(1009, 12, **options),
        lambda **options: sinusoidal_table_2d((3, 5), 12, **options),
    ],
)
def test_a_coarse_table_is_the_exact_one_rounded(make, dtype):
    expected = make(**EXACT).to(torch.float32 if dtype is None else dtype)
    found = make(dtype=dtype)
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
    assert make(device="meta").is_meta


def test_a_place_is_its_row_beside_its_column():
    table = sinusoidal_table_2d((3, 5), 12, base=7, **EXACT)
    row, column = sinusoidal_table(5, 6, base=7, **EXACT), slice(6, None)
    assert table.shape == (15, 12)
    for place in range(15):
        assert torch.equal(table[place, :6], row[place // 5])
        assert torch.equal(table[place, column], row[place % 5])


def test_the_features_of_two_dimensions_are_those_of_the_source():
    """All sines of an axis come before its cosines there."""
    omega = 10_000 ** (-torch.arange(3, **EXACT) / 3)
    rows, columns = torch.meshgrid(
        torch.arange(3, **EXACT), torch.arange(5, **EXACT), indexing="ij"
    )
    angles = [axis.flatten()[:, None] * omega for axis in (rows, columns)]
    expected = torch.cat(
        [f(angle) for angle in angles for f in (torch.sin, torch.cos)], dim=1
    )
    order = [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    found = sinusoidal_table_2d((3, 5), 12, **EXACT)
    assert_all_close((found[:, order],), (expected,))
