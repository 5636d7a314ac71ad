"""The exercises of chapter 11, patches."""

import pytest
import torch
import torch.nn.functional as F
from einops import rearrange
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_11 as check
from vitedu.patches import PatchEmbed, patchify


def test_parameters_accepts_the_number():
    layer = PatchEmbed(224, 16, 3, 384)
    assert check.parameters(sum(p.numel() for p in layer.parameters()))
    assert check.parameters(295_296.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (768 * 384, "that is the matrix"),
        (768 * 384 + 768, "not to what goes in"),
        (768 * 384 + 196, "no patch has one of its own"),
        (196 * 769 * 384, "share one matrix and one bias"),
        (196 * 768 * 384, "and a bias is missing"),
        (256 * 384 + 384, "for a grey image"),
        (48 * 384 + 384, "a patch has 16 lines"),
        (196 * 384, "these are the numbers that come out"),
        (295_297, "is not it"),
    ],
)
def test_parameters_names_the_mistake(answer, thought):
    expect_thought(check.parameters(answer), thought)


def by_loops(matrix, num_channels, patch_size):
    """Solve it number by number."""
    p1, p2 = patch_size
    kernel = torch.empty(matrix.shape[1], num_channels, p1, p2)
    row = 0
    for x in range(p2):
        for y in range(p1):
            for channel in range(num_channels):
                kernel[:, channel, y, x] = matrix[row]
                row += 1
    return kernel


def by_einops(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    return rearrange(matrix, "(q p c) d -> d c p q", p=p1, q=p2)


def by_einsum(matrix, num_channels, patch_size):
    p1, p2 = patch_size
    split = matrix.unflatten(0, (p2, p1, num_channels))
    return torch.einsum("qpcd->dcpq", split)


@pytest.mark.parametrize("solution", [by_loops, by_einops, by_einsum])
def test_to_kernel_accepts_a_solution(solution):
    assert check.to_kernel(solution).right


def test_the_solution_runs_as_a_convolution():
    """What the check calls right cuts, multiplies and agrees."""
    image, matrix = torch.rand(2, 6, 8), torch.rand(3 * 4 * 2, 5)
    kernel = by_loops(matrix, 2, (3, 4))
    found = F.conv2d(image[None], kernel, stride=(3, 4))[0]
    for r in range(2):
        for s in range(2):
            patch = image[:, 3 * r : 3 * r + 3, 4 * s : 4 * s + 4]
            expected = patch.permute(2, 1, 0).flatten() @ matrix
            torch.testing.assert_close(found[:, r, s], expected)


def rows_first(matrix, num_channels, patch_size):
    """Undo the order of the chapter's pattern, (p1 p2 c)."""
    p1, p2 = patch_size
    split = matrix.reshape(p1, p2, num_channels, -1)
    return split.permute(3, 2, 0, 1)


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (lambda m, c, p: m.reshape(-1, c, *p), "relabelled, not moved"),
        (lambda m, c, p: m.T.reshape(-1, c, *p), "d_model is in front, but"),
        (rows_first, "a column of a patch became a row"),
        (
            lambda m, c, p: by_loops(m, c, p).permute(1, 2, 3, 0),
            "d_model has to be the first axis",
        ),
        (
            lambda m, c, p: by_loops(m, c, p).permute(0, 2, 3, 1),
            "the channels have to come before",
        ),
        (lambda m, c, p: by_loops(m, c, p).flip(2, 3), "upside down"),
        (
            lambda m, c, p: by_loops(m, c, p) if p == (5, 5) else m,
            "2 channel(s), patches of (3, 5): the shape is",
        ),
    ],
)
def test_to_kernel_names_the_mistake(candidate, thought):
    expect_thought(check.to_kernel(candidate), thought)


def pixel_by_pixel(images, p1, p2):
    """Cut with slices."""
    height, width = images.shape[2:]
    patches = [
        images[:, :, top : top + p1, left : left + p2].flatten(1)
        for top in range(0, height, p1)
        for left in range(0, width, p2)
    ]
    return torch.stack(patches, dim=1)


