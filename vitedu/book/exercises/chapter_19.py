"""The exercises of chapter 19, scaling out."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

_PARAMETERS = 86_567_656


def _make_bytes_sent() -> NumberExercise:
    whole = 2 * _PARAMETERS
    return NumberExercise(
        "19.1",
        "bytes sent",
        hints=(
            "How many chunks does a process send in the first half of the "
            "ring, and how many in the second?",
            "A chunk is a sixteenth of the gradient. How many bytes is that?",
        ),
        right=2 * 15 / 16 * whole,
        why="30 chunks of a sixteenth of the gradient, two bytes per number.",
        wrong={
            2 * 15 / 16 * 4 * _PARAMETERS: "that is with four bytes per "
            "number.",
            15 / 16 * whole: "that is half of it: the sums are complete, but "
            "not yet known to all; or you counted numbers, not bytes.",
            whole: "that is the whole gradient once. Count the chunks.",
            2 * whole: "a process sends 2 * 15 chunks, not 2 * 16: one of "
            "them is its own.",
            15 * whole: "that is as if it sent everything to each of the "
            "others.",
            30 * whole: "that is what all sixteen send together; each of the "
            "30 messages is a chunk.",
        },
        tolerance=0.001,
    )


# bytes that one of sixteen processes sends.
bytes_sent = _make_bytes_sent()


def _make_join() -> FunctionExercise:
    def mixed(share: Callable[[Tensor, Tensor], Tensor]) -> Callable:
        def joined(
            out_a: Tensor, log_a: Tensor, out_b: Tensor, log_b: Tensor
        ) -> Tensor:
            part = share(log_a, log_b)
            return part * out_a + (1 - part) * out_b

        return joined

    wrong = {
        "you averaged the two halves, whatever their sums.": mixed(
            lambda a, b: torch.full_like(a, 0.5)
        ),
        "you added the outputs; each is already a mean.": (
            lambda out_a, log_a, out_b, log_b: out_a + out_b
        ),
        "you weighted with the logarithms themselves, not with their "
        "exponentials.": mixed(lambda a, b: a / (a + b)),
        "the shares are swapped.": mixed(lambda a, b: torch.sigmoid(b - a)),
        "you took the half with the larger sum, and nothing of the other.": (
            mixed(lambda a, b: (a > b).to(a))
        ),
        "you added the two parts, but did not divide by both sums.": (
            lambda out_a, log_a, out_b, log_b: (
                log_a.exp() * out_a + log_b.exp() * out_b
            )
        ),
        "you use one share for all queries; each has its own.": mixed(
            lambda a, b: torch.sigmoid(a.mean() - b.mean())
        ),
    }
    generator = torch.Generator().manual_seed(0)

    def case(queries: int, width: int, offset: float) -> tuple[Tensor, ...]:
        def draw(columns: int) -> Tensor:
            # In float32 the digits of a logarithm near 1,000 are too few.
            return torch.randn(
                queries, columns, generator=generator, dtype=torch.float64
            )

        halves = [(draw(width), draw(1) + offset) for _ in range(2)]
        return (*halves[0], *halves[1])

    cases = {
        "5 queries": case(5, 3, 0.5),
        "3 queries": case(3, 7, -2.0),
        "scores near 1,000": case(2, 5, 1000.0),
    }
    return FunctionExercise(
        "19.2",
        "join",
        hints=(
            "An output is a sum divided by a sum of exponentials. Multiply "
            "it by that sum, and two halves can be added.",
            "The first half counts as exp(log_a) and the second as "
            "exp(log_b). What is the first half's share of both?",
            "That share depends only on the difference of the logarithms. "
            "Which function turns a difference into a share without "
            "overflowing?",
        ),
        right=mixed(lambda a, b: torch.sigmoid(a - b)),
        wrong=wrong,
        cases=cases,
    )


# ``candidate(out_a, log_a, out_b, log_b)``.
join = _make_join()


def _make_loss_of_share() -> FunctionExercise:
    def divided(factor: Callable[..., float]) -> Callable[..., Tensor]:
        def loss(
            losses: Tensor, counts: Tensor, everywhere: int, processes: int
        ) -> Tensor:
            facts = losses.numel(), counts.sum(), everywhere, processes
            return losses[counts].sum() * factor(*facts)

        return loss

    wrong = {
        "the more padding a share has, the smaller its loss.": (
            divided(lambda places, own, all_words, n: n / places)
        ),
        "DDP divides by the number of processes, and nothing makes up for "
        "it.": divided(lambda places, own, all_words, n: 1 / all_words),
        "you divide by the number of words in this share. Shares with few "
        "words would count too much.": divided(
            lambda places, own, all_words, n: 1 / own
        ),
        "you divide by the number of words in this share, and multiply by the "
        "number of processes as well.": divided(
            lambda places, own, all_words, n: n / own
        ),
        "you do not divide by the number of words.": divided(
            lambda places, own, all_words, n: n
        ),
        "you divided by the number of processes; DDP does that already.": (
            divided(lambda places, own, all_words, n: 1 / (all_words * n))
        ),
        "the sum includes padding.": (
            lambda losses, counts, everywhere, processes: (
                losses.sum() * processes / everywhere
            )
        ),
    }
    generator = torch.Generator().manual_seed(0)

    def case(shape: tuple[int, ...], everywhere: int, processes: int) -> tuple:
        losses = torch.rand(shape, generator=generator)
        counts = torch.rand(shape, generator=generator) < 0.7
        return losses, counts, everywhere, processes

    cases = {
        "2 processes": case((3, 5), 29, 2),
        "3 processes": case((2, 7), 31, 3),
        "a share in one row": case((11,), 47, 5),
    }
    return FunctionExercise(
        "19.3",
        "loss of share",
        hints=(
            "What would a single process divide by if it had the whole batch?",
            "Write down what results when DDP adds the gradients of all "
            "processes and divides by their number. What has to be in each?",
        ),
        right=divided(lambda places, own, all_words, n: n / all_words),
        wrong=wrong,
        cases=cases,
    )


# the loss that a process hands to DDP. It is ``candidate(losses, counts,
# everywhere, processes)``.
loss_of_share = _make_loss_of_share()
