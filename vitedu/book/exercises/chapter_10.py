"""The exercises of chapter 10, decoding."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise


def _mean_with_begin(one: tuple) -> float:
    return one[1] / len(one[0])


def _kept(log_probs: Tensor, top_k: int) -> Tensor:
    return log_probs >= log_probs.topk(top_k).values[:, -1:]


def _chances(
    log_probs: Tensor,
    temperature: float,
    top_k: int,
    ranked: Tensor | None = None,
) -> Tensor:
    kept = _kept(log_probs if ranked is None else ranked, top_k)
    gaps = log_probs.masked_fill(~kept, -torch.inf) / temperature
    return gaps.softmax(dim=-1)


# Seeds and beam sizes, chosen so that no two mistakes give the same answers.
_TABLES = ((9, 2), (14, 3), (21, 1), (56, 2), (19, 3), (61, 1), (112, 1))


# One more than a sentence may have, begin mark included.
_ROW = 7


def _on_all_tables(search: Callable[..., Tensor]) -> Callable[[], Tensor]:
    """Return a function of its answers, a row each, filled up with -1."""

    def answers() -> Tensor:
        parts = []
        for seed, size in _TABLES:
            found = search(_table(seed), 1, 2, 5, size)
            if not isinstance(found, Tensor):
                return found
            row = found.flatten()[:_ROW]
            parts.append(F.pad(row, (0, _ROW - len(row)), value=-1))
        return torch.stack(parts)

    return answers


def _table(seed: int) -> Tensor:
    """Draw the chances of 5 tokens after each; 1 begins, 2 ends."""
    generator = torch.Generator().manual_seed(seed)
    table = 2 * torch.randn((5, 5), generator=generator, dtype=torch.float64)
    return table.log_softmax(dim=-1)


def _beam(
    *,
    early: bool = False,
    narrow: bool = False,
    revive: bool = False,
    all_count: bool = False,
    score: Callable = lambda one: one[1] / (len(one[0]) - 1),
    choose: Callable | None = None,
    skip: int = 1,
) -> Callable[..., Tensor]:
    """Return the search, with a mistake if one is asked for."""

    def search(
        table: Tensor, begin: int, end: int, max_len: int, beam_size: int
    ) -> Tensor:
        going, finished = [((begin,), 0.0)], []
        for length in range(1, max_len + 1):
            longer = [
                ((*prefix, token), total + table[prefix[-1], token].item())
                for prefix, total in going
                for token in range(len(table))
            ]
            longer.sort(key=lambda one: one[1], reverse=True)
            best = longer[:beam_size]
            last = length == max_len
            counted = longer if all_count else best
            finished += [x for x in counted if x[0][-1] == end or last]
            pool = best if narrow else longer
            going = [x for x in pool if revive or x[0][-1] != end][:beam_size]
            if early and finished:
                break
        pick = choose or (lambda found: max(found, key=score))
        return torch.tensor(pick(finished)[0][skip:])

    return search


# a beam of 4 writes 20 tokens without a cache.
tokens_through_decoder = NumberExercise(
    "10.1",
    "tokens through decoder",
    hints=(
        "How many prefixes does the first pass read, and how many does each "
        "of the others read?",
        "Without a cache a pass reads its prefixes from their beginning. How "
        "long is a prefix in pass `t`, the start token included?",
        "There are as many passes as tokens to write. In pass `t` each prefix "
        "has `t` tokens; only the first pass reads fewer than four prefixes.",
    ),
    right=837,
    why="one token in the first pass, then four prefixes of 2, 3, ... 20.",
    wrong={
        840: "that is four prefixes in every pass; the first pass has only "
        "one, the start token.",
        77: "that is with a cache; without one, each pass rereads the whole "
        "prefixes.",
        80: "that is with a cache, and with four prefixes in the first pass; "
        "without a cache, each pass rereads the whole prefixes.",
        210: "that is greedy search; here four prefixes are read.",
        20: "that is the number of passes.",
        757: "the prefix of pass t has t tokens: the start token also counts.",
        760: "the prefix of pass t has t tokens: the start token also counts.",
        917: "the last token is written, but no pass reads it: pass 20 reads "
        "the start token and 19 words.",
        920: "the last token is written, but no pass reads it: pass 20 reads "
        "the start token and 19 words.",
        1600: "in pass t a prefix has t tokens; it has 20 only in the last.",
    },
    tolerance=0,
)


def _make_chances_to_draw() -> FunctionExercise:
    generator = torch.Generator().manual_seed(0)
    log_probs = torch.randn(
        (3, 7), generator=generator, dtype=torch.float64
    ).log_softmax(dim=-1)
    wrong = {
        "you multiply by the temperature; divide by it.": lambda x, t, k: (
            _chances(x, 1 / t, k)
        ),
        "the temperature has no effect: divide the log probabilities by it, "
        "not the probabilities.": lambda x, t, k: _chances(x, 1, k),
        "top_k is missing: all tokens can be sampled.": lambda x, t, k: (
            _chances(x, t, x.shape[1])
        ),
        "you keep the least likely tokens.": lambda x, t, k: _chances(
            x, t, k, -x
        ),
        "the rows do not add up to 1: fill what is left out with minus "
        "infinity before the softmax, or divide by the sum.": lambda x, t, k: (
            (x / t).softmax(dim=-1) * _kept(x, k)
        ),
        "you filled with zeros: after the softmax they count. Fill with "
        "minus infinity.": lambda x, t, k: (x * _kept(x, k) / t).softmax(
            dim=-1
        ),
        "you take the most likely tokens of all rows together; each row has "
        "its own.": (
            lambda x, t, k: (
                (
                    x.masked_fill(
                        x < x.flatten().topk(k).values[-1], -torch.inf
                    )
                    / t
                )
                .softmax(dim=-1)
                .nan_to_num()
            )
        ),
        "your softmax runs over the prefixes: each row has to add up to 1.": (
            lambda x, t, k: (
                (x.masked_fill(~_kept(x, k), -torch.inf) / t)
                .softmax(dim=0)
                .nan_to_num()
            )
        ),
    }
    cases = {
        f"temperature {temperature}, top_k {top_k}": (
            log_probs,
            temperature,
            top_k,
        )
        for temperature, top_k in ((0.5, 3), (2.0, 5), (1.0, 7), (0.7, 1))
    }
    return FunctionExercise(
        "10.2",
        "chances to draw",
        hints=(
            "Which tokens of a row must never be sampled? What has to happen "
            "to their probability, and to the probabilities of the others, so "
            "that a row adds up to 1?",
            "Whatever enters a softmax gets a probability above zero, unless "
            "it is minus infinity. And the temperature divides log "
            "probabilities, not probabilities.",
            "`topk` gives the largest values of each row, sorted. The last of "
            "them is the smallest to keep; whatever is below it has to be "
            "removed before the softmax.",
        ),
        right=_chances,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(log_probs, temperature, top_k)``.
chances_to_draw = _make_chances_to_draw()


def _make_best_sentence() -> FunctionExercise:
    early, narrow = (
        "it stops at the first sentence that ends; one that is still growing "
        "may become better.",
        "a finished sentence takes up a slot in the beam: choose the prefixes "
        "to continue from those that have not ended.",
    )
    wrong = {
        early: _beam(early=True),
        narrow: _beam(narrow=True),
        "a finished sentence must not continue: what would follow its end?": (
            _beam(revive=True)
        ),
        "in your search, every sentence that ends counts; only those among "
        "the best beam_size of their step should.": _beam(all_count=True),
        "you rank finished sentences by their sums; divide by the number of "
        "tokens.": _beam(score=lambda one: one[1]),
        "you count the start token as a token of the sentence.": _beam(
            score=_mean_with_begin
        ),
        "you return the last sentence that ended, not the best.": (
            _beam(choose=lambda finished: finished[-1])
        ),
        "the start token is not part of the answer.": _beam(skip=0),
        # The function of the question: its mistakes are for the reader.
        "5 of the answers are wrong.": _beam(
            narrow=True, score=_mean_with_begin
        ),
    }
    return FunctionExercise(
        "10.3",
        "best sentence",
        hints=(
            "Follow a beam of 2 by hand until one of its sentences has ended. "
            "How many prefixes continue?",
            "A finished sentence leaves the beam, and its slot is free. Which "
            "prefix should get it? And which tokens of a finished sentence "
            "did the model choose?",
            "Both mistakes are about the right list at the right moment: one "
            "cuts to `beam_size` too early for those that continue, the other "
            "counts a token that the model did not predict.",
        ),
        right=_beam(),
        wrong=wrong,
        # One case of many tables: in one table, most mistakes look alike.
        cases={f"{len(_TABLES)} tables, a row for each": ()},
        through=_on_all_tables,
    )


# a beam search over a table of next tokens. ``candidate(table, begin, end,
# max_len, beam_size)`` returns the tokens.
best_sentence = _make_best_sentence()
