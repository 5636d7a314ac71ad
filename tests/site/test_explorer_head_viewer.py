"""HeadViewer in the browser: its tokens, its buttons, a word of one's own."""

import numpy as np
import pytest
from explorers import head_viewer as make
from explorers import rows_of_weights
from mounted import (
    button,
    choose_setting,
    expect_published,
    explorer_of,
    press,
)
from playwright.sync_api import expect

from vitedu.widgets import HeadViewer

HEADS, KEYS = 3, 5


def test_the_row_of_the_query_is_marked_in_every_map_and_chooses_it(show):
    page = show(make(query=0), reduced_motion="reduce")
    page.locator(".token.query").nth(3).click()
    expect_published(explorer_of(page), query=3)
    rows = page.locator(".map-row")
    for head in range(HEADS):
        mark = page.locator(".map-mark").nth(head).bounding_box()
        row = rows.nth(head * KEYS + 3).bounding_box()
        assert mark["y"] == pytest.approx(row["y"], abs=1)
    rows.nth(2 * KEYS + 4).click()
    expect_published(explorer_of(page), query=4)


def test_a_button_hides_its_head_and_shows_it_again(show):
    page = show(make())
    middle = button(page, "head 2")
    middle.click()
    expect_published(explorer_of(page), heads="[0,2]")
    expect(middle).to_have_attribute("aria-pressed", "false")
    press(page, "Show all")
    expect_published(explorer_of(page), heads="[0,1,2]")
    press(page, "Hide all")
    expect(page.locator("tbody .off")).to_have_count(HEADS)
    middle.press("Enter")
    expect_published(explorer_of(page), heads="[1]")


def test_heads_of_one_colour_differ_in_their_strokes(show):
    weights = rows_of_weights(8, 24, 24)
    tokens = [f"word {place}" for place in range(24)]
    page = show(make(weights=weights, tokens=tokens))
    expect_published(explorer_of(page), heads="[0,1,2,3]")
    press(page, "Show all")
    first, fifth = (
        page.locator(f'.curves path[data-head="{head}"]').first
        for head in (0, 4)
    )
    expect(first).to_have_css("stroke-dasharray", "none")
    expect(fifth).not_to_have_css("stroke-dasharray", "none")


def test_two_sequences_have_words_of_their_own_and_no_offset(show):
    weights = rows_of_weights(HEADS, 7, KEYS)
    page = show(make(weights=weights, targets=list("stuvwxy"), query=0))
    expect(page.locator(".token.query")).to_have_text(list("stuvwxy"))
    expect(page.locator(".token.key")).to_have_text(list("abcbe"))
    expect(page.get_by_text("Mean offset")).to_have_count(0)
    for label in ("Layer", "Word"):
        expect(page.get_by_label(label, exact=True)).to_have_count(0)


def test_a_typed_word_is_read_at_once_or_it_says_why_not(show):
    parts = np.random.default_rng(0).normal(0, 1.5, (2, HEADS, 3 + 6, 4))
    words = {"first": "abcab", "short": "ca"}
    page = show(HeadViewer.of_letters("abc", *parts, words, query=4))
    box = page.get_by_label("Word", exact=True)
    keys = page.locator(".token.key")
    expect(box).to_have_value("abcab")
    for word, why in [
        ("abx", "Letters are a b c."),
        ("a", "A word has 2 to 6 letters."),
    ]:
        box.fill(word)
        expect(page.locator(".vitedu-fault")).to_have_text(why)
        expect(box).to_have_attribute("aria-invalid", "true")
        expect(keys).to_have_text(list("abcab"))
    for word in ("bbacca", "cab"):
        box.fill(word)
        expect(page.locator(".vitedu-fault")).to_be_empty()
        expect(keys).to_have_text(list(word))
    choose_setting(page, "short")
    expect(box).to_have_value("ca")
    expect(keys).to_have_text(["c", "a"])
