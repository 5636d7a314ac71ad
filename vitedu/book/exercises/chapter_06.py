"""The exercises of chapter 6, residuals, norms, feed-forward."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import (
    FunctionExercise,
    LettersExercise,
    NumberExercise,
)

WIDTH = 3


# What draws which curve of exercise 6.5.
_DRAWN = {
    "A": "post-norm, warm-up",
    "B": "no sums",
    "C": "pre-norm, warm-up",
    "D": "no norms",
    "E": "post-norm",
    "F": "pre-norm",
}


def lettered(runs: dict) -> dict:
    """Give the runs of exercise 6.5 their letters, in place of names."""
    return {letter: runs[name] for letter, name in _DRAWN.items()}


def _mix(x: Tensor) -> Tensor:
    """Mix each token with the one before it, as an attention could."""
    return 0.5 * x + 0.25 * x.roll(1, dims=-2)


def _square(x: Tensor) -> Tensor:
    """Change each token by itself, as a feed-forward network does."""
    return x * x - x.roll(1, dims=-1)


def _norm(gain: float, shift: float) -> Callable[[Tensor], Tensor]:
    def norm(x: Tensor) -> Tensor:
        centred = x - x.mean(dim=-1, keepdim=True)
        spread = centred.square().mean(dim=-1, keepdim=True).sqrt()
        return centred / spread * gain + shift

    return norm


# LayerNorm of the 12 in 4, 8, 8, 12.
doubled_token = NumberExercise(
    "6.1",
    "doubled token",
    hints=(
        "Which two numbers does LayerNorm need of a token, before it can do "
        "anything to the 12?",
        "Do the doubled token in the three steps above. How do the mean and "
        "the spread change when all numbers are doubled?",
        "The mean of 4, 8, 8, 12 is 8, so the 12 stands 4 above it. The "
        "spread is the root of the mean of the squared distances from 8.",
    ),
    right=2**0.5,
    why="the mean and the spread double as well, and it stays 1.41.",
    wrong={
        2 * 2**0.5: "the spread doubles, too: divide by the root of 8.",
        4: "that is step 1; now divide by the spread.",
        0.5: "you divided by the variance; the spread is its root.",
        4 / (32 / 3) ** 0.5: "the variance is a mean: divide by 4, not by 3.",
        2 / 8**0.5: "that is the old distance over the new spread; the "
        "distance doubles, too.",
        12 / 8**0.5: "the mean is missing: subtract 8 first.",
        1.5: "that is 12 / 8. The mean is subtracted, and the spread divides.",
        1: "no range is stretched to 1 here; what is left is a distance "
        "from the mean, in spreads.",
    },
)


def _make_block_parameters() -> NumberExercise:
    h, d_ff = 64, 128
    attention = 4 * (h * h + h)
    feed_forward = h * d_ff + d_ff + d_ff * h + h
    norms = 2 * 2 * h
    return NumberExercise(
        "6.2",
        "block parameters",
        hints=(
            "Which of the three kinds of parts in a block know the hidden "
            "width?",
            "The formula `12h^2 + 13h` takes a hidden width of `4h`. Go "
            "through the table line by line instead.",
            "Attention has four maps from 64 to 64, the network one from 64 "
            "to 128 and one back. Each map has as many biases as outputs, "
            "each norm two numbers a feature.",
        ),
        right=attention + feed_forward + norms,
        why="16,640 in attention, 16,576 in the feed-forward network and 256 "
        "in the norms.",
        wrong={
            12 * h * h + 13 * h: "12h² + 13h takes a hidden width of 4h; here "
            "it is 2h.",
            attention + feed_forward: "the two norms are missing: each has a "
            "gain and a shift per feature.",
            attention + feed_forward + 2 * h: "you counted one norm, or only "
            "the gains of both: a norm has a gain and a shift per feature.",
            4 * h * h + 2 * h * d_ff + norms: "the biases are missing: four "
            "of h numbers in attention, d_ff and h in the network.",
            4 * h * h + 2 * h * d_ff: "those are the six matrices; biases "
            "and norms are missing.",
            3 * (h * h + h) + feed_forward + norms: "the output projection "
            "of attention is missing: it is a fourth matrix of h x h.",
            attention + norms: "the feed-forward network is missing.",
            feed_forward + norms: "attention is missing.",
        },
        tolerance=0,
    )


# parameters of a block, d_model 64 and d_ff 128.
block_parameters = _make_block_parameters()


def _make_pre_norm_stack() -> FunctionExercise:
    def walk(step, end=True):
        def stack(x, branches, norms, last):
            for f, norm in zip(branches, norms, strict=True):
                x = step(x, f, norm, last)
            return last(x) if end else x

        return stack

    right = walk(lambda x, f, norm, last: x + f(norm(x)))
    unended = walk(lambda x, f, norm, last: x + f(norm(x)), end=False)
    each_time = walk(lambda x, f, norm, last: last(x + f(norm(x))), end=False)
    post = walk(lambda x, f, norm, last: norm(x + f(x)))
    post_unended = walk(lambda x, f, norm, last: norm(x + f(x)), end=False)
    stream = walk(lambda x, f, norm, last: norm(x) + f(norm(x)))
    leaving = walk(lambda x, f, norm, last: x + norm(f(x)))
    no_norms = walk(lambda x, f, norm, last: x + f(x))
    no_sum = walk(lambda x, f, norm, last: f(norm(x)))

    def all_read_the_input(x, branches, norms, last):
        pairs = zip(branches, norms, strict=True)
        return last(x + sum(f(norm(x)) for f, norm in pairs))

    def from_the_input_each_time(x, branches, norms, last):
        y = x
        for f, norm in zip(branches, norms, strict=True):
            y = x + f(norm(y))
        return last(y)

    wrong = {
        "each round starts from what entered the stack: what the branches "
        "before have added is lost.": from_the_input_each_time,
        "the last norm is missing: the stream has grown.": unended,
        "the last norm stands at the end, not at the start.": (
            lambda x, fs, norms, last: unended(last(x), fs, norms, last)
        ),
        "the last norm stands once at the end, not in the loop.": each_time,
        "that is post-norm: you normalise after the sum.": post,
        "that is post-norm, and the last norm is missing.": post_unended,
        "you add to the normalised x: no norm on the stream.": stream,
        "you normalise what leaves a branch, not what enters.": leaving,
        "you used the first norm each time.": (
            lambda x, fs, norms, last: right(x, fs, norms[:1] * len(fs), last)
        ),
        "the norms of the branches are missing.": no_norms,
        "nothing is added to the stream.": no_sum,
        "each branch has to read the sum before it.": all_read_the_input,
        "only the first branch is at work.": (
            lambda x, fs, norms, last: right(x, fs[:1], norms[:1], last)
        ),
        "only the first two branches are at work.": (
            lambda x, fs, norms, last: right(x, fs[:2], norms[:2], last)
        ),
    }
    # Tuples, so that no answer can empty them; parts whose order shows.
    branches = (_mix, _square, torch.sin, _mix, _square)
    norms = tuple(_norm(2.0 - 0.3 * i, 0.5 - 0.4 * i) for i in range(5))
    draw = torch.Generator().manual_seed(0)
    one = torch.randn(1, 5, WIDTH, generator=draw)
    batch = torch.randn(2, 7, WIDTH, generator=draw)
    last_norm = _norm(0.7, 1.5)
    return FunctionExercise(
        "6.3",
        "pre norm stack",
        hints=(
            "Follow the stream of the right diagram from bottom to top. "
            "What stands on it?",
            "A norm stands in front of each branch, not on the stream. And "
            "what did we say about the end of a pre-norm stack?",
            "`zip` pairs each branch with its own norm. In each round two "
            "things are added: the stream as it came, and what the branch "
            "makes of its normalised copy.",
        ),
        right=right,
        wrong=wrong,
        cases={
            "two branches": (one, branches[:2], norms[:2], last_norm),
            "five branches": (batch, branches, norms, last_norm),
        },
    )


# ``candidate(x, branches, norms, last_norm)``.
pre_norm_stack = _make_pre_norm_stack()


def _make_each_token_alone() -> FunctionExercise:
    def variant(mean=-1, spread=-1, power=0.5, less=0, affine=True):
        def norm(x, gain, shift):
            if mean is not None:
                x = x - x.mean(dim=mean, keepdim=True)
            if spread is not None:
                square = x.square().mean(dim=spread, keepdim=True)
                square = square * x.shape[-1] / (x.shape[-1] - less)
                x = x / (square + 1e-6) ** power
            return x * gain + shift if affine else x

        return norm

    wrong = {
        "a token gets other numbers when tokens are put behind its "
        "sentence.": variant(spread=(1, 2)),
        "the tokens still feel each other: now they share the mean as well "
        "as the spread.": variant((1, 2), (1, 2)),
        "the spread is that of one token now, but the mean is shared.": (
            variant((1, 2))
        ),
        "you average over the tokens, one feature at a time.": variant(1, 1),
        "the mean is right, but the spread is that of a feature over the "
        "tokens.": variant(spread=1),
        "you average over the sentences: a token now feels what else is in "
        "the batch.": variant(0, 0),
        "that is BatchNorm: each feature over all tokens of the batch.": (
            variant((0, 1), (0, 1))
        ),
        "nothing is divided by the spread any more: a loud token stays "
        "loud.": variant(spread=None),
        "you divide by the variance; its root is the spread.": (
            variant(power=1.0)
        ),
        "you divide the sum of the squares by one less than their number.": (
            variant(less=1)
        ),
        "the mean is not subtracted any more.": variant(mean=None),
        "gain and shift are gone.": variant(affine=False),
    }
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(2, 5, 7, generator=draw, dtype=torch.float64)
    x = x * torch.arange(1, 6)[:, None] + 2.0
    gain, shift = torch.randn(2, 7, generator=draw, dtype=torch.float64)
    even = x.clone()
    even[1, 3] = 4.0
    cases = {
        "two sentences": (x, gain, shift),
        "a token of equal numbers": (even, gain, shift),
    }
    return FunctionExercise(
        "6.4",
        "each token alone",
        hints=(
            "Normalise a sentence, then the same one with two more tokens "
            "behind it. Which of the steps in between lets the new tokens "
            "be felt?",
            "Print the shape of every mean. How many numbers does it hold "
            "for a sentence, and how many tokens are there?",
            "Both means are about the features of one token. An axis is "
            "counted from the right by a negative number: the features are "
            "axis -1.",
        ),
        right=variant(),
        wrong=wrong,
        cases=cases,
    )


# ``candidate(x, gain, shift)`` is LayerNorm.
each_token_alone = _make_each_token_alone()


def _make_failing_stacks() -> LettersExercise:
    spread = {
        "rises": "in that network each block adds to the stream, so the "
        "spread rises from block to block.",
        "one": "in that network a norm is the last thing in each block, so "
        "the spread is 1 after every block.",
        "low": "in that network only what leaves a branch goes on. Fresh "
        "weights keep it small, so the spread falls at once.",
    }
    ends = {"post-norm": "one", "post-norm, warm-up": "one", "no sums": "low"}
    loss = {
        "pre-norm": "that network takes large steps from the start and bears "
        "them, so the loss falls at once.",
        "pre-norm, warm-up": "the first steps of that network are small, so "
        "the loss neither leaps nor falls at once.",
        "no norms": "the first large steps of that network throw the loss far "
        "above that of guessing.",
        "post-norm": "large first steps spoil that network for good: it never "
        "gets better than guessing.",
        "post-norm, warm-up": "that network learns as long as its steps are "
        "small: the loss falls before it comes back.",
    }

    def why_not(said, drawn):
        end = ends.get(said, "rises")
        same = end == ends.get(drawn, "rises")
        return loss[said] if same else spread[end]

    return LettersExercise(
        "6.5",
        "failing stacks",
        hints=(
            "Begin with the second figure, before any training. Which of "
            "the six networks have a norm as the last thing in each block?",
            "What is left of the stream where nothing is added to it? And "
            "what keeps a branch quiet where there is a norm in front of "
            "it?",
            "A warm-up makes the first steps small and the last ones as "
            "large as the others' are from the start. Which curve begins "
            "like one of its neighbours, but later? Which one learns only "
            "while the steps are small?",
        ),
        right=_DRAWN,
        why_not=why_not,
    )


# which of the networks drew which curves.
failing_stacks = _make_failing_stacks()
