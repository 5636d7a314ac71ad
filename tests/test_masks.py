"""Masks of windows: what each of their places says."""

import pytest
import torch
from helpers import refuses

from vitedu.masks import causal_mask, sliding_window_mask, window_mask

each_window = pytest.mark.parametrize("window", [1, 2, 3, 7, 8, 100])


@each_window
@pytest.mark.parametrize("causal", [True, False])
def test_a_sliding_window_shows_what_is_near(window, causal):
    mask = sliding_window_mask(7, window, causal=causal)
    assert mask.shape == (1, 1, 7, 7)
    for query in range(7):
        for key in range(7):
            far = query - key
            seen = 0 <= far < window if causal else abs(far) < window
            assert mask[0, 0, query, key] == seen


@each_window
def test_a_causal_window_is_both_masks(window):
    both = sliding_window_mask(7, window, causal=False) & causal_mask(7)
    assert torch.equal(sliding_window_mask(7, window), both)


@pytest.mark.parametrize("shift", [(0, 0), (1, 0), (0, 2), (1, 2)])
def test_patches_of_one_window_see_each_other(shift):
    """Each window begins at a multiple of its side, moved by the shift."""
    grid, window = (4, 6), (2, 3)
    mask = window_mask(grid, window, shift=shift)[0, 0]
    places = [(row, column) for row in range(4) for column in range(6)]
    for i, one in enumerate(places):
        for j, other in enumerate(places):
            same = all(
                (one[axis] - shift[axis]) // window[axis]
                == (other[axis] - shift[axis]) // window[axis]
                for axis in (0, 1)
            )
            assert mask[i, j] == same


def test_two_blocks_carry_a_patch_across_the_edge():
    """Shifted windows join what plain windows keep apart."""
    plain, shifted = (window_mask((8, 8), 4, shift=n)[0, 0] for n in (0, 2))
    one, two = plain.float(), shifted.float()
    assert not ((one @ one) > 0).all()
    assert ((one @ two @ one) > 0).all()


def test_windows_that_do_not_fit_are_refused():
    with refuses(ValueError, "grid_size must be divisible by window, got"):
        window_mask((6, 6), 4)
    with refuses(ValueError, "shift must be below window = 3, got 3"):
        window_mask((6, 6), 3, shift=3)
