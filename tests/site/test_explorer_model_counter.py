"""ModelCounter in the browser: its numbers, its controls, its curve."""

import math
import re

import numpy as np
import pytest
from mounted import (
    EXPLORER,
    accessibility_faults,
    each_look,
    expect_published,
    explorer_of,
    overflow,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu.config import ViTConfig
from vitedu.counting import parameter_counts
from vitedu.flops import (
    crossover_length,
    quadratic_share,
    training_flops,
    vit_flops,
)
from vitedu.memory import (
    activation_bytes,
    attention_map_bytes,
    training_state_bytes,
)
from vitedu.widgets import ModelCounter

PRESETS = {
    "Ti": ViTConfig.ti16,
    "S": ViTConfig.s16,
    "B": ViTConfig.b16,
    "L": ViTConfig.l16,
    "H": ViTConfig.h14,
}
NO_PAPER = (
    "To compare with table 1 of the ViT paper, choose ViT-B, L or H and "
    "224 px."
)
# Width, blocks, heads, ratio; patch, image, classes; batch, fused.
ODD = [
    (1, 1, 1, 1, 1, 1, 0, 1, False),
    (1, 1, 1, 1, 1, 1, 1, 2, True),
    (35, 3, 5, 2, 7, 91, 11, 1, False),
    (35, 3, 5, 2, 7, 91, 11, 13, False),
    (35, 3, 5, 2, 7, 91, 11, 13, True),
    (64, 4, 16, 2, 2, 8, 10, 64, False),
    (41, 2, 1, 3, 5, 35, 3, 1, False),
    (41, 2, 1, 3, 5, 35, 3, 17, False),
    (41, 2, 1, 3, 5, 35, 0, 17, True),
    (77, 7, 11, 1, 13, 13, 2, 3, False),
    (768, 8, 8, 1, 16, 224, 10, 4, False),
    (448, 29, 7, 8, 32, 1536, 21_843, 512, True),
    (1280, 32, 20, 4, 14, 1344, 1000, 64, False),
    (16_384, 2, 64, 4, 4, 1024, 100_000, 1, False),
]
NAMES = (
    "d_model",
    "num_layers",
    "num_heads",
    "mlp_ratio",
    "patch_size",
    "image_size",
    "num_classes",
    "batch_size",
    "fused",
)


def config_of(shown: dict) -> ViTConfig:
    return ViTConfig(
        d_model=shown["dModel"],
        num_layers=shown["numLayers"],
        num_heads=shown["numHeads"],
        d_ff=shown["mlpRatio"] * shown["dModel"],
        patch_size=shown["patchSize"],
        image_size=shown["imageSize"],
        num_classes=shown["numClasses"],
    )


def expect_counts(page: Page, config: ViTConfig | None = None) -> dict:
    """Compare all that the page counts with the library, to the last digit."""
    shown = published(explorer_of(page))
    config = config or config_of(shown)
    batch, fused = shown["batchSize"], shown["fused"]

    counts = parameter_counts(config)
    names = ("patch_embed", "cls_token", "pos_embed", "feed_forward", "norms")
    patch, token, positions, qkv, proj, feed, norms, head = shown["parameters"]
    parts = (patch, token, positions, feed, norms)
    assert dict(zip(names, parts, strict=True)) == {
        name: counts[name] for name in names
    }
    assert qkv + proj == counts["attention"]
    assert qkv == 3 * proj
    assert head == counts["head"]
    assert sum(shown["parameters"]) == sum(counts.values())

    forward = vit_flops(config)
    forward.pop("pre_logits")
    assert shown["flops"] == list(forward.values())
    step = training_flops(vit_flops(config, batch_size=batch))
    step.pop("pre_logits")
    assert dict(zip(forward, shown["training"], strict=True)) == step
    assert shown["share"] == quadratic_share(forward)
    assert shown["crossover"] == crossover_length(config)

    kept = activation_bytes(config, batch_size=batch, fused=fused)
    assert kept.pop("dropout") == 0
    memory = training_state_bytes(config) | {
        name: kept[name]
        for name in (
            "images",
            "attention",
            "attention_maps",
            "feed_forward",
            "norms",
            "head",
        )
    }
    assert shown["memory"] == list(memory.values())
    assert shown["kept"] == sum(kept.values())
    assert shown["mapBytes"] == attention_map_bytes(
        config.num_heads, shown["tokens"], batch_size=batch
    )
    return shown


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).select_option(label=option)


