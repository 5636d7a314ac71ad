"""MaskEditor in the browser: its cells, its mouse, its keyboard."""

import numpy as np
import pytest
from mounted import (
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    overflow,
    published,
    settle,
)
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import MaskEditor
from vitedu.widgets.mask_editor import METHODS, SCORES, TOKENS, preset

MINUS = "\N{MINUS SIGN}"
SIZE = len(TOKENS)


def figures(page: Page, name: str) -> np.ndarray:
    """Read what the page shows; NaN and infinities are words there."""
    return np.array(published(explorer_of(page))[name], dtype=np.float64)


def expect_mask(explorer: Locator, mask: np.ndarray) -> None:
    text = ",".join(str(int(seen)) for seen in mask.flat)
    expect_published(explorer, mask=f"[{text}]")


def option(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def cell(page: Page, query: int, key: int) -> Locator:
    return page.locator(".mask .cell").nth(query * SIZE + key)


def more(page: Page) -> None:
    """Unfold what the editor folds."""
    page.locator("summary").click()


def texts(page: Page, panel: str) -> list[str]:
    return page.locator(f".{panel} .cell").all_text_contents()


def test_the_cells_say_what_is_computed(show):
    mask = preset("causal", TOKENS)
    mask[1] = False
    page = show(MaskEditor(mask=mask, fill_value="-inf"))
    row = slice(2 * SIZE, 3 * SIZE)
    weights = [f"{weight:.2f}" for weight in figures(page, "weights")[12:15]]
    assert texts(page, "mask")[row] == ["True"] * 3 + ["False"] * 3
    assert texts(page, "scores")[row] == [
        f"{MINUS}0.6",
        *("1.7", "0.4", "0.8", "2.6", "0.5"),
    ]
    assert texts(page, "masked")[row] == [
        *(f"{MINUS}0.6", "1.7", "0.4"),
        *[f"{MINUS}∞"] * 3,
    ]
    assert texts(page, "weights")[row] == [*weights, "0", "0", "0"]
    assert texts(page, "weights")[SIZE : 2 * SIZE] == ["NaN"] * SIZE
    option(page, "hidden scores become", "finfo.min")
    expect_published(explorer_of(page), fill_value="finfo.min")
    assert texts(page, "masked")[row][3:] == ["min"] * 3
    option(page, "hidden scores become", "-1e9")
    expect_published(explorer_of(page), fill_value="-1e9")
    assert texts(page, "masked")[row][3:] == [f"{MINUS}10⁹"] * 3
    assert texts(page, "weights")[SIZE] == "0.17"


def test_the_mask_is_written_as_in_each_library(show):
    page = show(MaskEditor())
    more(page)
    for convention, seen, hidden, title in [
        ("vitedu", "True", "False", "True = may attend"),
        ("nn.MultiheadAttention", "False", "True", "True = hidden"),
        ("additive", "0", f"{MINUS}∞", f"0 = may attend, {MINUS}∞ = hidden"),
        ("integers", "1", "0", "1 = may attend, 0 = hidden"),
    ]:
        option(page, "written for", convention)
        expect(page.get_by_text(f"Mask: {title}", exact=True)).to_be_visible()
        assert texts(page, "mask")[:SIZE] == [seen] + [hidden] * 5


def test_bars_have_the_length_of_the_leaks(show):
    widget = MaskEditor(method="multiply before softmax")
    page = show(widget)
    lengths = page.locator(".level").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().width"
        " / bar.parentElement.clientWidth)"
    )
    leaks = figures(page, "leaks")
    np.testing.assert_allclose(lengths, leaks, atol=1e-3)
    assert page.locator(".leak .number").all_text_contents() == [
        f"{100 * leak:.0f}%" for leak in leaks
    ]
    expect(page.locator(".weights .leaks")).to_have_count(
        int((~widget.mask).sum())
    )


