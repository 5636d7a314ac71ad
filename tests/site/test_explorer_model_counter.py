"""ModelCounter in the browser: its choices, its sliders, its bars."""

import re

import pytest
from mounted import (
    choose_setting,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
    settle,
)
from playwright.sync_api import expect

from vitedu.widgets import ModelCounter


def test_bars_and_tables_show_what_was_counted(show):
    page = show(ModelCounter(d_model=35, num_heads=7, num_layers=3))
    # What only Python can ask for is one of the choices.
    heads = page.get_by_label("Heads", exact=True)
    expect(heads).to_have_value("7")
    options = heads.locator("option").all_text_contents()
    assert options == sorted(options, key=int)
    shown = published(explorer_of(page))
    for kind in ("parameters", "flops", "memory"):
        counts, panel = shown[kind], page.locator(f".{kind}")
        widths = panel.locator(".bar span").evaluate_all(
            "spans => spans.map((span) => span.getBoundingClientRect().width)"
        )
        labels = panel.locator("th").all_text_contents()
        assert len(widths) == len(set(labels)) == len(counts)
        shares = panel.locator("td:nth-child(3)").all_text_contents()
        for width, share, count in zip(widths, shares, counts, strict=True):
            part = count / sum(counts)
            assert width / sum(widths) == pytest.approx(part, abs=2e-3)
            percent = "< 0.1" if 0 < part < 5e-4 else f"{100 * part:.1f}"
            assert share == f"{percent}%"
    cells = page.locator(".parameters td:nth-child(2)").all_text_contents()
    assert cells == [f"{count:,}" for count in shown["parameters"]]


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


def test_sizes_that_do_not_fit_hide_what_is_not_counted(show):
    counter = ModelCounter(image_size=240)
    # As code that links explorers may do, one size after the other.
    counter.num_heads, counter.patch_size = 5, 14
    page = show(counter)
    panels = page.locator(".vitedu-panel")
    for label, faults in (
        ("Image", '["unevenHeads","unevenPatches"]'),
        ("Width h", '["unevenHeads"]'),
    ):
        expect_published(explorer_of(page), fault=faults)
        assert [panel.is_visible() for panel in panels.all()] == 4 * [False]
        page.get_by_label(label, exact=True).press("ArrowRight")
    expect_published(explorer_of(page), fault="", image_size=252)
    assert [panel.is_visible() for panel in panels.all()] == 4 * [True]


def test_choices_take_sizes_that_fit_and_no_detour(show):
    page = show(ModelCounter(image_size=1024))
    faults = page.evaluate_handle(
        """() => {
            const faults = [];
            const root = document.querySelector(".vitedu-explorer");
            new MutationObserver(() => faults.push(root.dataset.fault))
                .observe(root, { attributes: true });
            return faults;
        }"""
    )
    for label, option, trait, size in [
        ("Heads", "5", "d_model", 760),
        ("Heads", "16", "d_model", 768),
        ("Patch", "14 px", "image_size", 1022),
        ("Model", "ViT-H", "patch_size", 14),
        ("Model", "ViT-B", "patch_size", 16),
        ("Model", "ViT-Ti", "model", "Ti"),
    ]:
        page.get_by_label(label, exact=True).select_option(label=option)
        expect_published(explorer_of(page), **{trait: size})
    assert set(faults.json_value()) == {""}
    choice = page.get_by_label("Model", exact=True)
    expect(choice.locator("option[value=own]")).to_be_disabled()
    for label in ("Blocks", "MLP width"):
        page.get_by_label(label, exact=True).press("ArrowRight")
        expect(choice).to_have_value("own")
        page.get_by_label(label, exact=True).press("ArrowLeft")
        expect(choice).to_have_value("Ti")


def test_a_model_is_compared_and_the_dot_dragged(show):
    page = show(ModelCounter())
    ratios = page.locator(".vitedu-panel-title span")
    page.get_by_role("button", name="Compare with this").click()
    for name, parameters, times in [
        ("L/32", "306,535,400", "3.54"),
        ("B/8", "86,576,872", "1.00"),
        ("B/16 at 1,024 px", "89,562,856", "1.03"),
    ]:
        choose_setting(page, name)
        total = page.locator(".parameters strong")
        expect(total).to_contain_text(parameters)
        expect(ratios.first).to_have_text(re.compile(f"{times} . ViT-B/16"))
    page.get_by_role("button", name="Stop comparing").click()
    expect(ratios).to_have_text(["", "", ""])
    curve = page.locator(".of-curve svg")
    curve.scroll_into_view_if_needed()
    box = curve.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 100, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 50, middle, steps=4)
    expect_published(explorer_of(page), image_size=96 * 16)
    page.mouse.move(box["x"] - 50, middle, steps=4)
    expect_published(explorer_of(page), image_size=16)
    page.mouse.up()


def test_the_largest_is_inside_and_words_are_apart(show):
    page = show(ModelCounter(batch_size=4096), width=360)
    page.get_by_role("button", name="Compare with this").click()
    for label in ("Width h", "Blocks", "Image"):
        page.get_by_label(label, exact=True).press("End")
    page.get_by_label("Classes", exact=True).select_option(label="21,843")
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


# Words of the curve that leave it, and pairs of which one covers the other.
CROWDED = """svg => {
  const frame = svg.getBoundingClientRect();
  const boxes = Array.from(svg.querySelectorAll("text"),
    (text) => text.getBoundingClientRect());
  return [
    ...boxes.filter(({ left, right }) =>
      left < frame.left - 1 || right > frame.right + 1),
    ...boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) =>
      a.right > b.left && b.right > a.left
        && a.bottom > b.top + 4 && b.bottom > a.top + 4)),
  ];
}"""


def test_labels_of_the_curve_stay_inside_and_apart(show):
    page = show(ModelCounter(image_size=16), width=390)
    for key, patch in (("Home", "16 px"), ("End", "16 px"), ("End", "4 px")):
        page.get_by_label("Image", exact=True).press(key)
        page.get_by_label("Patch", exact=True).select_option(label=patch)
        settle(page)
        assert page.locator(".of-curve svg").evaluate(CROWDED) == []
