"""HowManyImages in the browser: its picture, and what can be chosen."""

import pytest
from explorers import how_many_images as make
from mounted import expect_published, explorer_of
from playwright.sync_api import expect


def test_only_what_was_measured_can_be_chosen(show):
    # Help that was not measured with as many images is not shown.
    page = show(make(num_images=900, remedy="sleep"))
    explorer, marks = explorer_of(page), page.locator(".mark.helped")
    slider = page.get_by_role("slider", name="Training images")
    help_for = page.get_by_role("combobox", name="Help for the ViT")
    expect_published(explorer, num_images=900, remedy="none")
    expect(help_for).to_have_value("none")
    expect(marks).to_have_count(0)
    slider.press("Home")
    for size in ("20", "100", "900", "5,000"):
        expect(slider).to_have_attribute("aria-valuetext", size)
        slider.press("ArrowRight")
    # Help leads to the size with which it was measured, and ends with it.
    help_for.select_option("sleep")
    expect_published(explorer, num_images=100, remedy="sleep")
    expect(marks).to_have_count(1)
    expect(page.locator("tr.helped td").first).to_have_text("59.9")
    slider.press("ArrowRight")
    expect_published(explorer, num_images=900, remedy="none")
    expect(help_for).to_have_value("none")


def test_a_tap_chooses_the_nearest_size_and_marks_it(show):
    page = show(make(), width=390, has_touch=True)
    box = page.locator(".picture svg").bounding_box()
    left, right = 34, box["width"] - 26
    # 100 is at 0.29 of the axis.
    for share, size in ((0, 20), (1, 5000), (0.2, 100), (0.13, 20)):
        x = left + share * (right - left)
        page.touchscreen.tap(box["x"] + x, box["y"] + 150)
        expect_published(explorer_of(page), num_images=size)
    column, *marks = (
        one.bounding_box() for one in page.locator(".column, .mark").all()
    )
    middles = [one["x"] + one["width"] / 2 for one in (column, *marks)]
    assert middles == pytest.approx([middles[0]] * 3, abs=0.1)
