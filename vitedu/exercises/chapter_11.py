"""Checks of the exercises of chapter 11, patches."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.checks import Verdict, exercise, judge_function, judge_number

_D_MODEL = 7  # prime, and no side of a patch or number of channels


@exercise(
    "How many numbers go in for one patch, and how many come out? Does "
    "the matrix know which patch it meets?"
)
def parameters(answer: float | None) -> Verdict:
    """Check exercise 11.1: the patch embedding of a ViT-S/16."""
    values, d_model, patches = 16 * 16 * 3, 384, 14 * 14
    return judge_number(
        answer,
        values * d_model + d_model,
        "a matrix of 768 by 384 and 384 biases, for all patches.",
        {
            values * d_model: "that is the matrix; each of the 384 numbers "
            "that come out has a bias, too.",
            values * d_model + values: "the bias belongs to what comes out, "
            "not to what goes in.",
            values * d_model + patches: "the bias belongs to the numbers that "
            "come out; no patch has one of its own.",
            patches * (values * d_model + d_model): "all patches share one "
            "matrix and one bias.",
            patches * values * d_model: "all patches share one matrix; and a "
            "bias is missing.",
            16 * 16 * d_model + d_model: "that is for a grey image; a pixel "
            "has three numbers here.",
            16 * 3 * d_model + d_model: "that is a line of 16 pixels; a patch "
            "has 16 lines.",
            patches * d_model: "these are the numbers that come out, all "
            "tokens together; the parameters turn one patch into one token.",
        },
        tolerance=0,
    )


@exercise(
    "Give the long axis of `matrix` its three axes back, in the order "
    "in which they were joined. Which order does a convolution want "
    "them in, and where does it want `d_model`?"
)
def to_kernel(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 11.2: ``candidate(matrix, num_channels, patch_size)``."""
    wrong = {
        "the numbers were relabelled, not moved: a reshape alone cannot bring "
        "d_model to the front.": lambda m, c, p: m.reshape(-1, c, *p),
        "d_model is in front, but the long axis of the matrix was not made in "
        "the order that you split it in.": lambda m, c, p: m.T.reshape(
            -1, c, *p
        ),
        "a column of a patch became a row: look at which of p1 and p2 is the "
        "slower one.": _transposed,
        "the right numbers, but d_model has to be the first axis.": (
            lambda m, c, p: _kernel(m, c, p).movedim(0, -1)
        ),
        "the channels have to come before the pixels.": (
            lambda m, c, p: _kernel(m, c, p).movedim(1, -1)
        ),
        "the filters are upside down: PyTorch's convolution does not turn its "
        "kernel round.": lambda m, c, p: _kernel(m, c, p).flip(2, 3),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    # A square patch first: there, most mistakes give the right shape.
    for channels, patch_size in ((3, (5, 5)), (2, (3, 5)), (1, (4, 2))):
        values = patch_size[0] * patch_size[1] * channels
        matrix = torch.randn(values, _D_MODEL, generator=generator)
        name = f"{channels} channel(s), patches of {patch_size}"
        cases[name] = (matrix, channels, patch_size)
    return judge_function(candidate, _kernel, wrong, cases)


def _kernel(matrix: Tensor, channels: int, patch_size: tuple) -> Tensor:
    return rearrange(
        matrix, "(p2 p1 c) d -> d c p1 p2", c=channels, p1=patch_size[0]
    )


def _transposed(matrix: Tensor, channels: int, patch_size: tuple) -> Tensor:
    return rearrange(
        matrix, "(p1 p2 c) d -> d c p1 p2", c=channels, p1=patch_size[0]
    )
