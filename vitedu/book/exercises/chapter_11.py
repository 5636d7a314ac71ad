"""The exercises of chapter 11, patches."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

_D_MODEL = 7  # prime, and no side of a patch or number of channels


def _windows(axes: tuple[int, ...]) -> Callable[..., Tensor]:
    """Return a cutter that brings the six axes into this order."""

    def cut(images: Tensor, p1: int, p2: int) -> Tensor:
        b, channels, height, width = images.shape
        split = images.unflatten(3, (width // p2, p2))
        split = split.unflatten(2, (height // p1, p1)).transpose(3, 4)
        return split.permute(axes).reshape(b, -1, channels * p1 * p2)

    return cut


_cut = _windows((0, 2, 3, 1, 4, 5))


def _kernel(matrix: Tensor, channels: int, patch_size: tuple) -> Tensor:
    return rearrange(
        matrix, "(p2 p1 c) d -> d c p1 p2", c=channels, p1=patch_size[0]
    )


def _transposed(matrix: Tensor, channels: int, patch_size: tuple) -> Tensor:
    return rearrange(
        matrix, "(p1 p2 c) d -> d c p1 p2", c=channels, p1=patch_size[0]
    )


def _make_parameters() -> NumberExercise:
    values, d_model, patches = 16 * 16 * 3, 384, 14 * 14
    return NumberExercise(
        "11.1",
        "parameters",
        hints=(
            "How many numbers go in for one patch, and how many come out?",
            "A patch has 16 × 16 pixels, and a pixel has three colours. Does "
            "the matrix depend on which patch it gets?",
            "A linear layer has a weight for each pair of a number that goes "
            "in and one that comes out, and a bias for each number that comes "
            "out. The size of the image does not matter.",
        ),
        right=values * d_model + d_model,
        why="a matrix of 768 by 384 and 384 biases, for all patches.",
        wrong={
            values * d_model: "that is the matrix; each of the 384 numbers "
            "that come out also has a bias.",
            values * d_model + values: "the bias belongs to what comes out, "
            "not to what goes in.",
            values * d_model + patches: "the bias belongs to the numbers that "
            "come out; no patch has its own.",
            patches * (values * d_model + d_model): "all patches share one "
            "matrix and one bias.",
            patches * values * d_model: "all patches share one matrix; and "
            "the bias is missing.",
            16 * 16 * d_model + d_model: "that is for a grey image; a pixel "
            "has three numbers here.",
            16 * 3 * d_model + d_model: "that is a row of 16 pixels; a patch "
            "has 16 rows.",
            patches * d_model: "these are the numbers that come out, for all "
            "tokens together; the parameters turn one patch into one token.",
        },
        tolerance=0,
    )


# the patch embedding of a ViT-S/16.
parameters = _make_parameters()


def _make_to_kernel() -> FunctionExercise:
    wrong = {
        "the numbers were relabelled, not moved: a reshape alone cannot bring "
        "d_model to the front.": lambda m, c, p: m.reshape(-1, c, *p),
        "d_model is in front, but the long axis of the matrix was not joined "
        "in the order in which you split it.": lambda m, c, p: m.T.reshape(
            -1, c, *p
        ),
        "a column of a patch became a row: check which of p1 and p2 changes "
        "more slowly.": _transposed,
        "the numbers are right, but d_model has to be the first axis.": (
            lambda m, c, p: _kernel(m, c, p).movedim(0, -1)
        ),
        "the channels have to come before the pixels.": (
            lambda m, c, p: _kernel(m, c, p).movedim(1, -1)
        ),
        "the filters are upside down: PyTorch's convolution does not flip its "
        "kernel.": lambda m, c, p: _kernel(m, c, p).flip(2, 3),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    # A square patch first: there, most mistakes give the right shape.
    for channels, patch_size in ((3, (5, 5)), (2, (3, 5)), (1, (4, 2))):
        values = patch_size[0] * patch_size[1] * channels
        matrix = torch.randn(values, _D_MODEL, generator=generator)
        name = f"{channels} channel(s), patches of {patch_size}"
        cases[name] = (matrix, channels, patch_size)
    return FunctionExercise(
        "11.2",
        "to kernel",
        hints=(
            "Which three axes were joined into the long axis of `matrix`, and "
            "which of them changes slowest?",
            "First split the long axis into its three axes again, in the "
            "order in which they were joined. A reshape can do that, but it "
            "cannot swap axes.",
            "After the split there are four axes: `p2`, `p1`, channel, "
            "`d_model`. A convolution needs the same four in a different "
            "order. Which one?",
        ),
        right=_kernel,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(matrix, num_channels, patch_size)``.
to_kernel = _make_to_kernel()


def _make_colour_patches() -> FunctionExercise:
    wrong = {
        "grey images come out right. In colour, the first green number of "
        "image 0 is in row 4 of your table; it belongs in row 0.": (
            _windows((0, 1, 2, 3, 4, 5))
        ),
        "you cut along the lines of the image, not into squares: a reshape "
        "alone does not move anything.": lambda images, p1, p2: images.reshape(
            len(images), -1, images.shape[1] * p1 * p2
        ),
        "each row holds the numbers of its patch, but pixel by pixel: all of "
        "the first colour should come first.": _windows((0, 2, 3, 4, 5, 1)),
        "a row holds one colour of neighbouring patches: both axes of the "
        "grid have to come before the colours.": _windows((0, 2, 1, 3, 4, 5)),
        "the patches follow each other down the columns of the grid; read it "
        "row by row.": _windows((0, 3, 2, 1, 4, 5)),
        "inside a patch you read down the columns; read it row by row.": (
            _windows((0, 2, 3, 1, 5, 4))
        ),
        "each row takes one pixel of every patch: the axes of the grid have "
        "to come before those inside a patch.": _windows((0, 4, 5, 1, 2, 3)),
        "a row holds numbers of several images: the batch has to remain the "
        "first axis.": _windows((2, 3, 0, 1, 4, 5)),
        "p1 is the height of a patch and p2 its width; you swapped them.": (
            lambda images, p1, p2: _cut(images, p2, p1)
        ),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    # Grey first: there the code of the question is right.
    for name, channels, sides, patch_size in (
        ("grey images", 1, (6, 8), (2, 2)),
        ("colour images", 3, (6, 8), (2, 2)),
        ("patches of 2 × 3", 3, (6, 12), (2, 3)),
    ):
        images = torch.randn(2, channels, *sides, generator=generator)
        cases[name] = (images, *patch_size)
    return FunctionExercise(
        "11.3",
        "colour patches",
        hints=(
            "Cut a tiny image by hand: two colours, 2 × 4 pixels, counted "
            "from 0, in patches of 2 × 2. Which numbers should be in row 0, "
            "and which are?",
            "After the two calls of `unfold` nothing is wrong yet. Print the "
            "shape and say what each of the six axes is. Which of them belong "
            "to the position of a patch, and which to its contents?",
            "A reshape joins neighbouring axes. The axis of the colours is "
            "between the batch and the grid; it has to move to the pixels of "
            "the patch before anything is joined.",
        ),
        right=_cut,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(images, p1, p2)`` cuts colours, too.
colour_patches = _make_colour_patches()
