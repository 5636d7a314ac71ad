"""The exercises of the chapters: each check names the thought that erred.

A check looks at what an answer does, never at how it is written.
"""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.analysis import attention_distance, patch_distances
from vitedu.attention import scaled_dot_product_attention
from vitedu.checks import (
    Verdict,
    attention_inputs,
    attention_masks,
    judge_function,
    judge_number,
)
from vitedu.patches import patchify


def score_spread(answer: float | None) -> Verdict:
    """Check exercise 3.1: the spread of scores of components of spread 2."""
    return judge_number(
        answer,
        40,
        "the variance is 100 * 4 * 4 = 1600, its root is 40.",
        {
            1600: "that is the variance; the standard deviation is its root.",
            10: "that would be right for components of variance 1.",
            20: "a product of two numbers of variance 4 has variance 16, "
            "not 4.",
            4: "that is the spread after scaling; before it is asked for.",
            400: "that is 100 * 4: the product of both variances counts, and "
            "then its root.",
        },
    )


def attention(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 3.2: ``candidate(q, k, v, mask)`` is attention."""

    def variant(axis=-1, scale=None, flip=False, fill=True):
        def mistake(q, k, v, mask):
            factor = q.shape[-1] ** -0.5 if scale is None else scale(q, k)
            scores = q @ k.transpose(-2, -1) * factor
            if mask is not None and fill:
                keep = ~mask if flip else mask
                scores = scores.masked_fill(~keep, -1e9)
            elif mask is not None:
                scores = scores * mask
            return scores.softmax(dim=axis) @ v

        return mistake

    wrong = {
        "you left out the scale: divide the scores by the square root of "
        "head_dim.": variant(scale=lambda q, k: 1.0),
        "you divide by head_dim itself; its square root is right.": variant(
            scale=lambda q, k: 1 / q.shape[-1]
        ),
        "you divide by the root of the number of keys; it is the width of a "
        "head that sums up.": variant(scale=lambda q, k: k.shape[-2] ** -0.5),
        "your softmax runs over the queries: each row, not each column, has "
        "to add up to 1.": variant(axis=-2),
        "you mask the wrong way round: True means may attend.": variant(
            flip=True
        ),
        "a score of 0 hides nothing, since e**0 = 1: fill with a very "
        "negative number instead.": variant(fill=False),
        "you ignore the mask.": lambda q, k, v, mask: variant()(q, k, v, None),
        "a query that may see nothing gets the mean of all values here: a "
        "leak. It should get zeros.": variant(),
    }
    q, k, v = attention_inputs()
    return judge_function(
        candidate,
        scaled_dot_product_attention,
        wrong,
        {f"mask {name}": (q, k, v, mask) for name, mask in attention_masks()},
    )


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


def head_distance(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 16.2: ``candidate(weights, grid_size, patch_size)``."""

    def right(weights, grid_size, patch_size):
        return attention_distance(
            weights, grid_size=grid_size, patch_size=patch_size
        )

    def in_patches(weights, grid_size, patch_size):
        return right(weights, grid_size, 1)

    def not_renormalised(weights, grid_size, patch_size):
        distances = patch_distances(grid_size, patch_size).to(weights)
        n = len(distances)
        among = weights[..., -n:, -n:]
        return (among * distances).sum(-1).mean(-1).mean(0)

    def city_blocks(weights, grid_size, patch_size):
        rows, columns = grid_size
        centres = torch.cartesian_prod(
            torch.arange(rows), torch.arange(columns)
        ).to(weights)
        distances = torch.cdist(centres, centres, p=1) * patch_size
        n = len(distances)
        among = weights[..., -n:, -n:]
        among = among / among.sum(-1, keepdim=True)
        return (among * distances).sum(-1).mean(-1).mean(0)

    def last_token_dropped(weights, grid_size, patch_size):
        return right(weights[..., :-1, :-1], grid_size, patch_size)

    wrong = {
        "your distances count patches; multiply by patch_size to get "
        "pixels.": in_patches,
        "after dropping the class token the weights of a row no longer add "
        "up to 1: divide by their sum.": not_renormalised,
        "you add steps along rows and columns; the straight line is asked "
        "for.": city_blocks,
        "you dropped the last token; the class token is the first.": (
            last_token_dropped
        ),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {}
    for rows, columns, patch_size in ((4, 4, 2), (3, 5, 7)):
        tokens = 1 + rows * columns
        scores = torch.randn(2, 3, tokens, tokens, generator=generator)
        cases[f"grid {rows} x {columns}"] = (
            scores.double().softmax(dim=-1),
            (rows, columns),
            patch_size,
        )
    return judge_function(candidate, right, wrong, cases)


def uniform_reach(answer: float | None) -> Verdict:
    """Check exercise 16.1: the distance of a head that looks at 2 x 1."""
    return judge_number(
        answer,
        4,
        "half of the weight stays at distance 0, half goes 8 pixels away.",
        {
            8: "that is the distance of the other patch; half of the weight "
            "stays at home.",
            0.5: "that counts patches; a patch is 8 pixels wide.",
            1: "that counts patches, and the half at home is left out.",
            16: "the distance runs from centre to centre, not edge to edge.",
        },
    )