def total(page: Page, kind: str) -> str:
    return page.locator(f".{kind} strong").text_content()


def widths(bar: Locator) -> list[float]:
    return bar.locator("span").evaluate_all(
        "spans => spans.map((span) => span.getBoundingClientRect().width)"
    )


@pytest.mark.parametrize("sizes", ODD)
def test_odd_models_are_counted_as_the_library_counts(show, sizes):
    page = show(ModelCounter(**dict(zip(NAMES, sizes, strict=True))))
    shown = expect_counts(page)
    assert shown["model"] == "own"
    values = shown["parameters"] + shown["training"] + shown["memory"]
    assert all(isinstance(value, int) for value in values)
    assert sum(values) < 2**53


def test_the_family_is_that_of_the_config(show):
    page = show(ModelCounter())
    for name, preset in PRESETS.items():
        choose(page, "Model", f"ViT-{name}")
        expect_published(explorer_of(page), model=name)
        for patch in (4, 8, 14, 16, 32):
            choose(page, "Patch", f"{patch} px")
            expect_published(explorer_of(page), patch_size=patch)
            expect_counts(page, preset(patch_size=patch))


@pytest.mark.parametrize(
    ("name", "patch", "millions", "by_classes"),
    [
        ("B", 16, 86, (85_798_656, 85_802_501, 86_567_656, 102_595_923)),
        ("B", 32, 86, (87_455_232, 87_459_077, 88_224_232, 104_252_499)),
        ("L", 16, 307, (303_301_632, 303_306_757, 304_326_632, 325_690_707)),
        ("L", 32, 307, (305_510_400, 305_515_525, 306_535_400, 327_899_475)),
        ("H", 14, 632, (630_764_800, 630_771_205, 632_045_800, 658_745_683)),
    ],
)
def test_published_totals(show, name, patch, millions, by_classes):
    page = show(ModelCounter(num_classes=5))
    choose(page, "Model", f"ViT-{name}")
    choose(page, "Patch", f"{patch} px")
    options = ("0 (no head)", "5", "1,000", "21,843")
    for option, expected in zip(options, by_classes, strict=True):
        choose(page, "Classes", option)
        expect(page.locator(".parameters strong")).to_have_text(
            f"{expected:,}"
        )
        assert sum(published(explorer_of(page))["parameters"]) == expected
    note = page.locator(".parameters .vitedu-panel-note")
    expect(note).to_have_text(
        f"Table 1 of the ViT paper says {millions} M for ViT-{name}; what it "
        "counts, it does not say."
    )
    # Larger images have more positions, so the paper's number is another's.
    page.get_by_label("Image", exact=True).press("ArrowRight")
    expect(note).to_have_text(NO_PAPER)


@pytest.mark.parametrize(
    ("name", "patch", "tokens", "flops", "text", "share"),
    [
        ("B", 32, 50, 8_818_372_608, "8.818 GFLOP", "1.05"),
        ("B", 16, 197, 35_127_656_448, "35.13 GFLOP", "4.07"),
        ("L", 32, 50, 30_755_078_144, "30.76 GFLOP", "0.799"),
        ("L", 16, 197, 123_109_425_152, "123.1 GFLOP", "3.10"),
        ("H", 14, 257, 334_590_218_240, "334.6 GFLOP", "3.23"),
    ],
)
def test_published_operations(show, name, patch, tokens, flops, text, share):
    page = show(ModelCounter())
    choose(page, "Model", f"ViT-{name}")
    choose(page, "Patch", f"{patch} px")
    expect_published(explorer_of(page), model=name, patch_size=patch)
    shown = published(explorer_of(page))
    assert shown["tokens"] == tokens
    assert sum(shown["flops"]) == flops
    assert total(page, "flops") == text
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"{tokens} tokens."
    )
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"{text} forward for an image, {share} % of it in attention"
    )


