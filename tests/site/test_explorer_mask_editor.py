"""MaskEditor in the browser: its numbers, its mouse, its keyboard."""

import numpy as np
import pytest
import torch
from mounted import (
    EXPLORER,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    overflow,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu.attention import attention_weights
from vitedu.widgets import MaskEditor
from vitedu.widgets.mask_editor import (
    CONVENTIONS,
    FILL_VALUES,
    METHODS,
    PRESETS,
    SCORES,
    TOKENS,
    preset,
    readings,
)

CHAPTER = "chapters/04-masking.html"
TOLERANCE = 1e-5
MINUS, NBSP = "\N{MINUS SIGN}", "\N{NO-BREAK SPACE}"
SIZE = len(TOKENS)
RNG = np.random.default_rng(0)
DEAD_ROWS = RNG.random((SIZE, SIZE)) < 0.5
DEAD_ROWS[[1, 4]] = False


def matrix(shown: dict[str, object], name: str) -> np.ndarray:
    """Read an array off the page; NaN and infinities are words there."""
    return np.array(shown[name], dtype=np.float64).reshape(-1, SIZE)


def expect_mask(explorer: Locator, mask: np.ndarray) -> None:
    text = ",".join(str(int(seen)) for seen in mask.flat)
    expect_published(explorer, mask=f"[{text}]")


def expect_readings(explorer: Locator, widget: MaskEditor) -> None:
    """Compare everything the page shows with the Python twin."""
    shown = published(explorer)
    np.testing.assert_array_equal(matrix(shown, "scores"), widget.scores)
    np.testing.assert_array_equal(matrix(shown, "mask"), widget.mask)
    for name, expected in readings(widget).items():
        np.testing.assert_allclose(
            matrix(shown, name).reshape(expected.shape),
            expected,
            rtol=TOLERANCE,
            atol=TOLERANCE,
            err_msg=name,
        )


def option(page: Page, label: str, value: str) -> None:
    page.get_by_label(label, exact=True).select_option(value)


def cell(page: Page, query: int, key: int) -> Locator:
    return page.locator(".mask .cell").nth(query * SIZE + key)


def texts(page: Page, panel: str) -> list[str]:
    return page.locator(f".{panel} .cell").all_text_contents()


@pytest.mark.parametrize("name", [*PRESETS, "dead rows"])
def test_every_way_to_mask_shows_the_numbers_of_its_twin(show, name):
    mask = DEAD_ROWS if name == "dead rows" else preset(name, TOKENS)
    page = show(MaskEditor(mask=mask))
    explorer = explorer_of(page)
    for method in METHODS:
        option(page, "order of steps", method)
        for fill_value in FILL_VALUES if method == METHODS[0] else ["-inf"]:
            if method == METHODS[0]:
                option(page, "hidden scores become", fill_value)
            expect_published(explorer, method=method)
            twin = MaskEditor(mask=mask, method=method, fill_value=fill_value)
            if method == METHODS[0]:
                expect_published(explorer, fill_value=fill_value)
            expect_readings(explorer, twin)


@pytest.mark.parametrize("name", [*PRESETS, "dead rows"])
def test_every_convention_shows_the_numbers_of_its_twin(show, name):
    mask = DEAD_ROWS if name == "dead rows" else preset(name, TOKENS)
    page = show(MaskEditor(mask=mask))
    explorer = explorer_of(page)
    for convention in CONVENTIONS:
        option(page, "written for", convention)
        for handed_over in (True, False):
            page.get_by_role("checkbox").set_checked(handed_over)
            expect_published(
                explorer,
                convention=convention,
                handed_over=str(handed_over).lower(),
            )
            expect_readings(
                explorer,
                MaskEditor(
                    mask=mask, convention=convention, handed_over=handed_over
                ),
            )


@pytest.mark.parametrize("mask", [DEAD_ROWS, ~DEAD_ROWS])
def test_the_first_way_is_that_of_the_library(show, mask):
    page = show(MaskEditor(mask=mask))
    q = torch.tensor(np.float32(SCORES), dtype=torch.float64)[None, None]
    k = torch.eye(SIZE, dtype=torch.float64)[None, None]
    expected = attention_weights(
        q, k, torch.tensor(mask)[None, None], scale=1.0
    )
    np.testing.assert_allclose(
        matrix(published(explorer_of(page)), "weights"),
        expected[0, 0],
        atol=TOLERANCE,
    )


def test_the_cells_say_what_is_computed(show):
    mask = preset("causal", TOKENS)
    mask[1] = False
    page = show(MaskEditor(mask=mask, fill_value="-inf"))
    shown = readings(MaskEditor(mask=mask, fill_value="-inf"))
    row = slice(2 * SIZE, 3 * SIZE)
    weights = [f"{weight:.2f}" for weight in shown["weights"][2][:3]]
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


@pytest.mark.parametrize(
    ("convention", "seen", "hidden", "title"),
    [
        ("vitedu", "True", "False", "True = may attend"),
        (CONVENTIONS[1], "True", "False", "True = may attend"),
        ("nn.MultiheadAttention", "False", "True", "True = hidden"),
        ("additive", "0", f"{MINUS}∞", f"0 = may attend, {MINUS}∞ = hidden"),
        ("integers", "1", "0", "1 = may attend, 0 = hidden"),
    ],
)
def test_the_mask_is_written_as_in_each_library(
    show, convention, seen, hidden, title
):
    page = show(MaskEditor(convention=convention))
    expect(page.get_by_text(f"Mask: {title}", exact=True)).to_be_visible()
    assert texts(page, "mask")[:SIZE] == [seen] + [hidden] * 5


def test_bars_have_the_length_of_the_leaks(show):
    widget = MaskEditor(method="multiply before softmax")
    page = show(widget)
    lengths = page.locator(".level").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().width"
        " / bar.parentElement.clientWidth)"
    )
    leaks = readings(widget)["leaks"]
    np.testing.assert_allclose(lengths, leaks, atol=1e-3)
    assert page.locator(".leak .number").all_text_contents() == [
        f"{100 * leak:.0f}{NBSP}%" for leak in leaks
    ]
    expect(page.locator(".weights .leaks")).to_have_count(
        int((~widget.mask).sum())
    )


