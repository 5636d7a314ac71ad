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


def smoothed_target(answer: float | None) -> Verdict:
    """Check exercise 14.3: the target of the right one of 1,000 classes."""
    return judge_number(
        answer,
        0.9001,
        "0.9, and its share of the 0.1 that all 1,000 classes divide.",
        {
            0.9: "the 0.1 is divided among all classes; who is one of them?",
            0.0001: "that is the target of a wrong class.",
            0.1: "that is what all classes divide, the right one included.",
            1.0: "that is the target without smoothing.",
            0.8999: "the right class gets a share on top, it pays none.",
        },
        tolerance=1e-5,
    )


def skip_branches(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 14.4: ``candidate(branch, draws, rate)`` skips."""

    def skip(factor, axes="image -> image 1 1"):
        return lambda branch, draws, rate: (
            branch * rearrange(factor(draws, rate), axes)
        )

    right = skip(lambda draws, rate: (draws >= rate) / (1 - rate))
    wrong = {
        "what you keep does not grow, so the mean shrinks with the rate.": (
            skip(lambda draws, rate: (draws >= rate).float())
        ),
        "you skip where the draw is above the rate: at a rate of 0.2 most "
        "branches would be gone.": skip(
            lambda draws, rate: (draws < rate) / (1 - rate)
        ),
        "you divide by the rate; of what share is left to carry the mean?": (
            skip(lambda draws, rate: (draws >= rate) / rate)
        ),
        "you multiply what is kept by 1 - rate, so the mean shrinks twice.": (
            skip(lambda draws, rate: (draws >= rate) * (1 - rate))
        ),
        "you scale every branch and skip none; that is the mean of what is "
        "asked for.": skip(lambda draws, rate: torch.ones_like(draws)),
        "your draws run along the tokens, so every image loses the same "
        "tokens.": skip(
            lambda draws, rate: (draws >= rate) / (1 - rate),
            "token -> 1 token 1",
        ),
        "your draws run along the features of a token.": skip(
            lambda draws, rate: (draws >= rate) / (1 - rate),
            "feature -> 1 1 feature",
        ),
    }
    generator = torch.Generator().manual_seed(0)
    # As many tokens and features as images first: a wrong axis fits, too.
    cases = {
        f"{images} images, {tokens} tokens of {width}, rate {rate}": (
            torch.rand(images, tokens, width, generator=generator) + 1,
            torch.rand(images, generator=generator),
            rate,
        )
        for images, tokens, width, rate in (
            (7, 7, 7, 0.4),
            (11, 3, 5, 0.2),
            (2, 3, 5, 0.0),
        )
    }
    return judge_function(candidate, right, wrong, cases)
