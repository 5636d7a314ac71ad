"""PositionalEncoding in the browser: its table, its mouse, its clocks."""

import numpy as np
import torch
from mounted import expect_published, explorer_of
from playwright.sync_api import Locator, Page, expect

from vitedu.positions import sinusoidal_table
from vitedu.widgets import PositionalEncoding

LEFT, RIGHT = 40, 14


def slider(page: Page, label: str) -> Locator:
    return page.get_by_label(label, exact=True).first


def painted(page: Page) -> np.ndarray:
    """Read the table back from its colours, (length, d_model)."""
    width, pixels = page.locator("canvas.table").first.evaluate(
        "node => [node.width, Array.from(node.getContext('2d')"
        ".getImageData(0, 0, node.width, node.height).data)]"
    )
    rgba = np.array(pixels).reshape(-1, width, 4)
    # Grey is negative: it has less blue than green.
    sign = np.where(rgba[..., 2] < rgba[..., 1], -1, 1)
    return (sign * rgba[..., 3] / 255).T


def test_the_table_is_painted_in_its_numbers(show):
    page = show(PositionalEncoding(d_model=22, base=777.0))
    table = sinusoidal_table(100, 22, base=777.0, dtype=torch.float64).numpy()
    shown = painted(page)
    # A byte holds 255 steps from 0 to 1.
    np.testing.assert_allclose(abs(shown), abs(table), atol=0.6 / 255)
    # What is nearly transparent has no colour to tell the sign by.
    clear = abs(table) > 0.1
    np.testing.assert_array_equal(np.sign(shown)[clear], np.sign(table)[clear])


def place(page: Page, position: int) -> tuple[float, float]:
    """Return where a column of the table is on the screen."""
    box = page.locator(".stage svg").bounding_box()
    cell = (box["width"] - LEFT - RIGHT) / 100
    return box["x"] + LEFT + cell * (position + 0.5), box["y"] + 120


def drag(page: Page, start: int, end: int) -> None:
    page.mouse.move(*place(page, start))
    page.mouse.down()
    page.mouse.move(*place(page, (start + end) // 2), steps=3)
    page.mouse.move(*place(page, end), steps=3)
    page.mouse.up()


def test_the_nearest_position_follows_the_mouse(show):
    page = show(PositionalEncoding())
    explorer = explorer_of(page)
    drag(page, 20, 31)
    expect_published(explorer, position=31, other=50)
    # A press beside a marker brings the nearest one there; it may pass the
    # other.
    drag(page, 44, 3)
    expect_published(explorer, position=31, other=3)
    # Beyond the edge is the edge.
    page.mouse.move(*place(page, 31))
    page.mouse.down()
    page.mouse.move(899, 500, steps=3)
    page.mouse.up()
    expect_published(explorer, position=99, other=3)
    # The position itself was held at the edge, not only its picture.
    page.locator(".more > summary").click()
    slider(page, "positions N").press("End")
    expect_published(explorer, length=200, position=99)
    # A shorter table takes the positions along.
    slider(page, "positions N").press("Home")
    expect_published(explorer, length=10, position=9, other=3)
    expect(slider(page, "position q")).to_have_attribute("max", "9")
    slider(page, "d_model").press("ArrowLeft")
    expect_published(explorer, d_model=62)


def swipe(
    page: Page, start: tuple[float, float], end: tuple[float, float]
) -> None:
    """Touch, move in small steps, and let go."""
    client = page.context.new_cdp_session(page)
    for share in np.linspace(0, 1, 12):
        x, y = (1 - share) * np.array(start) + share * np.array(end)
        touch = {
            "type": "touchMove" if share else "touchStart",
            "touchPoints": [{"x": x, "y": y}],
        }
        client.send("Input.dispatchTouchEvent", touch)
        page.wait_for_timeout(16)
    let_go = {"type": "touchEnd", "touchPoints": []}
    client.send("Input.dispatchTouchEvent", let_go)


def test_a_finger_taps_drags_and_scrolls(show):
    page = show(PositionalEncoding(), width=390, has_touch=True)
    explorer = explorer_of(page)
    page.locator(".stage").scroll_into_view_if_needed()
    page.touchscreen.tap(*place(page, 70))
    expect_published(explorer, position=20, other=70)
    swipe(page, place(page, 68), place(page, 90))
    expect_published(explorer, position=20, other=90)
    x, y = place(page, 5)
    swipe(page, (x, y), (x, y - 160))
    page.wait_for_function("scrollY > 100")
    expect_published(explorer, position=20, other=90)


def test_both_positions_move_together(show):
    page = show(PositionalEncoding())
    explorer = explorer_of(page)
    both = page.get_by_label("p and q move together")
    both.check()
    drag(page, 20, 26)
    expect_published(explorer, position=26, other=56)
    # As far as both stay inside, and the slider of p no further.
    for _ in range(2):
        slider(page, "position p").press("End")
        expect_published(explorer, position=69, other=99)
        expect(slider(page, "position p")).to_have_js_property("value", "69")
    slider(page, "position q").press("Home")
    expect_published(explorer, position=0, other=30)
    both.uncheck()
    slider(page, "position p").press("ArrowRight")
    expect_published(explorer, position=1, other=30)
