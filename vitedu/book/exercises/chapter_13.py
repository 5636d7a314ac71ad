"""The exercises of chapter 13, the Vision Transformer."""

from collections.abc import Callable
from functools import reduce

import torch
from torch import Tensor, nn

from vitedu.book.grading import (
    Exercise,
    FunctionExercise,
    NumberExercise,
    Verdict,
    judge_function,
)

_WIDTH = 5


class _Block(nn.Module):
    """A share to learn and a bend: wrong orders give other numbers."""

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.full((), share, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(dim=1, keepdim=True)
        return x + self.share * mean + (self.share * x).sin()


def _judge_stack(model: nn.Module, made: list[_Block], depth: int) -> Verdict:
    if len(made) == 1 < depth:
        return Verdict(
            False,
            "all blocks of your model are one and the same, with one set of "
            "weights.",
        )
    if len(made) != depth:
        return Verdict(
            False, f"your model has made {len(made)} blocks, not {depth}."
        )

    def in_turn(x: Tensor, blocks: list[_Block] = made) -> Tensor:
        for block in blocks:
            x = block(x)
        return x

    def plus_again(x: Tensor) -> Tensor:
        for block in made:
            x = x + in_turn(x, [block])
        return x

    # First what it computes: a list that hides the weights is found later.
    verdict = judge_function(
        model,
        in_turn,
        {
            "your blocks run in the wrong order.": lambda x: in_turn(
                x, made[::-1]
            ),
            "only the last block counts: each has to read what the one "
            "before it returned.": lambda x: in_turn(x, made[-1:]),
            "only the first block runs.": lambda x: in_turn(x, made[:1]),
            "the last block does not run.": lambda x: in_turn(x, made[:-1]),
            "each block reads what entered the stack, and you add up what "
            "they return: each has to read what the one before it "
            "returned.": lambda x: sum(block(x) for block in made),
            "you add x to what a block returns; its plus signs are "
            "inside.": plus_again,
            "nothing happens to the tokens.": lambda x: x,
        },
        {"a batch": (_draw(2, 7, _WIDTH),), "another": (_draw(3, 2, _WIDTH),)},
    )
    if not verdict:
        return verdict
    known = {id(parameter) for parameter in model.parameters()}
    if not all(id(block.share) in known for block in made):
        return Verdict(
            False,
            f"model.parameters() holds {len(known)} of {depth} weights; an "
            "optimiser would train no others.",
        )
    if len(known) > depth:
        return Verdict(
            False,
            "your model has weights that are in no block. The norm at the end "
            "belongs to the head in that article.",
        )
    return verdict


def _vit(
    *,
    token: str = "before",
    positions: str = "before",
    norm: bool = True,
    read: Callable[[Tensor], Tensor] = lambda x: x[:, 0],
) -> Callable[..., Tensor]:
    """Return the forward pass of exercise 13.3, with parts elsewhere."""

    def vit(x, cls_token, table, blocks, last_norm, head):
        def prepended(x):
            return torch.cat([cls_token.expand(len(x), -1, -1), x], dim=1)

        if positions == "patches" or (positions, token) == ("before", "after"):
            x = x + table[:, 1:]
        if token == "before":
            x = prepended(x)
        if (positions, token) == ("before", "before"):
            x = x + table
        for block in blocks:
            x = block(x + table if positions == "each" else x)
        if token == "after":
            x = prepended(x)
        if positions == "after":
            x = x + table
        return head(read(last_norm(x) if norm else x))

    return vit


def _norm(x: Tensor) -> Tensor:
    centred = x - x.mean(dim=-1, keepdim=True)
    return centred / centred.square().mean(dim=-1, keepdim=True).sqrt()


def _draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _make_larger_image() -> NumberExercise:
    before, after, width = (224 // 16) ** 2, (384 // 16) ** 2, 384
    more = after - before
    return NumberExercise(
        "13.1",
        "larger image",
        hints=(
            "Go through the five steps. Which learned numbers belong to a "
            "position in the image?",
            "The blocks, the embedding of a patch and the head are the same "
            "for each position. Only a table has one row per position.",
            "How many patches are new, and how wide is the row that each of "
            "them gets in a Small model?",
        ),
        right=more * width,
        why="there are 380 more patches, and each has its own position, 384 "
        "numbers.",
        wrong={
            0: "blocks, patch embedding and head do not depend on the size "
            "of the image. One part does.",
            more: "that many patches are new. What is learned for each of "
            "them, and how many numbers is it?",
            (more + 1) * width: "there is one class token, whatever the size; "
            "it already has its position.",
            (after + 1) * width: "that is the whole new table; the old one "
            "is no longer needed.",
            after * width: "that is the table for the patches; the old one "
            "is no longer needed.",
            more * 768: "768 is the width of Base, and the number of values "
            "in a patch; a token of Small is 384 wide.",
            (384 - 224) * width: "that counts pixels along a side; count "
            "patches.",
        },
        tolerance=0,
    )


# what 384 pixels instead of 224 add to a S/16.
larger_image = _make_larger_image()


def _make_forward_pass() -> FunctionExercise:
    # What can be told apart from outside, without naming the line.
    wrong = {
        "all images get the same logits.": _vit(
            token="after", positions="after"
        ),
        "all images still get the same logits.": _vit(token="after"),
        "images get their own logits now. But when the patches of an image "
        "are reordered, its logits do not change.": _vit(positions="after"),
        "the order of the patches matters now. But the logits do not depend "
        "on the first position.": _vit(positions="patches"),
        "the positions are missing: when the patches of an image are "
        "reordered, its logits do not change.": _vit(positions="never"),
        "the positions enter every block; they should be added once, before "
        "the first.": _vit(positions="each"),
        "the norm at the end is missing.": _vit(norm=False),
        "the head should read the class token, not the mean.": _vit(
            read=lambda x: x.mean(dim=1)
        ),
        "the head reads the last patch.": _vit(read=lambda x: x[:, -1]),
    }
    count = 7
    weights = _draw(_WIDTH, 3)
    parts = (
        _draw(1, 1, _WIDTH),
        _draw(1, 1 + count, _WIDTH),
        [_Block(0.6), _Block(-0.4)],
        _norm,
        lambda x: x @ weights,
    )
    patches = _draw(2, count, _WIDTH, seed=1)
    cases = {
        "two images": (patches, *parts),
        "patches in another order": (patches.flip(1), *parts),
    }
    return FunctionExercise(
        "13.3",
        "forward pass",
        hints=(
            "Start at the end. Which row does the head read?",
            "Follow that row backwards through the code. At which line do "
            "the pixels of an image first reach it?",
            "Only attention carries information from one token to another, "
            "and only the blocks contain attention. What has to be in the "
            "sequence when it enters them?",
        ),
        right=_vit(),
        wrong=wrong,
        cases=cases,
        why="two images get different logits, and the order of the patches "
        "matters.",
    )


# from patches to logits, past five parts.
forward_pass = _make_forward_pass()


def _judge_class(candidate: Callable[..., nn.Module]) -> Verdict:
    for depth in (3, 1):
        made: list[_Block] = []

        def make_block(made: list[_Block] = made) -> _Block:
            made.append(_Block(0.5 - 0.3 * len(made)))
            return made[-1]

        try:
            model = candidate(make_block, depth)
            if not isinstance(model, nn.Module):
                return Verdict(
                    False,
                    "your class makes something of the type "
                    f"{type(model).__name__}; a model has to be a module.",
                )
            verdict = _judge_stack(model, made, depth)
        except Exception as error:
            return Verdict(
                False,
                f"depth {depth}: your class stopped with "
                f"{type(error).__name__}: {error}",
            )
        if not verdict:
            return Verdict(False, f"depth {depth}: {verdict.message}")
    return Verdict(
        True, "every block is separate, learns, and takes its turn."
    )


def _stack(
    keep: Callable = nn.ModuleList,
    make: Callable = lambda make_block, depth: [
        make_block() for _ in range(depth)
    ],
    walk: Callable = lambda x, blocks: reduce(lambda x, f: f(x), blocks, x),
    extra: bool = False,
) -> type[nn.Module]:
    """Return the class, with a part exchanged if one is given."""

    class Stack(nn.Module):
        def __init__(self, make_block: Callable, depth: int) -> None:
            super().__init__()
            self.blocks = keep(make(make_block, depth))
            if extra:
                self.norm = nn.LayerNorm(5)

        def forward(self, x: Tensor) -> Tensor:
            return walk(x, self.blocks)

    return Stack


# ``candidate(make_block, depth)``, a module.
missing_class = Exercise(
    "13.2",
    "missing class",
    hints=(
        "Which blocks are there, when are they made, and what does the "
        "second one read?",
        "`list(MyStack(...).parameters())` shows what an optimiser would "
        "get. Does it find your blocks?",
        "PyTorch has a container that is a list and shows its members to the "
        "model. In `forward` the tokens go from one block to the next.",
    ),
    judge=_judge_class,
    wrong={
        "all blocks of your model are one and the same, with one set of "
        "weights.": _stack(make=lambda block, depth: [block()] * depth),
        "your model has made 4 blocks, not 3.": _stack(
            make=lambda block, depth: [block() for _ in range(depth + 1)]
        ),
        "your blocks run in the wrong order.": _stack(
            walk=lambda x, blocks: reduce(
                lambda x, f: f(x), reversed(list(blocks)), x
            )
        ),
        "only the last block counts: each has to read what the one before it "
        "returned.": _stack(walk=lambda x, blocks: blocks[-1](x)),
        "only the first block runs.": _stack(
            walk=lambda x, blocks: blocks[0](x)
        ),
        "each block reads what entered the stack, and you add up what they "
        "return: each has to read what the one before it returned.": _stack(
            walk=lambda x, blocks: sum(block(x) for block in blocks)
        ),
        "the last block does not run.": _stack(
            walk=lambda x, blocks: reduce(
                lambda x, f: f(x), list(blocks)[:-1], x
            )
        ),
        "you add x to what a block returns; its plus signs are "
        "inside.": _stack(
            walk=lambda x, blocks: reduce(lambda x, f: x + f(x), blocks, x)
        ),
        "nothing happens to the tokens.": _stack(walk=lambda x, blocks: x),
        "model.parameters() holds 0 of 3 weights; an optimiser would train no "
        "others.": _stack(keep=list),
        "your model has weights that are in no block.": _stack(extra=True),
        "a model has to be a module.": lambda make_block, depth: [
            make_block() for _ in range(depth)
        ],
    },
)
