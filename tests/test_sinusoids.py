"""Sinusoids: the formula, and what the paper says it is good for."""

import math

import pytest
import torch

from vitedu.positions import sinusoidal_table, sinusoidal_table_2d

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
