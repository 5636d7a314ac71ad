"""Checks of the exercises of chapter 4, masking."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.checks import Verdict, exercise, judge_function, judge_number
from vitedu.masks import causal_mask, padding_mask

_PAD = 0


@exercise("Count row by row. What do the last two rows see?")
def allowed_pairs(answer: int | None) -> Verdict:
    """Check exercise 4.1: True entries for 6 words and 2 pads, both masks."""
    return judge_number(
        answer,
        33,
        "six rows see 1 + 2 + 3 + 4 + 5 + 6 = 21 words, and each of the two "
        "rows of padding sees all 6.",
        {
            36: "that is the causal mask alone, 1 + 2 + ... + 8; the two "
            "columns of padding are hidden as well.",
            48: "that is the padding mask alone, 8 rows of 6 words; the "
            "future is hidden as well.",
            64: "that is the whole mask, with nothing hidden.",
            21: "you left out the rows of padding. Padding is hidden as a "
            "key, yet it asks as a query, and its rows see all 6 words.",
            27: "the diagonal is missing: a token may attend to itself.",
            31: "this is the number of hidden pairs; how many are left of "
            "the 64?",
        },
        tolerance=0,
    )


@exercise(
    "A query at position `i` may see a key at position `j` if `j <= i` "
    "and the token at `j` is no padding. Two comparisons and one `&` do "
    "it; `None` in an index makes a new axis."
)
def decoder_mask(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 4.2: ``candidate(tokens, pad_id)`` hides both."""

    def variant(diagonal=0, keys=True, queries=False, either=False):
        def mistake(tokens, pad_id):
            real, length = tokens != pad_id, tokens.shape[1]
            causal = torch.ones(length, length, dtype=torch.bool)
            mask = causal.tril(diagonal)[None, None]
            if either:
                return mask | real[:, None, None]
            if keys:
                mask = mask & real[:, None, None]
            if queries:
                mask = mask & real[:, None, :, None]
            return mask.expand(len(tokens), 1, length, length)

        return mistake

    def right(tokens, pad_id):
        return padding_mask(tokens, pad_id) & causal_mask(tokens.shape[1])

    def numbers(mask):
        """Return True and False as 1 and 0; leave other answers alone."""
        return mask.double() if _is_boolean(mask) else mask

    wrong = {
        "your mask says what is hidden; in this book True means may "
        "attend.": lambda *given: ~right(*given),
        "two masks are combined with &: both have to allow a pair. You "
        "combined them with |.": variant(either=True),
        "your diagonal is False: a token may attend to itself.": variant(-1),
        "your causal mask reaches one token too far: row i sees up to key "
        "i, not i + 1.": variant(1),
        "the future is hidden, but the padding is not.": variant(keys=False),
        "the padding is hidden, but the future is not.": variant(10),
        "you hid padded queries, too, and left rows that see nothing. Hide "
        "padding as keys only; its outputs are dropped from the loss.": (
            variant(queries=True)
        ),
        "the axis of the heads is missing: (batch, 1, query, key) is asked "
        "for, so that one mask serves all heads.": (
            lambda *given: right(*given)[:, 0]
        ),
    }
    cases = {
        "padding on the right": (
            torch.tensor([[1, 7, 4, 9, 6], [1, 5, 2, _PAD, _PAD]]),
            _PAD,
        ),
        "no padding": (torch.tensor([[5, 3, 8]]), _PAD),
        "padding with another id": (torch.tensor([[0, 4, 9, 9]] * 3), 9),
    }
    dtype = _dtype_of(candidate, *cases["padding on the right"])
    if dtype not in (None, torch.bool):
        return Verdict(
            False,
            f"your mask holds {dtype}; make it boolean, since numbers are "
            "added by some libraries and compared with 0 by others.",
        )
    return judge_function(
        lambda *given: numbers(candidate(*given)),
        lambda *given: numbers(right(*given)),
        {
            message: lambda *given, mistake=mistake: numbers(mistake(*given))
            for message, mistake in wrong.items()
        },
        cases,
    )


def _is_boolean(mask: object) -> bool:
    return isinstance(mask, Tensor) and mask.dtype == torch.bool


def _dtype_of(candidate: Callable, *given) -> torch.dtype | None:
    """Return the dtype of an answer, None if it stops or is no tensor."""
    try:
        return getattr(candidate(*given), "dtype", None)
    except Exception:  # what it raises, judge_function reports
        return None