def test_presets_and_whole_rows_are_buttons(show):
    page = show(MaskEditor(query=3, key=0))
    explorer = explorer_of(page)
    group = page.get_by_role("group", name="Masks to start from")
    names = {"both": "causal and padding"} | {
        name: name for name in ("none", "padding", "causal")
    }
    for text, name in names.items():
        group.get_by_role("button", name=text, exact=True).click()
        expect_mask(explorer, preset(name, TOKENS))
        pressed = group.get_by_role("button", pressed=True)
        expect(pressed).to_have_text([text])
    mask = preset(name, TOKENS)
    for text, seen in (("Hide all from", False), ("Show all to", True)):
        page.get_by_role("button", name=f"{text} “a”").click()
        mask[3] = seen
        expect_mask(explorer, mask)
        expect(group.get_by_role("button", pressed=True)).to_have_count(0)


def test_a_click_hides_or_shows_and_a_stroke_paints(show):
    mask = preset("causal and padding", TOKENS)
    page = show(MaskEditor())
    explorer = explorer_of(page)
    for query, key in [(2, 5), (2, 5), (3, 1)]:
        cell(page, query, key).click()
        mask[query, key] ^= True
        expect_mask(explorer, mask)
        expect_published(explorer, query=query, key=key)

    def move_to(query: int, key: int) -> None:
        box = cell(page, query, key).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y, steps=5)

    # A stroke from a visible cell hides; what is hidden stays so.
    move_to(5, 1)
    page.mouse.down()
    move_to(5, 5)
    page.mouse.up()
    mask[5, 1:] = False
    expect_mask(explorer, mask)
    # A mouse that moves on with no button pressed changes nothing.
    move_to(2, 2)
    cell(page, 5, 5).press("Space")
    mask[5, 5] = True
    expect_mask(explorer, mask)


def test_arrow_keys_move_and_space_hides(show):
    mask = preset("causal and padding", TOKENS)
    page = show(MaskEditor(query=0, key=0))
    explorer = explorer_of(page)
    cell(page, 0, 0).focus()
    for key, place in [
        ("ArrowUp", (0, 0)),
        ("ArrowLeft", (0, 0)),
        ("ArrowRight", (0, 1)),
        ("ArrowDown", (1, 1)),
        ("End", (1, 5)),
        ("ArrowRight", (1, 5)),
        ("ArrowDown", (2, 5)),
        ("Home", (2, 0)),
        ("ArrowUp", (1, 0)),
    ]:
        page.keyboard.press(key)
        expect_published(explorer, query=place[0], key=place[1])
        expect(cell(page, *place)).to_be_focused()
    for key in ("Space", "Enter", "Space"):
        page.keyboard.press(key)
        mask[1, 0] ^= True
        expect_mask(explorer, mask)
        expect(cell(page, 1, 0)).to_have_attribute(
            "aria-pressed", str(bool(mask[1, 0])).lower()
        )
        expect(cell(page, 1, 0)).to_be_focused()


def test_a_cell_of_any_matrix_can_be_chosen(show):
    page = show(MaskEditor())
    more(page)
    explorer = explorer_of(page)
    for panel, place in [("scores", 9), ("masked", 23), ("weights", 30)]:
        page.locator(f".{panel} .cell").nth(place).click()
        query, key = divmod(place, SIZE)
        expect_published(explorer, query=query, key=key)
        expect(page.locator(".cell.chosen")).to_have_count(4)
        expect_mask(explorer, preset("causal and padding", TOKENS))
        label = f"score of “{TOKENS[query]}” for “{TOKENS[key]}”"
        expect(page.get_by_label(label, exact=True)).to_have_value(
            str(SCORES[query][key])
        )


def test_the_slider_changes_the_chosen_score(show):
    how = {"method": "multiply before softmax", "query": 0, "key": 0}
    page = show(MaskEditor(**how), width=704)
    more(page)
    slider, first = page.get_by_role("slider"), page.locator(".scores .cell")
    for key, text in (("ArrowRight", "0.6"), ("Home", f"{MINUS}5.0")):
        slider.press(key)
        expect(first.first).to_have_text(text)
    # Five hidden scores of 0 win over the only visible one.
    expect(page.locator(".leak .number").first).to_have_text("100%")