@pytest.mark.parametrize(
    ("image", "patch", "share"),
    [(384, 16, "11.1"), (504, 14, "21.9"), (224, 8, "14.5")],
)
def test_the_share_at_other_resolutions(show, image, patch, share):
    page = show(ModelCounter(image_size=image, patch_size=patch))
    label = page.locator("svg.share").get_attribute("aria-label")
    assert f"products are {share} percent of the FLOPs" in label


def test_what_is_written_is_what_was_counted(show):
    page = show(ModelCounter(d_model=35, num_heads=5, num_layers=3))
    shown = published(explorer_of(page))["parameters"]
    counts, shares = (
        page.locator(f".parameters td:nth-child({at})").all_text_contents()
        for at in (2, 3)
    )
    assert counts == [f"{count:,}" for count in shown]
    percents = [100 * count / sum(shown) for count in shown]
    assert shares == [
        f"{percent:.1f} %" if percent > 0.05 else "< 0.1 %"
        for percent in percents
    ]
    assert sorted(percents)[0] < 0.05 < sorted(percents)[1]
    page = show(ModelCounter(batch_size=7, fused=True))
    shown = published(explorer_of(page))
    gib = sum(shown["memory"]) / 1024**3
    assert total(page, "memory") == f"{gib:.3f} GiB"
    cells = page.locator(".memory td:nth-child(2)").all_text_contents()
    assert cells[0] == f"{shown['memory'][0] / 1024**2:.1f} MiB"
    assert cells[5] == "0 B"
    expect(page.locator(".flops .vitedu-panel-note")).to_contain_text(
        f"on the batch: {sum(shown['training']) / 1e9:.1f} GFLOP"
    )
    kept, maps = shown["kept"] / 1024**2, shown["mapBytes"] / 1024**2
    expect(page.locator(".memory .vitedu-panel-note")).to_contain_text(
        f"{kept:.1f} MiB. The attention maps of one block would take "
        f"{maps:.2f} MiB"
    )


@pytest.mark.parametrize("kind", ["parameters", "flops", "memory"])
def test_the_parts_of_a_bar_are_as_long_as_their_counts(show, kind):
    page = show(ModelCounter(image_size=768, batch_size=8))
    counts = published(explorer_of(page))[kind]
    lengths = widths(page.locator(f".{kind} .bar"))
    assert len(lengths) == len(counts)
    for length, count in zip(lengths, counts, strict=True):
        share = count / sum(counts)
        assert length / sum(lengths) == pytest.approx(share, abs=2e-3)
    labels = page.locator(f".{kind} th").all_text_contents()
    assert len(set(labels)) == len(counts)


def axis_of(page: Page) -> tuple[float, float, float, float]:
    """Return the x of 1 and of 1,000 tokens, the y of 0 and of 100 %."""
    places = {
        name: page.locator("svg.share text").get_by_text(name, exact=True)
        for name in ("1", "1k", "0 %", "100 %")
    }
    x = [float(places[name].get_attribute("x")) for name in ("1", "1k")]
    # The words stand 4 below their line.
    y = [
        float(places[name].get_attribute("y")) - 4 for name in ("0 %", "100 %")
    ]
    return *x, *y


@pytest.mark.parametrize("image", [16, 224, 1040, 3040])
def test_the_point_lies_on_the_curve_and_the_line_at_the_crossover(
    show, image
):
    page = show(ModelCounter(image_size=image))
    shown = published(explorer_of(page))
    one, thousand, floor, top = axis_of(page)
    point = page.locator("svg.share .point")
    across, down = (float(point.get_attribute(name)) for name in ("cx", "cy"))

    def x_of(tokens):
        return one + (thousand - one) * math.log10(tokens) / 3

    assert across == pytest.approx(x_of(shown["tokens"]), abs=0.01)
    y = floor + (top - floor) * shown["share"]
    assert down == pytest.approx(y, abs=0.01)
    line = page.locator("svg.share .crossover").get_attribute("d")
    at = float(re.match(r"M([\d.]+)", line).group(1))
    assert at == pytest.approx(x_of(6 * 768), abs=0.01)
    curve = page.locator("svg.share .curve").get_attribute("d")
    numbers = [float(number) for number in re.findall(r"[\d.]+", curve)]
    curve = numbers[::2], numbers[1::2]
    assert np.interp(across, *curve) == pytest.approx(down, abs=0.1)
    # At the crossover it is half of a block's work, and nearly of the model's.
    middle = (floor + top) / 2
    assert np.interp(at, *curve) == pytest.approx(middle, abs=1)


