"""FollowSentence in the browser: words, time, choices, stages, tree."""

import re
from itertools import product

import numpy as np
import pytest
import torch
from explorers import follow_sentence as make
from mounted import (
    accessibility_faults,
    button,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    press,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect
from translators import SEARCH, TGT, make_model, source, trained_model

from vitedu.analysis.attention_maps import capture_attention
from vitedu.data.numerals import chinese_numeral, english_numeral
from vitedu.decoding.search import beam_search, greedy_search

CHAPTER = "chapters/09-transformer.html"
NUMBER = 87


def field(page: Page) -> Locator:
    return page.get_by_label("Number, 0 to 99,999,999", exact=True)


def written(page: Page, place: int) -> Locator:
    """Return a word that the model writes, without the beginning."""
    return page.locator(".line.tgt [role=radio]").nth(place)


def chance(page: Page, word: str) -> Locator:
    return page.locator(".chance").filter(
        has=page.locator(".word", has_text=re.compile(f"^{word}$"))
    )


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
            "Right." if right else f"It should be “{' '.join(words(number))}”"
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
        shown = float(text.replace("> ", "").removesuffix("%")) / 100
        assert shown == pytest.approx(probability, abs=0.006)


def test_a_sentence_without_end_is_cut_and_said(show):
    model = make_model(norm_first=True)
    found = greedy_search(model, source(12_005), **SEARCH)
    assert not found.ended.item()
    page = show(make(model, number=12_005))
    shown = published(explorer_of(page))
    assert shown["tokens"] == found.best[0].tolist()
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("does not finish within 24 words")


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
        choices = {"1": heads[0], "2": heads[1]}
        page.get_by_label("Attention", exact=True).select_option(kind)
        page.get_by_label("Block", exact=True).select_option(str(layer + 1))
        for label, expected in choices.items():
            page.get_by_label("Head", exact=True).select_option(label)
            expect_published(
                explorer_of(page),
                attention=kind,
                layer=layer,
                head=int(label) - 1,
            )
            if kind == "decoder":
                expected = expected[np.tril_indices(len(expected))]
            np.testing.assert_allclose(
                squares(page), expected.ravel(), atol=1e-5
            )


def test_bars_stand_above_the_tokens_that_are_looked_at(show):
    page = show(make(attention="decoder"))
    written(page, 2).click()
    expect_published(explorer_of(page), step=2)
    row = published(explorer_of(page))["looks"]
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
    expect_published(explorer_of(page), step=1)
    expect(written(page, 1)).to_have_attribute("aria-checked", "true")
    mark, row = (
        page.locator(name).bounding_box()
        for name in (".map-mark", ".map-row >> nth=1")
    )
    assert mark["y"] == pytest.approx(row["y"], abs=1)


def test_signs_are_chosen_where_they_look(show):
    page = show(make(attention="encoder"))
    signs = page.locator(".line.src [role=radio]")
    signs.nth(1).click()
    expect_published(explorer_of(page), row=1)
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "At character 2, “十”"
    )
    page.get_by_label("Attention", exact=True).select_option("cross")
    expect(signs).to_have_count(0)


def test_one_goes_forward_and_back_in_time(show):
    page = show(make(number=26))
    explorer = explorer_of(page)
    steps = page.get_by_label("Word", exact=True)
    count = page.locator(".line.tgt [role=radio]").count()
    assert count > 2
    for step in range(count):
        expect_published(explorer, step=step)
        expect(steps).to_have_attribute(
            "aria-valuetext", re.compile(f"{step + 1} of {count}")
        )
        # What is open belongs to the step: as many rows as words were read.
        title = page.locator(".of-stage .vitedu-panel-title")
        expect(title).to_contain_text(f"softmax: {step + 1} × ")
        expect(page.locator(".token-later")).to_have_count(count - 1 - step)
        button(page, "Later").press("Enter")
    expect_published(explorer, step=count - 1)
    press(page, "Earlier")
    expect_published(explorer, step=count - 2)
    steps.press("Home")
    expect_published(explorer, step=0)


@torch.no_grad()
def following(number: int, ids: list[int]) -> torch.Tensor:
    """Return the library's chances of each word after these."""
    logits = trained_model()(source(number), torch.tensor([[1, *ids]]))
    return logits[0, -1].softmax(dim=-1)


def test_the_chances_of_the_next_word_are_those_of_the_library(show):
    page = show(make(number=48, step=1))
    ids = published(explorer_of(page))["tokens"]
    expected = following(48, ids[:1])
    best = [one for one in expected.argsort(descending=True).tolist() if one]
    names = [TGT.words[one - 3] if one > 2 else "end" for one in best[:6]]
    expect(page.locator(".chance .word")).to_have_text(names)
    levels = page.locator(".chance .level").evaluate_all(
        "all => all.map((one) => Number(/[(](.*)[)]/.exec("
        "one.style.transform)[1]))"
    )
    np.testing.assert_allclose(levels, expected[best[:6]], atol=1e-3)
    expect(page.locator(".chance[aria-pressed=true]")).to_have_count(1)


