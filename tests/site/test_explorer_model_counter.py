"""ModelCounter in the browser: its tables, its sliders, its curve."""

import re

import numpy as np
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


def test_published_totals_and_the_model_that_was_kept(show):
    page = show(ModelCounter())
    ratios = page.locator(".vitedu-panel-title span")
    expect(ratios).to_have_text(["", "", ""])
    page.get_by_role("button", name="Compare with this").click()
    for name, parameters, flops in [
        ("L/32", "306,535,400", "30.76 GFLOP"),
        ("B/8", "86,576,872", "156.3 GFLOP"),
        ("B/16", "86,567,656", "35.13 GFLOP"),
        ("L/32", "306,535,400", "30.76 GFLOP"),
    ]:
        choose_setting(page, name)
        expect(page.locator(".parameters strong")).to_have_text(parameters)
        expect(page.locator(".flops strong")).to_have_text(flops)
    times = ("3.54", "0.876", "3.26")
    expect(ratios).to_have_text(
        [re.compile(rf"{ratio} . ViT-B/16") for ratio in times]
    )
    page.get_by_role("button", name="Stop comparing").click()
    expect(ratios).to_have_text(["", "", ""])
    note = page.locator(".parameters .vitedu-panel-note")
    for name, patch, millions, total in [
        ("L", 16, 307, "304,326,632"),
        ("H", 14, 632, "632,045,800"),
        ("B", 32, 86, "88,224,232"),
    ]:
        choose(page, "Model", f"ViT-{name}")
        choose(page, "Patch", f"{patch} px")
        expect(page.locator(".parameters strong")).to_have_text(total)
        expect(note).to_have_text(
            f"Table 1 of the ViT paper says {millions} M for ViT-{name}; what "
            "it counts, it does not say."
        )
    # Larger images have more positions, so the paper's number is another's.
    page.get_by_label("Image", exact=True).press("ArrowRight")
    expect(note).to_have_text(NO_PAPER)
    # A model can be chosen, but not one's own.
    choice = page.get_by_label("Model", exact=True)
    expect(choice.locator("option[value=own]")).to_be_disabled()
    page.get_by_label("Blocks", exact=True).press("ArrowRight")
    expect(choice).to_have_value("own")
    page.get_by_label("Blocks", exact=True).press("ArrowLeft")
    expect(choice).to_have_value("B")


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
    # The parts of a bar are as long as their counts.
    for kind in ("parameters", "flops", "memory"):
        counts = np.array(shown[kind])
        lengths = np.array(widths(page.locator(f".{kind} .bar")))
        shares = counts / counts.sum()
        np.testing.assert_allclose(
            lengths / lengths.sum(), shares, atol=2e-3, err_msg=kind
        )
        labels = page.locator(f".{kind} th").all_text_contents()
        assert len(set(labels)) == len(counts)


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
    # Another model is no detour over sizes that do not fit.
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
