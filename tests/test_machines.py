"""The drawings of the two machines: where they lead, and what they say."""

from importlib.util import find_spec

import pytest
import torch
import yaml
from bs4 import BeautifulSoup
from chapter_files import ROOT
from vitedu_book import machines
from vitedu_book.machines import FOLDER, HEADS, LARGE, SMALL, BadMap

import vitedu.widgets
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.patches import patchify
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

WORDS = yaml.safe_load((ROOT / FOLDER / HEADS).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("77#what-is-a-sequence", "transformer.svg: chapter 77 does not ex"),
        ("1#gone", "transformer.svg: chapter 1 has no section 'gone'"),
    ],
)
def test_a_part_that_leads_nowhere_stops_the_build(tmp_path, wrong, said):
    (tmp_path / FOLDER).mkdir(parents=True)
    (tmp_path / "chapters").symlink_to(ROOT / "chapters")
    for name in (*LARGE, SMALL):
        text = (ROOT / FOLDER / name).read_text(encoding="utf-8")
        (tmp_path / FOLDER / name).write_text(text, encoding="utf-8")
    machines.check(tmp_path)
    path = tmp_path / FOLDER / LARGE[0]
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("1#what-is-a-sequence", wrong, 1))
    with pytest.raises(BadMap, match=said):
        machines.check(tmp_path)


@pytest.mark.parametrize("name", LARGE)
def test_a_part_names_its_chapter_its_module_and_its_explorers(name):
    text = (ROOT / FOLDER / name).read_text(encoding="utf-8")
    links = BeautifulSoup(text, "html.parser").select("a")
    assert len(links) > 15
    for link in links:
        said = link.title.get_text()
        number, _, _ = link["data-at"].partition("#")
        assert f", chapter {number}" in said
        if "explorer of" in said:
            assert hasattr(vitedu.widgets, said.partition(",")[0]), said
        if module := link.select_one(".module"):
            assert said.endswith(f", vitedu.{module.get_text()}")
            assert find_spec(f"vitedu.{module.get_text()}"), said
            assert link.select_one(".number").get_text() == number


def lit(number: int) -> list[str]:
    drawn = machines.small(ROOT, number, lambda page: f"{page}.html")
    page = BeautifulSoup(drawn, "html.parser")
    return [x.get_text() for x in page.select("a.lit[aria-current=true] text")]


def test_chapters_light_their_parts():
    assert [*WORDS] == [*machines.pages(ROOT)]
    assert all(lit(number) for number in WORDS)
    assert lit(2) == [
        "embedding, chapter 2",
        "positions, chapter 2",
        "positions, chapter 2",
    ]
    assert lit(4) == ["masked self-attention, chapter 4"]
    assert lit(12) == ["class token, chapter 12", "positions, chapter 12"]
    assert len(lit(13)) == 11
    assert len(lit(15)) == 30


def expect_shapes(sizes: dict[str, int], flows: dict[int, tuple]) -> None:
    """Compare what the heads of chapters say with tensors (enter, leave)."""
    for number, tensors in flows.items():
        for which, tensor in zip(("enters", "leaves"), tensors, strict=True):
            axes = WORDS[number][which].split("), ")[-1].strip("()")
            shape = tuple(sizes[axis] for axis in axes.split(", "))
            assert tensor.shape == shape, (number, which)


def test_shapes_in_the_heads_are_those_of_a_transformer():
    model = Transformer(
        TransformerConfig(
            d_model=16,
            num_heads=2,
            d_ff=24,
            num_layers=1,
            src_vocab_size=11,
            tgt_vocab_size=13,
            tie_source=False,
        )
    ).eval()
    src, tgt = torch.randint(3, 11, (2, 5)), torch.randint(3, 11, (2, 4))
    memory, logits = model.encode(src), model(src, tgt)
    read, written = model.src_embed(src), model.tgt_embed(tgt)
    block = model.decoder.blocks[0](written, memory)
    inside = model.encoder.blocks[0](read)
    sizes = {"batch": 2, "token": 5, "tgt": 4, "d_model": 16, "vocab_size": 13}
    flows = dict.fromkeys((1, 3, 5, 6, 7, 22), (read, inside))
    flows |= {2: (src, read), 4: (written, block), 9: (tgt, logits)}
    expect_shapes(sizes, flows | {10: (logits, logits[:, -1].argmax(-1))})


def test_shapes_in_the_heads_are_those_of_a_vision_transformer():
    model = VisionTransformer(
        ViTConfig(
            image_size=(8, 12),
            patch_size=4,
            d_model=16,
            num_heads=2,
            d_ff=24,
            num_layers=1,
            num_classes=10,
        )
    ).eval()
    images = torch.rand(2, 3, 8, 12)
    assert patchify(images, 4).shape == (2, 6, 48)
    cut, tokens = model.patch_embed(images), model.embed(images)
    sizes = {"batch": 2, "channel": 3, "height": 8, "width": 12, "patch": 6}
    sizes |= {"token": 7, "d_model": 16, "num_classes": 10}
    whole = {n: (images, model(images)) for n in (13, 14, 17, 18, 19, 21)}
    expect_shapes(sizes, whole | {11: (images, cut), 12: (cut, tokens)})