def test_a_forced_word_leads_the_translation_elsewhere_and_back(show):
    page = show(make(number=48))
    explorer = explorer_of(page)
    first = published(explorer)
    other = page.locator(".chance[aria-pressed=false] .word").first
    word = other.inner_text()
    other.click()
    expect_published(explorer, begins=word, step=0)
    expect(chance(page, word)).to_have_attribute("aria-pressed", "true")
    shown = published(explorer)
    # What follows is the likeliest after the forced word, each time.
    ids = shown["tokens"]
    assert ids != first["tokens"]
    for step in range(1, len(ids)):
        chances = following(48, ids[:step])
        chances[0] = 0
        assert chances.argmax() == ids[step]
        logs = shown["logProbs"]
        expected = chances[ids[step]].log().item()
        assert logs[step] == pytest.approx(expected, abs=1e-3)
    expect(page.locator(".token-forced")).to_have_text(word)
    # Another word later keeps what was forced before.
    written(page, 1).click()
    chance(page, "end").click()
    expect_published(explorer, begins=f"{word} end", text=word, step=1)
    page.get_by_role("button", name="Let the model choose again").click()
    expect_published(explorer, begins="")
    assert published(explorer)["tokens"] == first["tokens"]
    # Another number is translated without it.
    written(page, 0).click()
    expect_published(explorer, step=0)
    chance(page, word).click()
    field(page).fill("12")
    expect_published(explorer, number=12, begins="", step=0)


def test_a_beam_finds_what_the_library_finds_and_grows_a_tree(show):
    page = show(make(number=96, method="beam", beam_size=3))
    explorer = explorer_of(page)
    steps = []
    found = beam_search(
        trained_model(), source(96), beam_size=3, record=steps.append, **SEARCH
    )
    assert published(explorer)["tokens"] == found.best[0].tolist()
    slider = page.get_by_label("Word", exact=True)
    boxes = page.locator(".tree .box:not(.dropped)")
    before = 0
    for step in range(len(steps)):
        expect_published(explorer, step=step)
        alive = len(steps[step + 1].prefixes) if step + 1 < len(steps) else 0
        label = page.locator(".tree svg").get_attribute("aria-label")
        kept = re.search("Kept: (.*?)[.] Ended", label)[1]
        assert kept.count("“") == alive
        assert boxes.count() > before
        before = boxes.count()
        assert page.locator(".tree .twig").count() == (
            page.locator(".tree .box").count()
        )
        slider.press("ArrowRight")
    best = page.locator(".tree .box.best .word")
    names = [*TGT.decode(found.best[0]), "end"]
    expect(best).to_have_text(names)
    page.get_by_label("How it chooses").select_option("greedy")
    expect(page.locator(".tree")).to_be_hidden()


def test_draws_with_a_seed_can_be_repeated(show):
    page = show(make(number=96, method="sample", temperature=3.0))
    explorer = explorer_of(page)
    sentences = []
    for seed in range(6):
        expect_published(explorer, seed=seed)
        expect(page.locator(".seed")).to_have_text(f"Seed {seed}")
        sentences.append(published(explorer)["tokens"])
        page.get_by_role("button", name="Draw again").click()
    assert len({str(one) for one in sentences}) > 2
    again = show(make(number=96, method="sample", temperature=3.0, seed=4))
    assert published(explorer_of(again))["tokens"] == sentences[4]
    # The colder, the likelier is the likeliest.
    cold = show(make(number=96, method="sample", temperature=0.1, seed=4))
    greedy = greedy_search(trained_model(), source(96), **SEARCH)
    assert published(explorer_of(cold))["tokens"] == greedy.best[0].tolist()


def number_of(text: str) -> float:
    """Return the number that a person would have written so."""
    text = text.replace("−", "-").replace("-∞", "-inf")
    return float(
        text.replace(" × 10", "e").translate(
            str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
        )
    )


def test_every_stage_opens_with_its_numbers_formula_and_line(show):
    page = show(make(number=26, step=2, column=1))
    explorer = explorer_of(page)
    names = set()
    page.get_by_role("button", name="Inside the network").click()

    def look() -> None:
        worked = page.locator(".worked").inner_text()
        value = float(published(explorer)["value"])
        shown = number_of(worked.rsplit("= ", 1)[1])
        assert shown == pytest.approx(value, rel=0.06, abs=1e-9)
        assert page.locator(".formula").inner_text()
        assert page.locator(".code-line code").inner_text()
        names.add(page.locator(".of-stage .vitedu-panel-title").inner_text())

    strip = page.locator(".strip:not(.inner) [role=radio]")
    for i in range(strip.count()):
        strip.nth(i).click()
        expect(strip.nth(i)).to_have_attribute("aria-checked", "true")
        look()
        steps = page.locator(".strip.inner [role=radio]:visible")
        block = re.match("(Enc|Dec)oder", strip.nth(i).inner_text())
        for at in range(steps.count() if block else 0):
            steps.nth(at).click()
            expect(steps.nth(at)).to_have_attribute("aria-checked", "true")
            expect(page.locator(".inner [aria-checked=true]")).to_have_count(1)
            look()
    # 14 steps in a block of the encoder, 24 in one of the decoder.
    assert len(names) == 8 + 2 * (14 + 24)


