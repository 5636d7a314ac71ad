"""PositionalEncoding in the browser: its table, its mouse, its clocks."""

import numpy as np
import pytest
import torch
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

from vitedu.positions import sinusoidal_table
from vitedu.widgets import PositionalEncoding

TOLERANCE = 1e-5
LEFT, RIGHT, RADIUS = 40, 14, 42


def slider(page: Page, label: str) -> Locator:
    return page.get_by_label(label, exact=True).first


def open_more(page: Page) -> None:
    """Open what is folded: formula, width, base, length, all pairs."""
    page.locator(".more > summary").click()


def painted(page: Page) -> np.ndarray:
    """Read the table back from its colours, (length, d_model)."""
    pixels = page.locator("canvas.table").first.evaluate(
        "node => Array.from(node.getContext('2d')"
        ".getImageData(0, 0, node.width, node.height).data)"
    )
    width, height = page.locator("canvas.table").first.evaluate(
        "node => [node.width, node.height]"
    )
    rgba = np.array(pixels).reshape(height, width, 4)
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


def test_keys_move_every_slider(show):
    page = show(PositionalEncoding())
    explorer = explorer_of(page)
    open_more(page)
    for label, key, name, value in [
        ("position p", "ArrowRight", "position", 21),
        ("position q", "End", "other", 99),
        ("position q", "ArrowLeft", "other", 98),
        ("d_model", "ArrowLeft", "d_model", 62),
        ("base", "PageUp", "base", 20_000),
        ("base", "ArrowRight", "base", 20_010),
    ]:
        slider(page, label).press(key)
        expect_published(explorer, **{name: value})
        expect(slider(page, label)).to_have_attribute(
            "aria-valuetext", str(value)
        )


def test_a_shorter_table_takes_the_positions_along(show):
    page = show(PositionalEncoding())
    explorer = explorer_of(page)
    open_more(page)
    slider(page, "positions N").press("Home")
    expect_published(explorer, length=10, position=9, other=9)
    expect(slider(page, "position p")).to_have_attribute("max", "9")
    slider(page, "positions N").press("End")
    expect_published(explorer, length=200, position=9, other=9)
    slider(page, "position q").press("End")
    expect_published(explorer, other=199)


def place(page: Page, position: int, length: int) -> tuple[float, float]:
    """Return where a column of the table is on the screen."""
    box = page.locator(".stage svg").bounding_box()
    cell = (box["width"] - LEFT - RIGHT) / length
    return box["x"] + LEFT + cell * (position + 0.5), box["y"] + 120


