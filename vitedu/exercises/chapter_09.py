"""Checks of the exercises of chapter 9, the Transformer."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from vitedu.checks import Verdict, exercise, judge_function, judge_number

Sentences = Sequence[Sequence[int]]


@exercise("Use the formula above: `N(28d^2 + 20d) + Vd`.")
def parameters(answer: int | None) -> Verdict:
    """Check exercise 9.1: width 256, 3 + 3 blocks, 10,000 joint words."""
    d, blocks, words = 256, 3, 10_000
    encoder, decoder = 12 * d**2 + 9 * d, 16 * d**2 + 11 * d
    stacks, table = blocks * (encoder + decoder), words * d
    return judge_number(
        answer,
        stacks + table,
        "5,520,384 in the two stacks and 2,560,000 in the one table.",
        {
            stacks + table + 4 * d: "the 4d are norms before the stacks, "
            "which the paper does not have.",
            stacks + 2 * table: "two tables are counted; the output map is "
            "the same table, and so are both embeddings.",
            stacks + 3 * table: "three tables are counted; all three are one.",
            stacks: "the table of words is missing.",
            blocks * 2 * encoder + table: "a decoder block has a second "
            "attention and a third norm: 4d² + 2d more.",
            blocks * (encoder + decoder - 20 * d) + table: "norms and the "
            "biases of the feed-forward networks are missing.",
            blocks * (encoder + decoder + 12 * d) + table: "the attentions "
            "have no biases here.",
            encoder + decoder + table: "that is one block of each stack; "
            "there are three.",
        },
        tolerance=0,
    )


@exercise(
    "The input is `[bos_id] + sentence`, the labels are `sentence + "
    "[eos_id]`. Both have the same length, one more than the sentence."
)
def teacher_forcing(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 9.2: ``candidate(sentences, bos_id, eos_id, pad_id)``.

    What stands in the input where the label is padding does not matter.
    """

    def without_padding(*inputs: object) -> object:
        found = candidate(*inputs)
        if isinstance(found, Tensor) and found.ndim == 3 and len(found) == 2:
            pad_id = inputs[-1]
            reads, says = found
            reads = reads.where(says != pad_id, torch.full_like(reads, pad_id))
            return torch.stack([reads, says])
        return found

    wrong = {
        "there is no shift: the decoder reads the word that it has to "
        "say.": _forced(
            lambda words, bos, eos: ([*words, eos], [*words, eos])
        ),
        "there is no shift: the labels are the inputs. The first label is "
        "the first word.": _forced(
            lambda words, bos, eos: ([bos, *words], [bos, *words])
        ),
        "inputs and labels are swapped.": lambda *inputs: _forced()(
            *inputs
        ).flip(0),
        "the shift goes two steps: the label is the word after the "
        "next.": _forced(
            lambda words, bos, eos: ([bos, *words], [*words[1:], eos, eos])
        ),
        "the mark of the end is missing in the labels: the model would "
        "never learn to stop.": _forced(
            lambda words, bos, eos: ([bos, *words[:-1]], [*words])
        ),
        "both marks are in the input and in the labels: leave the last "
        "token out of the input, the first out of the labels.": _forced(
            lambda words, bos, eos: ([bos, *words, eos], [bos, *words, eos])
        ),
        "the padding stands on the left.": _forced(left=True),
    }
    cases = {
        "two sentences": ([[5, 3, 9, 4], [7, 6]], 1, 2, 0),
        "other marks": ([[2, 4, 5], [1], [6, 7]], 8, 9, 3),
        "one word": ([[4]], 1, 2, 0),
    }
    return judge_function(without_padding, _forced(), wrong, cases)


@exercise(
    "What does `mean` divide by? The padding is left out of the sum, "
    "and still counted there."
)
def loss_per_word(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 9.3: ``candidate(logits, labels, pad_id)``.

    The mistake that is asked for gets a number only, so that it stays to be
    found.
    """
    wrong = {
        "the padding counts like words.": lambda s, words: s.mean(),
        "you average each sentence first: a word in a short sentence counts "
        "more.": lambda s, words: (
            (s * words).sum(dim=1) / words.sum(dim=1)
        ).mean(),
        "that is a sum; the mean over the words is asked for.": (
            lambda s, words: (s * words).sum()
        ),
        "you divide by the number of sentences.": lambda s, words: (
            (s * words).sum() / len(s)
        ),
        "only the padding counts: the condition is the wrong way "
        "round.": lambda s, words: (s * ~words).sum() / (~words).sum(),
    }
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(3, 5, 7, generator=generator, dtype=torch.float64)
    short = torch.tensor([[4, 3, 2, 0, 0], [6, 5, 1, 4, 2], [2, 0, 0, 0, 0]])
    cases = {
        "three sentences": (logits, short, 0),
        "another padding": (logits, torch.where(short == 0, 6, 3), 6),
        "no padding": (logits, short.clamp_min(1), 0),
    }
    return judge_function(
        candidate,
        _mean_over(lambda s, words: (s * words).sum() / words.sum()),
        {thought: _mean_over(mean) for thought, mean in wrong.items()},
        cases,
    )


def _forced(
    cut: Callable | None = None, left: bool = False
) -> Callable[..., Tensor]:
    """Return the shift, with another cut if one is given."""
    if cut is None:
        cut = _inputs_and_labels

    def shift(sentences: Sentences, bos: int, eos: int, pad: int) -> Tensor:
        rows = [cut(list(words), bos, eos) for words in sentences]
        longest = max(len(row) for pair in rows for row in pair)

        def filled(row: list[int]) -> list[int]:
            fill = [pad] * (longest - len(row))
            return fill + row if left else row + fill

        return torch.tensor(
            [[filled(pair[i]) for pair in rows] for i in (0, 1)]
        )

    return shift


def _inputs_and_labels(
    words: list[int], bos: int, eos: int
) -> tuple[list[int], list[int]]:
    return [bos, *words], [*words, eos]


def _mean_over(mean: Callable[[Tensor, Tensor], Tensor]) -> Callable:
    """Return a loss whose surprises are averaged by `mean`."""

    def loss(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
        log_p = logits.log_softmax(dim=-1)
        surprise = -log_p.gather(-1, labels[..., None])[..., 0]
        return mean(surprise, labels != pad_id)

    return loss
