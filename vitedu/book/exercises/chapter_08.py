"""The exercises of chapter 8, the decoder."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise

# Prime and pairwise different.
_BATCH, _TARGET, _SOURCE, _D_MODEL, _CONTEXT = 2, 3, 5, 7, 11


def _block(
    *,
    old_query: bool = False,
    restarts: bool = False,
    wrong_norm: bool = False,
    bare: bool = False,
    norms_memory: bool = False,
    norms_context: bool = False,
    swaps: bool = False,
    aside_first: bool = False,
    asks_first: bool = False,
    replaces: bool = False,
    thinks: bool = True,
    ends: bool = False,
) -> Callable[..., Tensor]:
    """Return the block, with the mistakes that are asked for."""

    def block(
        x: Tensor,
        memory: Tensor,
        context: Tensor,
        look_back: Callable,
        look_across: Callable,
        look_aside: Callable,
        network: Callable,
        norms: tuple[Callable, ...],
    ) -> Tensor:
        norm1, norm2, norm3, norm4 = norms
        memory = norm2(memory) if norms_memory else memory
        context = norm3(context) if norms_context else context
        if swaps:
            memory, context = context, memory
        entered = x
        y = x + look_back(norm1(x))
        if aside_first:
            y = y + look_aside(norm3(y), context)
        asked = norm2(entered if asks_first else y)
        y = y + look_across(asked, memory)
        if not aside_first:
            asking = norm3(entered if asks_first else y)
            if old_query:
                asking = asked
            elif wrong_norm:
                asking = norm2(y)
            elif bare:
                asking = y
            aside = look_aside(asking, context)
            base = entered if restarts else y
            y = aside if replaces else base + aside
        if ends:
            return network(norm4(y))
        return y + network(norm4(y)) if thinks else y

    return block


def _post_norm(
    x: Tensor, memory: Tensor, context: Tensor, *parts: Callable
) -> Tensor:
    look_back, look_across, look_aside, network, norms = parts
    norm1, norm2, norm3, norm4 = norms
    y = norm1(x + look_back(x))
    y = norm2(y + look_across(y, memory))
    y = norm3(y + look_aside(y, context))
    return norm4(y + network(y))


# the attention weights of a cross-attention.
cross_weights = NumberExercise(
    "8.1",
    "cross weights",
    hints=(
        "Who asks in a cross-attention, and who is asked?",
        "Each head of each pair has its own attention map: a row for each "
        "token that asks, a column for each that is asked.",
        "The size of one map does not depend on the width or on how many "
        "heads there are. How many such maps does the batch need?",
    ),
    right=2 * 8 * 7 * 11,
    why="7 queries by 11 keys, in 8 heads, for 2 pairs.",
    wrong={
        2 * 8 * 7 * 7: "that is the self-attention of the target; the keys of "
        "cross-attention come from the source.",
        2 * 8 * 11 * 11: "that is the self-attention of the source, which "
        "the encoder does; here the target asks.",
        2 * 8 * 18 * 18: "source and target are not joined into one sequence: "
        "7 ask, 11 are asked.",
        7 * 11: "that is one map; each head of each pair has its own.",
        2 * 7 * 11: "that is one head; there are 8.",
        8 * 7 * 11: "that is one pair; the batch holds 2.",
    },
    tolerance=0,
)


def _make_two_memories() -> FunctionExercise:
    wrong = {
        "two mistakes are left; follow the stream.": _block(
            old_query=True, restarts=True
        ),
        "the last attention step asks as the one before did; the stream has "
        "changed since.": _block(old_query=True),
        "the stream has lost two branches.": _block(restarts=True),
        "the last attention step asks with the current stream, but not "
        "through norm3.": _block(wrong_norm=True),
        "the last attention step has no norm in front of it.": _block(
            bare=True
        ),
        "you normalise the memory; it should be used as it comes.": _block(
            norms_memory=True
        ),
        "you normalise the context; it should be used as it comes.": _block(
            norms_context=True
        ),
        "memory and context are swapped.": _block(swaps=True),
        "you look aside before you look across.": _block(aside_first=True),
        "an attention step asks with the input of the block.": _block(
            asks_first=True
        ),
        "an attention step replaces the stream; add its output.": _block(
            replaces=True
        ),
        "the feed-forward network is missing.": _block(thinks=False),
        "the network replaces the stream at the end; add its output.": _block(
            ends=True
        ),
        "that is a post-norm block: you normalise the sums. Each norm belongs "
        "in front of its branch.": _post_norm,
    }
    generator = torch.Generator().manual_seed(0)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    maps = draw(7, _D_MODEL, _D_MODEL)

    def look_back(x: Tensor) -> Tensor:
        return x.cumsum(dim=1) @ maps[0]

    def look_across(x: Tensor, memory: Tensor) -> Tensor:
        weights = (x @ maps[1] @ memory.mT).softmax(dim=-1)
        return weights @ memory @ maps[2]

    def look_aside(x: Tensor, context: Tensor) -> Tensor:
        weights = (x @ maps[3] @ context.mT).softmax(dim=-1)
        return weights @ context @ maps[4]

    def network(x: Tensor) -> Tensor:
        return torch.tanh(x @ maps[5])

    def norm(number: int) -> Callable[[Tensor], Tensor]:
        gain = maps[6, number] + 2
        return lambda x: F.layer_norm(x, x.shape[-1:]) * gain

    norms = tuple(map(norm, range(4)))
    parts = (look_back, look_across, look_aside, network, norms)
    cases = {
        f"{source} source tokens": (
            draw(_BATCH, _TARGET, _D_MODEL),
            draw(_BATCH, source, _D_MODEL),
            draw(_BATCH, _CONTEXT, _D_MODEL),
            *parts,
        )
        for source in (_TARGET, _SOURCE)
    }
    return FunctionExercise(
        "8.2",
        "two memories",
        hints=(
            "Follow the stream line by line: which branches are still in it "
            "at the end?",
            "There are two mistakes. Each branch is added to the current "
            "stream, and each branch asks with the current stream.",
            "Four branches and four norms, one in front of each. Compare "
            "the third branch with the second, word by word: what do they "
            "have in common that they should not?",
        ),
        right=_block(),
        wrong=wrong,
        cases=cases,
    )


# a pre-norm block that looks across twice, mended. The candidate takes
# ``(x, memory, context, look_back, look_across, look_aside, network,
# norms)``.
two_memories = _make_two_memories()
