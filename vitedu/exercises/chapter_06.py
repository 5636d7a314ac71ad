"""Checks of the exercises of chapter 6, residuals, norms, feed-forward."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.checks import Verdict, exercise, judge_function, judge_number

WIDTH = 3


@exercise(
    "Do the doubled token in the three steps above. How do the mean and "
    "the spread change when all numbers are doubled?"
)
def doubled_token(answer: float | None) -> Verdict:
    """Check exercise 6.1: LayerNorm of the 12 in 4, 8, 8, 12."""
    return judge_number(
        answer,
        2**0.5,
        "the mean and the spread double as well, and it stays 1.41.",
        {
            2 * 2**0.5: "the spread doubles, too: divide by the root of 8.",
            4: "that is step 1; now divide by the spread.",
            0.5: "you divided by the variance; the spread is its root.",
            4 / (32 / 3) ** 0.5: "the variance is a mean: divide by 4, not "
            "by 3.",
        },
    )


@exercise(
    "The formula `12h^2 + 13h` takes a hidden width of `4h`. Go through "
    "the table line by line instead."
)
def block_parameters(answer: int | None) -> Verdict:
    """Check exercise 6.2: parameters of a block, d_model 64 and d_ff 128."""
    h, d_ff = 64, 128
    attention = 4 * (h * h + h)
    feed_forward = h * d_ff + d_ff + d_ff * h + h
    norms = 2 * 2 * h
    return judge_number(
        answer,
        attention + feed_forward + norms,
        "16,640 in attention, 16,576 in the feed-forward network and 256 in "
        "the norms.",
        {
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


@exercise(
    "Follow the stream of the right diagram from bottom to top. What "
    "stands on it? And what did we say about the end of a pre-norm "
    "stack?"
)
def pre_norm_stack(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 6.3: ``candidate(x, branches, norms, last_norm)``.

    The parts are simple functions that tell a wrong order by their numbers.
    """

    def right(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x = x + branch(norm(x))
        return last_norm(x)

    def no_last_norm(x, branches, norms, last_norm):
        return right(x, branches, norms, _same)

    def first_instead_of_last(x, branches, norms, last_norm):
        return right(last_norm(x), branches, norms, _same)

    def last_norm_each_time(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x = last_norm(x + branch(norm(x)))
        return x

    def post_norm(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x = norm(x + branch(x))
        return last_norm(x)

    def post_norm_no_last(x, branches, norms, last_norm):
        return post_norm(x, branches, norms, _same)

    def normalised_stream(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x = norm(x)
            x = x + branch(x)
        return last_norm(x)

    def normalised_branch(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x = x + norm(branch(x))
        return last_norm(x)

    def one_norm(x, branches, norms, last_norm):
        return right(x, branches, norms[:1] * len(branches), last_norm)

    def no_norms(x, branches, norms, last_norm):
        return right(x, branches, [_same] * len(branches), last_norm)

    def no_sum(x, branches, norms, last_norm):
        for branch, norm in zip(branches, norms, strict=True):
            x = branch(norm(x))
        return last_norm(x)

    def all_read_the_input(x, branches, norms, last_norm):
        total = x
        for branch, norm in zip(branches, norms, strict=True):
            total = total + branch(norm(x))
        return last_norm(total)

    def first_only(x, branches, norms, last_norm):
        return right(x, branches[:1], norms[:1], last_norm)

    def two_only(x, branches, norms, last_norm):
        return right(x, branches[:2], norms[:2], last_norm)

    wrong = {
        "the last norm is missing: the stream has grown.": no_last_norm,
        "the last norm stands at the end, not at the start.": (
            first_instead_of_last
        ),
        "the last norm stands once at the end, not in the loop.": (
            last_norm_each_time
        ),
        "that is post-norm: you normalise after the sum.": post_norm,
        "that is post-norm, and the last norm is missing.": (
            post_norm_no_last
        ),
        "you add to the normalised x: no norm on the stream.": (
            normalised_stream
        ),
        "you normalise what leaves a branch, not what enters.": (
            normalised_branch
        ),
        "you used the first norm each time.": one_norm,
        "the norms of the branches are missing.": no_norms,
        "nothing is added to the stream.": no_sum,
        "each branch has to read the sum before it.": all_read_the_input,
        "only the first branch is at work.": first_only,
        "only the first two branches are at work.": two_only,
    }
    # Tuples, so that no answer can empty them.
    branches = (_mix, _square, torch.sin, _mix, _square)
    norms = tuple(_norm(2.0 - 0.3 * i, 0.5 - 0.4 * i) for i in range(5))
    draw = torch.Generator().manual_seed(0)
    one = torch.randn(1, 5, WIDTH, generator=draw)
    batch = torch.randn(2, 7, WIDTH, generator=draw)
    last_norm = _norm(0.7, 1.5)
    return judge_function(
        candidate,
        right,
        wrong,
        {
            "two branches": (one, branches[:2], norms[:2], last_norm),
            "five branches": (batch, branches, norms, last_norm),
        },
    )


def _same(x: Tensor) -> Tensor:
    return x


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