def test_a_hidden_score_without_weight_still_moves_the_sum(show):
    page = show(MaskEditor(method="multiply after softmax", query=0, key=4))
    heads = page.locator(".weights [role=columnheader].extra")
    assert heads.all_text_contents() == ["sum", "hidden"]
    beside = page.locator(".weights [role=cell].extra")
    sums = readings(MaskEditor(method="multiply after softmax"))["sums"]
    expect(beside.nth(0)).to_have_text(f"{sums[0]:.2f}")
    page.get_by_role("slider").press("End")
    scores = np.array(SCORES)
    scores[0, 4] = 5
    louder = MaskEditor(scores, method="multiply after softmax")
    moved = readings(louder)["sums"][0]
    assert moved < sums[0] - 0.05
    expect(beside.nth(0)).to_have_text(f"{moved:.2f}")
    shares = page.locator(".leak .number").all_text_contents()
    assert shares == [f"0{NBSP}%"] * SIZE


def test_presets_are_buttons_that_know_when_they_are_on(show):
    page = show(MaskEditor())
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
    cell(page, 0, 0).click()
    expect(group.get_by_role("button", pressed=True)).to_have_count(0)


def test_a_click_hides_and_shows_a_cell(show):
    mask = preset("causal and padding", TOKENS)
    page = show(MaskEditor())
    explorer = explorer_of(page)
    for query, key in [(2, 5), (2, 5), (3, 1), (0, 0)]:
        cell(page, query, key).click()
        mask[query, key] ^= True
        expect_mask(explorer, mask)
        expect_published(explorer, query=query, key=key)
        expect_readings(explorer, MaskEditor(mask=mask))


