"""The exercises of chapter 9, the Transformer."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from vitedu.book.grading import (
    FunctionExercise,
    LettersExercise,
    NumberExercise,
)

Sentences = Sequence[Sequence[int]]

# What made the curves of exercise 9.4; `experiments/copier_curves.py` draws
# them in the order of the letters.
COPIERS = {
    "A": "padding counted",
    "B": "rate too high",
    "C": "no causal mask",
    "D": "few pairs",
    "E": "no shift",
    "F": "healthy",
}


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


def _mean_over(
    mean: Callable[[Tensor, Tensor], Tensor], axis: int = -1
) -> Callable:
    """Return a loss whose surprises are averaged by `mean`."""

    def loss(logits: Tensor, labels: Tensor, pad_id: int) -> Tensor:
        log_p = logits.log_softmax(dim=axis)
        surprise = -log_p.gather(-1, labels[..., None])[..., 0]
        return mean(surprise, labels != pad_id)

    return loss


def _make_parameters() -> NumberExercise:
    d, blocks, words = 256, 3, 10_000
    encoder, decoder = 12 * d**2 + 9 * d, 16 * d**2 + 11 * d
    stacks, table = blocks * (encoder + decoder), words * d
    return NumberExercise(
        "9.1",
        "parameters",
        hints=(
            "Which parts does the model have twice, which three times, "
            "which once? And how many tables are there, if all three share "
            "one?",
            "The section on counting gives a formula for `N` blocks in each "
            "stack, a width of `d` and `V` words. Does it count what this "
            "model has?",
            "Nothing in it needs changing: an encoder block and a decoder "
            "block together have `28d^2 + 20d` parameters, and one table has "
            "a row of `d` numbers for each word.",
        ),
        right=stacks + table,
        why="5,520,384 in the two stacks and 2,560,000 in the one table.",
        wrong={
            stacks + table + 4 * d: "the 4d are norms before the stacks, "
            "which the paper does not have.",
            stacks + 2 * table: "two tables are counted; the output "
            "projection is the same table, and so are both embeddings.",
            stacks + 3 * table: "three tables are counted; all three are the "
            "same one.",
            stacks: "the table of words is missing.",
            blocks * 2 * encoder + table: "a decoder block has a second "
            "attention layer and a third norm: 4d² + 2d more.",
            blocks * (encoder + decoder - 20 * d) + table: "norms and the "
            "biases of the feed-forward networks are missing.",
            blocks * (encoder + decoder + 12 * d) + table: "the attention "
            "layers have no biases here.",
            encoder + decoder + table: "that is one block of each stack; "
            "there are three.",
        },
        tolerance=0,
    )


# width 256, 3 + 3 blocks, 10,000 joint words.
parameters = _make_parameters()


def _make_loss_per_word() -> FunctionExercise:
    wrong = {
        "the loss changes when all sentences get one more padding token, "
        "though no word has changed.": lambda s, words: (s * words).mean(),
        "padding counts like words.": lambda s, words: s.mean(),
        "you average each sentence first: a word in a short sentence counts "
        "more.": lambda s, words: (
            (s * words).sum(dim=1) / words.sum(dim=1)
        ).mean(),
        "that is a sum; return the mean over the words.": (
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
        "a different padding id": (logits, torch.where(short == 0, 6, 3), 6),
        "no padding": (logits, short.clamp_min(1), 0),
    }
    return FunctionExercise(
        "9.3",
        "loss per word",
        hints=(
            "Give all sentences one more padding token. Which of the numbers "
            "in the last line changes, and which must not?",
            "A mean is a sum divided by a count. Follow the padding through "
            "both.",
            "The sum is right. Count the positions that are not padding, in "
            "all sentences together.",
        ),
        right=_mean_over(lambda s, words: (s * words).sum() / words.sum()),
        wrong={
            **{thought: _mean_over(mean) for thought, mean in wrong.items()},
            "your word probabilities of one step do not add up to 1: the "
            "softmax runs over the steps.": _mean_over(
                lambda s, words: (s * words).sum() / words.sum(), axis=1
            ),
        },
        cases=cases,
    )


# ``candidate(logits, labels, pad_id)``. Of the mistake that is asked for it
# says what is seen, so that it stays to be found.
loss_per_word = _make_loss_per_word()


def _make_curves_of_copiers() -> LettersExercise:
    expected = {
        "healthy": "a healthy model starts near the dashed line, and ends "
        "with small losses and correct letters.",
        "few pairs": "a model that has memorised a few pairs has a small "
        "training loss and a large one on unseen pairs.",
        "no causal mask": "a model that sees the next letter has to learn to "
        "look there, and finds nothing there when it writes.",
        "no shift": "where the token that it reads is the answer, a model has "
        "nothing to look for, and nothing to go by when it writes.",
        "padding counted": "padding is predicted at once, which makes the "
        "mean small from the start; the model still writes most pairs "
        "correctly.",
        "rate too high": "at too high a rate, a model does not even learn its "
        "training pairs.",
    }
    seen = {
        "healthy": "it starts near the dashed line, and it writes well.",
        "few pairs": "its two lines part, and it writes little correctly.",
        "no causal mask": "both its lines fall for many epochs, and it writes "
        "little correctly.",
        "no shift": "it needs no more than two epochs, and it writes nothing "
        "correctly.",
        "padding counted": "it is far below the dashed line after two "
        "epochs, and it writes well.",
        "rate too high": "its training loss stays near the dashed line.",
    }
    return LettersExercise(
        "9.4",
        "curves of copiers",
        hints=(
            "Which two models write well? Whatever is wrong with them, it "
            "is not what they have learned.",
            "Compare what cannot be cheated with what can: a model that "
            "writes nothing correctly, although its loss is small, has found "
            "the answer in its input. Is the answer there at once, or does "
            "the model have to look for it?",
            "Compare the first two epochs with the dashed line, then see "
            "where the two lines of a model part. Padding is easy to predict; "
            "a few pairs are easy to memorise.",
        ),
        right=COPIERS,
        why_not=lambda said, right: (
            f"{expected[said]} Look again: {seen[right]}"
        ),
    )


# which fault made which of the six curves.
curves_of_copiers = _make_curves_of_copiers()


def _make_teacher_forcing() -> FunctionExercise:
    def without_padding(candidate: Callable) -> Callable:
        def found(sentences, bos_id, eos_id, pad_id) -> object:
            found = candidate(sentences, bos_id, eos_id, pad_id)
            if not (
                isinstance(found, Tensor)
                and found.ndim == 3
                and len(found) == 2
            ):
                return found
            reads, says = found
            pads = torch.full_like(reads, pad_id)
            return torch.stack([reads.where(says != pad_id, pads), says])

        return found

    def ends_late(sentences, bos, eos, pad):
        reads, says = _forced()(sentences, bos, eos, pad)
        says = says.where(says != eos, pad)
        says[:, -1] = eos
        return torch.stack([reads, says])

    wrong = {
        "there is no shift: the decoder reads the word that it has to "
        "predict.": _forced(
            lambda words, bos, eos: ([*words, eos], [*words, eos])
        ),
        "there is no shift: the labels are the inputs. The first label is "
        "the first word.": _forced(
            lambda words, bos, eos: ([bos, *words], [bos, *words])
        ),
        "inputs and labels are swapped.": lambda *inputs: _forced()(
            *inputs
        ).flip(0),
        "the shift is two steps: the label is the word after next.": _forced(
            lambda words, bos, eos: ([bos, *words], [*words[1:], eos, eos])
        ),
        "the end token is missing from the labels: the model would never "
        "learn to stop.": _forced(
            lambda words, bos, eos: ([bos, *words[:-1]], [*words])
        ),
        "the start and end tokens are both in the input and in the labels: "
        "leave the last token out of the input, the first out of the "
        "labels.": _forced(
            lambda words, bos, eos: ([bos, *words, eos], [bos, *words, eos])
        ),
        "the padding is on the left.": _forced(left=True),
        "the axes are (2, sentence, step): all inputs come first, then all "
        "labels.": lambda *inputs: _forced()(*inputs).transpose(0, 1),
        "the end token comes after the padding; it should follow the last "
        "word.": ends_late,
    }
    cases = {
        "two sentences": ([[5, 3, 9, 4], [7, 6]], 1, 2, 0),
        "different special ids": ([[2, 4, 5], [1], [6, 7]], 8, 9, 3),
        "one word": ([[4]], 1, 2, 0),
    }
    return FunctionExercise(
        "9.2",
        "teacher forcing",
        hints=(
            "When the decoder has read nothing but the start token, what does "
            "it have to predict? And when it has read the last word?",
            "Input and label are the same sentence, cut at different ends: "
            "one lacks the end token, the other the start token.",
            "Both rows of a sentence are one token longer than the sentence "
            "itself. Make both for each sentence, then pad all of them to the "
            "longest.",
        ),
        right=_forced(),
        wrong=wrong,
        cases=cases,
        through=without_padding,
    )


# ``candidate(sentences, bos_id, eos_id, pad_id)``. What stands in the input
# where the label is padding does not matter.
teacher_forcing = _make_teacher_forcing()
