"""The numbers, the curve and the words of the explorer ModelCounter."""

import math
import re

import numpy as np
import pytest
from javascript import run

from vitedu.analysis.counting import parameter_counts
from vitedu.analysis.flops import (
    crossover_length,
    quadratic_share,
    training_flops,
    vit_flops,
)
from vitedu.analysis.memory import (
    activation_bytes,
    attention_map_bytes,
    training_state_bytes,
)
from vitedu.config import ViTConfig

# Width, blocks, heads, ratio; patch, image, classes; batch, fused.
MODELS = [
    (1, 1, 1, 1, 1, 1, 0, 1, False),
    (1, 1, 1, 1, 1, 1, 1, 2, True),
    (35, 3, 5, 2, 7, 91, 11, 1, False),
    (35, 3, 5, 2, 7, 91, 11, 13, False),
    (35, 3, 5, 2, 7, 91, 11, 13, True),
    (41, 2, 1, 3, 5, 35, 3, 17, False),
    (41, 2, 1, 3, 5, 35, 0, 17, True),
    (192, 12, 3, 4, 4, 224, 1000, 1, False),
    (384, 12, 6, 4, 8, 224, 1000, 1, False),
    (768, 12, 12, 4, 32, 224, 1000, 1, False),
    (1024, 24, 16, 4, 16, 224, 1000, 1, False),
    (1280, 32, 16, 4, 14, 224, 1000, 1, False),
    (448, 29, 7, 8, 32, 1536, 21_843, 512, True),
    (16_384, 2, 64, 4, 4, 1024, 100_000, 1, False),
]
SIZES = (
    *("d_model", "num_layers", "num_heads", "mlp_ratio", "patch_size"),
    *("image_size", "num_classes", "batch_size", "fused"),
)
BASE = 768, 12, 12, 4, 16, 224, 1000, 1, False
WIDTH = 400


def drawn(*models: tuple) -> list[dict]:
    """Return what is counted, said and drawn of models, compared with B/16."""
    pinned = "compute(base).sizes"
    return run(
        "model_counter model_counter_charts model_counter_maths",
        f"""cases.map((sizes) => {{
          const found = compute({{ ...sizes, pinned: {pinned} }});
          const texts = shareCurve(found, width);
          return {{ ...found.counted, faults: found.faults, said: say(found),
            published: found.published,
            curve: texts.map((it) => it.attributes),
            tokensAt: texts.filter((it) => it.attributes.class === "point")
              .map((it) => tokensAt(it.attributes.cx, width, found)) }};
        }})""",
        base=dict(zip(SIZES, BASE, strict=True)),
        cases=[dict(zip(SIZES, model, strict=True)) for model in models],
        width=WIDTH,
    )


def test_parameters_operations_and_bytes_to_the_last_digit():
    cases = [dict(zip(SIZES, model, strict=True)) for model in MODELS]
    for sizes, shown in zip(cases, drawn(*MODELS), strict=True):
        batch, fused = sizes["batch_size"], sizes["fused"]
        config = ViTConfig(
            d_model=sizes["d_model"],
            num_layers=sizes["num_layers"],
            num_heads=sizes["num_heads"],
            d_ff=sizes["mlp_ratio"] * sizes["d_model"],
            patch_size=sizes["patch_size"],
            image_size=sizes["image_size"],
            num_classes=sizes["num_classes"],
        )
        parts = dict(shown["parameters"])
        qkv, proj = parts.pop("qkv"), parts.pop("proj")
        assert qkv == 3 * proj
        expected = parameter_counts(config)
        parts["attention"] = qkv + proj
        assert parts == {name: expected[name] for name in parts}
        assert sum(parts.values()) == sum(expected.values())
        forward = vit_flops(config)
        step = training_flops(vit_flops(config, batch_size=batch))
        assert forward.pop("pre_logits") == step.pop("pre_logits") == 0
        assert shown["flops"] == forward
        assert shown["training"] == step
        assert shown["share"] == quadratic_share(forward)
        assert shown["crossover"] == crossover_length(config)
        kept = activation_bytes(config, batch_size=batch, fused=fused)
        assert shown["kept"] == sum(kept.values())
        assert kept.pop("dropout") == 0
        memory = training_state_bytes(config) | kept
        assert shown["memory"] == {
            name: memory[name] for name in shown["memory"]
        }
        assert sum(shown["memory"].values()) == sum(memory.values())
        assert shown["mapBytes"] == attention_map_bytes(
            config.num_heads, shown["tokens"], batch_size=batch
        )
        assert shown["faults"] == []


