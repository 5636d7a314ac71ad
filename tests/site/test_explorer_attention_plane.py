"""AttentionPlane in the browser: its motion, its silence, its mouse."""

import numpy as np
import pytest
from mounted import explorer_of, press, published
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import AttentionPlane


def expect_moving(page: Page, explorer: Locator) -> None:
    before = published(explorer)["angle"]
    page.wait_for_function(
        "([node, before]) => Number(node.dataset.angle) !== before",
        arg=[explorer.element_handle(), before],
    )


def expect_still(page: Page) -> float:
    """See that it does not move, and return its angle."""
    explorer = explorer_of(page)
    expect(explorer).to_have_attribute("data-playing", "false")
    angle = published(explorer)["angle"]
    page.wait_for_timeout(200)
    assert published(explorer)["angle"] == angle
    return angle


def test_it_turns_until_the_reader_acts_and_goes_on_from_there(show):
    page = show(AttentionPlane(angle=355.0))
    explorer = explorer_of(page)
    expect_moving(page, explorer)
    # A full turn starts again at zero.
    page.wait_for_function(
        "node => Number(node.dataset.angle) < 100",
        arg=explorer.element_handle(),
    )
    press(page, "Pause")
    angle = expect_still(page)
    assert 0 <= angle < 100
    press(page, "Play")
    expect_moving(page, explorer)
    # Nor does a slider move by itself once it is reached.
    page.get_by_label("direction of the query").focus()
    assert angle <= (reached := expect_still(page)) < 100
    press(page, "Play")
    expect_moving(page, explorer)
    page.get_by_label("length of the query").press("Home")
    assert expect_still(page) >= reached


def test_the_live_line_is_silent_until_the_reader_acts(show):
    page = show(AttentionPlane())
    spoken = page.locator("[aria-live=polite]")
    first = spoken.text_content()
    assert first.startswith("Most weight: key 1 (")
    visible = page.locator(".vitedu-reading")
    # Frames so slow that each of them has the time to be spoken.
    page.evaluate(
        "window.requestAnimationFrame = (draw) =>"
        " setTimeout(() => draw(performance.now()), 400);"
        "window.cancelAnimationFrame = clearTimeout"
    )
    page.wait_for_timeout(1500)
    expect(visible).not_to_have_text(first)
    assert spoken.text_content() == first
    press(page, "Pause")
    expect(spoken).not_to_have_text(first)
    assert spoken.text_content() == visible.text_content()


def test_reduced_motion_gets_a_still_picture_that_can_be_played(show):
    page = show(AttentionPlane(), reduced_motion="reduce")
    assert expect_still(page) == 35
    press(page, "Play")
    expect_moving(page, explorer_of(page))


def test_the_query_and_its_word_follow_the_mouse_and_the_bars_the_weights(
    show,
):
    page = show(AttentionPlane(asking="bank", playing=False, angle=90.0))
    word = page.locator(".asker")
    expect(word).to_have_text("bank")
    arrow = page.locator("path.query").bounding_box()
    beside = word.bounding_box()
    middle = beside["y"] + beside["height"] / 2
    assert arrow["y"] < middle < arrow["y"] + arrow["height"]
    assert 0 < arrow["x"] - beside["x"] - beside["width"] < 20

    press(page, "Play")
    plane = page.locator(".plane").first.bounding_box()
    unit = plane["width"] / 8.8
    middle = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
    handle = page.locator(".handle").bounding_box()  # it turns
    page.mouse.move(
        handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    )
    page.mouse.down()
    page.mouse.move(middle[0] - 2 * unit, middle[1] + unit, steps=5)
    page.mouse.up()
    expect_still(page)
    shown = published(explorer_of(page))
    np.testing.assert_allclose(shown["query"], [-2, -1], atol=0.02)
    heights = page.locator(".bar-level").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().height"
        " / bar.parentElement.clientHeight)"
    )
    assert heights == pytest.approx(shown["weights"], abs=1e-3)
    # The longest query lies on the outermost ring.
    page.mouse.down()
    page.mouse.move(middle[0], plane["y"] - 50)
    page.mouse.up()
    expect(explorer_of(page)).to_have_attribute("data-length", "4")
