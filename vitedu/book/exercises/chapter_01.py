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
        "tokens does each further layer add to the field?",
        "The field begins with the token itself and grows by the same "
        "number with each layer. How often do you have to add it until 65 "
        "is reached?",
    ),
    right=16,
    why="each layer adds 4 tokens to the first one, and 1 + 16 × 4 = 65.",
    wrong={
        13: "65 / 5 would be right if the windows did not overlap; each "
        "further layer adds 4 new tokens, not 5.",
        17: "the field starts with the token itself, so 64 others are to "
        "be reached, 4 with each layer.",
        15: "15 layers see 1 + 15 × 4 = 61 tokens, which is 4 too few.",
        32: "that would be right for windows in the middle, which look "
        "back 2 tokens only; these end at the token itself.",
        3: "three layers do it with gaps, 5 × 5 × 5 = 125; without gaps "
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
        "the backward reading runs from left to right, too: turn the tokens "
        "round before it.": lambda x, f, b: torch.cat([f(x), b(x)], -1),
        "the backward states are still in the order in which they were made: "
        "the first belongs to the last token, so turn them round again.": (
            lambda x, f, b: torch.cat([f(x), b(x.flip(1))], -1)
        ),
        "you turn the states of the backward reading round, but not the "
        "tokens that it reads.": lambda x, f, b: torch.cat(
            [f(x), b(x).flip(1)], -1
        ),
        "you turn round the numbers inside each token; the tokens stand on "
        "axis 1.": lambda x, f, b: torch.cat(
            [f(x), b(x.flip(-1)).flip(-1)], -1
        ),
        "the backward states come first; the forward ones should.": (
            lambda x, f, b: torch.cat([b(x.flip(1)).flip(1), f(x)], -1)
        ),
        "you add both readings; side by side, none is lost.": (
            lambda x, f, b: f(x) + b(x.flip(1)).flip(1)
        ),
        "you put one reading behind the other, as further tokens; they "
        "belong side by side, on the last axis.": lambda x, f, b: torch.cat(
            [f(x), b(x.flip(1)).flip(1)], 1
        ),
        "both readings use the same weights; each has a function of its "
        "own.": lambda x, f, b: right(x, f, f),
        "both readings use the weights of the backward one; each has a "
        "function of its own.": lambda x, f, b: right(x, b, b),
        "you exchanged the two functions.": lambda x, f, b: right(x, b, f),
    }
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 7, 3, generator=generator)
    ways = [_reader(5, generator), _reader(5, generator)]
    return FunctionExercise(
        "1.2",
        "read both ways",
        hints=(
            "`backwards` reads what it is given from left to right. What "
            "should it be given, so that it reads the sentence from its "
            "end?",
            "`x.flip(1)` turns the order of the tokens round. Which output "
            "then belongs to token 0?",
            "Its first state belongs to the last token, so something is "
            "turned round twice. After that, `torch.cat` lays two states of "
            "one token side by side if you name the last axis.",
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