def test_the_sides_of_the_image_stand_where_their_tokens_are(show):
    page = show(ModelCounter(patch_size=32))
    one, thousand, *_ = axis_of(page)
    for side in (64, 256, 1024):
        tick = page.locator("svg.share text").get_by_text(
            f"{side:,}", exact=True
        )
        tokens = (side / 32) ** 2 + 1
        expected = one + (thousand - one) * math.log10(tokens) / 3
        assert float(tick.get_attribute("x")) == pytest.approx(
            expected, abs=0.01
        )


def test_the_image_grows_by_whole_patches(show):
    page = show(ModelCounter(patch_size=14))
    slider = page.get_by_label("Image", exact=True)
    for key, side in [
        ("ArrowRight", 238),
        ("ArrowLeft", 224),
        ("PageUp", 448),
        ("PageDown", 224),
        ("Home", 14),
        ("End", 96 * 14),
    ]:
        slider.press(key)
        expect_published(explorer_of(page), image_size=side, fault="")
        expect(slider).to_have_attribute("aria-valuetext", f"{side:,} px")
        expect_counts(page)


def test_the_width_grows_by_whole_heads(show):
    page = show(ModelCounter())
    slider = page.get_by_label("Width h", exact=True)
    for key, width in [
        ("ArrowRight", 864),
        ("ArrowLeft", 768),
        ("PageUp", 1536),
        ("Home", 96),
        ("End", 3072),
    ]:
        slider.press(key)
        expect_published(explorer_of(page), d_model=width, fault="")
        expect_counts(page)
    assert page.get_by_label("Model", exact=True).input_value() == "own"
    expect(page.locator(".vitedu-reading")).to_contain_text("Your model with")
    expect(page.locator(".parameters .vitedu-panel-note")).to_have_text(
        NO_PAPER
    )


def test_the_other_sliders_count_by_one(show):
    page = show(ModelCounter())
    for label, trait, values in [
        ("Blocks", "num_layers", (13, 1, 64)),
        ("MLP width", "mlp_ratio", (5, 1, 8)),
        ("Batch", "batch_size", (2, 1, 4096)),
    ]:
        slider = page.get_by_label(label, exact=True)
        keys = ("ArrowRight", "Home", "End")
        for key, value in zip(keys, values, strict=True):
            slider.press(key)
            expect_published(explorer_of(page), **{trait: value})
            expect_counts(page)
    expect(page.get_by_label("MLP width", exact=True)).to_have_attribute(
        "aria-valuetext", "8h"
    )
    note = page.locator(".curve-panel .vitedu-panel-note")
    expect(note).to_contain_text("10h = 7,680 tokens")


def test_the_image_can_be_dragged(show):
    page = show(ModelCounter())
    box = page.get_by_label("Image", exact=True).bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    tokens = {197}
    for share in (0.6, 0.7, 0.8, 0.9):
        page.mouse.move(box["x"] + share * box["width"], y, steps=3)
        expect(explorer_of(page)).not_to_have_attribute(
            "data-tokens", str(max(tokens))
        )
        tokens.add(expect_counts(page)["tokens"])
    page.mouse.up()
    assert len(tokens) == 5


def test_fused_attention_keeps_no_maps(show):
    page = show(ModelCounter(batch_size=8))
    before = expect_counts(page)
    choose(page, "Attention", "fused")
    expect_published(explorer_of(page), fused="true")
    after = expect_counts(page)
    assert before["memory"][5] > 0
    assert after["memory"][5] == 0
    assert before["flops"] == after["flops"]
    expect(page.locator(".memory")).to_contain_text("would take")
    choose(page, "Attention", "written out")
    expect_published(explorer_of(page), fused="false")
    assert expect_counts(page)["memory"] == before["memory"]