def test_a_tap_hides_a_cell(show):
    mask = preset("causal and padding", TOKENS)
    page = show(MaskEditor(), has_touch=True, width=390)
    for _ in range(2):
        cell(page, 4, 2).tap()
        mask[4, 2] ^= True
        expect_mask(explorer_of(page), mask)


def test_a_stroke_of_the_mouse_paints(show):
    mask = preset("causal and padding", TOKENS)
    page = show(MaskEditor())
    explorer = explorer_of(page)

    def move_to(query: int, key: int) -> None:
        box = cell(page, query, key).bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y, steps=5)

    # It begins at a visible cell, so it hides; what is hidden stays so.
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


def test_the_mask_is_one_tab_stop(show):
    page = show(MaskEditor(query=3, key=2))
    page.get_by_role("checkbox").focus()
    page.keyboard.press("Tab")
    expect(cell(page, 3, 2)).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("slider")).to_be_focused()


def test_a_cell_of_any_matrix_can_be_chosen(show):
    page = show(MaskEditor())
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


def test_a_whole_row_can_be_hidden_and_shown(show):
    page = show(MaskEditor(query=3, key=0))
    explorer = explorer_of(page)
    mask = preset("causal and padding", TOKENS)
    for name, seen in [
        ("Hide all from “a”", False),
        ("Show all to “a”", True),
    ]:
        page.get_by_role("button", name=name).click()
        mask[3] = seen
        expect_mask(explorer, mask)
        expect_readings(explorer, MaskEditor(mask=mask))


def test_the_slider_changes_the_chosen_score(show):
    scores = np.float32(SCORES)
    page = show(
        MaskEditor(method="multiply before softmax", query=0, key=0), width=704
    )
    explorer, slider = explorer_of(page), page.get_by_role("slider")
    slider.press("ArrowRight")
    scores[0, 0] = 0.6
    expect_published(explorer, query=0)
    expect(page.locator(".scores .cell").first).to_have_text("0.6")
    expect_readings(
        explorer, MaskEditor(scores, method="multiply before softmax")
    )
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] - 20, middle, steps=20)
    page.mouse.up()
    scores[0, 0] = -5
    expect(page.locator(".scores .cell").first).to_have_text(f"{MINUS}5.0")
    expect_readings(
        explorer, MaskEditor(scores, method="multiply before softmax")
    )
    # Five hidden scores of 0 win over the only visible one.
    expect(page.locator(".leak .number").first).to_have_text(f"100{NBSP}%")


def test_scores_with_more_digits_show_two(show):
    scores = np.float32(SCORES) + np.float32(0.03)
    page = show(MaskEditor(scores, query=4, key=0))
    assert texts(page, "scores")[:3] == ["0.53", "1.63", "0.93"]
    expect(page.get_by_role("slider")).to_have_attribute(
        "aria-valuetext", f"{MINUS}1.77"
    )
    assert f"score {MINUS}1.77" in page.locator(".vitedu-reading").inner_text()


def test_controls_that_do_nothing_are_disabled(show):
    page = show(MaskEditor())
    steps = page.get_by_label("order of steps")
    fill = page.get_by_label("hidden scores become")
    expect(fill).to_be_enabled()
    option(page, "order of steps", METHODS[1])
    expect(fill).to_be_disabled()
    option(page, "order of steps", METHODS[0])
    expect(fill).to_be_enabled()
    page.get_by_role("checkbox").check()
    expect(fill).to_be_disabled()
    expect(steps).to_be_disabled()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "No query puts weight on a hidden key."),
        (
            {"method": "multiply before softmax"},
            f"Most weight on hidden keys: 75{NBSP}%, from “<bos>”.",
        ),
        (
            {"handed_over": True, "mask": preset("causal", TOKENS)},
            "Rows that are NaN: 1. Most weight on hidden keys: "
            f"100{NBSP}%, from “<bos>”.",
        ),
        (
            {"mask": np.eye(SIZE) < 0, "fill_value": "-inf"},
            "Rows that are NaN: 6.",
        ),
    ],
)
def test_the_reading_says_what_leaks(show, settings, sentence):
    widget = MaskEditor(**settings)
    page = show(widget)
    spoken = page.locator("[aria-live=polite]").text_content()
    assert spoken.startswith("“I” for “I”: score 1.2, ")
    assert sentence in spoken
    assert page.locator(".vitedu-reading").text_content() == spoken


