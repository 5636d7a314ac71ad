"""Finished sentences of a search: how they are ranked and returned."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from vitedu import require


def length_divisor(length: int, alpha: float) -> float:
    """Return what the log probability of a hypothesis is divided by.

    Each token lowers the log probability. After division by this, long
    sentences lose less because of their length.

    Args:
        length: Tokens of the hypothesis, the end included.
        alpha: How much less, in [0, 50): 0 changes nothing, the paper takes
            0.6 to 0.7; from 50 on there may be no number large enough.

    Raises:
        TypeError, ValueError: A `length` that is not an integer of at least
            1, an `alpha` outside its range.

    Source: Wu et al. 2016, section 7, equation 14, lp(Y).
    Deviates: The paper leaves open whether the end counts. Here it does.
    Derived in: 10-decoding

    >>> [length_divisor(length, 1.0) for length in (1, 7, 13)]
    [1.0, 2.0, 3.0]
    """
    require.positive_int("length", length)
    require.number("alpha", alpha, at_least=0, below=50)
    return ((5 + length) / 6) ** alpha


class _Finished(NamedTuple):
    score: float
    log_prob: float
    tokens: Tensor


class NBest:
    """The best finished hypotheses of one sentence, in order.

    Args:
        size: How many are kept.
        alpha: As for `length_divisor`.

    Raises:
        TypeError, ValueError: A `size` below 1, an `alpha` outside [0, 50).
    """

    def __init__(self, size: int = 1, alpha: float = 0.0) -> None:
        require.positive_int("size", size)
        require.number("alpha", alpha, at_least=0, below=50)
        self.size, self.alpha = size, alpha
        self.ranked: list[_Finished] = []

    def add(self, tokens: Int[Tensor, " token"], log_prob: float) -> None:
        """Rank one more; of two with equal scores, the earlier one wins."""
        score = log_prob / length_divisor(len(tokens), self.alpha)
        ranked = [*self.ranked, _Finished(score, log_prob, tokens)]
        ranked.sort(key=lambda finished: finished.score, reverse=True)
        self.ranked = ranked[: self.size]

    def out_of_reach(self, log_prob: float, max_len: int) -> bool:
        """Tell whether a prefix can no longer become one of the best.

        More tokens lower its log probability and raise the divisor. At best
        they cost nothing and the divisor is that of `max_len` tokens.

        Args:
            log_prob: Log probability of the prefix.
            max_len: Most tokens that it can grow to.
        """
        if len(self.ranked) < self.size:
            return False
        bound = log_prob / length_divisor(max_len, self.alpha)
        return bound <= self.ranked[-1].score


@dataclass(frozen=True, kw_only=True)
class Hypotheses:
    """What a search found for each source sentence, best first.

    Greedy search and sampling find one hypothesis per sentence, so rank is 1.

    Attributes:
        tokens: What was generated: without the start token, with the end
            token, then padding.
        lengths: How many of these tokens are not padding.
        log_probs: Natural logarithm of the model's probability of the tokens.
        scores: What beam search ranks by, `log_probs` / `length_divisor`; in
            greedy search and sampling `log_probs` again.
        ended: False where the limit on tokens has cut the sentence off.
    """

    tokens: Int[Tensor, "batch rank token"]
    lengths: Int[Tensor, "batch rank"]
    log_probs: Float[Tensor, "batch rank"]
    scores: Float[Tensor, "batch rank"]
    ended: Bool[Tensor, "batch rank"]

    @property
    def best(self) -> Int[Tensor, "batch token"]:
        """The tokens of the first hypothesis of each sentence."""
        return self.tokens[:, 0]


def collect(
    found: list[NBest], *, eos_id: int, pad_id: int, like: Tensor
) -> Hypotheses:
    """Put the lists of all sentences, of equal lengths, into tensors.

    Args:
        found: One list per sentence.
        eos_id: The token that ends a sentence.
        pad_id: The token after the end.
        like: A tensor with the dtype and the device of the result.
    """
    finished = [one for nbest in found for one in nbest.ranked]
    rows = [one.tokens for one in finished]
    shape = len(found), -1
    tokens = pad_sequence(rows, batch_first=True, padding_value=pad_id)
    numbers = like.new_tensor([one[:2] for one in finished])
    lengths = [len(row) for row in rows]
    ended = [row[-1].item() == eos_id for row in rows]
    return Hypotheses(
        tokens=tokens.unflatten(0, shape),
        lengths=tokens.new_tensor(lengths).view(shape),
        log_probs=numbers[:, 1].view(shape),
        scores=numbers[:, 0].view(shape),
        ended=torch.tensor(ended, device=tokens.device).view(shape),
    )
