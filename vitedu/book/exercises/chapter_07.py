"""The exercises of chapter 7, the encoder."""

from collections.abc import Callable

import torch
from torch import Tensor

from vitedu.book.grading import FunctionExercise, NumberExercise


def _mean_of_words(out: Tensor, real: Tensor) -> Tensor:
    total = (out * real[..., None]).sum(dim=1)
    return total / real.sum(dim=1, keepdim=True)


def _encoder(x, blocks, norm, mask):
    for block in blocks:
        x = block(x, mask)
    return norm(x)


def _all_read_the_input(x, blocks, norm, mask):
    return norm(blocks[-1](x, mask))


def _norm_inside(x, blocks, norm, mask):
    for block in blocks:
        x = norm(block(x, mask))
    return x


def _norm_inside_and_after(x, blocks, norm, mask):
    return norm(_norm_inside(x, blocks, norm, mask))


def _no_norm(x, blocks, norm, mask):
    return _encoder(x, blocks, lambda x: x, mask)


def _norm_before(x, blocks, norm, mask):
    return _no_norm(norm(x), blocks, norm, mask)


def _mask_once(x, blocks, norm, mask):
    x = blocks[0](x, mask)
    return _encoder(x, blocks[1:], norm, torch.ones_like(mask))


def _norm_before_and_after(x, blocks, norm, mask):
    return _encoder(norm(x), blocks, norm, mask)


def _norm_before_each_block(x, blocks, norm, mask):
    for block in blocks:
        x = block(norm(x), mask)
    return norm(x)


def _no_mask(x, blocks, norm, mask):
    return _encoder(x, blocks, norm, torch.ones_like(mask))


def _first_again(x, blocks, norm, mask):
    return _encoder(x, [blocks[0]] * len(blocks), norm, mask)


def _backwards(x, blocks, norm, mask):
    return _encoder(x, blocks[::-1], norm, mask)


def _plus_again(x, blocks, norm, mask):
    for block in blocks:
        x = x + block(x, mask)
    return norm(x)


def _norm_before_and_plus_again(x, blocks, norm, mask):
    return _plus_again(norm(x), blocks, lambda x: x, mask)


def _one_too_few(x, blocks, norm, mask):
    return _encoder(x, blocks[:-1], norm, mask)


def _block(share: float) -> Callable[[Tensor, Tensor | None], Tensor]:
    """Return a block: a part of the mean of what may be seen, and a bend."""

    def block(x: Tensor, mask: Tensor | None = None) -> Tensor:
        real = torch.ones_like(x[..., :1])
        if mask is not None:
            real = mask[:, 0, 0, :, None].to(x)
        mean = (x * real).sum(dim=1, keepdim=True)
        mean = mean / real.sum(dim=1, keepdim=True)
        return x + share * mean + (share * x).sin()

    return block


def _norm(x: Tensor) -> Tensor:
    """Normalise, then stretch and shift, so that twice is not once."""
    centred = x - x.mean(dim=-1, keepdim=True)
    spread = centred.square().mean(dim=-1, keepdim=True).sqrt()
    return centred / spread * x.new_tensor([2.0, 0.5, 1.0]) + 0.5


def _make_encoder_parameters() -> NumberExercise:
    blocks, h = 4, 128
    block = 8 * h * h + 11 * h
    right = blocks * block + 2 * h
    return NumberExercise(
        "7.1",
        "encoder parameters",
        hints=(
            "Which parts of one block have parameters? Count one block first. "
            "And what comes once, after all of them?",
            "The hidden width is only twice `d_model` here, so the two "
            "matrices of the feed-forward network are smaller than in chapter "
            "6, and so is one of its biases. Attention and norms are "
            "unchanged.",
            "With `h` for `d_model`, attention has four matrices of `h` by "
            "`h`, the network two of `h` by `2h`. Every map has a bias as "
            "long as its output, every norm two numbers per feature; a block "
            "has two norms, and one more comes at the end.",
        ),
        right=right,
        why="four blocks of 8h² + 11h, and 2h for the norm at the end.",
        wrong={
            blocks * block: "the norm at the end is missing: a gain and a "
            "shift per feature.",
            blocks * block + h: "the norm at the end has a gain and a shift: "
            "2h, not h.",
            blocks * (block + 2 * h): "the last norm is applied once, after "
            "the stack, not after every block.",
            block + 2 * h: "that is one block and the last norm. Each of the "
            "four blocks has its own weights.",
            block: "that is one block. Each of the four blocks has its own "
            "weights.",
            blocks * (12 * h * h + 13 * h) + 2 * h: "that is right for "
            "d_ff = 512. Here the hidden width is twice d_model.",
            blocks * 8 * h * h: "those are the matrices; biases and norms "
            "are missing.",
            blocks * 8 * h * h + 2 * h: "the blocks also have biases and "
            "norms: 11h each.",
        },
        tolerance=0,
    )


