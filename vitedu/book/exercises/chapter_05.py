"""The exercises of chapter 5, multi-head attention."""

from collections.abc import Callable

import torch
from einops import rearrange
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# Prime and pairwise different, but d_model, which is heads times head_dim.
_BATCH, _HEADS, _TOKENS, _HEAD_DIM = 2, 3, 5, 7
_D_MODEL = _HEADS * _HEAD_DIM


def _layer(split=None, merge=None, width=None, axis=-1) -> Callable:
    """Return multi-head attention, with a part exchanged if one is given."""
    split = _split if split is None else split
    merge = _merge if merge is None else merge

    def layer(x: Tensor, w_qkv: Tensor, w_o: Tensor, num_heads: int) -> Tensor:
        q, k, v = (
            split(part, num_heads) for part in (x @ w_qkv).chunk(3, dim=-1)
        )
        divisor = q.shape[-1] if width is None else width(q, num_heads)
        scores = q @ k.transpose(-2, -1) / divisor**0.5
        return merge(scores.softmax(dim=axis) @ v) @ w_o

    return layer


def _split(x: Tensor, num_heads: int) -> Tensor:
    return rearrange(x, "b n (h d) -> b h n d", h=num_heads)


def _merge(heads: Tensor) -> Tensor:
    return rearrange(heads, "b h n d -> b n (h d)")


def _split_alone(x: Tensor, num_heads: int) -> Tensor:
    batch, length, columns = x.shape
    return x.reshape(batch, num_heads, length, columns // num_heads)


def _merge_alone(heads: Tensor) -> Tensor:
    batch, num_heads, length, head_dim = heads.shape
    return heads.reshape(batch, length, num_heads * head_dim)


def _of_model(q: Tensor, num_heads: int) -> int:
    return q.shape[-1] * num_heads


_SQUARE = 512 * 512
parameters = NumberExercise(
    "5.1",
    "parameters",
    hints=(
        "How many kinds of matrices does the layer have?",
        "Write down the shape of every matrix: queries, keys and values of "
        "all heads, and the matrix after the heads.",
        "Eight heads divide up the columns of one matrix: 8 times 64 of them. "
        "The fourth matrix takes all heads side by side, and returns "
        "`d_model` components.",
    ),
    right=4 * _SQUARE,
    why="four matrices of 512 by 512: queries, keys, values, output.",
    wrong={
        3 * _SQUARE: "that is queries, keys and values; the matrix after the "
        "heads is missing.",
        4 * _SQUARE + 4 * 512: "that is with biases; this attention has none.",
        4 * 512 * 64: "that is one head, with its block of the output matrix; "
        "there are 8.",
        (3 * 64 + 512) * 512: "that is the queries, keys and values of only "
        "one head; there are 8.",
        8 * 4 * _SQUARE: "the heads divide up 512 columns: each is 64 wide, "
        "not 512.",
        8 * 3 * _SQUARE + _SQUARE: "the heads divide up 512 columns: each is "
        "64 wide, not 512.",
        _SQUARE: "that is one matrix; there are four kinds.",
    },
    tolerance=0,
)

_SPLIT, _MERGE, _SCALE = (
    "you split with a view but no transpose: that mixes tokens.",
    "you merge the heads without transposing back: the rows of one head end "
    "up in one token.",
    "you divide by the root of d_model; a score adds up head_dim products.",
)


_PEN = torch.Generator().manual_seed(0)


def _draw(*shape: int) -> Tensor:
    return torch.randn(shape, generator=_PEN, dtype=torch.float64)


_INPUTS = (
    _draw(_BATCH, _TOKENS, _D_MODEL),
    _draw(_D_MODEL, 3 * _D_MODEL) / _D_MODEL**0.5,
    _draw(_D_MODEL, _D_MODEL) / _D_MODEL**0.5,
)
multi_head = FunctionExercise(
    "5.2",
    "multi head",
    hints=(
        "Take one token and one head. Which numbers of `x @ w_qkv` should the "
        "head get, and which does it get here?",
        "Which axis of `x @ w_qkv` holds the heads, and which numbers does "
        "`reshape` put next to each other? The same question comes back after "
        "the attention. And how many products does a score add up?",
        "A `reshape` never moves one number past another; it only cuts "
        "differently. So first split the last axis in two, and then swap two "
        "axes. After the attention, do the same in reverse.",
    ),
    right=_layer(),
    wrong={
        # Two or three mistakes at once: say the one that comes first.
        f"three mistakes are left. The first: {_SPLIT}": _layer(
            split=_split_alone, merge=_merge_alone, width=_of_model
        ),
        f"two mistakes are left. The first: {_SPLIT}": _layer(
            split=_split_alone, merge=_merge_alone
        ),
        f"two mistakes are left, and one of them: {_SPLIT}": _layer(
            split=_split_alone, width=_of_model
        ),
        f"two mistakes are left, and one of them: {_MERGE}": _layer(
            merge=_merge_alone, width=_of_model
        ),
        _SPLIT: _layer(split=_split_alone),
        _MERGE: _layer(merge=_merge_alone),
        _SCALE: _layer(width=_of_model),
        "you left out the scale: divide the scores by the root of "
        "head_dim.": _layer(width=lambda q, heads: 1),
        "you divide by head_dim; divide by its square root.": _layer(
            width=lambda q, heads: q.shape[-1] ** 2
        ),
        "your softmax runs over the heads: the weights of one query in one "
        "head have to add up to 1.": _layer(axis=1),
        "you divide by the root of the number of heads; a score adds up "
        "head_dim products.": _layer(width=lambda q, heads: heads),
        "heads and head_dim are swapped: the columns of one head are side by "
        "side, so the head is the first of the two axes.": _layer(
            split=lambda x, heads: rearrange(
                x, "b n (d h) -> b h n d", h=heads
            )
        ),
        "the heads are joined in the wrong order: first all columns of head "
        "0, then all of head 1.": _layer(
            merge=lambda out: rearrange(out, "b h n d -> b n (d h)")
        ),
        "you left out w_o.": lambda x, w_qkv, w_o, heads: _layer()(
            x, w_qkv, torch.eye(_D_MODEL).to(x), heads
        ),
        "your softmax runs over the queries: each row, not each column, has "
        "to add up to 1.": _layer(axis=-2),
    },
    # Three heads first: with one head, most of the mistakes do not show.
    cases={
        f"{heads} head{'s' * (heads > 1)}": (*_INPUTS, heads)
        for heads in (_HEADS, _HEAD_DIM, 1)
    },
)
