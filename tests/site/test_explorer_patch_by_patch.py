"""PatchByPatch in the browser: stages, marks, pictures, heights."""

import numpy as np
import pytest
from explorers import arrays_of, followed_picture
from explorers import patch_by_patch as make
from mounted import expect_published, overflow, published, ready
from playwright.sync_api import Page, expect

from vitedu.widgets.patch_by_patch import STAGES


def covers(page: Page, name: str) -> list[str]:
    return page.locator(".of-photograph g").first.evaluate(
        "(node, name) => [...node.querySelectorAll('rect')].map((one) =>"
        " one.getAttribute(name))",
        name,
    )


def step(page: Page, at: int):
    return page.locator(".step").nth(at)


def test_stages_are_chosen_by_mouse_and_by_keys(show):
    page = show(make())
    explorer = ready(page)
    step(page, 4).click()
    expect_published(explorer, stage="positions")
    page.keyboard.press("ArrowRight")
    expect_published(explorer, stage="first norm")
    page.keyboard.press("End")
    expect_published(explorer, stage="answer")
    expect(page.locator(".of-stage")).to_contain_text("contains none")


def test_colours_and_weights_cover_the_photograph(show):
    sent = arrays_of(followed_picture())
    page = show(make(stage="depth", block=3, token=0))
    ready(page)
    expected = [f"rgb({r} {g} {b})" for r, g, b in sent["colours"][4]]
    assert covers(page, "fill") == expected
    step(page, 6).click()
    expect_published(ready(page), stage="attention", kind="weights")
    shares = sent["shades"][2, 0, 0, 1:] / 20
    dark = np.array(covers(page, "fill-opacity"), float)
    np.testing.assert_allclose(dark, 0.9 * (1 - np.sqrt(shares)), atol=0.0051)
    listed = page.locator(".of-numbers rect.weight")
    assert listed.count() == len(published(ready(page))["best"])


def test_a_patch_and_the_class_token_are_chosen(show):
    page = show(make(stage="depth"), has_touch=True)
    explorer = ready(page)
    box = page.locator(".of-photograph svg").bounding_box()
    side = box["width"] / 18

    def tap(row: float, column: float) -> None:
        page.touchscreen.tap(
            box["x"] + (column + 2) * side, box["y"] + row * side
        )

    tap(15.5, 13.5)
    expect_published(explorer, token=16, row=15, column=13)
    tap(0.5, -1)
    expect_published(explorer, token=0)


def test_the_class_token_has_no_mark_before_it_is_there(show):
    page = show(make(stage="patches", token=0))
    expect_published(ready(page), token=6)
    mark = page.locator(".mark.of-class")
    expect(mark).to_be_hidden()
    # Nor do keys lead to it.
    page.locator(".mark").nth(1).click()
    page.keyboard.press("ArrowLeft")
    expect_published(ready(page), token=1)
    step(page, 3).click()
    expect(mark).to_be_visible()


def test_a_tap_on_a_curve_chooses_its_block(show):
    page = show(make())
    explorer = ready(page)
    drawing = page.locator(".of-course svg")
    box = drawing.bounding_box()
    own = box["width"] / 2 - 10
    for at, left in ((2, 0), (3, box["width"] / 2 + 10)):
        x = left + 44 + (own - 56) * at / 4
        drawing.click(position={"x": x, "y": 80})
        expect_published(explorer, block=at, stage="depth")


@pytest.mark.parametrize("width", [1280, 390])
def test_its_height_is_that_of_every_stage(show, width):
    page = show(make(block=2), width=width)
    explorer = ready(page)
    heights = set()
    for at in range(len(STAGES)):
        step(page, at).click()
        expect_published(explorer, stage=STAGES[at])
        heights.add(round(ready(page).bounding_box()["height"]))
        assert overflow(page) == 0
    assert len(heights) == 1
