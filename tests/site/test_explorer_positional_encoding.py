"""PositionalEncoding in the browser: its numbers, its mouse, its keyboard."""

import numpy as np
import pytest
import torch
from mounted import (
    EXPLORER,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    expect_readings,
    explorer_of,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu.sinusoids import sinusoidal_table
from vitedu.widgets import PositionalEncoding
from vitedu.widgets.positional_encoding import encoding_table, readings

CHAPTER = "chapters/02-positional-encoding.html"
TOLERANCE = 1e-5
LEFT, RIGHT, RADIUS = 40, 14, 42


def slider(page: Page, label: str) -> Locator:
    return page.get_by_label(label, exact=True).first


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
    # Amber is negative: it has less blue than green.
    sign = np.where(rgba[..., 2] < rgba[..., 1], -1, 1)
    return (sign * rgba[..., 3] / 255).T


SETTINGS = [
    {},
    {"d_model": 4, "base": 10.0, "length": 10, "position": 9, "other": 0},
    {"d_model": 128, "length": 200, "position": 3, "other": 199},
    {"d_model": 6, "base": 54_321.0, "position": 5, "other": 5},
    {"formula": "wrong exponent"},
    {"formula": "wrong exponent", "d_model": 10, "base": 30.0, "other": 1},
    {"formula": "rescaled", "length": 17, "position": 3, "other": 11},
    {"formula": "rescaled", "length": 200, "d_model": 38, "base": 1e5},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_page_shows_the_numbers_of_its_twin(show, settings):
    widget = PositionalEncoding(**settings)
    page = show(widget)
    expect_readings(explorer_of(page), readings(widget))
    # A byte holds 255 steps from 0 to 1.
    table = encoding_table(
        widget.d_model, widget.base, widget.length, widget.formula
    )
    shown = painted(page)
    np.testing.assert_allclose(abs(shown), abs(table), atol=0.6 / 255)
    # What is nearly transparent has no colour to tell the sign by.
    clear = abs(table) > 0.02
    np.testing.assert_array_equal(np.sign(shown)[clear], np.sign(table)[clear])


def test_the_papers_numbers_are_those_of_the_library(show):
    page = show(PositionalEncoding(d_model=22, base=777.0))
    shown = published(explorer_of(page))
    table = sinusoidal_table(100, 22, base=777.0, dtype=torch.float64)
    for name, position in (("encoding", 20), ("otherEncoding", 50)):
        np.testing.assert_allclose(
            shown[name], table[position], atol=TOLERANCE
        )
    expected = table @ table[20]
    np.testing.assert_allclose(shown["similarity"], expected, atol=TOLERANCE)
    np.testing.assert_allclose(shown["norms"], 11**0.5, atol=TOLERANCE)


def test_keys_move_every_slider(show):
    page = show(PositionalEncoding())
    explorer = explorer_of(page)
    now = {"d_model": 64, "base": 10_000.0, "position": 20, "other": 50}
    for label, key, name, value in [
        ("position p", "ArrowRight", "position", 21),
        ("position p", "Home", "position", 0),
        ("position q", "End", "other", 99),
        ("position q", "ArrowLeft", "other", 98),
        ("d_model", "ArrowLeft", "d_model", 62),
        ("d_model", "End", "d_model", 128),
        ("d_model", "Home", "d_model", 4),
        ("base", "PageUp", "base", 20_000),
        ("base", "ArrowRight", "base", 20_010),
        ("base", "End", "base", 100_000),
        ("base", "Home", "base", 10),
        ("base", "PageUp", "base", 20),
    ]:
        slider(page, label).press(key)
        expect_published(explorer, **{name: value})
        expect(slider(page, label)).to_have_attribute(
            "aria-valuetext", str(value)
        )
        now[name] = value
        expect_readings(explorer, readings(PositionalEncoding(**now)))


@pytest.mark.parametrize("formula", ["paper", "wrong exponent", "rescaled"])
def test_the_formula_can_be_chosen(show, formula):
    page = show(PositionalEncoding(formula="rescaled", length=30, other=5))
    page.get_by_label("formula").select_option("paper")
    page.get_by_label("formula").select_option(formula)
    expect_published(explorer_of(page), formula=formula)
    widget = PositionalEncoding(formula=formula, length=30, other=5)
    expect_readings(explorer_of(page), readings(widget))


def test_a_shorter_table_takes_the_positions_along(show):
    page = show(PositionalEncoding())
    explorer = explorer_of(page)
    slider(page, "positions N").press("Home")
    expect_published(explorer, length=10, position=9, other=9)
    expect(slider(page, "position p")).to_have_attribute("max", "9")
    expect_readings(
        explorer, readings(PositionalEncoding(length=10, position=9, other=9))
    )
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
    expect_readings(
        explorer, readings(PositionalEncoding(position=31, other=3))
    )
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
    expect_readings(
        explorer,
        readings(
            PositionalEncoding(formula="wrong exponent", position=26, other=56)
        ),
    )
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


@pytest.mark.parametrize("formula", ["paper", "wrong exponent"])
def test_the_hands_point_to_sine_and_cosine(show, formula):
    widget = PositionalEncoding(d_model=14, formula=formula)
    page = show(widget)
    shown = readings(widget)
    for name, row in (
        ("p", shown["encoding"]),
        ("q", shown["other_encoding"]),
    ):
        tips = page.locator(f".hand.of-{name} circle").evaluate_all(
            "tips => tips.map(({cx, cy}) =>"
            " [cx.baseVal.value, -cy.baseVal.value])"
        )
        np.testing.assert_allclose(
            np.array(tips) / RADIUS, row.reshape(7, 2), atol=TOLERANCE
        )


@pytest.mark.parametrize(
    ("settings", "pairs", "wavelengths"),
    [
        ({"d_model": 4}, ["0", "1"], ["λ 6.28", "λ 628"]),
        ({"d_model": 64}, ["0", "4", "9", "13", "18", "22", "27", "31"], None),
        (
            {"d_model": 4, "formula": "wrong exponent"},
            ["0", "1"],
            ["λ 6.28", "λ 62.8", "λ 628", "λ 6283"],
        ),
        # Twice as many tokens: a turn takes twice as many.
        (
            {"d_model": 4, "formula": "rescaled", "length": 100},
            ["0", "1"],
            ["λ 3.14", "λ 314"],
        ),
    ],
)
def test_clocks_say_their_pair_and_wavelength(
    show, settings, pairs, wavelengths
):
    page = show(PositionalEncoding(**settings))
    texts = page.locator(".clock span").all_inner_texts()
    words = [text.strip() for text in texts if text.strip()]
    assert [w for w in words if w[0] == "p"] == [f"pair {i}" for i in pairs]
    if wavelengths:
        assert [w for w in words if w[0] == "λ"] == wavelengths


def test_curves_are_drawn_where_their_numbers_are(show):
    page = show(PositionalEncoding(formula="wrong exponent"))
    shown = readings(PositionalEncoding(formula="wrong exponent"))
    heights = page.evaluate(
        "() => Array.from(document.querySelectorAll("
        "'.curve.of-p, .curve.of-q, .squared-norms')).map((path) =>"
        " path.getAttribute('d').split(/[ML]/).slice(1).map((point) =>"
        " Number(point.split(' ')[1])))"
    )
    squares, q, p = (np.array(line) for line in heights)
    values = (shown["norms"] ** 2, shown["other_similarity"])
    slope, start = np.polyfit(shown["similarity"], p, 1)
    assert slope < 0
    for line, expected in zip((squares, q), values, strict=True):
        np.testing.assert_allclose(line, slope * expected + start, atol=0.02)


def sentence(position: int) -> str:
    shown = readings(
        PositionalEncoding(position=position, formula="wrong exponent")
    )
    offset = abs(shown["offset"])
    return (
        f"Offset {shown['offset']}: dot product {shown['dot_product']:.2f}; "
        f"all pairs with this offset give {shown['smallest'][offset]:.2f} to "
        f"{shown['largest'][offset]:.2f}. Norms of p and q: "
        f"{shown['norm']:.2f} and {shown['other_norm']:.2f}. "
        "With one token more in the sentence, the encoding of p moves by 0.00."
    )


def test_the_reading_is_spoken_once_after_the_last_movement(show):
    page = show(PositionalEncoding(formula="wrong exponent"))
    spoken = page.locator("[aria-live=polite]")
    expect(spoken).to_have_text(sentence(20))
    spoken.evaluate(
        "node => { window.said = []; new MutationObserver(() =>"
        " window.said.push(node.textContent)).observe(node,"
        " {childList: true}); }"
    )
    for _ in range(10):
        slider(page, "position p").press("ArrowRight")
    expect(spoken).to_have_text(sentence(30))
    # A slow machine may take a pause in the middle.
    assert 1 <= len(page.evaluate("window.said")) <= 5
    slider(page, "position p").press("End")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Offset \N{MINUS SIGN}49:"
    )
    page.get_by_label("formula").select_option("rescaled")
    widget = PositionalEncoding(position=99, formula="rescaled")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"the encoding of p moves by {readings(widget)['moved']:.2f}."
    )


