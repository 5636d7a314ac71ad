"""Checks of the exercises of chapter 8, the decoder."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from vitedu.checks import Verdict, judge_function, judge_number

# Prime and pairwise different.
_BATCH, _TARGET, _SOURCE, _D_MODEL = 2, 3, 5, 7


def cross_weights(answer: float | None) -> Verdict:
    """Check exercise 8.1: the weights of a cross-attention."""
    return judge_number(
        answer,
        2 * 8 * 7 * 11,
        "7 queries by 11 keys, in 8 heads, for 2 pairs.",
        {
            2 * 8 * 7 * 7: "that is the self-attention of the target; the "
            "keys of the second attention come from the source.",
            2 * 8 * 11 * 11: "that is the self-attention of the source, which "
            "the encoder does; here the target asks.",
            2 * 8 * 18 * 18: "source and target are not put into one "
            "sequence: 7 ask, 11 are asked.",
            7 * 11: "that is one map; each head of each pair has its own.",
            2 * 7 * 11: "that is one head; there are 8.",
            8 * 7 * 11: "that is one pair; the batch holds 2.",
        },
        tolerance=0,
    )


def decoder_block(candidate: Callable[..., Tensor]) -> Verdict:
    """Check exercise 8.2: a pre-norm block, mended.

    The candidate takes ``(x, memory, look_back, look_across, network,
    norms)``.
    """
    query, memory = (
        "the query comes from what entered the block; the second branch asks "
        "with the stream after the first.",
        "the memory is normalised; it comes from the encoder as it should be, "
        "and goes in unchanged.",
    )
    wrong = {
        f"two mistakes are left, and one of them: {query}": _block(
            asks_first=True, norms_memory=True
        ),
        query: _block(asks_first=True),
        memory: _block(norms_memory=True),
        "you look across before you look back.": _block(across_first=True),
        "target and memory are swapped: the target asks.": _block(swaps=True),
        "the result of looking across replaces the stream; add it.": _block(
            replaces=True
        ),
        "the stream itself is normalised; only what enters a branch is in "
        "pre-norm.": _block(post=True),
        "you look back without norm1.": _block(bare_back=True),
        "the query has no norm; norm2 stands in front of the second "
        "branch.": _block(bare_query=True),
        "the feed-forward network is missing.": _block(thinks=False),
    }
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    maps = draw(6, _D_MODEL, _D_MODEL)

    def look_back(x: Tensor) -> Tensor:
        return x.cumsum(dim=1) @ maps[0]

    def look_across(x: Tensor, memory: Tensor) -> Tensor:
        weights = (x @ maps[1] @ memory.mT).softmax(dim=-1)
        return weights @ memory @ maps[2]

    def network(x: Tensor) -> Tensor:
        return torch.tanh(x @ maps[3])

    def norm(number: int) -> Callable[[Tensor], Tensor]:
        gain = maps[4, number] + 2
        return lambda x: F.layer_norm(x, x.shape[-1:]) * gain

    parts = (look_back, look_across, network, tuple(map(norm, range(3))))
    cases = {
        f"{source} source and {_TARGET} target tokens": (
            draw(_BATCH, _TARGET, _D_MODEL),
            draw(_BATCH, source, _D_MODEL),
            *parts,
        )
        for source in (_TARGET, _SOURCE)
    }
    return judge_function(candidate, _block(), wrong, cases)


def _block(
    *,
    asks_first: bool = False,
    norms_memory: bool = False,
    across_first: bool = False,
    swaps: bool = False,
    replaces: bool = False,
    post: bool = False,
    bare_back: bool = False,
    bare_query: bool = False,
    thinks: bool = True,
) -> Callable[..., Tensor]:
    """Return the block, with the mistakes that are asked for."""

    def block(
        x: Tensor,
        memory: Tensor,
        look_back: Callable,
        look_across: Callable,
        network: Callable,
        norms: tuple[Callable, ...],
    ) -> Tensor:
        norm1, norm2, norm3 = norms
        if post:
            x = norm1(x + look_back(x))
            x = norm2(x + look_across(x, memory))
            return norm3(x + network(x))
        entered = x
        back = x if bare_back else norm1(x)
        if not across_first:
            x = x + look_back(back)
        asking = entered if asks_first else x
        asking = asking if bare_query else norm2(asking)
        asked = norm2(memory) if norms_memory else memory
        if swaps:
            asking, asked = asked, asking
        across = look_across(asking, asked)
        x = across if replaces else x + across
        if across_first:
            x = x + look_back(norm1(x))
        return x + network(norm3(x)) if thinks else x

    return block
