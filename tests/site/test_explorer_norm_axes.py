"""NormAxes in the browser: its slider, its mouse."""

import numpy as np
import pytest
from explorers import make_batch
from explorers import norm_axes as make
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect


def cell(page: Page, kind: str, *place: int) -> Locator:
    at = np.ravel_multi_index(place, make_batch().shape)
    return page.locator(f'.{kind} .number[data-at="{at}"]')


def test_the_slider_counts_sixteenths_and_a_click_keeps_the_change(show):
    page = show(make(sample=1, token=1, feature=0, change=0.0))
    slider = page.get_by_label("Change of the chosen number")
    span = float(np.ptp(make_batch().astype(np.float64)))
    for key, share in (("ArrowLeft", -1 / 16), ("End", 1)):
        slider.press(key)
        expect_published(explorer_of(page), changed=5)
        page.wait_for_function(
            """wanted => Math.abs(document.querySelector(".vitedu-explorer")
                .dataset.change - wanted) < 1e-9""",
            arg=share * span,
        )
    expect(slider).to_have_value("16")
    cell(page, "inputs", 1, 0, 4).click()
    expect_published(explorer_of(page), sample=1, token=0, feature=4)
    assert published(explorer_of(page))["change"] == pytest.approx(span)


def test_the_mouse_looks_at_a_cell_without_choosing_it(show):
    page = show(make(sample=0, token=0, feature=0))
    start = published(explorer_of(page))
    said = page.locator("[aria-live=polite]")
    spoken = said.text_content()
    for kind, at in (("inputs", 28), ("outputs", 29)):
        cell(page, kind, 1, 2, at - 25).hover()
        expect_published(explorer_of(page), under=at)
        looked = published(explorer_of(page))
        assert looked["mean"] != start["mean"]
        places = ("sample", "token", "feature", "changed")
        assert [looked[it] for it in places] == [start[it] for it in places]
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Sample 2, token 3, feature 5: "
    )
    page.wait_for_timeout(400)
    expect(said).to_have_text(spoken)
    page.mouse.move(1, 1)
    expect_published(explorer_of(page), under="")
    page.wait_for_timeout(400)
    expect(said).to_have_text(spoken)
    assert published(explorer_of(page)) == start
    # What is done counts, not where the mouse was left.
    cell(page, "inputs", 1, 2, 3).hover()
    expect_published(explorer_of(page), under=28)
    cell(page, "inputs", 0, 0, 0).press("ArrowDown")
    expect_published(explorer_of(page), token=1, under="")