def test_sizes_that_do_not_fit_are_told_in_words(show):
    page = show(ModelCounter(image_size=240))
    reading = page.locator(".vitedu-reading")
    panels = page.locator(".panels")
    spoken = page.locator("[aria-live=polite]")
    heads = "A width of 768 cannot be shared out evenly to 5 heads; 770 can."
    patches = (
        "Patches of 14 pixels do not fill an image side of 240 pixels; they "
        "fill 252."
    )
    choose(page, "Heads", "5")
    expect(reading).to_have_text(heads)
    expect(panels).to_be_hidden()
    expect_published(explorer_of(page), fault='["unevenHeads"]')
    choose(page, "Patch", "14 px")
    expect(reading).to_have_text(f"{heads} {patches}")
    expect(spoken).to_have_text(f"{heads} {patches}")
    choose(page, "Heads", "16")
    expect(reading).to_have_text(patches)
    expect(panels).to_be_hidden()
    slider = page.get_by_label("Image", exact=True)
    expect(slider).to_have_attribute("aria-valuetext", "240 px")
    slider.press("ArrowRight")
    expect_published(explorer_of(page), image_size=252, fault="")
    expect(panels).to_be_visible()
    shown = expect_counts(page)
    assert (shown["numHeads"], shown["patchSize"]) == (16, 14)


def test_another_model_is_no_detour_over_sizes_that_do_not_fit(show):
    page = show(ModelCounter())
    faults = page.evaluate_handle(
        """() => {
            const faults = [];
            const root = document.querySelector(".vitedu-explorer");
            new MutationObserver(() => faults.push(root.dataset.fault))
                .observe(root, { attributes: true });
            return faults;
        }"""
    )
    for name in ("L", "Ti", "H", "S"):
        choose(page, "Model", f"ViT-{name}")
        expect_published(explorer_of(page), model=name)
    assert set(faults.json_value()) == {""}


def test_one_can_choose_a_model_but_not_ones_own(show):
    page = show(ModelCounter())
    choice = page.get_by_label("Model", exact=True)
    expect(choice.locator("option[value=own]")).to_be_disabled()
    for label in ("Blocks", "MLP width"):
        page.get_by_label(label, exact=True).press("ArrowRight")
        expect(choice).to_have_value("own")
        page.get_by_label(label, exact=True).press("ArrowLeft")
        expect(choice).to_have_value("B")


def test_a_number_from_python_joins_the_choices(show):
    page = show(
        ModelCounter(patch_size=7, d_model=154, num_heads=14, num_classes=5)
    )
    for label, values in [
        ("Patch", [4, 7, 8, 14, 16, 32]),
        ("Heads", [1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32]),
        ("Classes", [0, 5, 10, 100, 1000, 21_843]),
    ]:
        options = page.get_by_label(label, exact=True).locator("option")
        found = options.evaluate_all("all => all.map((o) => Number(o.value))")
        assert found == values
    assert page.get_by_label("Heads", exact=True).input_value() == "14"


def test_what_is_said_is_what_is_written(show):
    page = show(ModelCounter())
    choose(page, "Model", "ViT-H")
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text("ViT-H with patches of 16: 14 ")
    expect(page.locator("[aria-live=polite]")).to_have_text(
        written.text_content()
    )


def test_two_views_of_a_model_move_together(show):
    page = show(ModelCounter(), views=2)
    first, second = page.locator(EXPLORER).all()
    first.get_by_label("Model", exact=True).select_option("L")
    first.get_by_label("Image", exact=True).press("ArrowRight")
    expect_published(second, model="L", image_size=240)
    expect(second.get_by_label("Model", exact=True)).to_have_value("L")
    expect(second.locator(".parameters strong")).to_have_text(
        first.locator(".parameters strong").text_content()
    )


