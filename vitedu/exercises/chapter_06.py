"""Checks of the exercises of chapter 6, residuals, norms, feed-forward."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.checks import Verdict, judge_function, judge_number

WIDTH = 3


def block_parameters(answer: int | None) -> Verdict:
    """Check exercise 6.1: parameters of a block, d_model 64 and d_ff 128."""
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


def pre_norm_block(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 6.2: ``candidate(x, attention, network, norm1, norm2)``.

    The parts are simple functions that tell a wrong order by their numbers.
    """

    def post_norm(x, attention, network, norm1, norm2):
        x = norm1(x + attention(x))
        return norm2(x + network(x))

    def no_residual(x, attention, network, norm1, norm2):
        return network(norm2(attention(norm1(x))))

    def normalised_residual(x, attention, network, norm1, norm2):
        x = norm1(x)
        x = norm2(x + attention(x))
        return x + network(x)

    def both_from_the_input(x, attention, network, norm1, norm2):
        return x + attention(norm1(x)) + network(norm2(x))

    def swapped_norms(x, attention, network, norm1, norm2):
        return _right(x, attention, network, norm2, norm1)

    def normalised_branch(x, attention, network, norm1, norm2):
        x = x + norm1(attention(x))
        return x + norm2(network(x))

    def one_norm(x, attention, network, norm1, norm2):
        return _right(x, attention, network, norm1, norm1)

    def no_norm(x, attention, network, norm1, norm2):
        x = x + attention(x)
        return x + network(x)

    def first_residual_only(x, attention, network, norm1, norm2):
        x = x + attention(norm1(x))
        return network(norm2(x))

    def second_residual_only(x, attention, network, norm1, norm2):
        x = attention(norm1(x))
        return x + network(norm2(x))

    def network_first(x, attention, network, norm1, norm2):
        return _right(x, network, attention, norm1, norm2)

    def attention_only(x, attention, network, norm1, norm2):
        return x + attention(norm1(x))

    wrong = {
        "that is post-norm: you normalise after the sum. Here the norm "
        "stands before the branch.": post_norm,
        "nothing is added to the input: a branch is x + f(norm(x)).": (
            no_residual
        ),
        "you add the branch to the normalised x: the stream itself has to "
        "pass unchanged.": normalised_residual,
        "the second branch reads the old x: it has to read the sum that the "
        "first one left.": both_from_the_input,
        "the two norms are swapped: norm1 belongs to attention.": (
            swapped_norms
        ),
        "you normalise what leaves the branch: the norm stands before it.": (
            normalised_branch
        ),
        "you used norm1 twice: each branch has a norm of its own.": one_norm,
        "the norms are missing.": no_norm,
        "the second branch is not added to what it read.": (
            first_residual_only
        ),
        "the first branch is not added to what it read.": (
            second_residual_only
        ),
        "attention comes first, then the network.": network_first,
        "the second branch, the feed-forward network, is missing.": (
            attention_only
        ),
    }
    parts = (_mix, _square, _norm(2.0, 0.5), _norm(0.5, -1.0))
    draw = torch.Generator().manual_seed(0)
    tokens = {
        "one sentence": torch.randn(1, 5, WIDTH, generator=draw),
        "a batch": torch.randn(2, 7, WIDTH, generator=draw),
    }
    return judge_function(
        candidate,
        _right,
        wrong,
        {name: (x, *parts) for name, x in tokens.items()},
    )


def _right(x, attention, network, norm1, norm2):
    x = x + attention(norm1(x))
    return x + network(norm2(x))


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