def drag(page: Page, start: int, end: int, length: int = 100) -> None:
    page.mouse.move(*place(page, start, length))
    page.mouse.down()
    page.mouse.move(*place(page, (start + end) // 2, length), steps=3)
    page.mouse.move(*place(page, end, length), steps=3)
    page.mouse.up()


@pytest.mark.parametrize("width", [900, 390])
def test_the_nearest_position_follows_the_mouse(show, width):
    page = show(PositionalEncoding(), width=width)
    explorer = explorer_of(page)
    drag(page, 20, 31)
    expect_published(explorer, position=31, other=50)
    # A press beside a marker brings the nearest one there; it may pass the
    # other.
    drag(page, 44, 3)
    expect_published(explorer, position=31, other=3)
    # Beyond the edge is the edge.
    page.mouse.move(*place(page, 31, 100))
    page.mouse.down()
    page.mouse.move(width - 1, 500, steps=3)
    page.mouse.up()
    expect_published(explorer, position=99, other=3)
    # After that the mouse moves nothing.
    page.mouse.move(*place(page, 50, 100))
    page.wait_for_timeout(100)
    expect_published(explorer, position=99, other=3)
    # The position itself was held at the edge, not only its picture.
    open_more(page)
    slider(page, "positions N").press("End")
    expect_published(explorer, length=200, position=99)


def swipe(
    page: Page, start: tuple[float, float], end: tuple[float, float]
) -> None:
    """Touch, move in small steps, and let go."""
    client = page.context.new_cdp_session(page)
    for share in np.linspace(0, 1, 12):
        x, y = (1 - share) * np.array(start) + share * np.array(end)
        client.send(
            "Input.dispatchTouchEvent",
            {
                "type": "touchMove" if share else "touchStart",
                "touchPoints": [{"x": x, "y": y}],
            },
        )
        page.wait_for_timeout(16)
    client.send(
        "Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []}
    )


def test_a_finger_taps_drags_and_scrolls(show):
    page = show(PositionalEncoding(), width=390, has_touch=True)
    explorer = explorer_of(page)
    page.locator(".stage").scroll_into_view_if_needed()
    page.touchscreen.tap(*place(page, 70, 100))
    expect_published(explorer, position=20, other=70)
    swipe(page, place(page, 68, 100), place(page, 90, 100))
    expect_published(explorer, position=20, other=90)
    x, y = place(page, 5, 100)
    swipe(page, (x, y), (x, y - 160))
    page.wait_for_function("scrollY > 100")
    expect_published(explorer, position=20, other=90)


def test_both_positions_move_together(show):
    page = show(PositionalEncoding(formula="wrong exponent"))
    explorer = explorer_of(page)
    page.get_by_label("p and q move together").check()
    drag(page, 20, 26)
    expect_published(explorer, position=26, other=56)
    slider(page, "position q").press("ArrowLeft")
    expect_published(explorer, position=25, other=55)
    # As far as both stay inside, and the slider of p no further.
    slider(page, "position p").press("End")
    expect_published(explorer, position=69, other=99)
    expect(slider(page, "position p")).to_have_js_property("value", "69")
    slider(page, "position p").press("End")
    expect(slider(page, "position p")).to_have_js_property("value", "69")
    slider(page, "position q").press("Home")
    expect_published(explorer, position=0, other=30)
    page.get_by_label("p and q move together").uncheck()
    slider(page, "position p").press("ArrowRight")
    expect_published(explorer, position=1, other=30)


@pytest.mark.parametrize(
    ("name", "settings", "says"),
    [
        ("two clocks", ("paper", 4, 10), "every pair this far apart"),
        ("stopped clock", ("paper", 4, 100_000), "both have the norm 1.41"),
        ("misprint", ("wrong exponent", 64, 10_000), "have 15.14 to 22.17"),
        ("paper", ("paper", 64, 10_000), "both have the norm 5.66"),
    ],
)
def test_a_button_sets_a_table_and_the_words_say_what_it_does(
    show, name, settings, says
):
    page = show(PositionalEncoding(d_model=8, formula="rescaled"))
    explorer = explorer_of(page)
    reading = page.locator(".vitedu-reading").first
    expect(reading).to_contain_text("With one token more")
    button = page.get_by_role("button", name=name)
    expect(button).to_have_attribute("aria-pressed", "false")
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    formula, width, base = settings
    expect_published(explorer, formula=formula, d_model=width, base=base)
    expect(reading).to_contain_text(says)
    expect(reading).not_to_contain_text("With one token more")


def test_two_numbers_that_read_the_same_are_said_once(show):
    page = show(PositionalEncoding())
    note = page.locator(".top .vitedu-panel-note")
    expect(note).to_contain_text("It is 32.00 everywhere.")
    page.get_by_role("button", name="misprint").click()
    expect(note).to_contain_text("It lies between 28.69 and 36.05.")


@pytest.mark.parametrize("formula", ["paper", "wrong exponent"])
def test_the_hands_point_to_sine_and_cosine(show, formula):
    page = show(PositionalEncoding(d_model=14, formula=formula))
    shown = published(explorer_of(page))
    for name, row in (
        ("p", shown["encoding"]),
        ("q", shown["otherEncoding"]),
    ):
        tips = page.locator(f".hand.of-{name} circle").evaluate_all(
            "tips => tips.map(({cx, cy}) =>"
            " [cx.baseVal.value, -cy.baseVal.value])"
        )
        np.testing.assert_allclose(
            np.array(tips) / RADIUS, np.reshape(row, (7, 2)), atol=TOLERANCE
        )


@pytest.mark.parametrize(
    ("formula", "wavelengths"),
    [
        ("paper", "λ 6.28, λ 628"),
        ("wrong exponent", "λ 6.28, λ 62.8, λ 628, λ 6283"),
        # Twice as many tokens: a turn takes twice as many.
        ("rescaled", "λ 3.14, λ 314"),
    ],
)
def test_clocks_say_their_pair_and_wavelength(show, formula, wavelengths):
    page = show(PositionalEncoding(d_model=4, formula=formula))
    texts = page.locator(".clock span").all_inner_texts()
    words = [text.strip() for text in texts if text.strip()]
    pairs = [word for word in words if word[0] == "p"]
    assert pairs == ["pair 0", "pair 1"]
    assert ", ".join(w for w in words if w[0] == "λ") == wavelengths


def test_curves_are_drawn_where_their_numbers_are(show):
    page = show(PositionalEncoding(formula="wrong exponent"))
    shown = published(explorer_of(page))
    heights = page.evaluate(
        "() => Array.from(document.querySelectorAll("
        "'.curve.of-p, .curve.of-q, .squared-norms')).map((path) =>"
        " path.getAttribute('d').split(/[ML]/).slice(1).map((point) =>"
        " Number(point.split(' ')[1])))"
    )
    squares, q, p = (np.array(line) for line in heights)
    values = (np.square(shown["norms"]), shown["otherSimilarity"])
    slope, start = np.polyfit(shown["similarity"], p, 1)
    assert slope < 0
    for line, expected in zip((squares, q), values, strict=True):
        np.testing.assert_allclose(
            line, slope * np.array(expected) + start, atol=0.02
        )
