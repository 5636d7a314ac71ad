"""The exercises of chapter 13, the Vision Transformer."""

from functools import reduce

import pytest
import torch
from judging import expect_thought, expect_unfinished
from torch import nn

from vitedu.config import ViTConfig
from vitedu.counting import parameter_counts
from vitedu.exercises import chapter_13 as check


def test_larger_image_accepts_the_number():
    small, large = (
        sum(parameter_counts(ViTConfig.s16(image_size=size)).values())
        for size in (224, 384)
    )
    assert large - small == 145_920
    assert check.larger_image(large - small)
    assert check.larger_image(380 * 384.0)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (0, "One part does"),
        (380, "how many numbers is it"),
        (146_304, "there is one class token"),
        (221_568, "the whole new table"),
        (221_184, "the table for the patches"),
        (291_840, "768 is the width of Base"),
        (61_440, "count patches"),
        (145_921, "is not it"),
    ],
)
def test_larger_image_names_the_mistake(answer, thought):
    expect_thought(check.larger_image(answer), thought)


class Stack(nn.Module):
    """Write the class out; each class below gets one thing wrong."""

    def __init__(self, make_block, depth):
        super().__init__()
        self.keep(make_block, depth)

    def keep(self, make_block, depth):
        self.blocks = nn.ModuleList(make_block() for _ in range(depth))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class InAList(Stack):
    def keep(self, make_block, depth):
        self.blocks = [make_block() for _ in range(depth)]


class IdleInAList(InAList):
    """What the reader starts from: the list is not the first verdict."""

    def forward(self, x):
        return x


class OneBlock(Stack):
    def keep(self, make_block, depth):
        self.blocks = nn.ModuleList([make_block()] * depth)


class OneTooMany(Stack):
    def keep(self, make_block, depth):
        super().keep(make_block, depth + 1)


class WithNorm(Stack):
    def keep(self, make_block, depth):
        super().keep(make_block, depth)
        self.norm = nn.LayerNorm(5)


class Backwards(Stack):
    def forward(self, x):
        return reduce(lambda x, block: block(x), reversed(self.blocks), x)


class Last(Stack):
    def forward(self, x):
        for block in self.blocks:
            out = block(x)
        return out


class First(Stack):
    def forward(self, x):
        return self.blocks[0](x)


class PlusAgain(Stack):
    def forward(self, x):
        for block in self.blocks:
            x = x + block(x)
        return x


class Idle(Stack):
    def forward(self, x):
        return x


class Twice(Stack):
    def forward(self, x):
        return super().forward(super().forward(x))


class Breaks(Stack):
    def forward(self, x):
        raise KeyError("mask")


def in_sequence(make_block, depth):
    return nn.Sequential(*(make_block() for _ in range(depth)))


def as_a_function(make_block, depth):
    return in_sequence(make_block, depth).forward


@pytest.mark.parametrize("solution", [Stack, in_sequence])
def test_missing_class_accepts_a_solution(solution):
    assert check.missing_class(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (InAList, "holds 0 of 3 weights"),
        (OneBlock, "one and the same"),
        (OneTooMany, "made 4 blocks, not 3"),
        (WithNorm, "weights that are in no block"),
        (Backwards, "the wrong order"),
        (Last, "only the last block counts"),
        (First, "only the first block runs"),
        (PlusAgain, "plus signs are inside"),
        (Idle, "nothing happens"),
        (IdleInAList, "nothing happens"),
        (Twice, "a number is off"),
        (Breaks, "stopped with KeyError"),
        (as_a_function, "has to be a module"),
        (lambda make_block: None, "depth 3: your class stopped with Type"),
    ],
)
def test_missing_class_names_the_mistake(candidate, thought):
    expect_thought(check.missing_class(candidate), thought)


def vit(
    *,
    order=("token", "positions", "blocks", "norm", "head"),
    read=lambda x: x[:, :1],
):
    """Write the pass out, with its steps in any order, or without some."""

    def candidate(patches, cls_token, positions, blocks, norm, head):
        steps = {
            "token": lambda x: torch.cat(
                [cls_token.repeat(len(x), 1, 1), x], dim=1
            ),
            "positions": lambda x: x + positions[:, -x.shape[1] :],
            "blocks": lambda x: reduce(lambda x, f: f(x), blocks, x),
            "norm": norm,
            "read": read,
            "head": lambda x: head(read(x)).squeeze(1),
        }
        return reduce(lambda x, step: steps[step](x), order, patches)

    return candidate


def read_first(*inputs):
    """Normalise after reading: for one token that changes nothing."""
    order = ("token", "positions", "blocks", "read", "norm", "head")
    return vit(order=order)(*inputs)


def into_one_tensor(patches, cls_token, positions, blocks, norm, head):
    """Fill the rows of a new tensor one after the other."""
    images, count, width = patches.shape
    x = patches.new_empty(images, count + 1, width)
    x[:, 0] = cls_token[0, 0] + positions[0, 0]
    for row in range(1, count + 1):
        x[:, row] = patches[:, row - 1] + positions[0, row]
    return head(norm(nn.Sequential(*blocks)(x))[:, 0])


@pytest.mark.parametrize("solution", [vit(), read_first, into_one_tensor])
def test_forward_pass_accepts_a_solution(solution):
    assert check.forward_pass(solution).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        (
            {"order": ("blocks", "token", "positions", "norm", "head")},
            "all images get the same logits",
        ),
        (
            {"order": ("positions", "blocks", "token", "norm", "head")},
            "all images still get",
        ),
        (
            {"order": ("token", "blocks", "positions", "norm", "head")},
            "logits of their own now",
        ),
        (
            {"order": ("positions", "token", "blocks", "norm", "head")},
            "do not depend on the first position",
        ),
        ({"order": ("token", "blocks", "norm", "head")}, "are missing"),
        (
            {"order": ("token", "positions", "blocks", "head")},
            "the norm at the end is missing",
        ),
        ({"read": lambda x: x.mean(1, keepdim=True)}, "not the mean"),
        ({"read": lambda x: x[:, -1:]}, "the last patch"),
        ({"read": lambda x: x[:, 1:2]}, "a number is off"),
    ],
)
def test_forward_pass_names_the_mistake(options, thought):
    expect_thought(check.forward_pass(vit(**options)), thought)


def test_unfinished_answers():
    expect_unfinished(check.larger_image, check.forward_pass)
    expect_thought(
        check.missing_class(lambda make_block, depth: None), "NoneType"
    )
