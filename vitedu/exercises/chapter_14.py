"""Checks of the exercises of chapter 14, training a ViT."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.checks import Verdict, exercise, judge_function, judge_number


@exercise(
    "How many patches of 16 pixels fit along one side? And what stands "
    "in front of the sequence?"
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


@exercise(
    "First give the rows of patches and the rows inside a patch an axis "
    "of their own, likewise the columns. Then bring the axes into the "
    "right order. Only then flatten."
)
def cut_patches(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 14.2: ``candidate(images, patch_size)`` cuts patches.

    The order inside a patch is (row, column, channel), which the page does
    not show.
    """

    def cut(order, *, split="(r p) (s q)"):
        return lambda images, p: rearrange(
            images, f"b c {split} -> {order}", p=p, q=p
        )

    def naive(images, p):
        return images.reshape(len(images), -1, images.shape[1] * p * p)

    right = cut("b (r s) (p q c)")
    wrong = {
        "you reshaped without moving axes first: a row of yours holds pixels "
        "of a whole line of the image, not of a square.": naive,
        "you moved the channels to the end, but a row of yours holds pixels "
        "of a whole line of the image, not of a square.": (
            lambda images, p: images.movedim(1, -1).reshape(
                len(images), -1, images.shape[1] * p * p
            )
        ),
        "your patches run down the columns; they should run along the rows, "
        "as one reads.": cut("b (s r) (p q c)"),
        "inside a patch you have (channel, row, column), as the library has; "
        "the order asked for is (row, column, channel).": (
            cut("b (r s) (c p q)")
        ),
        "inside a patch you have (column, row, channel); the order asked for "
        "is (row, column, channel).": cut("b (r s) (q p c)"),
        "you split (p rows) instead of (rows p): your patch takes every n-th "
        "pixel of the whole image.": (
            cut("b (r s) (p q c)", split="(p r) (q s)")
        ),
    }
    generator = torch.Generator().manual_seed(0)
    cases = {
        f"{c} channel(s), {h} x {w} pixels, patches of {p}": (
            torch.rand(2, c, h, w, generator=generator),
            p,
        )
        for c, h, w, p in ((3, 6, 9, 3), (1, 8, 8, 2))
    }
    return judge_function(candidate, right, wrong, cases)


@exercise(
    "What should the network answer? All 1,000 targets enter the loss. "
    "And who shares the 0.1: is the right class among them?"
)
def smallest_loss(answer: float | None) -> Verdict:
    """Check exercise 14.3: the floor of the loss, 1,000 classes, 0.1."""
    if isinstance(answer, float):
        answer = round(answer, 3)  # three decimals are asked for
    return judge_number(
        answer,
        1.015,
        "it is the entropy of the targets 0.9001 and 999 times 0.0001.",
        {
            0.0: "without smoothing it would be; now whoever gives all to "
            "the right class pays without bound.",
            0.105: "that is -ln of the right one's target; the other classes "
            "count, too, and each is weighed by its target.",
            0.095: "that is the part of the right class; the others count, "
            "too.",
            0.92: "that is the part of the 999 wrong classes alone.",
            0.325: "you gave the 0.1 to one class; all 1,000 share it.",
            1.016: "you gave the 0.1 to the 999 wrong classes; the right "
            "one shares it, too.",
            1.464: "you took logarithms with base 2.",
            6.908: "that is ln 1,000, the loss before training.",
        },
        tolerance=0,
    )


@exercise(
    "For a rate of 0.5, half of the branches are gone. By which factor "
    "must the others grow? And along which axis do the draws run?"
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
