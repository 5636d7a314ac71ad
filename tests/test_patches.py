"""Patches: cutting, putting together, embedding."""

import pytest
import torch
from helpers import PROPERTY, assert_all_close, draw, gradients, refuses
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


@pytest.mark.parametrize(
    ("shape", "size", "message"),
    [
        (
            (1, 3, 7, 8),
            4,
            "height must be divisible by patch_size, "
            "got height=7 and patch_size=4",
        ),
        (
            (1, 3, 8, 7),
            4,
            "width must be divisible by patch_size, "
            "got width=7 and patch_size=4",
        ),
        ((3, 8, 8), 4, "images must have the axes (batch channel height"),
        ((1, 3, 8, 8), 0, "patch_size must be at least 1, got 0"),
        ((1, 3, 8, 8), (4, 0), "patch_size[1] must be at least 1, got 0"),
        (
            (1, 3, 8, 8),
            (4, 3),
            "width must be divisible by patch_size, "
            "got width=8 and patch_size=3",
        ),
    ],
)
def test_patchify_refuses(shape, size, message):
    with refuses(ValueError, message):
        patchify(torch.zeros(shape), size)


def test_patchify_refuses_other_types():
    with refuses(TypeError, "patch_size must be an integer, got 2.0"):
        patchify(torch.zeros(1, 3, 8, 8), 2.0)
    with refuses(TypeError, "images must be a tensor, got list"):
        patchify([[[[0.0]]]], 1)


@pytest.mark.parametrize(
    ("shape", "grid", "message"),
    [
        (
            (1, 6, 12),
            (2, 2),
            "patches must hold grid_size[0] * grid_size[1] = 2 * 2 rows, "
            "got 6",
        ),
        (
            (1, 6, 13),
            (2, 3),
            "values must be divisible by pixels, got values=13 and pixels=4",
        ),
        ((6, 12), (2, 3), "patches must have the axes (batch patch values)"),
        ((1, 6, 12), (-2, -3), "grid_size[0] must be at least 1, got -2"),
    ],
)
def test_unpatchify_refuses(shape, grid, message):
    with refuses(ValueError, message):
        unpatchify(torch.zeros(shape), 2, grid)


def test_unpatchify_refuses_a_grid_that_is_no_pair():
    with refuses(TypeError, "grid_size must be (rows, columns), got 6"):
        unpatchify(torch.zeros(1, 6, 12), 2, 6)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((10, 3, 3, 7), "image_size must be divisible by patch_size"),
        ((0, 3, 3, 7), "image_size must be at least 1, got 0"),
        ((10, 0, 3, 7), "patch_size must be at least 1, got 0"),
        ((10, 5, 0, 7), "num_channels must be at least 1, got 0"),
        ((10, 5, 3, -7), "d_model must be at least 1, got -7"),
        (((10, 0), 5, 3, 7), "image_size[1] must be at least 1, got 0"),
        (
            ((10, 12), 5, 3, 7),
            "image_size must be divisible by patch_size, "
            "got image_size=12 and patch_size=5",
        ),
    ],
)
def test_patch_embed_refuses_sizes(arguments, message):
    with refuses(ValueError, message):
        PatchEmbed(*arguments)


def test_patch_embed_refuses_other_arguments():
    with refuses(TypeError, "d_model must be an integer, got 7.0"):
        PatchEmbed(10, 5, 3, 7.0)
    with refuses(
        ValueError,
        "method must be one of ('convolution', 'linear'), got 'fft'",
    ):
        PatchEmbed(10, 5, 3, 7, method="fft")
    with refuses(
        TypeError,
        "image_size must be a side or (height, width), got (1, 2, 3)",
    ):
        PatchEmbed((1, 2, 3), 5, 3, 7)
    with refuses(TypeError, "norm must be True or False, got 'layer'"):
        PatchEmbed(10, 5, 3, 7, norm="layer")
    with refuses(ValueError, "layer_norm_eps must be above 0, got 0"):
        PatchEmbed(10, 5, 3, 7, layer_norm_eps=0)


@pytest.mark.parametrize("shape", [(1, 3, 15, 10), (1, 1, 10, 10)])
@pytest.mark.parametrize("method", ["convolution", "linear"])
def test_patch_embed_refuses_other_images(shape, method):
    with refuses(
        ValueError,
        "images must have (channel, height, width) = (3, 10, 10), "
        f"got {shape[1:]}",
    ):
        make_embed(method)(torch.zeros(shape, dtype=torch.float64))


def test_patch_embed_refuses_pixels_that_are_bytes():
    with refuses(
        TypeError,
        "images must hold floating-point numbers, got dtype torch.uint8",
    ):
        make_embed()(torch.zeros(1, 3, 10, 10, dtype=torch.uint8))
