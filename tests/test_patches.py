"""Patches: cutting, putting together, embedding."""

import pytest
import torch
from helpers import PROPERTY, assert_all_close, draw, gradients
from hypothesis import given
from hypothesis import strategies as st

from vitedu.patches import PatchEmbed, patchify, unpatchify

SIZES = st.integers(1, 4)


@pytest.mark.parametrize("size", [5, (5, 5), (2, 7)])
def test_every_pixel_goes_where_it_should(size):
    images, (p1, p2) = draw(2, 3, 10, 35), (5, 5) if size == 5 else size
    patches, columns = patchify(images, size), 35 // p2
    for patch in range(10 // p1 * columns):
        row, column = divmod(patch, columns)
        square = images[:, :, p1 * row :, p2 * column :][:, :, :p1, :p2]
        assert torch.equal(patches[:, patch], square.flatten(1))
    assert patches.shape == (2, patch + 1, 3 * p1 * p2)


@PROPERTY
@given(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES)
def test_unpatchify_undoes_patchify(batch, channels, rows, columns, p1, p2):
    images = draw(batch, channels, rows * p1, columns * p2)
    patches = patchify(images, (p1, p2))
    assert patches.shape == (batch, rows * columns, channels * p1 * p2)
    found = unpatchify(patches, (p1, p2), (rows, columns))
    assert torch.equal(found, images)
    if p1 == p2:
        assert torch.equal(patchify(images, p1), patches)
        assert torch.equal(unpatchify(patches, p1, (rows, columns)), images)


def make_embed(method="convolution", sizes=(10, 5), **options):
    torch.manual_seed(0)
    return PatchEmbed(*sizes, 3, 7, method=method, **options).double()


@pytest.mark.parametrize("sizes", [(10, 5), ((10, 9), (5, 3)), (6, (2, 3))])
@pytest.mark.parametrize("norm", [False, True])
def test_both_methods_give_the_same_numbers_and_gradients(sizes, norm):
    results = []
    for method in ("convolution", "linear"):
        embed = make_embed(method, sizes, norm=norm)
        images = draw(2, *embed.image_shape)
        out, gradient = gradients(embed, images)
        leaves = list(embed.parameters())
        upstream = draw(*out.shape, seed=5)
        inner = torch.autograd.grad(embed(images), leaves, upstream)
        results.append((out, gradient, *inner))
    assert_all_close(*results)
