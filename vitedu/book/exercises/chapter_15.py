"""The exercises of chapter 15, counting."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise


def _flops(
    pairs: Callable[[int, int], float] = lambda s, w: s * w,
    rows: Callable[[int, int], int] = lambda s, w: s,
    linear: int = 24,
) -> Callable[..., Tensor]:
    """Return the count, with a part exchanged if one is given."""

    def count(b: int, s: int, h: int, w: int) -> Tensor:
        return torch.tensor(
            float(b * (linear * rows(s, w) * h**2 + 4 * pairs(s, w) * h))
        )

    return count


def _halved(*sizes: int) -> Tensor:
    return _flops()(*sizes) / 2


def _make_parameters_gained() -> NumberExercise:
    width, before, after = 768, 7 * 7, 8 * 12
    whole = "the table already had rows: count only the new ones."
    pixels = "those are pixels; they enter the model, but are not part of it."
    return NumberExercise(
        "15.1",
        "parameters gained",
        hints=(
            "Which part of a ViT depends on how many tokens there are?",
            "The image is no longer square. How many patches are there along "
            "each side, before and after?",
            "Only rows that are new count, and each is as wide as a token of "
            "Base.",
        ),
        right=(after - before) * width,
        why="47 more patches, each with a position of 768 numbers.",
        wrong={
            0: "the blocks do not depend on how many tokens there are, but "
            "something in front of them does.",
            after - before: "those are the new rows; each holds 768 numbers.",
            after: "those are rows, and some of them are not new.",
            after * width: whole,
            (after + 1) * width: whole,
            (after + 1 - before) * width: "the class token already had its "
            "position.",
            (12 * 12 - before) * width: "that image would be a square of 384 "
            "pixels; ours is 256 high.",
            (after - before) * 1024: pixels,
            (after - before) * 3072: "that is how many numbers the new part "
            "of the image has, and the new positions if patches had 16 "
            "pixels; count positions for patches of 32.",
        },
        tolerance=0,
    )


# what a larger image costs ViT-B/32.
parameters_gained = _make_parameters_gained()


def _make_windowed_flops() -> FunctionExercise:
    wrong = {
        "every token still attends to all tokens.": _flops(lambda s, w: s * s),
        "these are the pairs of one window; how many windows are there?": (
            _flops(lambda s, w: w * w)
        ),
        "these are the keys of one token; every token asks.": _flops(
            lambda s, w: w
        ),
        "you pair whole windows with each other; pair tokens.": _flops(
            lambda s, w: (s // w) ** 2
        ),
        "you count the pairs once: queries meet keys, and weights meet "
        "values.": _flops(lambda s, w: s * w / 2),
        "the linear layers work on all tokens, not on one window.": _flops(
            lambda s, w: s * w, rows=lambda s, w: w
        ),
        "that is one window; how many are there?": _flops(
            lambda s, w: w * w, rows=lambda s, w: w
        ),
        "the feed-forward network is missing.": _flops(linear=8),
        "the four linear layers of attention are missing.": _flops(linear=16),
        "the linear layers are missing.": _flops(linear=0),
        "the attention products are missing.": _flops(lambda s, w: 0),
        "a multiplication with its addition counts as two operations.": (
            _halved
        ),
        "the batch is missing.": lambda b, s, h, w: _flops()(1, s, h, w),
    }
    cases = {
        f"{b} sequences of {s} tokens, windows of {w}": (b, s, h, w)
        for b, s, h, w in ((3, 35, 11, 7), (2, 35, 13, 5), (5, 26, 17, 13))
    }

    def as_tensor(candidate: Callable) -> Callable:
        def found(batch, tokens, d_model, window) -> object:
            count = candidate(batch, tokens, d_model, window)
            is_number = isinstance(count, int | float)
            return torch.tensor(float(count)) if is_number else count

        return found

    return FunctionExercise(
        "15.2",
        "windowed flops",
        hints=(
            "Go through the table of the block line by line. Which lines "
            "depend on which token belongs to which sequence?",
            "The linear layers do not: each works on one token at a time. "
            "The two products of attention do.",
            "In these two, how many keys does one query meet now, and how "
            "many queries are there in all?",
        ),
        right=_flops(),
        wrong=wrong,
        cases=cases,
        through=as_tensor,
        wanted="a number",
    )


# ``candidate(batch, tokens, d_model, window)``.
windowed_flops = _make_windowed_flops()
