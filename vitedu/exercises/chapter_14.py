"""Checks of the exercises of chapter 14, training a ViT."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.checks import Verdict, judge_function, judge_number
from vitedu.patches import patchify


def num_tokens(answer: int | None) -> Verdict:
    """Check exercise 14.1: the tokens of a ViT-B/16 at 224 x 224 pixels."""
    return judge_number(
        answer,
        197,
        "14 x 14 = 196 patches and the class token.",
        {
            196: "these are the patches; who else sits in the sequence?",
            256: "that is the size of a patch in pixels, 16 x 16.",
            14: "that is one side of the grid.",
            15: "that is one side of the grid and a token.",
            768: "that is the width of a token, not their number.",
        },
        tolerance=0,
    )


def cut_patches(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 14.2: ``candidate(images, patch_size)`` cuts patches."""

    def naive(images, p):
        return images.reshape(len(images), -1, images.shape[1] * p * p)

    def by_columns(images, p):
        return rearrange(
            images, "b c (r p) (s q) -> b (s r) (c p q)", p=p, q=p
        )

    def channels_last(images, p):
        return rearrange(
            images, "b c (r p) (s q) -> b (r s) (p q c)", p=p, q=p
        )

    def swapped(images, p):
        return rearrange(
            images, "b c (p r) (q s) -> b (r s) (c p q)", p=p, q=p
        )

    wrong = {
        "you reshaped without moving axes first: a row of yours holds pixels "
        "of a whole line of the image, not of a square.": naive,
        "your patches run down the columns; they should run along the rows, "
        "as one reads.": by_columns,
        "inside a patch you have (row, column, channel); the order asked for "
        "is (channel, row, column).": channels_last,
        "you split (p rows) instead of (rows p): your patch takes every n-th "
        "pixel of the whole image.": swapped,
    }
    generator = torch.Generator().manual_seed(0)
    cases = {
        f"{c} channel(s), {h} x {w} pixels, patches of {p}": (
            torch.rand(2, c, h, w, generator=generator),
            p,
        )
        for c, h, w, p in ((1, 8, 8, 2), (3, 6, 9, 3))
    }
    return judge_function(candidate, patchify, wrong, cases)
