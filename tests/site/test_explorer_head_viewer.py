"""HeadViewer in the browser: its numbers, its mouse, its keyboard."""

import re

import numpy as np
import pytest
import torch
from mounted import (
    EXPLORER,
    each_look,
    expect_accessible_and_inside,
    explorer_of,
    published,
    stop_clock,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import HeadViewer
from vitedu.widgets.head_viewer import readings

CHAPTER = "chapters/05-multi-head-attention.html"
LAYERS, HEADS, KEYS = 2, 3, 5
TOLERANCE = 1e-5


def make_weights(*shape: int) -> np.ndarray:
    shape = shape or (LAYERS, HEADS, KEYS, KEYS)
    rng = np.random.default_rng(0)
    return rng.dirichlet(np.full(shape[-1], 0.4), shape[:-1]).astype("f4")


def make(**arguments) -> HeadViewer:
    # Two tokens are the same word.
    usual = {"weights": make_weights(), "tokens": ["a", "b", "c", "b", "e"]}
    return HeadViewer(**usual | arguments)


def token(page: Page, place: int) -> Locator:
    return page.locator(".token.query").nth(place)


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def expect_query(page: Page, query: int) -> None:
    expect(explorer_of(page)).to_have_attribute("data-query", str(query))


def drawn(page: Page, marks: str, attribute: str) -> np.ndarray:
    """Return a number of each line or bar, (head, key)."""
    table = np.array(
        page.locator(marks).evaluate_all(
            "(marks, name) => marks.map((mark) => [mark.dataset.head,"
            " mark.dataset.key, mark.getAttribute(name)].map(Number))",
            attribute,
        )
    )
    heads, keys = table[:, :2].max(0).astype(int) + 1
    return table[:, 2].reshape(heads, keys)


def test_every_token_has_the_readings_of_its_rows(show):
    weights = make_weights()
    page = show(make())
    for layer in range(LAYERS):
        page.get_by_label("Layer", exact=True).select_option(str(layer + 1))
        expect(explorer_of(page)).to_have_attribute("data-layer", str(layer))
        for query in range(KEYS):
            token(page, query).click()
            expect_query(page, query)
            shown = published(explorer_of(page))
            rows = torch.tensor(weights[layer, :, query], dtype=torch.float64)
            entropy = torch.special.entr(rows).sum(-1)
            np.testing.assert_array_equal(shown["most"], rows.argmax(-1))
            np.testing.assert_allclose(
                shown["entropy"], entropy, atol=TOLERANCE
            )
            twin = readings(make(layer=layer, query=query))
            for name, expected in twin.items():
                np.testing.assert_allclose(
                    shown[name], expected, atol=TOLERANCE, err_msg=name
                )


def test_lines_and_bars_stand_for_the_weights(show):
    rows = make_weights()[0, :, 1]
    page = show(make(query=1))
    width = drawn(page, ".curves path", "stroke-width")
    np.testing.assert_allclose(width, 9 * rows, atol=TOLERANCE)
    bars = drawn(page, ".bars rect", "width")
    np.testing.assert_allclose(bars, rows, atol=TOLERANCE)
    opacity = drawn(page, ".curves path", "stroke-opacity")
    assert (np.argsort(opacity, None) == np.argsort(rows, None)).all()


def test_the_bars_are_told_in_numbers(show):
    page = show(make(query=1, heads=[0, 2]))
    told = page.get_by_role("img", name="A bar for each head and key")
    rows = make_weights()[0, [0, 2], 1]
    heads = [
        f"Head {head}: "
        + ", ".join(f"{w} {x:.2f}" for w, x in zip("abcbe", row, strict=True))
        for head, row in zip((1, 3), rows, strict=True)
    ]
    expect(told).to_have_attribute(
        "aria-label", re.compile(f"{re.escape('. '.join(heads))}\\.$")
    )


def test_each_line_goes_from_the_query_to_the_bar_of_its_key(show):
    page = show(make(query=3))
    paths = page.locator(".curves path").evaluate_all(
        "paths => paths.map((path) => [path.getPointAtLength(0).y,"
        " path.getPointAtLength(path.getTotalLength()).y])"
    )
    starts, ends = np.reshape(paths, (HEADS, KEYS, 2)).transpose(2, 0, 1)
    np.testing.assert_array_equal(np.floor(starts), 3)
    middle = drawn(page, ".bars rect", "y")
    middle += drawn(page, ".bars rect", "height") / 2
    np.testing.assert_allclose(ends, middle, atol=1e-3)
    np.testing.assert_array_equal(
        np.floor(ends), np.tile(np.arange(KEYS), (HEADS, 1))
    )


def test_the_area_of_a_square_is_its_weight(show):
    page = show(make(layer=1))
    sides = page.locator(".squares rect").evaluate_all(
        "squares => squares.map((square) => square.width.baseVal.value)"
    )
    area = np.square(sides).reshape(HEADS, KEYS, KEYS) / 0.94**2
    np.testing.assert_allclose(area, make_weights()[1], atol=1e-5)


def test_the_row_of_the_query_is_marked_in_every_map(show):
    page = show(make(query=0), reduced_motion="reduce")
    token(page, 3).click()
    expect_query(page, 3)
    for head in range(HEADS):
        mark = page.locator(".map-mark").nth(head).bounding_box()
        row = page.locator(".map-row").nth(head * KEYS + 3).bounding_box()
        assert mark["y"] == pytest.approx(row["y"], abs=1)


def test_a_row_of_a_map_chooses_its_query(show):
    page = show(make())
    page.locator(".map-row").nth(2 * KEYS + 4).click()
    expect_query(page, 4)


def test_a_mouse_that_rests_chooses_and_one_that_passes_does_not(show):
    page = show(make(query=2))
    stop_clock(page)
    boxes = [token(page, place).bounding_box() for place in (0, 4)]
    first, last = (
        (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for box in boxes
    )
    page.mouse.move(*first)
    page.clock.run_for(60)
    page.mouse.move(*last, steps=12)
    page.mouse.move(5, 5)
    page.clock.run_for(500)
    expect_query(page, 2)
    page.mouse.move(*last)
    page.clock.run_for(500)
    expect_query(page, 4)
    # Dragged from token to token.
    page.mouse.down()
    page.mouse.move(*first, steps=12)
    page.clock.run_for(500)
    expect_query(page, 0)
    page.mouse.up()


def test_a_tap_chooses(show):
    page = show(make(), width=390, has_touch=True)
    token(page, 4).tap()
    expect_query(page, 4)
    expect(token(page, 4)).to_have_attribute("aria-checked", "true")
    expect(page.locator(".token[aria-checked=true]")).to_have_count(1)


def test_keys_go_from_token_to_token_and_stop_at_the_ends(show):
    page = show(make(query=1))
    expect(page.locator(".token[tabindex='0']")).to_have_count(1)
    token(page, 1).focus()
    for key, query in [
        ("ArrowDown", 2),
        ("ArrowRight", 3),
        ("ArrowUp", 2),
        ("ArrowLeft", 1),
        ("End", 4),
        ("ArrowDown", 4),
        ("Home", 0),
        ("ArrowUp", 0),
    ]:
        page.keyboard.press(key)
        expect_query(page, query)
        expect(token(page, query)).to_be_focused()
    expect(page.locator(".token[tabindex='0']")).to_have_count(1)
    name = "token 4: b"
    expect(page.get_by_role("radio", name=name, exact=True)).to_have_count(1)


def test_a_button_hides_its_head_and_shows_it_again(show):
    rows = make_weights()[0, :, 2]
    page = show(make())
    middle = button(page, "head 2")
    expect(middle).to_have_attribute("aria-pressed", "true")
    middle.click()
    expect(explorer_of(page)).to_have_attribute("data-heads", "[0,2]")
    expect(middle).to_have_attribute("aria-pressed", "false")
    without = rows * [[1], [0], [1]]
    for marks, name, scale in [
        (".curves path", "stroke-width", 9),
        (".bars rect", "width", 1),
    ]:
        np.testing.assert_allclose(
            drawn(page, marks, name), scale * without, atol=TOLERANCE
        )
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("Head 3 looks most at")
    expect(reading).not_to_contain_text("Head 2 looks")
    middle.press("Enter")
    expect(explorer_of(page)).to_have_attribute("data-heads", "[0,1,2]")


def test_all_heads_can_be_hidden_and_shown(show):
    page = show(make())
    button(page, "Hide all").click()
    expect(page.locator(".vitedu-reading")).to_have_text(
        "Token 3, “c”. All heads are hidden."
    )
    assert not drawn(page, ".bars rect", "width").any()
    button(page, "head 3").click()
    button(page, "Show all").click()
    expect(explorer_of(page)).to_have_attribute("data-heads", "[0,1,2]")
    expect(button(page, "Hide all")).to_have_count(1)


def test_the_table_says_what_each_head_does(show):
    widget = make(query=1)
    page = show(widget)
    twin = readings(widget)
    for head in range(HEADS):
        most, offset = twin["most"][head], twin["offset"][head]
        expected = [
            f"{most + 1} “{widget.tokens[most]}”",
            f"{twin['largest'][head]:.2f}",
            f"{twin['entropy'][head]:.2f}",
            f"{offset:+.2f}".replace("-", "\N{MINUS SIGN}"),
        ]
        cells = page.locator("tbody tr").nth(head).locator("td")
        assert cells.all_inner_texts() == expected
    expect(page.locator(".readings")).to_contain_text("ln 5 = 1.61")


def test_heads_of_one_colour_differ_in_their_strokes(show):
    weights = make_weights(8, 24, 24)
    tokens = [f"word {place}" for place in range(24)]
    page = show(make(weights=weights, tokens=tokens))
    expect(explorer_of(page)).to_have_attribute("data-heads", "[0,1,2,3]")
    button(page, "Show all").click()
    expect(explorer_of(page)).to_have_attribute(
        "data-heads", "[0,1,2,3,4,5,6,7]"
    )
    bars = drawn(page, ".bars rect", "width")
    np.testing.assert_allclose(bars, weights[:, 12], atol=TOLERANCE)
    first, fifth = (
        page.locator(f'.curves path[data-head="{head}"]').first
        for head in (0, 4)
    )
    colour = "node => getComputedStyle(node).stroke"
    assert first.evaluate(colour) == fifth.evaluate(colour)
    expect(first).to_have_css("stroke-dasharray", "none")
    expect(fifth).not_to_have_css("stroke-dasharray", "none")


def test_two_sequences_have_words_of_their_own_and_no_offset(show):
    weights = make_weights(HEADS, 7, KEYS)
    page = show(make(weights=weights, targets=list("stuvwxy"), query=0))
    expect(page.locator(".token.query")).to_have_text(list("stuvwxy"))
    expect(page.locator(".token.key")).to_have_text(list("abcbe"))
    expect(page.locator("thead th")).to_have_count(4)
    expect(page.get_by_text("Mean offset")).to_have_count(0)
    expect(page.get_by_label("Layer", exact=True)).to_have_count(0)
    token(page, 6).click()
    expect_query(page, 6)
    np.testing.assert_allclose(
        drawn(page, ".bars rect", "width"), weights[:, 6], atol=TOLERANCE
    )


def test_what_is_said_is_what_is_written(show):
    widget = make()
    page = show(widget)
    token(page, 0).click()
    most = readings(make(query=0))["most"][0]
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text(
        f"Token 1, “a”. Head 1 looks most at token {most + 1}, "
        f"“{widget.tokens[most]}”"
    )
    expect(page.locator("[aria-live=polite]")).to_have_text(
        written.text_content()
    )


def test_two_views_of_a_model_move_together(show):
    page = show(make(), views=2)
    first, second = page.locator(EXPLORER).all()
    first.locator(".token.query").nth(4).click()
    first.get_by_role("button", name="head 1").click()
    expect(second).to_have_attribute("data-query", "4")
    expect(second).to_have_attribute("data-heads", "[1,2]")


@each_look
@pytest.mark.parametrize("size", [(4, 10, 10), (8, 24, 24)])
def test_accessible_and_inside_the_window(show, theme, width, size):
    words = ["a", "sequence", "of", "internationalisation"] * 6
    widget = make(weights=make_weights(*size), tokens=words[: size[-1]])
    page = show(widget, theme=theme, width=width)
    button(page, "head 1").click()
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [900, 390])
def test_the_room_it_takes_does_not_change(show, width):
    tokens = ["a", "straightforwardness", "b", "internationalisation", "c"]
    page = show(make(tokens=tokens, query=0), width=width)
    before = explorer_of(page).bounding_box()["height"]
    for query in range(1, KEYS):
        token(page, query).click()
        expect_query(page, query)
        assert explorer_of(page).bounding_box()["height"] == before


def test_the_chapter_can_be_read_by_mouse_and_keyboard(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    reading = page.locator(".vitedu-head-viewer .vitedu-reading")
    token(page, 0).click()
    expect(reading).to_have_text(re.compile("^Token 1, .* Head 1 looks most"))
    page.keyboard.press("ArrowDown")
    expect(reading).to_have_text(re.compile("^Token 2, "))
