"""HowManyImages in the browser: its curves, its table, what can be chosen."""

import re

import pytest
from explorers import how_many_images as make
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Page, expect


def reading(page: Page) -> str:
    return page.locator(".vitedu-reading").text_content()


def row(page: Page, name: str) -> list[str]:
    return page.locator(f"tr.{name} td").all_text_contents()


def test_the_table_and_the_sentence_have_the_numbers(show):
    page = show(make())
    assert row(page, "cnn") == ["69.8", "68.0", "71.0", "about 480"]
    assert row(page, "plain") == ["44.9", "44.0", "45.5", "100"]
    assert row(page, "helped") == ["\N{EN DASH}"] * 4
    for words in (
        "With 100 images the CNN names 69.8 % of new canvases, the ViT 44.9 %",
        "The CNN is 24.9 points ahead, and each CNN beats every ViT.",
        "needs about 480 images for 69.8 %, 4.8 times as many, between the "
        "measured 100 and 900.",
    ):
        assert words in reading(page)


def test_it_says_who_leads_and_when_that_is_not_settled(show):
    page = show(make(remedy="shifts"))
    assert "the ViT with shifts 68.9 %" in reading(page)
    assert "the ranges overlap: that settles nothing." in reading(page)
    assert row(page, "helped") == ["68.9", "68.0", "69.5", "about 450"]
    expect(page.locator(".mark.helped")).to_have_count(1)
    page.get_by_role("slider").press("End")
    expect_published(explorer_of(page), num_images=5000)
    assert "The ViT is 3.1 points ahead" in reading(page)
    assert "each ViT beats every CNN" in reading(page)


def test_beyond_what_was_measured_no_number_is_made_up(show):
    page = show(make(cnn=make().cnn + 4, num_images=5000))
    assert row(page, "cnn")[-1] == "over 5,000"
    assert "does not get there with 5,000 images" in reading(page)
    across = page.locator(".across").get_attribute("d")
    assert "V" not in across
    expect(page.locator(".needed")).to_have_text("not reached")

    page = show(make(cnn=make().cnn * 0.2, num_images=20))
    assert row(page, "cnn")[-1] == "at most 20"
    assert "with 20 images, the fewest measured" in reading(page)


def test_only_what_was_measured_can_be_chosen(show):
    page = show(make())
    slider = page.get_by_role("slider", name="Training images")
    help_for = page.get_by_role("combobox", name="Help for the ViT")
    seen = set()
    slider.press("Home")
    for _ in range(6):
        seen.add(slider.get_attribute("aria-valuetext"))
        slider.press("ArrowRight")
    assert seen == {"20", "100", "900", "5,000"}
    # Help leads to the size with which it was measured, and ends with it.
    help_for.select_option("sleep")
    expect_published(explorer_of(page), num_images=100, remedy="sleep")
    expect(slider).to_have_attribute("aria-valuetext", "100")
    slider.press("ArrowRight")
    expect_published(explorer_of(page), num_images=900, remedy="none")
    expect(help_for).to_have_value("none")
    slider.press("ArrowLeft")
    expect_published(explorer_of(page), num_images=100, remedy="none")


def test_help_that_was_not_measured_is_not_shown(show):
    page = show(make(num_images=900, remedy="sleep"))
    assert "the ViT 79.9 %" in reading(page)
    expect(page.get_by_role("combobox")).to_have_value("none")
    expect(page.locator(".helped.mark")).to_have_count(0)
    assert published(explorer_of(page))["remedy"] == "none"


@pytest.mark.parametrize("width", [900, 390])
def test_a_tap_chooses_the_nearest_size_and_marks_it(show, width):
    page = show(make(), width=width, has_touch=True)
    box = page.locator(".picture svg").bounding_box()
    left, right = 34, box["width"] - 26
    # 100 is at 0.29 of the axis.
    for share, size in ((0, 20), (1, 5000), (0.2, 100), (0.13, 20)):
        x = left + share * (right - left)
        page.touchscreen.tap(box["x"] + x, box["y"] + 150)
        expect_published(explorer_of(page), num_images=size)
    marks = page.locator("circle.mark")
    expect(marks).to_have_count(2)
    column = page.locator(".column").bounding_box()
    for mark in marks.all():
        middle = mark.bounding_box()
        middle = middle["x"] + middle["width"] / 2
        assert middle == pytest.approx(
            column["x"] + column["width"] / 2, abs=0.1
        )


def test_the_dashed_line_comes_down_at_what_is_published(show):
    page = show(make())
    width = page.locator(".picture svg").bounding_box()["width"]
    path = page.locator(".across").get_attribute("d")
    to = float(re.search(r"H([\d.]+)V", path)[1])
    share = (to - 34) / (width - 34 - 26)
    images = 20 * (5000 / 20) ** share
    needs = published(explorer_of(page))["cnnNeeds"]
    assert images == pytest.approx(needs, rel=0.002)
