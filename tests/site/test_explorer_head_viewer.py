"""HeadViewer in the browser: its lines, its bars, its maps, its table."""

import re

import numpy as np
import pytest
import torch
from explorers import head_viewer as make
from explorers import rows_of_weights
from mounted import choose_setting, explorer_of
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import HeadViewer

HEADS, KEYS = 3, 5
TOLERANCE = 1e-5
WEIGHTS = rows_of_weights(2, HEADS, KEYS, KEYS)


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


def test_lines_and_bars_stand_for_the_weights(show):
    rows = WEIGHTS[0, :, 1]
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
    rows = WEIGHTS[0, [0, 2], 1]
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
    paths = page.locator(".squares").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('d'))"
    )
    sides = [re.findall(r"h([\d.]+)v", path) for path in paths]
    area = np.square(np.array(sides, float)) / 0.94**2
    area = area.reshape(HEADS, KEYS, KEYS)
    np.testing.assert_allclose(area, WEIGHTS[1], atol=1e-5)


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


def test_a_button_hides_its_head_and_shows_it_again(show):
    rows = WEIGHTS[0, :, 2]
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
    button(page, "Show all").click()
    expect(explorer_of(page)).to_have_attribute("data-heads", "[0,1,2]")
    button(page, "Hide all").click()
    expect(reading).to_have_text("Token 3, “c”. All heads are hidden.")
    middle.press("Enter")
    expect(explorer_of(page)).to_have_attribute("data-heads", "[1]")


def test_the_table_says_what_each_head_does(show):
    widget = make(query=1)
    page = show(widget)
    rows = torch.tensor(WEIGHTS[0, :, 1])
    entropies = torch.special.entr(rows).sum(-1)
    for head in range(HEADS):
        row = rows[head]
        most, offset = row.argmax(), row @ (torch.arange(5.0) - 1)
        expected = [
            f"{most + 1} “{widget.tokens[most]}”",
            f"{row.max():.2f}",
            f"{entropies[head]:.2f}",
            f"{offset:+.2f}".replace("-", "\N{MINUS SIGN}"),
        ]
        cells = page.locator("tbody tr").nth(head).locator("td")
        assert cells.all_inner_texts() == expected
    expect(page.locator(".readings")).to_contain_text("ln 5 = 1.61")


def test_heads_of_one_colour_differ_in_their_strokes(show):
    weights = rows_of_weights(8, 24, 24)
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
    weights = rows_of_weights(HEADS, 7, KEYS)
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


def typed(**view) -> HeadViewer:
    """Return an explorer that reads words of a, b, c with up to 6 letters."""
    pen = np.random.default_rng(0)
    asking, offering = pen.normal(0, 1.5, (2, HEADS, 3 + 6, 4))
    words = {"first": "abcab", "short": "ca"}
    return HeadViewer.of_letters("abc", asking, offering, words, **view)


def weights_of(explorer: HeadViewer, word: str) -> torch.Tensor:
    ids = ["abc".index(letter) for letter in word]
    q, k = (
        torch.tensor(part[:, ids] + part[:, 3 : 3 + len(word)])
        for part in (explorer.asking, explorer.offering)
    )
    return (q @ k.mT / 2).softmax(-1)  # (head, query, key)


def test_a_typed_word_is_read_at_once(show):
    widget = typed(query=4)
    page = show(widget)
    box = page.get_by_label("Word", exact=True)
    expect(box).to_have_value("abcab")
    for word in ("abcab", "bbacca", "cab"):
        box.fill(word)
        expect(page.locator(".token.key")).to_have_text(list(word))
        query = min(4, len(word) - 1)
        expect_query(page, query)
        np.testing.assert_allclose(
            drawn(page, ".bars rect", "width"),
            weights_of(widget, word)[:, query],
            atol=TOLERANCE,
        )
    choose_setting(page, "short")
    expect(box).to_have_value("ca")
    expect(page.locator(".token.key")).to_have_text(["c", "a"])


def test_a_word_that_cannot_be_read_says_why_and_changes_nothing(show):
    page = show(typed())
    box = page.get_by_label("Word", exact=True)
    for word, why in [
        ("abx", "Letters are a b c."),
        ("a", "A word has 2 to 6 letters."),
    ]:
        box.fill(word)
        expect(page.locator(".vitedu-fault")).to_have_text(why)
        expect(box).to_have_attribute("aria-invalid", "true")
        expect(page.locator(".token.key")).to_have_text(list("abcab"))
    box.fill("abcabc")
    expect(page.locator(".vitedu-fault")).to_be_empty()
    expect(page.locator(".token.key")).to_have_count(6)


@pytest.mark.parametrize(
    ("letters", "parts", "word", "named"),
    [
        ("abc", 9, "abd", "word must be 2 to 6 letters of 'abc'"),
        ("abc", 9, "abcabca", "word must be 2 to 6 letters of 'abc'"),
        ("aba", 9, "ab", "letters must be 2 to 64 different ones"),
        ("abc", 4, "ab", "asking and offering must have one shape"),
    ],
)
def test_letters_words_and_parts_must_fit(letters, parts, word, named):
    numbers = np.zeros((HEADS, parts, 4))
    with pytest.raises(ValueError, match=named):
        HeadViewer.of_letters(letters, numbers, numbers, {"one": word})
