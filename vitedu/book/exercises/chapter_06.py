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
        "Which two numbers about a token does LayerNorm need, before it can "
        "do anything to the 12?",
        "Take the doubled token through the three steps above. How do the "
        "mean and the standard deviation change when all numbers are doubled?",
        "The mean of 4, 8, 8, 12 is 8, so the 12 is 4 above it. The standard "
        "deviation is the root of the mean of the squared distances from 8.",
    ),
    right=2**0.5,
    why="the mean and the standard deviation double as well, so the result is "
    "still 1.41.",
    wrong={
        2 * 2**0.5: "the standard deviation also doubles: divide by the root "
        "of 8.",
        4: "that is step 1; now divide by the standard deviation.",
        0.5: "you divided by the variance; the standard deviation is its "
        "root.",
        4 / (32 / 3) ** 0.5: "the variance is a mean: divide by 4, not by 3.",
        2 / 8**0.5: "that is the old distance over the new standard "
        "deviation; the distance also doubles.",
        12 / 8**0.5: "the mean is missing: subtract 8 first.",
        1.5: "that is 12 / 8. Subtract the mean; divide by the standard "
        "deviation.",
        1: "no range is rescaled to 1 here; the result is a distance from the "
        "mean, in standard deviations.",
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
            "Which of the three kinds of parts in a block depend on the "
            "hidden width?",
            "The formula `12h^2 + 13h` assumes a hidden width of `4h`. Go "
            "through the table line by line instead.",
            "Attention has four linear maps from 64 to 64, the network one "
            "from 64 to 128 and one back. Each map has as many biases as "
            "outputs, each norm two numbers per feature.",
        ),
        right=attention + feed_forward + norms,
        why="16,640 in attention, 16,576 in the feed-forward network and 256 "
        "in the norms.",
        wrong={
            12 * h * h + 13 * h: "12h² + 13h assumes a hidden width of 4h; "
            "here it is 2h.",
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
        "each round starts from the input of the stack: what the earlier "
        "branches added is lost.": from_the_input_each_time,
        "the last norm is missing: the stream has grown.": unended,
        "the last norm belongs at the end, not at the start.": (
            lambda x, fs, norms, last: unended(last(x), fs, norms, last)
        ),
        "the last norm comes once, at the end, not in the loop.": each_time,
        "that is post-norm: you normalise after the sum.": post,
        "that is post-norm, and the last norm is missing.": post_unended,
        "you add to the normalised x: there is no norm on the stream.": stream,
        "you normalise what leaves a branch, not what enters it.": leaving,
        "you used the first norm each time.": (
            lambda x, fs, norms, last: right(x, fs, norms[:1] * len(fs), last)
        ),
        "the norms of the branches are missing.": no_norms,
        "nothing is added to the stream.": no_sum,
        "each branch has to read the sum so far.": all_read_the_input,
        "only the first branch is used.": (
            lambda x, fs, norms, last: right(x, fs[:1], norms[:1], last)
        ),
        "only the first two branches are used.": (
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
            "Follow the stream of the right-hand diagram from bottom to top. "
            "What is on it?",
            "There is a norm in front of each branch, not on the stream. And "
            "what did we say about the end of a pre-norm stack?",
            "`zip` pairs each branch with its own norm. In each round two "
            "things are added: the incoming stream, and what the branch makes "
            "of its normalised copy.",
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
        "a token's output changes when tokens are appended to its "
        "sentence.": variant(spread=(1, 2)),
        "the tokens still affect each other: now they share the mean as well "
        "as the standard deviation.": variant((1, 2), (1, 2)),
        "the standard deviation is now computed per token, but the mean is "
        "shared.": (variant((1, 2))),
        "you average over the tokens, one feature at a time.": variant(1, 1),
        "the mean is right, but the standard deviation is computed per "
        "feature, over the tokens.": variant(spread=1),
        "you average over the sentences: a token's output now depends on what "
        "else is in the batch.": variant(0, 0),
        "that is BatchNorm: each feature over all tokens of the batch.": (
            variant((0, 1), (0, 1))
        ),
        "nothing is divided by the standard deviation any more: a loud token "
        "stays loud.": variant(spread=None),
        "you divide by the variance; its root is the standard deviation.": (
            variant(power=1.0)
        ),
        "you divide the sum of the squares by one less than their number.": (
            variant(less=1)
        ),
        "the mean is no longer subtracted.": variant(mean=None),
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
            "after it. Which step on the way lets the new tokens affect the "
            "others?",
            "Print the shape of every mean. How many numbers does it hold "
            "for a sentence, and how many tokens are there?",
            "Both means run over the features of one token. A negative number "
            "counts axes from the right: the features are axis -1.",
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
        "standard deviation rises from block to block.",
        "one": "in that network each block ends with a norm, so the standard "
        "deviation is 1 after every block.",
        "low": "in that network only the output of a branch is passed on. "
        "Untrained weights keep it small, so the standard deviation falls at "
        "once.",
    }
    ends = {"post-norm": "one", "post-norm, warm-up": "one", "no sums": "low"}
    loss = {
        "pre-norm": "that network takes large steps from the start and "
        "tolerates them, so the loss falls at once.",
        "pre-norm, warm-up": "the first steps of that network are small, so "
        "the loss neither jumps nor falls at once.",
        "no norms": "the first large steps of that network push the loss far "
        "above that of guessing.",
        "post-norm": "large first steps ruin that network for good: it never "
        "does better than guessing.",
        "post-norm, warm-up": "that network learns as long as its steps are "
        "small: the loss falls before it rises again.",
    }

    def why_not(said, drawn):
        end = ends.get(said, "rises")
        same = end == ends.get(drawn, "rises")
        return loss[said] if same else spread[end]

    return LettersExercise(
        "6.5",
        "failing stacks",
        hints=(
            "Begin with the second figure, before any training. Which of the "
            "six networks end each block with a norm?",
            "What remains of the stream where nothing is added to it? And "
            "what keeps the output of a branch small where there is a norm in "
            "front of it?",
            "A warm-up makes the first steps small and the last ones as large "
            "as those of the others are from the start. Which curve starts "
            "like one of its neighbours, but later? Which one learns only "
            "while the steps are small?",
        ),
        right=_DRAWN,
        why_not=why_not,
    )


# which of the networks drew which curves.
failing_stacks = _make_failing_stacks()
