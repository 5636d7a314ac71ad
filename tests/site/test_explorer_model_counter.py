"""ModelCounter in the browser: its tables, its sliders, its curve."""

import math
import re

import numpy as np
import pytest
from mounted import (
    choose_setting,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
)
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import ModelCounter

NO_PAPER = (
    "To compare with table 1 of the ViT paper, choose ViT-B, L or H and "
    "224 px."
)


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).select_option(label=option)


def total(page: Page, kind: str) -> str:
    return page.locator(f".{kind} strong").text_content()


def widths(bar: Locator) -> list[float]:
    return bar.locator("span").evaluate_all(
        "spans => spans.map((span) => span.getBoundingClientRect().width)"
    )


@pytest.mark.parametrize(
    ("name", "patch", "millions", "total"),
    [
        ("B", 16, 86, "86,567,656"),
        ("B", 32, 86, "88,224,232"),
        ("L", 16, 307, "304,326,632"),
        ("L", 32, 307, "306,535,400"),
        ("H", 14, 632, "632,045,800"),
    ],
)
def test_published_totals(show, name, patch, millions, total):
    page = show(ModelCounter())
    choose(page, "Model", f"ViT-{name}")
    choose(page, "Patch", f"{patch} px")
    expect(page.locator(".parameters strong")).to_have_text(total)
    note = page.locator(".parameters .vitedu-panel-note")
    expect(note).to_have_text(
        f"Table 1 of the ViT paper says {millions} M for ViT-{name}; what it "
        "counts, it does not say."
    )
    # Larger images have more positions, so the paper's number is another's.
    page.get_by_label("Image", exact=True).press("ArrowRight")
    expect(note).to_have_text(NO_PAPER)


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


def test_the_image_grows_by_whole_patches_the_width_by_whole_heads(show):
    page = show(ModelCounter(patch_size=14))
    for label, trait, unit, presses in [
        ("Image", "image_size", " px", [238, 224, 448, 14, 96 * 14]),
        ("Width h", "d_model", "", [864, 768, 1536, 96, 3072]),
    ]:
        slider = page.get_by_label(label, exact=True)
        keys = ("ArrowRight", "ArrowLeft", "PageUp", "Home", "End")
        for key, size in zip(keys, presses, strict=True):
            slider.press(key)
            expect_published(explorer_of(page), fault="", **{trait: size})
            said = slider.get_attribute("aria-valuetext")
            assert said.startswith(f"{size:,}{unit}")
    assert page.get_by_label("Model", exact=True).input_value() == "own"
    expect(page.locator(".vitedu-reading")).to_contain_text("Your model with")
    expect(page.locator(".parameters .vitedu-panel-note")).to_have_text(
        NO_PAPER
    )


def test_sizes_that_do_not_fit_are_told_in_words(show):
    counter = ModelCounter(image_size=240)
    # As code that links explorers may do, one size after the other.
    counter.num_heads, counter.patch_size = 5, 14
    page = show(counter)
    panels = page.locator(".panels")
    heads = "A width of 768 cannot be shared out evenly to 5 heads; 770 can."
    patches = (
        "Patches of 14 pixels do not fill an image side of 240 pixels; they "
        "fill 252."
    )
    expect(page.locator(".vitedu-reading")).to_have_text(f"{heads} {patches}")
    expect(panels).to_be_hidden()
    expect_published(
        explorer_of(page), fault='["unevenHeads","unevenPatches"]'
    )
    page.get_by_label("Image", exact=True).press("ArrowRight")
    expect_published(explorer_of(page), image_size=252)
    expect(panels).to_be_hidden()
    page.get_by_label("Width h", exact=True).press("ArrowRight")
    expect_published(explorer_of(page), fault="")
    expect(panels).to_be_visible()


def test_a_choice_takes_the_nearest_size_that_fits(show):
    page = show(ModelCounter(image_size=1024))
    for label, option, trait, size in [
        ("Heads", "5", "d_model", 760),
        ("Heads", "16", "d_model", 768),
        ("Patch", "14 px", "image_size", 1022),
        ("Model", "ViT-H", "patch_size", 14),
        ("Model", "ViT-B", "patch_size", 16),
    ]:
        choose(page, label, option)
        expect_published(explorer_of(page), fault="", **{trait: size})
    expect(page.locator(".panels")).to_be_visible()


def test_a_button_sets_a_model_and_says_which_holds(show):
    page = show(ModelCounter())
    for name, parameters, flops in [
        ("L/32", "306,535,400", "30.76 GFLOP"),
        ("B/8", "86,576,872", "156.3 GFLOP"),
        ("B/16", "86,567,656", "35.13 GFLOP"),
    ]:
        choose_setting(page, name)
        expect(page.locator(".parameters strong")).to_have_text(parameters)
        expect(page.locator(".flops strong")).to_have_text(flops)


def test_a_model_is_compared_with_the_one_that_was_kept(show):
    page = show(ModelCounter())
    ratios = page.locator(".vitedu-panel-title span")
    expect(ratios).to_have_text(["", "", ""])
    page.get_by_role("button", name="Compare with this").click()
    page.get_by_role("button", name="L/32").click()
    expect(ratios).to_have_text(
        [
            re.compile(rf"{times} . ViT-B/16")
            for times in ("3.54", "0.876", "3.26")
        ]
    )
    page.get_by_role("button", name="Stop comparing").click()
    expect(ratios).to_have_text(["", "", ""])


def test_the_dot_on_the_curve_can_be_dragged(show):
    page = show(ModelCounter())
    box = page.locator("svg.share").bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 100, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 50, middle, steps=4)
    expect_published(explorer_of(page), image_size=96 * 16)
    page.mouse.move(box["x"] - 50, middle, steps=4)
    expect_published(explorer_of(page), image_size=16)
    page.mouse.up()


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


def test_the_largest_is_accessible_and_inside(show):
    page = show(ModelCounter(batch_size=4096), width=360)
    for label in ("Width h", "Blocks", "Image"):
        page.get_by_label(label, exact=True).press("End")
    choose(page, "Classes", "21,843")
    expect_published(explorer_of(page), image_size=1536, num_classes=21_843)
    expect_accessible_and_inside(page)
    # Nothing is cut off inside the panels, and words and numbers are apart.
    assert page.locator("table").evaluate_all(
        "all => all.every((t) => t.offsetWidth <= t.parentNode.clientWidth)"
    )
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
    page.get_by_role("button", name="Compare with this").click()
    expect_accessible_and_inside(page)


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