def by_library_call(images, p1, p2):
    return F.unfold(images, (p1, p2), stride=(p1, p2)).mT


def by_convolution(images, p1, p2):
    """Let each filter pick out one number of the patch."""
    values = images.shape[1] * p1 * p2
    kernel = torch.eye(values).reshape(values, -1, p1, p2)
    grid = F.conv2d(images, kernel, stride=(p1, p2))
    return grid.flatten(2).transpose(1, 2)


def by_pattern(pattern):
    def cut(images, p1, p2):
        return rearrange(images, pattern, p1=p1, p2=p2)

    return cut


@pytest.mark.parametrize(
    "solution",
    [
        pixel_by_pixel,
        by_library_call,
        by_convolution,
        by_pattern("b c (h p1) (w p2) -> b (h w) (c p1 p2)"),
        lambda images, p1, p2: patchify(images, (p1, p2)),
    ],
)
def test_colour_patches_accepts_a_solution(solution):
    assert check.colour_patches(solution).right


def as_on_the_page(images, p1, p2):
    windows = images.unfold(2, p1, p1).unfold(3, p2, p2)
    return windows.reshape(len(images), -1, images.shape[1] * p1 * p2)


def test_colour_patches_says_where_the_green_number_is():
    images = torch.zeros(2, 3, 6, 8)
    images[0, 1, 0, 0] = 1
    [place] = as_on_the_page(images, 2, 2).nonzero().tolist()
    assert place[:2] == [0, 4]
    [place] = patchify(images, 2).nonzero().tolist()
    assert place[:2] == [0, 0]


def columns_reshaped(images, p1, p2):
    columns = F.unfold(images, (p1, p2), stride=(p1, p2))
    return columns.reshape(len(images), -1, images.shape[1] * p1 * p2)


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (as_on_the_page, "the first green number of image 0 stands in row 4"),
        (
            lambda x, p1, p2: x.reshape(len(x), -1, x.shape[1] * p1 * p2),
            "you cut the lines of the image",
        ),
        (
            by_pattern("b c (h p1) (w p2) -> b (h w) (p1 p2 c)"),
            "pixel by pixel",
        ),
        (
            by_pattern("b c (h p1) (w p2) -> b (h c w) (p1 p2)"),
            "the shape is",
        ),
        (
            lambda x, p1, p2: rearrange(
                x, "b c (h p1) (w p2) -> b (h c w p1 p2)", p1=p1, p2=p2
            ).reshape(len(x), -1, x.shape[1] * p1 * p2),
            "one colour of patches that stand side by side",
        ),
        (
            by_pattern("b c (h p1) (w p2) -> b (w h) (c p1 p2)"),
            "down the columns of the grid",
        ),
        (
            by_pattern("b c (h p1) (w p2) -> b (h w) (c p2 p1)"),
            "inside a patch you read down",
        ),
        (
            lambda x, p1, p2: rearrange(
                x, "b c (h p1) (w p2) -> b (p1 p2 c h w)", p1=p1, p2=p2
            ).reshape(len(x), -1, x.shape[1] * p1 * p2),
            "one pixel of every patch",
        ),
        (
            lambda x, p1, p2: rearrange(
                x, "b c (h p1) (w p2) -> (h w b c p1 p2)", p1=p1, p2=p2
            ).reshape(len(x), -1, x.shape[1] * p1 * p2),
            "numbers of several images",
        ),
        (columns_reshaped, "one pixel of every patch"),
        (
            lambda x, p1, p2: pixel_by_pixel(x, p2, p1),
            "patches of 2 x 3: p1 is the height",
        ),
    ],
)
def test_colour_patches_names_the_mistake(candidate, thought):
    expect_thought(check.colour_patches(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.parameters, check.to_kernel)
    expect_unfinished(check.parameters, check.colour_patches)
