"""The exercises of chapter 4, masking."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import (
    Exercise,
    NumberExercise,
    Verdict,
    judge_function,
)
from vitedu.masks import causal_mask, padding_mask

_PAD = 0


def _first_pair(candidate: Callable, right: Callable, cases) -> str:
    """Say which pair a mask of the right shape gets wrong, "" for others."""
    for given in cases:
        try:
            found, expected = candidate(*given), right(*given)
        except Exception:  # what it raises, judge_function has reported
            return ""
        if not _is_boolean(found) or found.shape != expected.shape:
            return ""
        for sentence, _, row, token in (found != expected).nonzero().tolist():
            sees = "sees" if found[sentence, 0, row, token] else "lacks"
            return f" In sentence {sentence}, row {row} {sees} token {token}."
    return ""


def _first_leak(candidate: Callable, q, k, v, real: Tensor) -> str:
    """Say which word moves with which padding, if a value there changes."""
    for sentence, token in (~real).nonzero().tolist():
        other = v.clone()
        other[sentence, :, token] += 1
        try:
            moved = candidate(q, k, v, real) != candidate(q, k, other, real)
            rows = moved[sentence].any(dim=-1).any(dim=0) & real[sentence]
        except Exception:  # what it raises, judge_function has reported
            return ""
        if rows.any():
            row = rows.nonzero()[0].item()
            return (
                f" In sentence {sentence}, row {row} changes when the value "
                f"of the padding at {token} changes."
            )
    return ""


def _is_boolean(mask: object) -> bool:
    return isinstance(mask, Tensor) and mask.dtype == torch.bool


def _dtype_of(candidate: Callable, *given) -> torch.dtype | None:
    """Return the dtype of an answer, None if it stops or is no tensor."""
    try:
        return getattr(candidate(*given), "dtype", None)
    except Exception:  # what it raises, judge_function reports
        return None


# True entries for 6 words and 2 pads, both masks.
allowed_pairs = NumberExercise(
    "4.1",
    "allowed pairs",
    hints=(
        "Draw the grid for 3 words and 1 `<pad>` first. Which entries are "
        "grey?",
        "Count row by row. What do the last two rows see?",
        "Each of the six words sees one more than the word before it. A row "
        "of padding comes after all words, and it is hidden from others, "
        "not blind.",
    ),
    right=33,
    why="six rows see 1 + 2 + 3 + 4 + 5 + 6 = 21 words, and each of the two "
    "rows of padding sees all 6.",
    wrong={
        36: "that is the causal mask alone, 1 + 2 + ... + 8; the two "
        "columns of padding are hidden as well.",
        48: "that is the padding mask alone, 8 rows of 6 words; the "
        "future is hidden as well.",
        64: "that is the whole mask, with nothing hidden.",
        21: "you left out the rows of padding. Padding is hidden as a "
        "key, yet it asks as a query, and its rows see all 6 words.",
        27: "the diagonal is missing: a token may attend to itself.",
        31: "this is the number of hidden pairs; how many of the 64 are left?",
    },
    tolerance=0,
)


def _make_decoder_mask() -> Exercise:
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
        "your mask marks what is hidden; in this book, True means may "
        "attend.": lambda *given: ~right(*given),
        "two masks are combined with &: both have to allow a pair. You "
        "combined them with |.": variant(either=True),
        "your diagonal is False: a token may attend to itself.": variant(-1),
        "your causal mask reaches one token too far: row i sees up to key "
        "i, not i + 1.": variant(1),
        "the future is hidden, but the padding is not.": variant(keys=False),
        "the padding is hidden, but the future is not.": variant(10),
        "you also hid padded queries, which leaves rows that see nothing. "
        "Hide padding only as keys; its outputs are dropped from the loss.": (
            variant(queries=True)
        ),
        "the head axis is missing: the shape should be (batch, 1, query, "
        "key), so that one mask serves all heads.": (
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

    def judge(candidate: Callable[..., Tensor]) -> Verdict:
        dtype = _dtype_of(candidate, *cases["padding on the right"])
        if dtype not in (None, torch.bool):
            return Verdict(
                False,
                f"your mask holds {dtype}; make it boolean, since some "
                "libraries add numbers and others compare them with 0.",
            )
        verdict = judge_function(
            candidate,
            right,
            wrong,
            cases,
            through=lambda function: (
                lambda tokens, pad_id: numbers(function(tokens, pad_id))
            ),
        )
        if verdict:
            return verdict
        pair = _first_pair(candidate, right, cases.values())
        return Verdict(False, f"{verdict.message}{pair}")

    return Exercise(
        "4.2",
        "decoder mask",
        hints=(
            "Which two questions decide whether the query at position `i` "
            "may see the key at position `j`?",
            "It may if `j <= i` and the token at `j` is not padding. Neither "
            "question is about the token at `i`.",
            "Two comparisons and one `&` are enough. The first has the axes "
            "(query, key), the second (batch, key); `None` in an index adds "
            "the missing axes.",
        ),
        judge=judge,
        wrong=wrong,
    )


# ``candidate(tokens, pad_id)`` hides both.
decoder_mask = _make_decoder_mask()


def _make_words_alone() -> Exercise:
    def variant(keep, fill=-1e9):
        def mistake(q, k, v, real):
            scores = q @ k.mT / q.shape[-1] ** 0.5
            return scores.masked_fill(~keep(real), fill).softmax(dim=-1) @ v

        return mistake

    def keys(real):
        return real[:, None, None]

    def queries(real):
        return real[:, None, :, None]

    def everything(real):
        return torch.ones_like(keys(real))

    right = variant(keys)
    wrong = {
        "words still take values from padding.": variant(queries),
        "the words are right now, but padding can no longer ask: a row that "
        "sees nothing gets the mean of all values. Hide padding only as a "
        "key.": variant(lambda real: queries(real) & keys(real)),
        "the words are right now, but you emptied the rows of padding as "
        "well. Hide padding only as a key.": lambda q, k, v, real: (
            right(q, k, v, real) * queries(real)
        ),
        "you hide the words and show the padding: `real` is True for words.": (
            variant(lambda real: ~keys(real))
        ),
        "a hidden score of 0, or nearly 0, is a score like any other, since "
        "e**0 = 1.": variant(keys, fill=0.0),
        "padding now gets all the weight: its scores have to be very low, not "
        "very high.": variant(keys, fill=1e9),
        "padding gives nothing now, but it keeps its attention weight, so the "
        "weights of the words add up to less than 1. Hide it before the "
        "softmax.": lambda q, k, v, real: variant(everything)(
            q, k, v * queries(real), real
        ),
        "the head axis is missing: with as many heads as sentences, head 1 of "
        "every sentence gets the mask of sentence 1.": variant(
            lambda real: real[:, None]
        ),
        "padding is hidden, but so is the future, which the exercise does not "
        "ask for.": (
            variant(lambda real: keys(real) & causal_mask(real.shape[1]))
        ),
        "nothing is hidden.": variant(everything),
    }
    draw = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 3, 3, 5, 7, generator=draw, dtype=torch.float64)
    real = torch.arange(5) < torch.tensor([[5], [3], [2]])
    some = (q[:2], k[:2], v[:2], real[1:])
    cases = {
        "three sentences, three heads": (q, k, v, real),
        "two sentences, three heads": some,
        "no padding": (q, k, v, torch.ones_like(real)),
    }

    def judge(candidate: Callable[..., Tensor]) -> Verdict:
        verdict = judge_function(candidate, right, wrong, cases)
        if verdict:
            return verdict
        leak = _first_leak(candidate, *cases["three sentences, three heads"])
        return Verdict(False, f"{verdict.message}{leak}")

    return Exercise(
        "4.3",
        "words alone",
        hints=(
            "Change a value in the padding. Which outputs change, and which "
            "should?",
            "Draw the mask as a grid, for a sentence of three words and two "
            "pads. What is grey in it: rows or columns?",
            "The scores have the axes (batch, head, query, key), and padding "
            "is hidden as a key. The position of `None` in an index decides "
            "on which axis the tokens of `real` end up.",
        ),
        judge=judge,
        wrong=wrong,
    )


# ``candidate(q, k, v, real)`` reads words only.
words_alone = _make_words_alone()
