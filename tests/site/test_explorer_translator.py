"""Translator in the browser: its words, its maps, its field."""

import re
from itertools import product

import numpy as np
import pytest
import torch
from explorers import translator as make
from mounted import (
    accessibility_faults,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect
from translators import SEARCH, TGT, make_model, source, trained_model

from vitedu.analysis.attention_maps import capture_attention
from vitedu.data.numerals import chinese_numeral, english_numeral
from vitedu.decoding.search import greedy_search

CHAPTER = "chapters/09-transformer.html"
NUMBER = 87


def field(page: Page) -> Locator:
    return page.get_by_label("Number, 0 to 99,999,999", exact=True)


def token(page: Page, place: int) -> Locator:
    return page.get_by_role("radio").nth(place)


def words(number: int) -> list[str]:
    return re.split("[ -]", english_numeral(number))


def squares(page: Page) -> np.ndarray:
    """Return the areas of the squares, as shares of a cell."""
    path = page.locator(".squares").get_attribute("d")
    sides = [float(side) for side in re.findall(r"z?M[^h]+h([^v]+)v", path)]
    cell = page.locator(".map-row").first.evaluate(
        "row => row.height.baseVal.value"
    )
    return (np.array(sides) / (0.94 * cell)) ** 2


def test_numbers_are_translated_as_by_greedy_search(show):
    page = show(make())
    for number in (0, 7, 16, 61, 12_005, 99_999_999):
        field(page).fill(f" {number:,} ")
        expect_published(explorer_of(page), number=number)
        shown = published(explorer_of(page))
        found = greedy_search(trained_model(), source(number), **SEARCH)
        assert shown["tokens"] == found.best[0].tolist()
        assert sum(shown["logProbs"]) == pytest.approx(
            found.log_probs.item(), abs=1e-3
        )
        right = TGT.decode(found.best[0]) == words(number)
        assert shown["right"] is right
        expect(page.locator(".verdict")).to_contain_text(
            "Right." if right else f"Right is “{' '.join(words(number))}”"
        )
        expect(page.locator(".line.src .token")).to_have_text(
            list(chinese_numeral(number))
        )


def test_the_words_have_their_probabilities_below(show):
    page = show(make(number=26))
    steps = []
    greedy_search(trained_model(), source(26), record=steps.append, **SEARCH)
    expected = [step.next_log_probs.max().exp().item() for step in steps]
    texts = page.locator(".line.tgt .sure").all_inner_texts()[1:]
    assert len(texts) == len(expected)
    for text, probability in zip(texts, expected, strict=True):
        shown = float(text.replace("> ", "").removesuffix(" %")) / 100
        assert shown == pytest.approx(probability, abs=0.006)


def test_a_sentence_without_end_is_cut_and_said(show):
    model = make_model(norm_first=True)
    found = greedy_search(model, source(12_005), **SEARCH)
    assert not found.ended.item()
    page = show(make(model, number=12_005))
    shown = published(explorer_of(page))
    assert shown["tokens"] == found.best[0].tolist()
    expect(page.locator(".verdict")).to_contain_text("no end within 24 words")


def test_the_maps_are_those_of_the_model(show):
    model = trained_model()
    src = source(NUMBER)
    written = greedy_search(model, src, **SEARCH).best
    read = torch.cat([torch.tensor([[1]]), written[:, :-1]], dim=1)
    with torch.no_grad(), capture_attention(model) as maps:
        model(src, read)
    names = {
        "encoder": "encoder.blocks.{}.attn",
        "decoder": "decoder.blocks.{}.attn",
        "cross": "decoder.blocks.{}.cross_attn",
    }
    page = show(make())
    for kind, layer in product(names, (1, 0)):
        heads = maps[names[kind].format(layer)][0].numpy()
        choices = {"1": heads[0], "2": heads[1], "mean of all": heads.mean(0)}
        page.get_by_label("Attention", exact=True).select_option(kind)
        page.get_by_label("Block", exact=True).select_option(str(layer + 1))
        for label, expected in choices.items():
            page.get_by_label("Head", exact=True).select_option(label)
            expect_published(
                explorer_of(page),
                attention=kind,
                layer=layer,
                head={"1": 0, "2": 1}.get(label, -1),
            )
            if kind == "decoder":
                expected = expected[np.tril_indices(len(expected))]
            np.testing.assert_allclose(
                squares(page), expected.ravel(), atol=1e-5
            )


def test_bars_stand_above_the_tokens_that_are_looked_at(show):
    page = show(make(attention="decoder"))
    token(page, 2).click()
    expect_published(explorer_of(page), query=2)
    row = published(explorer_of(page))["row"]
    assert len(row) == 3
    assert sum(row) == pytest.approx(1)
    told = page.locator(".map").get_attribute("aria-label")
    numbers = re.findall(r"\S+ (\d\.\d\d)(?=[,.])", told)
    assert numbers == [f"{weight:.2f}" for weight in row]
    heights = page.locator(".line.tgt .fill").evaluate_all(
        "marks => marks.map((mark) => parseFloat(mark.style.height) || 0)"
    )
    np.testing.assert_allclose(heights[:3], np.multiply(row, 100), atol=1e-3)
    assert not any(heights[3:])
    expect(page.locator(".line.src .bar").first).to_be_hidden()


def test_the_rows_of_the_map_choose_too(show):
    page = show(make())
    page.locator(".map-row").nth(1).click()
    expect_published(explorer_of(page), query=1)
    expect(token(page, 1)).to_have_attribute("aria-checked", "true")
    mark, row = (
        page.locator(name).bounding_box()
        for name in (".map-mark", ".map-row >> nth=1")
    )
    assert mark["y"] == pytest.approx(row["y"], abs=1)


def test_what_is_no_number_gets_a_kind_word(show):
    page = show(make())
    fault = page.locator(".vitedu-fault")
    for text, message in [
        ("", "Type a number"),
        ("1.5", "Digits only"),
        ("100000000", "At most 99,999,999"),
        ("一零", "write no number"),
        ("一十", "write no number"),
        ("万", "write no number"),
    ]:
        field(page).fill(text)
        expect(fault).to_contain_text(message)
        expect(field(page)).to_have_attribute("aria-invalid", "true")
        # What is shown belongs to another number.
        expect(page.locator(".verdict")).to_be_hidden()
        expect_published(explorer_of(page), number=NUMBER)
        field(page).fill(f"000{NUMBER}")
        expect(fault).to_be_empty()
        expect(field(page)).to_have_attribute("aria-invalid", "false")
        expect(page.locator(".verdict")).to_be_visible()
    expect(field(page)).to_have_value(f"000{NUMBER}")
    # An example replaces what was typed.
    example = page.get_by_role("button", name="12,005", exact=True)
    example.click()
    expect_published(explorer_of(page), number=12_005)
    expect(field(page)).to_have_value("12,005")
    expect(example).to_have_attribute("aria-pressed", "true")


@pytest.mark.parametrize(
    "number", [0, 10, 12, 20, 105, 2_010, 10_000, 30_050_007, 99_999_999]
)
def test_signs_can_be_typed(show, number):
    page = show(make())
    field(page).fill(chinese_numeral(number))
    expect_published(explorer_of(page), number=number)
    expect(page.locator(".vitedu-fault")).to_be_empty()


def test_the_first_wrong_word_is_marked(show):
    page = show(make(make_model(norm_first=True), number=26))
    written = page.locator(".line.tgt .token").all_inner_texts()[1:]
    wanted = [*words(26), "end"]
    first = next(
        at for at, word in enumerate(written) if word != wanted[at : at + 1][0]
    )
    expect(page.locator(".token-wrong")).to_have_count(1)
    expect(page.locator(".line.tgt .token").nth(first + 1)).to_have_class(
        re.compile("token-wrong")
    )


# As the theme of the site has it, which marks texts for search.
THEME_MARK = ".mark { background-color: #fff3cd; padding: 0.1875em }"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_marks_can_be_read_on_the_site(show, theme):
    page = show(make(), theme=theme)
    page.add_style_tag(content=THEME_MARK)
    names = page.locator(".line.tgt .token").all_inner_texts()
    assert (names[0], names[-1]) == ("begin", "end")
    backgrounds = page.locator(".line.tgt .token").evaluate_all(
        "tokens => tokens.map((token) =>"
        " getComputedStyle(token).backgroundColor)"
    )
    assert backgrounds[0] == backgrounds[-1] == "rgba(0, 0, 0, 0)"
    assert accessibility_faults(page) == []


@each_look
def test_accessible_and_inside_the_window(show, theme, width):
    # Long words, all places taken.
    widget = make(make_model(norm_first=True), number=77777777)
    page = show(widget, theme=theme, width=width)
    # 24 columns shrink a little on a phone; the letters stay legible.
    for kind, least in (("cross", 1), ("decoder", 0.85)):
        page.get_by_label("Attention", exact=True).select_option(kind)
        token(page, 3).click()
        expect_published(explorer_of(page), attention=kind, query=3)
        field(page).fill("1x")
        expect_accessible_and_inside(page)
        scale = page.locator(".map").evaluate("map => map.getScreenCTM().a")
        assert scale >= least


def test_the_chapter_translates_what_is_typed(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    translator = page.locator(".vitedu-translator")
    reading = translator.locator(".vitedu-reading")
    field(page).press("ControlOrMeta+a")
    page.keyboard.type("304")
    expect(reading).to_contain_text(
        "三百零四 becomes “three hundred and four”, which is right. "
        "While it writes token 1, “three” "
    )
    expect(reading).to_contain_text("head 1 of block 1 looks most at sign")
    row = published(translator)["row"]
    translator.get_by_label("Head", exact=True).press("ArrowDown")
    expect(reading).to_contain_text("head 2 of block 1 looks most at sign")
    assert published(translator)["row"] != row


def test_what_follows_stays_where_it_is_while_one_types(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    translator = page.locator(".vitedu-translator")
    translator.get_by_label("Attention", exact=True).select_option("cross")
    heights = set()
    for number in (1, 12, 123, 1234, 12345):
        field(page).fill(str(number))
        expect_published(translator, number=number)
        heights.add(translator.bounding_box()["height"])
    assert len(heights) == 1