VIEWS = {"The translation": ".chances", "Inside the network": ".numbers"}


def expect_view(page: Page, name: str) -> None:
    for other, part in VIEWS.items():
        expect(page.locator(part)).to_be_visible(visible=other == name)


@each_look
def test_the_network_opens_in_place_of_the_translation(show, theme, width):
    page = show(make(), theme=theme, width=width)
    expect_view(page, "The translation")
    for name in reversed(VIEWS):
        page.get_by_role("button", name=name).press("Enter")
        expect_view(page, name)
    page.evaluate("location.hash = 'explorer-follow-sentence:stage=scores'")
    expect_view(page, "Inside the network")
    chosen = page.locator(".strip:visible [aria-checked=true]")
    for mark in chosen.all():
        expect(mark).to_be_in_viewport(ratio=1)
    expect_accessible_and_inside(page)
    page.get_by_role("button", name="Start again").click()
    expect_view(page, "The translation")


def test_each_view_fits_a_screen(show):
    page = show(make(number=18_000_000), width=1280)
    top = explorer_of(page).bounding_box()["y"]
    for name, part in zip(VIEWS, (".now", ".of-stage"), strict=True):
        page.get_by_role("button", name=name).click()
        box = page.locator(part).bounding_box()
        assert box["y"] + box["height"] - top <= 752, name


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
    example = button(page, "12,005")
    example.click()
    expect_published(explorer_of(page), number=12_005)
    expect(field(page)).to_have_value("12,005")
    expect(example).to_have_attribute("aria-pressed", "true")


def test_signs_can_be_typed(show):
    page = show(make())
    for number in (0, 10, 12, 20, 105, 2_010, 10_000, 30_050_007, 99_999_999):
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
        written(page, 3).click()
        expect_published(explorer_of(page), attention=kind, step=3)
        field(page).fill("1x")
        expect_accessible_and_inside(page)
        scale = page.locator(".map").evaluate("map => map.getScreenCTM().a")
        assert scale >= least


def test_the_chapter_translates_what_is_typed(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    translator = page.locator(".vitedu-follow-sentence")
    reading = translator.locator(".vitedu-reading")
    field(page).press("ControlOrMeta+a")
    page.keyboard.type("304")
    expect(reading).to_contain_text(
        "三百零四 becomes “three hundred and four”, which is right. "
        "While it writes word 1, “three” "
    )
    expect(reading).to_contain_text(
        "head 1 of block 1 looks most at character"
    )
    row = published(translator)["looks"]
    translator.get_by_label("Head", exact=True).press("ArrowDown")
    expect(reading).to_contain_text(
        "head 2 of block 1 looks most at character"
    )
    assert published(translator)["looks"] != row


# What the line around each control crosses, while it has the focus: texts
# outside of it.
CROSSED = """(controls) => {
  const lines = [];
  const explorer = controls[0].closest(".vitedu-explorer");
  const texts = document.createTreeWalker(explorer, NodeFilter.SHOW_TEXT);
  for (let text; (text = texts.nextNode());) {
    if (!text.parentElement.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    lines.push(...[...range.getClientRects()].map((box) => [text, box]));
  }
  return controls.flatMap((control) => {
    control.focus({ preventScroll: true });
    const { outlineStyle, outlineWidth, outlineOffset } =
      getComputedStyle(control);
    if (outlineStyle !== "solid") return [`${control.outerHTML}: no line`];
    const out = parseFloat(outlineWidth) + parseFloat(outlineOffset);
    const around = control.getBoundingClientRect();
    return lines.filter(([text, box]) => !control.contains(text)
      && Math.min(box.right, around.right + out)
        - Math.max(box.left, around.left - out) > 1
      && Math.min(box.bottom, around.bottom + out)
        - Math.max(box.top, around.top - out) > 1,
    ).map(([text]) => text.data);
  });
}"""


@pytest.mark.parametrize("width", [900, 390])
def test_the_line_around_what_has_the_focus_crosses_no_label(show, width):
    page = show(make(number=18_000_000), width=width)
    page.keyboard.press("Tab")  # a line is for those who use the keyboard
    controls = page.locator(
        ".vitedu-explorer "
        ":is(input, select, [aria-checked='true']):not(:disabled)"
    ).filter(visible=True)
    assert controls.count() >= 6
    assert controls.evaluate_all(CROSSED) == []


@pytest.mark.parametrize("width", [830, 390])
def test_what_follows_stays_where_it_is_while_one_types(show, width):
    page = show(make(), width=width)
    translator = explorer_of(page)
    for attention in ("encoder", "decoder", "cross"):
        translator.get_by_label("Attention", exact=True).select_option(
            attention
        )
        heights = set()
        for number in (1, 12, 123, 1234, 12345):
            field(page).fill(str(number))
            expect_published(translator, number=number, attention=attention)
            heights.add(translator.bounding_box()["height"])
        assert len(heights) == 1, attention