def test_two_views_move_together(show):
    page = show(MaskEditor(), views=2)
    cell(page, 1, 5).click()
    mask = preset("causal and padding", TOKENS)
    mask[1, 5] = True
    for view in page.locator(EXPLORER).all():
        expect_mask(view, mask)
        expect_readings(view, MaskEditor(mask=mask))
    first, second = page.get_by_role("checkbox").all()
    first.check()
    expect(second).to_be_checked()


def test_tokens_of_ones_own(show):
    widget = MaskEditor(np.ones((3, 3)), ("one", "<i>two</i>", "<pad>"))
    page = show(widget)
    assert texts(page, "masked")[3:6] == ["1.0", "1.0", "min"]
    heads = page.locator(".mask .word.query").all_text_contents()
    assert heads == widget.tokens


@pytest.mark.parametrize(
    ("theme", "width"), [("light", 900), ("dark", 704), ("light", 390)]
)
@pytest.mark.parametrize("handed_over", [False, True])
def test_accessible_and_inside_the_window(show, theme, width, handed_over):
    widget = MaskEditor(
        method="multiply before softmax", handed_over=handed_over
    )
    page = show(widget, theme=theme, width=width)
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [374, 390])
def test_eight_long_words_stay_inside_the_window(show, width):
    words = [f"something{index}" for index in range(8)]
    widget = MaskEditor(np.full((8, 8), -4.25), words, convention="additive")
    page = show(widget, width=width)
    assert overflow(page) == 0
    cut = page.locator(".cell").evaluate_all(
        "cells => cells.filter((c) => c.scrollWidth > c.clientWidth + 1)"
        ".map((cell) => cell.textContent)"
    )
    assert cut == []


@pytest.mark.parametrize("width", [374, 414, 704, 900])
def test_nothing_jumps_while_settings_change(show, width):
    page = show(MaskEditor(), width=width)
    explorer = explorer_of(page)
    places = set()

    def note() -> None:
        at = [
            page.locator(f".{name} .grid").bounding_box()["y"]
            for name in ("mask", "scores", "masked", "weights")
        ]
        places.add((*at, explorer.bounding_box()["height"]))

    for fill_value in FILL_VALUES:
        option(page, "hidden scores become", fill_value)
        expect_published(explorer, fill_value=fill_value)
        note()
    for method in METHODS:
        option(page, "order of steps", method)
        expect_published(explorer, method=method)
        note()
    page.get_by_role("checkbox").check()
    for convention in CONVENTIONS:
        option(page, "written for", convention)
        expect_published(explorer, convention=convention)
        cell(page, 5, 5).click()
        note()
    spread = np.ptp(np.array(sorted(places)), axis=0)
    assert spread.max() <= 1, spread


def test_it_lives_in_its_chapter(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    explorer = page.locator(".vitedu-mask-editor")
    expect(explorer).to_have_count(1)
    explorer.get_by_role("button", name="none", exact=True).click()
    expect_mask(explorer, preset("none", TOKENS))
    explorer.get_by_role("button", name="both", exact=True).click()
    option(page, "order of steps", METHODS[1])
    expect_published(explorer, method=METHODS[1])
    expect_readings(explorer, MaskEditor(method=METHODS[1]))
