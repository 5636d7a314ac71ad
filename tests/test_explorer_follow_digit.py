"""The network of the explorer that follows a digit, against `vitedu`."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from explorers import digit_model, followed
from helpers import refuses
from javascript import expect_written_out, numbers, run

import vitedu
from vitedu.analysis.attention_maps import capture_attention
from vitedu.book.followed_digits import followed_digits
from vitedu.book.page_weights import rounded_to_half
from vitedu.config import ViTConfig
from vitedu.data.digits import digits
from vitedu.patches import patchify
from vitedu.pretrained.models import config_of, load_vit
from vitedu.vit import VisionTransformer
from vitedu.widgets.follow_digit import STAGES

LIBRARY = Path(vitedu.__file__).parent
KEPT = LIBRARY.parent / "book/data/digit-vit.safetensors"
SCRIPTS = """matrices digit_picture follow_digit_maths follow_digit_ink
follow_digit_stages digit_parts follow_digit_game"""
READER = """const reader = makeReader(
  new DataView(Uint8Array.from(Buffer.from(sent.weights, "base64")).buffer),
  sent.layout, sent.config);
const flat = ({ data, rows, columns }) => ({ data, rows, columns });
"""
DATA = digits()


@cache
def kept() -> VisionTransformer:
    return load_vit(KEPT, config_of(KEPT))


@cache
def kept_parts() -> dict:
    return followed_digits(kept())


def in_page(code: str, parts: dict | None = None, **given):
    """Run code with a reader of `digit_model`, unless told otherwise."""
    parts = parts or followed()
    names = "weights", "layout", "config"
    return run(
        SCRIPTS,
        f"(() => {{ {READER} return {code}; }})()",
        sent={name: parts[name] for name in names},
        **given,
    )


@torch.no_grad()
def stages_of(model, image, layer: int, head: int) -> dict[str, np.ndarray]:
    """Return every stage as the library computes it, caught by hooks."""
    caught = {}

    def catch(name):
        def hook(module, inputs, output):
            caught[name] = inputs[0][0], output[0]

        return hook

    for name, module in model.named_modules():
        module.register_forward_hook(catch(name))
    with capture_attention(model) as maps:
        logits = model(image)
    name = f"blocks.{layer}"
    width = model.config.d_model // model.config.num_heads
    columns = slice(head * width, (head + 1) * width)
    q, k, v = (
        part[:, columns]
        for part in caught[f"{name}.attn.qkv"][1].chunk(3, dim=-1)
    )
    scale = model.blocks[layer].attn.scale or width**-0.5
    patches = caught["patch_embed"][1]
    found = {
        "pixels": image[0, 0],
        "patches": patchify(image, 2)[0],
        "tokens": torch.cat([model.cls_token[0], patches]),
        "positions": caught["blocks.0"][0],
        "norm1": caught[f"{name}.norm1"][1],
        "query": q,
        "key": k,
        "value": v,
        "scores": scale * q @ k.T,
        "softmax": maps[f"{name}.attn"][0, head],
        "heads": caught[f"{name}.attn.proj"][0][:, columns],
        "projection": caught[f"{name}.attn"][1],
        "attention sum": caught[f"{name}.norm2"][0],
        "norm2": caught[f"{name}.norm2"][1],
        "hidden": caught[f"{name}.mlp.fc1"][1],
        "gelu": caught[f"{name}.mlp.act"][1],
        "narrowed": caught[f"{name}.mlp"][1],
        "block sum": caught[name][1],
        "norm": caught["norm"][1],
        "logits": logits,
        "answer": logits.softmax(dim=-1),
    }
    return {stage: value.numpy() for stage, value in found.items()}


def ink_of(image) -> np.ndarray:
    return (DATA.pixels(image) * 16).round().to(torch.uint8).numpy()


@pytest.mark.parametrize(("layer", "head"), [(0, 2), (2, 1)])
def test_every_stage_and_its_line_are_those_of_the_library(layer, head):
    model, image = digit_model(), DATA.test_images[7:8]
    found = in_page(
        """stages.map((stage) => ({ code: CODE[stage], ...openStage(reader,
          reader.run(ink), { stage, block: layer, head, row: 3, column: 2 })
        }))""",
        stages=list(STAGES),
        ink=ink_of(image),
        layer=layer,
        head=head,
    )
    expected = stages_of(model, image, layer, head)
    assert list(expected) == list(STAGES)
    for (stage, value), shown in zip(expected.items(), found, strict=True):
        matrix = shown["matrix"]
        shape = matrix["rows"], matrix["columns"]
        assert shape == value.shape, stage
        data = numbers(matrix["data"], *shape)
        np.testing.assert_allclose(data, value, atol=1e-4, err_msg=stage)
        file, line = shown["code"]
        lines = (LIBRARY / file).read_text(encoding="utf-8").splitlines()
        assert line in [one.strip() for one in lines], line
        expect_written_out(shown["made"], shown["value"], stage)


def without_residuals(model, image):
    x = model.embed(image)
    for block in model.blocks:
        x = block.mlp(block.norm2(block.attn(block.norm1(x))))
    return model.head(model.norm(x)[:, 0])


def without(model, name: str, image) -> torch.Tensor:
    """Return the logits of a model that lacks a part."""
    what, *where = name.split()
    where = [int(number) for number in where]
    if what == "residuals":
        return without_residuals(model, image)
    if what == "positions":
        model.pos_embed.weight.zero_()
    if what == "scale":
        for block in model.blocks:
            block.attn.scale = 1.0
    if what == "block":
        del model.blocks[where[0]]
    if what == "head":
        width = model.config.d_model // model.config.num_heads
        first = where[1] * width
        weight = model.blocks[where[0]].attn.proj.weight
        weight[:, first : first + width] = 0
    return model(image)


@torch.no_grad()
def test_what_is_switched_off_is_out_of_the_answer():
    image = DATA.test_images[11:12]
    absent = ["positions", "scale", "residuals", "block 1", "head 2 0"]
    whole, *found = in_page(
        "[[], ...absent.map((one) => [one])].map((off) =>"
        " reader.run(ink, off).logits.data)",
        ink=ink_of(image),
        absent=absent,
    )
    for off, logits in zip(absent, found, strict=True):
        expected = without(digit_model(), off, image)[0]
        np.testing.assert_allclose(logits, expected, atol=1e-4, err_msg=off)
        assert np.abs(np.subtract(logits, whole)).max() > 1e-3


@torch.no_grad()
def test_the_lens_reads_every_token_after_every_layer():
    model, image = digit_model(), DATA.test_images[5:6]
    found = in_page("reader.run(ink).lens", ink=ink_of(image))
    layers = [model.embed(image), *model.layer_features(image)]
    assert len(found) == len(layers)
    for shown, tokens in zip(found, layers, strict=True):
        chances = model.head(model.norm(tokens[0])).softmax(dim=-1)
        np.testing.assert_allclose(
            numbers(shown["data"], *chances.shape), chances, atol=1e-4
        )


# Points of strokes, in hundredths of the field: right, down.
WRITTEN = {
    0: ["50 20", "35 35", "33 60", "50 80", "66 60", "65 35", "50 20"],
    1: ["42 32", "54 20", "54 80"],
    2: ["35 30", "50 20", "65 33", "55 55", "35 80", "68 80"],
    3: ["35 24", "55 20", "65 33", "50 48", "66 63", "55 79", "35 76"],
    4: ["45 20", "33 56", "68 56", "", "60 40", "55 80"],
    5: ["64 20", "40 20", "37 46", "55 42", "66 60", "55 79", "34 74"],
    6: [
        *("60 20", "45 32", "36 58", "40 75"),
        *("55 78", "62 64", "50 52", "38 62"),
    ],
    7: ["33 22", "66 22", "48 80"],
    8: ["62 28", "50 20", "38 30", "62 62", "50 80", "38 64", "62 28"],
    9: ["64 34", "50 21", "36 35", "50 51", "65 36", "64 58", "58 80"],
}


def strokes_of(digit: int) -> list:
    """Return strokes as the page has them; "" lifts the pen."""
    strokes = [[]]
    for point in WRITTEN[digit]:
        if point:
            strokes[-1].append([int(x) / 100 for x in point.split()])
        else:
            strokes.append([])
    return strokes


def test_written_digits_are_read_by_the_network_of_the_chapter():
    found = in_page(
        "all.map((strokes) => reader.run(inkOf(strokes)).answer.data)",
        kept_parts(),
        all=[strokes_of(digit) for digit in range(10)],
    )
    assert np.argmax(found, axis=-1).tolist() == list(range(10))


def dabs_on(start: np.ndarray) -> list[tuple]:
    """Return (ink added, side, row, column, picture) of every dab."""
    dabs = {}
    for side in (1, 2):
        for row, column in np.ndindex(9 - side, 9 - side):
            square = slice(row, row + side), slice(column, column + side)
            for more in range(1, 17):
                ink = start.astype(int)
                ink[square] = np.minimum(16, ink[square] + more)
                added = (ink.sum() - start.sum()) / 16
                if added:
                    key = side, row, column, added
                    dabs[key] = added, side, row, column, ink
    return list(dabs.values())


# One pixel is enough, four are needed, nothing is: how much more the other
# digit has to get than with the ink of the start.
@pytest.mark.parametrize(("more", "wide"), [(60, 1), (400, 2), (9999, 0)])
def test_the_least_dab_is_that_of_all(more, wide):
    rng = np.random.default_rng(0)
    start, weights = rng.integers(0, 17, (8, 8)), rng.integers(1, 10, (8, 8))
    level = more + (weights * start).sum()
    dabs = dabs_on(start)
    flips = [(weights * ink).sum() > level for *_, ink in dabs]
    search = in_page(
        """(() => {
          const answer = (ink) =>
            [level, ink.reduce((sum, it, at) => sum + it * weights[at], 0)];
          const search = leastDab(start, 0, answer);
          while (!search.isDone()) search.step();
          return search;
        })()""",
        start=start,
        weights=weights,
        level=int(level),
    )
    assert search["all"] == len(dabs)
    found = search["found"]
    if not any(flips):
        assert found is None
        assert search["tried"] == len(dabs)
        return
    assert (found["digit"], found["wide"]) == (1, wide)
    assert found["added"] == min(
        dab[0] for dab, flip in zip(dabs, flips, strict=True) if flip
    )
    place = found["added"], found["wide"], found["row"], found["column"]
    at = [dab[:4] for dab in dabs].index(place)
    np.testing.assert_array_equal(numbers(found["ink"], 8, 8), dabs[at][-1])
    assert flips[at]


def test_the_samples_show_every_digit_and_what_it_misreads():
    found = kept_parts()
    said = found["answers"].argmax(-1)
    labels = np.array(found["labels"])
    assert labels[said == labels].tolist() == list(range(10))
    assert 1 <= (said != labels).sum() <= 4
    images = torch.tensor(found["samples"] / 16).float()[:, None]
    with torch.no_grad():
        answers = kept()((images - DATA.mean) / DATA.std).softmax(dim=-1)
    np.testing.assert_allclose(found["answers"], answers, atol=1e-5)


def test_a_network_that_the_page_cannot_run_is_refused():
    for changes in ({"norm_first": False}, {"num_registers": 1}):
        model = VisionTransformer(ViTConfig.digits(**changes))
        with refuses(ValueError, f"got others in {next(iter(changes))}"):
            followed_digits(rounded_to_half(model))
    with refuses(ValueError, "model must hold half precision"):
        followed_digits(VisionTransformer(ViTConfig.digits()))
