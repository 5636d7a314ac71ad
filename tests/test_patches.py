"""Patches: cutting, putting together, embedding."""

import pytest
import torch
from helpers import PROPERTY, assert_all_close, draw, gradients
from hypothesis import given
from hypothesis import strategies as st

from vitedu.patches import PatchEmbed, patchify, unpatchify

SIZES = st.integers(1, 4)


def test_patches_of_a_counted_image():
    image = torch.arange(16.0).reshape(1, 1, 4, 4)
    assert patchify(image, 2).tolist() == [
        [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]
    ]


def test_every_pixel_goes_where_it_should():
    images = draw(2, 3, 10, 35)
    patches = patchify(images, 5)
    assert patches.shape == (2, 14, 75)
    for row in range(2):
        for column in range(7):
            square = images[
                :, :, 5 * row : 5 * row + 5, 5 * column : 5 * column + 5
            ]
            found = patches[:, 7 * row + column]
            assert torch.equal(found, square.reshape(2, 75))


def test_a_patch_may_be_higher_than_wide():
    images = draw(2, 3, 10, 9)
    patches = patchify(images, (5, 3))
    assert patches.shape == (2, 6, 45)
    lower_middle = images[:, :, 5:, 3:6]
    assert torch.equal(patches[:, 4], lower_middle.reshape(2, 45))


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


def test_gradients_go_back_to_their_pixels():
    images = draw(2, 3, 4, 6)
    _, gradient = gradients(lambda x: patchify(x, 2), images)
    upstream = draw(2, 6, 12, seed=99)
    assert torch.equal(gradient, unpatchify(upstream, 2, (2, 3)))


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


def test_a_token_is_the_weighted_sum_of_its_patch():
    embed, images = make_embed(), draw(2, 3, 10, 10)
    weight, bias = embed.proj.weight, embed.proj.bias
    lower_left = images[:, None, :, 5:, :5]
    expected = (weight * lower_left).sum(dim=(2, 3, 4)) + bias
    assert_all_close((embed(images)[:, 2],), (expected,))


def test_the_norm_follows_the_projection():
    plain, images = make_embed(), draw(2, 3, 10, 10)
    embed = make_embed(norm=True, layer_norm_eps=0.1)
    torch.nn.init.normal_(embed.norm.weight)
    torch.nn.init.normal_(embed.norm.bias)
    tokens = plain(images)
    tokens = tokens - tokens.mean(dim=-1, keepdim=True)
    variance = tokens.square().mean(dim=-1, keepdim=True)
    expected = tokens / (variance + 0.1).sqrt()
    expected = expected * embed.norm.weight + embed.norm.bias
    assert_all_close((embed(images),), (expected,))