def test_two_views_move_together(show):
    page = show(PositionalEncoding(), views=2)
    slider(page, "positions N").press("Home")
    for view in page.locator(EXPLORER).all():
        expect_published(view, length=10, position=9)
        expect(view.get_by_label("position p")).to_have_attribute("max", "9")


@each_look
def test_accessible_and_inside_the_window(show, theme, width):
    page = show(
        PositionalEncoding(formula="wrong exponent"), theme=theme, width=width
    )
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [374, 414, 480, 704, 752, 900])
def test_nothing_jumps_while_a_slider_moves(show, width):
    page = show(PositionalEncoding(), width=width)
    explorer = explorer_of(page)
    heights = set()
    for formula in ("rescaled", "wrong exponent", "paper"):
        page.get_by_label("formula").select_option(formula)
        for label, name, ends in (
            ("d_model", "d_model", {"End": 128, "Home": 4}),
            ("base", "base", {"Home": 10, "End": 100_000}),
            ("position p", "position", {"Home": 0, "End": 99}),
        ):
            for key, value in ends.items():
                slider(page, label).press(key)
                expect_published(explorer, **{name: value})
                heights.add(explorer.bounding_box()["height"])
    # A raised digit from another font makes its line a pixel higher.
    assert max(heights) - min(heights) <= 2


def test_it_lives_in_its_chapter(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    explorer = page.locator(".vitedu-positional-encoding")
    expect(explorer).to_have_count(1)
    shown = published(explorer)
    explorer.get_by_label("formula").select_option("wrong exponent")
    explorer.get_by_label("position p", exact=True).press("Home")
    expect_published(explorer, formula="wrong exponent", position=0)
    kept = {name: shown[name] for name in ("base", "length", "other")}
    expect_readings(
        explorer,
        readings(
            PositionalEncoding(
                d_model=shown["dModel"],
                position=0,
                formula="wrong exponent",
                **kept | {"base": float(kept["base"])},
            )
        ),
    )
