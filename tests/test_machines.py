"""The map of the two machines: what it may name, and what it says."""

import pytest
import torch
from chapter_files import ROOT
from torch import Tensor
from vitedu_book import machines
from vitedu_book.machines import BadMap, read_map

from vitedu.config import TransformerConfig, ViTConfig
from vitedu.patches import patchify
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

BOOK = read_map(ROOT)
LANES = {lane.name: lane for lane in BOOK.lanes}
BLOCK = ["self-attention", "feed-forward", "residuals, norms"]


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("[7#", "[77#", "encoder block × N: there is no chapter 77"),
        (
            "11#how-do-you-cut-an-image-by-hand",
            "11#how-to-cut",
            "patches: chapter 11 has no section 'how-to-cut'",
        ),
        ("module: masks", "module: mask", "there is no module vitedu.mask"),
        ("module: masks", "module:", "attention: it needs 'module'"),
        ("[MaskEditor]", "[Masker]", "there is no explorer Masker"),
        (
            "[MaskEditor]",
            "[NormAxes]",
            "no chapter that `at` names shows the explorer NormAxes",
        ),
        ("role: position", "role: place", "'place' is none of"),
        ("attends: memory", "attends: memories", "'memories' is none of"),
        ("leaves: (batch, tgt)", "gives: (batch)", "unknown entry gives"),
        ("reads: [memory]", "reads: [key]", "lane reads has no part key"),
        ("lit: {looks: [enc", "lit: {sees: [enc", "there is no lane sees"),
        ("  17: {lit", "  18: {lit", "chapter 17: no part is lit"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path, right, wrong, said):
    text = (ROOT / machines.YAML).read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "book").mkdir()
    (tmp_path / machines.YAML).write_text(text.replace(right, wrong))
    for name in ("chapters", "vitedu", "book/api"):
        (tmp_path / name).symlink_to(ROOT / name)
    with pytest.raises(BadMap) as error:
        read_map(tmp_path)
    assert said in str(error.value)


def lit(chapter: int) -> dict[str, list[str]]:
    (head,) = [h for n, h in BOOK.heads.items() if f"/{chapter:02}-" in n]
    return {
        lane: [LANES[lane].parts[row].name for row in sorted(rows)]
        for lane, rows in head.lit.items()
    }


def test_chapters_light_their_parts():
    assert len(BOOK.heads) == len([*ROOT.glob("chapters/*.ipynb")])
    assert lit(2) == {
        "reads": ["embedding", "positions"],
        "writes": ["positions"],
    }
    assert lit(4) == {"writes": ["masked self-attention"]}
    assert lit(7) == {"reads": ["encoder block × N", *BLOCK]}
    assert lit(12) == {"looks": ["class token", "positions"]}
    assert lit(16) == {"looks": ["encoder block × N", *BLOCK]}
    everything = {n: [p.name for p in lane.parts] for n, lane in LANES.items()}
    assert lit(15) == everything
    for chapter in (13, 14, 17, 18, 19, 20):
        assert lit(chapter) == {"looks": everything["looks"]}


def test_what_enters_and_leaves_is_what_the_lane_says():
    heads = {int(n[9:11]): (h.enters, h.leaves) for n, h in BOOK.heads.items()}
    assert heads[2] == ("(batch, token)", "(batch, token, d_model)")
    assert heads[10] == ("(batch, tgt, vocab_size)", "(batch)")
    assert heads[11] == (
        "(batch, channel, height, width)",
        "(batch, patch, d_model)",
    )


def measured_text() -> tuple[dict[str, int], dict[str, dict[str, Tensor]]]:
    """Run a Transformer; return its sizes, and the shapes of its parts."""
    sizes = {"batch": 2, "token": 5, "tgt": 4, "d_model": 16, "vocab_size": 13}
    config = TransformerConfig(
        d_model=16,
        num_heads=2,
        d_ff=24,
        num_layers=1,
        src_vocab_size=11,
        tgt_vocab_size=13,
        tie_source=False,
    )
    model = Transformer(config).eval()
    src, tgt = torch.randint(3, 11, (2, 5)), torch.randint(3, 11, (2, 4))
    memory, logits = model.encode(src), model(src, tgt)
    inside = model.encoder.blocks[0](model.src_embed(src))
    written = model.decoder.blocks[0](model.tgt_embed(tgt), memory)
    return sizes, {
        "reads": {
            "words": src,
            "embedding": model.src_embed.tokens(src),
            "positions": model.src_embed(src),
            "encoder block × N": inside,
            "memory": memory,
        },
        "writes": {
            "words so far": tgt,
            "embedding": model.tgt_embed.tokens(tgt),
            "positions": model.tgt_embed(tgt),
            "decoder block × N": written,
            "output map": logits,
            "softmax": logits.softmax(dim=-1),
            "next word": logits[:, -1].argmax(dim=-1),
        },
    }


def measured_image() -> tuple[dict[str, int], dict[str, dict[str, Tensor]]]:
    """Run a Vision Transformer; return its sizes, and its parts' shapes."""
    sizes = {
        "batch": 2,
        "channel": 3,
        "height": 8,
        "width": 12,
        "patch": 6,
        "values": 48,
        "token": 7,
        "d_model": 16,
        "num_classes": 10,
    }
    config = ViTConfig(
        image_size=(8, 12),
        patch_size=4,
        d_model=16,
        num_heads=2,
        d_ff=24,
        num_layers=1,
        num_classes=10,
    )
    model = VisionTransformer(config).eval()
    images = torch.rand(2, 3, 8, 12)
    tokens = model.embed(images)
    return sizes, {
        "looks": {
            "photograph": images,
            "patches": patchify(images, 4),
            "projection": model.patch_embed(images),
            "class token": tokens,
            "positions": tokens,
            "encoder block × N": model.blocks[0](tokens),
            "head": model(images),
            "answer": model(images).softmax(dim=-1),
        }
    }


@pytest.mark.parametrize("measure", [measured_text, measured_image])
def test_shapes_are_those_of_the_library(measure):
    sizes, lanes = measure()
    for lane, tensors in lanes.items():
        stated = {p.name: p.leaves for p in LANES[lane].parts}
        assert {*stated} - {*tensors} <= {
            *BLOCK,
            "masked self-attention",
            "cross-attention",
        }
        for name, tensor in tensors.items():
            axes = stated[name].strip("()").split(", ")
            shape = tuple(sizes[axis] for axis in axes)
            assert tensor.shape == shape, name