def test_scores_with_more_digits_show_two(show):
    scores = np.float32(SCORES) + np.float32(0.03)
    page = show(MaskEditor(scores, query=4, key=0))
    assert texts(page, "scores")[:3] == ["0.53", "1.63", "0.93"]
    said = page.get_by_role("slider").get_attribute("aria-valuetext")
    assert said == f"{MINUS}1.77"


def test_controls_that_do_nothing_are_disabled(show):
    page = show(MaskEditor())
    steps = page.get_by_label("order of steps")
    fill = page.get_by_label("hidden scores become")
    expect(fill).to_be_enabled()
    option(page, "order of steps", METHODS[1])
    expect(fill).to_be_disabled()
    option(page, "order of steps", METHODS[0])
    expect(fill).to_be_enabled()
    more(page)
    page.get_by_role("checkbox").check()
    expect(fill).to_be_disabled()
    expect(steps).to_be_disabled()


def test_the_reading_says_what_leaks_and_what_comes_through(show):
    page = show(MaskEditor(mask=preset("causal", TOKENS)))
    spoken = page.locator("[aria-live=polite]")
    expect(spoken).to_contain_text("No query puts weight on a hidden key.")
    option(page, "order of steps", METHODS[2])
    for key in ("Home", "End"):
        page.get_by_role("slider").press(key)
        settle(page)
        least = f"{figures(page, 'sums').min():.2f}"
        expect(spoken).to_contain_text(f"here as little as {least}")
    more(page)
    page.get_by_role("checkbox").check()
    expect(spoken).to_contain_text(
        "Rows that are NaN: 1. Most weight on hidden keys: 100%, from “<bos>”."
    )


def test_settings_show_what_goes_wrong(show):
    page = show(MaskEditor())
    explorer = explorer_of(page)
    group = page.get_by_role("group", name="Settings")
    pressed = group.get_by_role("button", pressed=True)
    expect(pressed).to_have_text(["decoder"])

    def leaks(name: str) -> np.ndarray:
        group.get_by_role("button", name=name, exact=True).click()
        expect(pressed).to_have_text([name])
        return figures(page, "leaks")

    assert (leaks("leak")[:-1] > 0.1).all()
    dead = leaks("dead row")
    expect_published(explorer, query=1, fill_value="-1e9")
    np.testing.assert_allclose(dead, [0, 1, 0, 0, 0, 0], atol=1e-6)
    np.testing.assert_allclose(leaks("inside out")[:5], 1)
    assert (leaks("decoder") == 0).all()
    expect_mask(explorer, preset("causal and padding", TOKENS))
    option(page, "order of steps", METHODS[2])
    expect(pressed).to_have_count(0)


def test_mask_and_weights_share_a_screen_and_the_rest_folds(show):
    page = show(MaskEditor(handed_over=True), theme="dark")
    for panel in ("scores", "masked"):
        expect(page.locator(f".{panel} .grid")).to_be_hidden()
    bottoms = page.locator(".mask .grid, .weights .grid").evaluate_all(
        "grids => grids.map((g) => g.getBoundingClientRect().bottom)"
    )
    assert bottoms == [pytest.approx(bottoms[0], abs=2)] * 2
    more(page)
    expect(page.locator(".scores .grid")).to_be_visible()
    # What leaks, in the dark.
    expect_accessible_and_inside(page)


def test_eight_long_words_stay_inside_the_window(show):
    words = [f"something{index}" for index in range(8)]
    widget = MaskEditor(np.full((8, 8), -4.25), words, convention="additive")
    page = show(widget, width=374)
    more(page)
    assert overflow(page) == 0
    cut = page.locator(".cell").evaluate_all(
        "cells => cells.filter((c) => c.scrollWidth > c.clientWidth + 1)"
        ".map((cell) => cell.textContent)"
    )
    assert cut == []
