"""The exercises of chapter 11, patches."""

import pytest
import torch
import torch.nn.functional as F
from judging import expect_thought, expect_unfinished

from vitedu.exercises import chapter_11 as check
from vitedu.patches import PatchEmbed


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


def test_to_kernel_accepts_a_solution():
    assert check.to_kernel(by_loops).right


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


def test_unfinished_answers():
    expect_unfinished(check.parameters, check.to_kernel)