def with_(**changes) -> tuple:
    return tuple((dict(zip(SIZES, BASE, strict=True)) | changes).values())


def test_what_is_said_of_what_was_counted():
    large = with_(d_model=1024, num_layers=24, num_heads=16, patch_size=32)
    cases = large, with_(mlp_ratio=5), with_(batch_size=7, fused=True)
    paper, own, kept = drawn(*cases)
    assert paper["said"]["bars"]["parameters"] == {
        "total": "306,535,400",
        "compared": "3.54 \N{MULTIPLICATION SIGN} ViT-B/16",
        "note": "Table 1 of the ViT paper gives 307 M for ViT-L, but does "
        "not say what it counts.",
    }
    assert own["said"]["bars"]["parameters"]["note"] == (
        "To compare with table 1 of the ViT paper, choose ViT-B, L or H and "
        "224 px."
    )
    assert own["said"]["reading"].startswith("Your model with patches of 16: ")
    bars = kept["said"]["bars"]
    gib = sum(kept["memory"].values()) / 1024**3
    assert bars["memory"]["total"] == f"{gib:.3f} GiB"
    mib, maps = kept["kept"] / 1024**2, kept["mapBytes"] / 1024**2
    assert bars["memory"]["note"].endswith(
        f" {mib:.1f} MiB. The attention maps of one block would take "
        f"{maps:.2f} MiB."
    )
    step = sum(kept["training"].values()) / 1e9
    assert bars["flops"]["note"].endswith(f"batch: {step:.1f} GFLOP.")


def test_sizes_that_do_not_fit_are_told_and_not_counted():
    [found] = drawn(with_(num_heads=5, patch_size=14, image_size=240))
    assert found["said"]["reading"] == (
        "A width of 768 cannot be divided evenly among 5 heads; 770 can. "
        "Patches of 14 pixels do not fill an image side of 240 pixels; they "
        "fill 252."
    )
    assert found["published"]["fault"] == ["unevenHeads", "unevenPatches"]
    assert "parameters" not in found["published"]


def test_the_point_lies_on_the_curve_and_the_line_at_the_crossover():
    cases = [with_(image_size=size) for size in (16, 224, 1040, 3040)]
    for found in drawn(*cases):
        marks = found["curve"]
        texts = {mark["text"]: mark for mark in marks if "text" in mark}
        one, thousand = texts["1"]["x"], texts["1k"]["x"]
        # The words are 4 below their line.
        floor, top = (texts[name]["y"] - 4 for name in ("0%", "100%"))

        at, line = (
            one + (thousand - one) * math.log10(tokens) / 3
            for tokens in (found["tokens"], 6 * 768)
        )
        [point] = [mark for mark in marks if mark.get("class") == "point"]
        assert point["cx"] == pytest.approx(at)
        y = floor + (top - floor) * found["share"]
        assert point["cy"] == pytest.approx(y)
        assert found["tokensAt"] == [pytest.approx(found["tokens"])]
        paths = {
            mark["class"]: np.float64(re.findall(r"[\d.]+", mark["d"]))
            for mark in marks
            if "d" in mark
        }
        assert paths["crossover"][0] == pytest.approx(line)
        curve = paths["curve"][::2], paths["curve"][1::2]
        assert np.interp(point["cx"], *curve) == pytest.approx(y, abs=0.1)
        # There it is half of a block's work, and nearly of the model's.
        middle = (floor + top) / 2
        assert np.interp(line, *curve) == pytest.approx(middle, abs=1)
