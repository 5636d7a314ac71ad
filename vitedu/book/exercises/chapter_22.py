"""The exercises of chapter 22, the modern block."""

import torch
from torch import Tensor

from vitedu.attention import scaled_dot_product_attention
from vitedu.book.grading import FunctionExercise, NumberExercise

# KiB of the cache for one word: 80 blocks, 8 of 64 heads, of width 128, half.
cache_of_a_word = NumberExercise(
    "22.1",
    "KiB of cache per word",
    hints=(
        "What does a block keep of a word? A key and a value for each KV "
        "head.",
        "That is 2 × 8 × 128 numbers in each of 80 blocks.",
        "In half precision each number takes two bytes; a KiB has 1,024.",
    ),
    right=320,
    why="2 × 8 × 128 numbers in 80 blocks, of two bytes each: 327,680 bytes.",
    wrong={
        2560: "that would be keys and values for all 64 heads; 8 are kept.",
        160: "only half: keys alone, values alone, or one byte per number.",
        640: "in half precision a number has two bytes, not four.",
        4: "that is one block; there are 80.",
        327_680: "these are bytes; a KiB has 1,024.",
        327.68: "a KiB has 1,024 bytes, not 1,000.",
        1440: "queries are not kept: no later word asks for them.",
    },
    tolerance=0,
)


def _grouped(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    order: str = "groups",
    scale: float | None = None,
) -> Tensor:
    """Grouped-query attention, with one thing done differently."""
    heads, shared = q.shape[1], k.shape[1]
    which = torch.arange(heads)
    which = which % shared if order == "in turn" else which * shared // heads
    if order == "first":
        which = torch.zeros(heads, dtype=torch.long)
    if order == "mean":
        k, v = (x.mean(dim=1, keepdim=True) for x in (k, v))
        which = torch.zeros(heads, dtype=torch.long)
    k, values = k[:, which], v[:, which]
    if order == "values in turn":
        values = v[:, torch.arange(heads) % shared]
    return scaled_dot_product_attention(q, k, values, scale=scale)


def _make_grouped_attention() -> FunctionExercise:
    draw = torch.Generator().manual_seed(6)

    def inputs(heads: int, shared: int) -> tuple[Tensor, ...]:
        shapes = (heads, 5, 8), (shared, 7, 8), (shared, 7, 3)
        return tuple(
            2 * torch.randn(2, *shape, generator=draw, dtype=torch.float64)
            for shape in shapes
        )

    def other(**change):
        return lambda q, k, v: _grouped(q, k, v, **change)

    return FunctionExercise(
        "22.2",
        "grouped attention",
        hints=(
            "How many query heads share one KV head? Divide.",
            "Query heads 0, 1, ... of the first group share KV head 0, those "
            "of the next group KV head 1.",
            "`k.repeat_interleave(group, dim=1)` repeats each head in place.",
        ),
        right=_grouped,
        wrong={
            "the heads come in groups: 0, 0, 1, 1, not 0, 1, 0, 1. That is "
            "repeat_interleave, not repeat.": other(order="in turn"),
            "the keys are shared in groups, but the values in a different "
            "order.": other(order="values in turn"),
            "all query heads share KV head 0; each group has its own.": (
                other(order="first")
            ),
            "the KV heads are averaged; each group has its own.": (
                other(order="mean")
            ),
            "the scores are not divided by √head_dim.": other(scale=1.0),
        },
        cases={
            "6 query heads, 2 KV heads": inputs(6, 2),
            "4 query heads, 1 KV head": inputs(4, 1),
            "4 query heads, 4 KV heads": inputs(4, 4),
        },
    )


# ``candidate(q, k, v)``; k and v have fewer heads than q.
grouped_attention = _make_grouped_attention()


def _turned(
    x: Tensor, cached: int, *, start: int | None = None, how: str = "halves"
) -> Tensor:
    """Rotate new tokens by position, with one thing done differently."""
    half = x.shape[-1] // 2
    speeds = 10_000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    start = cached if start is None else start
    places = torch.arange(x.shape[2], dtype=x.dtype) + start
    if how == "one place":
        places = torch.full_like(places, start)
    angles = places[:, None] * speeds
    if how == "back":
        angles = -angles
    cos, sin = angles.cos(), angles.sin()
    if how == "neighbours":
        first, second = x[..., 0::2], x[..., 1::2]
        pairs = first * cos - second * sin, second * cos + first * sin
        return torch.stack(pairs, dim=-1).flatten(-2)
    first, second = x[..., :half], x[..., half:]
    return torch.cat(
        [first * cos - second * sin, second * cos + first * sin], dim=-1
    )


def _make_turn_new() -> FunctionExercise:
    draw = torch.Generator().manual_seed(7)

    def new(tokens: int, width: int) -> Tensor:
        shape = (2, 3, tokens, width)
        return torch.randn(*shape, generator=draw, dtype=torch.float64)

    return FunctionExercise(
        "22.3",
        "rotation of new tokens",
        hints=(
            "What is the position of the first new token?",
            "The cache holds tokens 0 to cached − 1.",
            "The positions are cached, cached + 1, and so on.",
        ),
        right=_turned,
        wrong={
            "the new tokens are rotated as if the text began with them.": (
                lambda x, cached: _turned(x, cached, start=0)
            ),
            "the first new token has position `cached`, not one "
            "later.": lambda x, cached: _turned(x, cached + 1),
            "the first new token has position `cached`, not one "
            "earlier.": lambda x, cached: _turned(x, max(0, cached - 1)),
            "all new tokens are rotated alike; each has its own "
            "position.": lambda x, cached: _turned(x, cached, how="one place"),
            "they rotate backwards; the keys in the cache were rotated "
            "forwards.": lambda x, cached: _turned(x, cached, how="back"),
            "neighbours are paired here, but halves in the cache.": (
                lambda x, cached: _turned(x, cached, how="neighbours")
            ),
        },
        cases={
            "1 token after 9": (new(1, 8), 9),
            "4 tokens after 3": (new(4, 6), 3),
            "5 tokens, an empty cache": (new(5, 10), 0),
        },
    )


# ``candidate(x, cached)``, x of (batch, heads, token, head_dim).
turn_new = _make_turn_new()