@each_look
def test_accessible_and_inside_the_window(show, theme, width):
    page = show(ModelCounter(), theme=theme, width=width)
    assert accessibility_faults(page) == []
    assert overflow(page) == 0
    for label in ("Width h", "Blocks", "Batch", "Image"):
        page.get_by_label(label, exact=True).press("End")
    choose(page, "Classes", "21,843")
    expect_published(explorer_of(page), image_size=1536, num_classes=21_843)
    assert accessibility_faults(page) == []
    assert overflow(page) == 0
    # Nothing is cut off inside the panels either.
    assert page.locator("table").evaluate_all(
        "all => all.every((t) => t.offsetWidth <= t.parentNode.clientWidth)"
    )
    choose(page, "Heads", "5")
    expect(page.locator(".panels")).to_be_hidden()
    assert accessibility_faults(page) == []
    assert overflow(page) == 0


@pytest.mark.parametrize("width", [700, 360])
def test_names_counts_and_shares_stand_apart(show, width):
    page = show(ModelCounter(num_classes=21_843, batch_size=4096), width=width)
    for label in ("Width h", "Blocks", "Image"):
        page.get_by_label(label, exact=True).press("End")
    expect_published(explorer_of(page), image_size=1536, num_layers=64)
    gaps = page.locator("tr").evaluate_all(
        """rows => rows.flatMap(({ cells }) => {
            const words = document.createRange();
            const [name, count, share] = [...cells].map((cell) => {
                words.selectNodeContents(cell);
                return words.getBoundingClientRect();
            });
            return [count.left - name.right, share.left - count.right];
        })"""
    )
    assert min(gaps) >= 7
    assert page.locator("table").evaluate_all(
        "all => all.every((t) => t.offsetWidth <= t.parentNode.clientWidth)"
    )
    totals = page.locator(".vitedu-panel-title strong")
    for total_shown in totals.all():
        assert total_shown.bounding_box()["height"] < 30


@pytest.mark.parametrize("width", [830, 390])
def test_the_room_it_takes_does_not_change(show, width):
    page = show(ModelCounter(), width=width)
    before = explorer_of(page).bounding_box()["height"]

    def expect_height():
        assert explorer_of(page).bounding_box()["height"] == before

    for label in ("Width h", "Blocks", "Batch", "Image"):
        page.get_by_label(label, exact=True).press("End")
    expect_published(explorer_of(page), image_size=1536, model="own")
    expect_height()
    choose(page, "Attention", "fused")
    expect_published(explorer_of(page), fused="true")
    expect_height()
    choose(page, "Heads", "5")
    choose(page, "Patch", "14 px")
    expect(page.locator(".vitedu-reading")).to_contain_text("they fill 1540")
    expect_height()


def test_labels_of_the_curve_stay_inside_and_apart(show):
    page = show(ModelCounter(image_size=16), width=390)
    for key, patch in (("Home", 16), ("End", 16), ("End", 4)):
        page.get_by_label("Image", exact=True).press(key)
        choose(page, "Patch", f"{patch} px")
        page.wait_for_timeout(50)
        boxes = page.locator("svg.share text").evaluate_all(
            """texts => texts.map((text) => {
                const box = text.getBoundingClientRect();
                return [box.left, box.right, box.top, box.bottom];
            })"""
        )
        frame = page.locator("svg.share").bounding_box()
        for left, right, _, _ in boxes:
            assert left >= frame["x"] - 1
            assert right <= frame["x"] + frame["width"] + 1
        for i, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[i + 1 :]:
                apart = (
                    right <= other[0]
                    or other[1] <= left
                    or bottom <= other[2] + 4
                    or other[3] <= top + 4
                )
                assert apart, (boxes[i], other)


def test_it_lives_in_its_chapter(open_page):
    page = open_page("chapters/15-counting.html")
    start_explorers(page)
    explorer = page.locator(".vitedu-model-counter")
    expect(explorer).to_have_count(1)
    choose(page, "Model", "ViT-L")
    expect_published(explorer, model="L")
    counts = parameter_counts(ViTConfig.l16())
    assert sum(published(explorer)["parameters"]) == sum(counts.values())