# a pre-norm encoder of 4 blocks of width 128.
encoder_parameters = _make_encoder_parameters()


def _make_encoder() -> FunctionExercise:
    wrong = {
        "the outputs differ. Two mistakes are left.": (
            _norm_before_and_plus_again
        ),
        "each block has to read what the one before it returned; yours all "
        "read the input of the stack.": _all_read_the_input,
        "you normalise after every block. The norm comes once, at the end: a "
        "pre-norm block does its own normalising.": _norm_inside,
        "you normalise after every block, and once more at the end.": (
            _norm_inside_and_after
        ),
        "the norm at the end is missing.": _no_norm,
        "you normalise before the stack; the norm belongs after it.": (
            _norm_before
        ),
        "the norm at the end is there, but you also normalise before the "
        "stack.": _norm_before_and_after,
        "you normalise before every block: a pre-norm block does so itself, "
        "and leaves the stream as it is.": _norm_before_each_block,
        "only the first block gets the mask: the padding comes back in the "
        "second.": _mask_once,
        "the blocks do not get the mask.": _no_mask,
        "you run the first block again and again: each has its own "
        "weights.": _first_again,
        "the blocks run in the wrong order: the first in the list comes "
        "first.": _backwards,
        "you add x to what a block returns. The plus signs are inside the "
        "block.": _plus_again,
        "the last block is left out.": _one_too_few,
    }
    draw = torch.Generator().manual_seed(0)
    cases = {}
    for name, shape in (
        ("a batch", (2, 5, 3)),
        ("longer sentences", (2, 7, 3)),
    ):
        x = torch.randn(shape, generator=draw, dtype=torch.float64)
        mask = torch.ones(shape[0], 1, 1, shape[1], dtype=torch.bool)
        mask[1, :, :, 3:] = False
        cases[name] = (x, [_block(0.5), _block(-0.25), _block(0.75)])
        cases[name] += (_norm, mask)
    x, blocks, norm, mask = cases["a batch"]
    cases["one block"] = (x, blocks[:1], norm, mask)
    return FunctionExercise(
        "7.2",
        "encoder",
        hints=(
            "What does a block return: the stream, or what is to be added "
            "to it?",
            "There are two mistakes. Follow one number through a single "
            "block: how many times does the block's input enter its output? "
            "And what should `norm` normalise: what goes in, or what comes "
            "out?",
            "A pre-norm block normalises in front of its own branches and has "
            "its plus signs inside. So nothing has to be done around it, but "
            "something remains to be done after the last.",
        ),
        right=_encoder,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(x, blocks, norm, mask)``. The blocks are simple functions of
# tokens and a mask that tell a wrong order, a wrong input and a lost mask
# by their numbers.
encoder = _make_encoder()


def _make_sentence_vector() -> FunctionExercise:
    def over_all(out: Tensor, real: Tensor) -> Tensor:
        return out.mean(dim=1)

    def by_length(out: Tensor, real: Tensor) -> Tensor:
        return (out * real[..., None]).mean(dim=1)

    def summed(out: Tensor, real: Tensor) -> Tensor:
        return (out * real[..., None]).sum(dim=1)

    def over_batch(out: Tensor, real: Tensor) -> Tensor:
        return out[real].mean(dim=0).expand(len(out), -1)

    def padding_only(out: Tensor, real: Tensor) -> Tensor:
        return _mean_of_words(out, ~real)

    def by_all_words(out: Tensor, real: Tensor) -> Tensor:
        return summed(out, real) / real.sum()

    wrong = {
        "your mean also runs over the padding. The outputs there are answers "
        "to questions that no word asked.": over_all,
        "you leave the padding out of the sum, but divide by all positions. "
        "Divide by the number of words.": by_length,
        "you add up the words; divide by their number.": summed,
        "your mean runs over the words of all sentences together.": over_batch,
        "True marks a word; you averaged the padding.": padding_only,
        "you divide by the number of words in the whole batch: each sentence "
        "has its own.": by_all_words,
    }
    draw = torch.Generator().manual_seed(0)
    out = torch.randn(3, 5, 7, generator=draw, dtype=torch.float64)
    lengths = torch.tensor([[4], [2], [1]])
    real = torch.arange(5) < lengths
    cases = {
        "three sentences": (out, real),
        "padding in front": (out, real.flip(1)),
    }
    return FunctionExercise(
        "7.3",
        "sentence vector",
        hints=(
            "What does `out` hold where there is no word? And by what number "
            "should a mean over the words of a short sentence divide?",
            "Leave the padding out twice: out of the sum, and out of the "
            "count.",
            "A boolean counts as 0 or 1, so you can multiply by `real`, and "
            "sum it along its own axis. `real[..., None]` has the axes of "
            "`out`.",
        ),
        right=_mean_of_words,
        wrong=wrong,
        cases=cases,
    )


# ``candidate(out, real)``, a mean over the words.
sentence_vector = _make_sentence_vector()
