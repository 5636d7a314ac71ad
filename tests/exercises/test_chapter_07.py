"""The exercises of chapter 7, the encoder."""

import pytest
import torch
from judging import expect_thought, expect_unfinished

from vitedu.config import TransformerConfig
from vitedu.exercises import chapter_07 as check
from vitedu.transformer import Encoder


def test_encoder_parameters_accepts_the_number():
    config = TransformerConfig(
        src_vocab_size=2,
        tgt_vocab_size=2,
        d_model=128,
        num_layers=4,
        num_heads=8,
        d_ff=256,
        norm_first=True,
        qkv_bias=True,
        proj_bias=True,
    )
    built = sum(p.numel() for p in Encoder(config).parameters())
    assert built == 530_176
    assert check.encoder_parameters(built)
    h = 128
    assert check.encoder_parameters(4.0 * (8 * h**2 + 11 * h) + 2 * h)


@pytest.mark.parametrize(
    ("answer", "thought"),
    [
        (529_920, "the norm at the end is missing"),
        (530_048, "a gain and a shift: 2h"),
        (530_944, "stands once, after the stack"),
        (132_736, "one block and the last norm"),
        (132_480, "that is one block."),
        (524_288, "those are the matrices"),
        (524_544, "11h each"),
        (793_344, "right for d_ff = 512"),
        (530_177, "is not it"),
    ],
)
def test_encoder_parameters_names_the_mistake(answer, thought):
    expect_thought(check.encoder_parameters(answer), thought)


def stack(
    *,
    order=lambda blocks: blocks,
    reads="last",
    norms=("after",),
    masks="all",
    plus=False,
):
    """Write the encoder out, with things wrong if asked for."""

    def candidate(x, blocks, norm, mask):
        given = x
        x = norm(x) if "before" in norms else x
        for i, block in enumerate(order(blocks)):
            kept = masks == "all" or (masks == "first" and i == 0)
            read = given if reads == "first" else x
            out = block(read, mask if kept else None)
            out = out + read if plus else out
            x = norm(out) if "inside" in norms else out
        return norm(x) if "after" in norms else x

    return candidate


def in_recursion(x, blocks, norm, mask):
    if not blocks:
        return norm(x)
    return in_recursion(blocks[0](x, mask), blocks[1:], norm, mask)


@pytest.mark.parametrize("solution", [stack(), in_recursion])
def test_encoder_accepts_a_solution(solution):
    assert check.encoder(solution).right


@pytest.mark.parametrize(
    ("options", "thought"),
    [
        ({"reads": "first"}, "all read the input"),
        ({"norms": ("before",), "plus": True}, "differ. Two mistakes are"),
        ({"norms": ("inside",)}, "you normalise after every block. The"),
        ({"norms": ("inside", "after")}, "and once more at the end"),
        ({"norms": ()}, "the norm at the end is missing"),
        ({"norms": ("before",)}, "you normalise before the stack"),
        ({"masks": "first"}, "only the first block gets the mask"),
        ({"masks": "none"}, "do not get the mask"),
        ({"order": lambda b: [b[0]] * len(b)}, "again and again"),
        ({"order": lambda b: b[::-1]}, "wrong order"),
        ({"order": lambda b: b[:-1]}, "the last block is left out"),
        ({"plus": True}, "plus signs are inside"),
        ({"order": lambda b: b * 2}, "a number is off"),
    ],
)
def test_encoder_names_the_mistake(options, thought):
    expect_thought(check.encoder(stack(**options)), thought)


def in_a_loop(out, real):
    """Take the mean of each sentence by itself."""
    pairs = zip(out, real, strict=True)
    return torch.stack([row[kept].mean(dim=0) for row, kept in pairs])


def by_einsum(out, real):
    """Multiply each sentence by the shares of its words."""
    shares = real.to(out) / real.sum(dim=1, keepdim=True)
    return torch.einsum("btd,bt->bd", out, shares)


def by_nan(out, real):
    """Hide the padding from a mean that leaves such numbers out."""
    return out.masked_fill(~real[..., None], torch.nan).nanmean(dim=1)


@pytest.mark.parametrize("solution", [in_a_loop, by_einsum, by_nan])
def test_sentence_vector_accepts_a_solution(solution):
    assert check.sentence_vector(solution).right


@pytest.mark.parametrize(
    ("candidate", "thought"),
    [
        (lambda out, real: out.mean(1), "over the padding, too"),
        (
            lambda out, real: torch.where(real[..., None], out, 0).mean(1),
            "divide by all places",
        ),
        (
            lambda out, real: torch.where(real[..., None], out, 0).sum(1),
            "divide by their number",
        ),
        (
            lambda out, real: out[real].mean(0).repeat(len(out), 1),
            "of all sentences together",
        ),
        (lambda out, real: in_a_loop(out, ~real), "True marks a word"),
        (
            lambda out, real: torch.where(real[..., None], out, 0).sum(1) / 7,
            "words of the whole batch",
        ),
        (lambda out, real: out[:, 0], "a number is off"),
    ],
)
def test_sentence_vector_names_the_mistake(candidate, thought):
    expect_thought(check.sentence_vector(candidate), thought)


def test_unfinished_answers():
    expect_unfinished(check.encoder_parameters, check.encoder)
    expect_thought(
        check.sentence_vector(lambda *inputs: None), "returned NoneType"
    )
