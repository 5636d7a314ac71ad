"""The exercises of chapter 1, why attention."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise


def _reader(width: int, generator: torch.Generator) -> Callable:
    """Make a recurrent layer for tokens of 3 numbers."""
    weights = torch.randn(width, 3, generator=generator)
    feedback = torch.randn(width, width, generator=generator) / width**0.5

    def read(x: Tensor) -> Tensor:
        state, states = x.new_zeros(len(x), width), []
        for token in x.unbind(dim=1):
            state = (token @ weights.T + state @ feedback.T).tanh()
            states.append(state)
        return torch.stack(states, dim=1)

    return read


# how many windows of 5 see across 65 tokens.
layers_to_cross = NumberExercise(
    "1.1",
    "layers to cross",
    hints=(
        "How many tokens does the last output see after one layer? How many "
        "after a second layer on top of it?",
        "The windows overlap, so it is not 5 more each time. How many new "
        "tokens does each further layer add to the receptive field?",
        "The receptive field starts with the token itself and grows by the "
        "same number with each layer. How many times must you add that number "
        "to reach 65?",
    ),
    right=16,
    why="each layer adds 4 tokens to the first one, and 1 + 16 × 4 = 65.",
    wrong={
        13: "65 / 5 would be right if the windows did not overlap; each "
        "further layer adds 4 new tokens, not 5.",
        17: "the receptive field starts with the token itself, so 64 others "
        "remain to be reached, 4 per layer.",
        15: "15 layers see 1 + 15 × 4 = 61 tokens, which is 4 too few.",
        32: "that would be right for windows in the middle, which look back "
        "only 2 tokens; these end at the token itself.",
        3: "three layers suffice with gaps, 5 × 5 × 5 = 125; without gaps "
        "each layer adds 4 tokens.",
        64: "that is how many moves a recurrent network needs.",
        1: "one layer is enough for attention; a window of 5 reaches 4 "
        "tokens back.",
    },
    tolerance=0,
)


def _make_read_both_ways() -> FunctionExercise:
    def right(x, forwards, backwards):
        return torch.cat([forwards(x), backwards(x.flip(1)).flip(1)], dim=-1)

    wrong = {
        "the backward reading also runs from left to right: reverse the "
        "tokens before it.": lambda x, f, b: torch.cat([f(x), b(x)], -1),
        "the backward states are still in the order in which they were "
        "computed: the first belongs to the last token, so reverse them "
        "again.": (lambda x, f, b: torch.cat([f(x), b(x.flip(1))], -1)),
        "you reverse the states of the backward reading, but not the tokens "
        "that it reads.": lambda x, f, b: torch.cat([f(x), b(x).flip(1)], -1),
        "you reverse the components inside each token; the tokens are on axis "
        "1.": lambda x, f, b: torch.cat([f(x), b(x.flip(-1)).flip(-1)], -1),
        "the backward states come first; the forward ones should.": (
            lambda x, f, b: torch.cat([b(x.flip(1)).flip(1), f(x)], -1)
        ),
        "you add the two readings; side by side, neither is lost.": (
            lambda x, f, b: f(x) + b(x.flip(1)).flip(1)
        ),
        "you append one reading to the other, as extra tokens; they belong "
        "side by side, on the last axis.": lambda x, f, b: torch.cat(
            [f(x), b(x.flip(1)).flip(1)], 1
        ),
        "both readings use the same weights; each has its own function.": (
            lambda x, f, b: right(x, f, f)
        ),
        "both readings use the weights of the backward one; each has its own "
        "function.": lambda x, f, b: right(x, b, b),
        "you swapped the two functions.": lambda x, f, b: right(x, b, f),
    }
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 7, 3, generator=generator)
    ways = [_reader(5, generator), _reader(5, generator)]
    return FunctionExercise(
        "1.2",
        "read both ways",
        hints=(
            "`backwards` reads its input from left to right. What should you "
            "pass to it, so that it reads the sentence from its end?",
            "`x.flip(1)` reverses the order of the tokens. Which output then "
            "belongs to token 0?",
            "Its first state belongs to the last token, so something is "
            "reversed twice. After that, `torch.cat` along the last axis puts "
            "the two states of each token side by side.",
        ),
        right=right,
        wrong=wrong,
        cases={
            "seven tokens": (x, *ways),
            "one token": (x[:, :1], *ways),
        },
    )


# ``candidate(x, forwards, backwards)``.
read_both_ways = _make_read_both_ways()
