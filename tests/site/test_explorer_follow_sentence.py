"""FollowSentence in the browser: words, time, choices, stages, tree."""

import re
from itertools import zip_longest

import numpy as np
import pytest
import torch
from explorers import follow_sentence as make
from mounted import (
    button,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    press,
    published,
)
from playwright.sync_api import Locator, Page, expect
from stages import expect_on_a_screen, expect_view, lighten, open_each_stage
from translators import SEARCH, TGT, make_model, source, trained_model

from vitedu.analysis.attention_maps import capture_attention
from vitedu.data.numerals import chinese_numeral, english_numeral
from vitedu.decoding.search import beam_search, greedy_search

NUMBER = 87
VIEWS = {"The translation": ".chances", "Inside the network": ".numbers"}


def field(page: Page) -> Locator:
    return page.get_by_label("Number, 0 to 99,999,999", exact=True)


def written(page: Page, place: int) -> Locator:
    """Return a word that the model writes, without the beginning."""
    return page.locator(".line.tgt [role=radio]").nth(place)


def chance(page: Page, word: str) -> Locator:
    return page.locator(".chance").filter(
        has=page.locator(".word", has_text=re.compile(f"^{word}$"))
    )


def choose(page: Page, label: str, option: str) -> None:
    page.get_by_label(label, exact=True).select_option(option)


def squares(page: Page) -> np.ndarray:
    """Return the areas of the squares, as shares of a cell."""
    path = page.locator(".squares").get_attribute("d")
    sides = [float(side) for side in re.findall(r"z?M[^h]+h([^v]+)v", path)]
    cell = page.locator(".map-row").first.evaluate(
        "row => row.height.baseVal.value"
    )
    return (np.array(sides) / (0.94 * cell)) ** 2


def test_a_translation_has_its_probabilities_and_its_verdict(show):
    page = show(make())
    verdicts = []
    for number in (61, 12_005):
        field(page).fill(f" {number:,} ")
        expect_published(explorer_of(page), number=number)
        shown, steps = published(explorer_of(page)), []
        found = greedy_search(
            trained_model(), source(number), record=steps.append, **SEARCH
        )
        assert shown["tokens"] == found.best[0].tolist()
        logs = [step.next_log_probs.max().item() for step in steps]
        np.testing.assert_allclose(shown["logProbs"], logs, atol=1e-3)
        sure = page.locator(".line.tgt .sure").all_inner_texts()[1:]
        np.testing.assert_allclose(
            [float(text.strip("> %")) for text in sure],
            100 * np.exp(logs),
            atol=0.6,
        )
        signs = page.locator(".line.src .token")
        expect(signs).to_have_text([*chinese_numeral(number)])
        # The first wrong word is marked.
        words = re.split("[ -]", english_numeral(number))
        texts = page.locator(".line.tgt .token").all_inner_texts()
        wrong = [
            at
            for at, (text, word) in enumerate(
                zip_longest(texts, ["begin", *words, "end"])
            )
            if text != word
        ]
        marks = page.locator(".line.tgt .token").evaluate_all(
            "all => all.map((one) => one.classList.contains('token-wrong'))"
        )
        assert np.flatnonzero(marks).tolist() == wrong[:1]
        assert shown["right"] is (not wrong)
        expect(page.locator(".verdict")).to_contain_text(
            f"It should be “{' '.join(words)}”" if wrong else "Right."
        )
        verdicts.append(shown["right"])
    assert verdicts == [True, False]


def test_maps_and_bars_are_those_of_the_model(show):
    model, src = trained_model(), source(NUMBER)
    ids = greedy_search(model, src, **SEARCH).best
    read = torch.cat([torch.tensor([[1]]), ids[:, :-1]], dim=1)
    with torch.no_grad(), capture_attention(model) as maps:
        model(src, read)
    page = show(make(step=2))
    for kind, name, head in (
        ("encoder", "encoder.blocks.1.attn", 0),
        ("cross", "decoder.blocks.1.cross_attn", 1),
        ("decoder", "decoder.blocks.0.attn", 1),
    ):
        layer, expected = int(name.split(".")[2]), maps[name][0, head].numpy()
        choose(page, "Attention", kind)
        choose(page, "Block", str(layer + 1))
        choose(page, "Head", str(head + 1))
        expect_published(
            explorer_of(page), attention=kind, layer=layer, head=head
        )
        seen = np.tri(len(expected)) if kind == "decoder" else expected
        np.testing.assert_allclose(
            squares(page), expected[seen > 0], atol=1e-5
        )
    row = expected[2]
    told = page.locator(".map").get_attribute("aria-label")
    said = re.findall(r"\S+ (\d\.\d\d)(?=[,.])", told)
    assert said == [f"{weight:.2f}" for weight in row[:3]]
    heights = page.locator(".line.tgt .fill").evaluate_all(
        "marks => marks.map((mark) => parseFloat(mark.style.height) || 0)"
    )
    np.testing.assert_allclose(heights[: len(row)], 100 * row, atol=1e-3)
    expect(page.locator(".line.src .bar").first).to_be_hidden()


def test_rows_of_the_map_and_signs_are_chosen_where_they_look(show):
    page = show(make())
    page.locator(".map-row").nth(1).click()
    expect_published(explorer_of(page), step=1)
    expect(written(page, 1)).to_have_attribute("aria-checked", "true")
    mark, row = (
        page.locator(name).bounding_box()
        for name in (".map-mark", ".map-row >> nth=1")
    )
    assert mark["y"] == pytest.approx(row["y"], abs=1)
    signs = page.locator(".line.src [role=radio]")
    expect(signs).to_have_count(0)
    choose(page, "Attention", "encoder")
    signs.nth(1).click()
    expect_published(explorer_of(page), row=1)
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("At character 2, “十”")


def test_one_goes_forward_and_back_in_time(show):
    page = show(make(number=26))
    explorer = explorer_of(page)
    steps = page.get_by_label("Word", exact=True)
    last = page.locator(".line.tgt [role=radio]").count() - 1
    assert last > 1
    for step in range(last + 1):
        expect_published(explorer, step=step)
        expect(steps).to_have_attribute(
            "aria-valuetext", re.compile(f"{step + 1} of {last + 1}")
        )
        # What is open belongs to the step: as many rows as words were read.
        title = page.locator(".of-stage .vitedu-panel-title")
        expect(title).to_contain_text(f"softmax: {step + 1} × ")
        expect(page.locator(".token-later")).to_have_count(last - step)
        button(page, "Later").press("Enter")
    expect_published(explorer, step=last)
    press(page, "Earlier")
    expect_published(explorer, step=last - 1)


@torch.no_grad()
def following(number: int, ids: list[int]) -> torch.Tensor:
    """Return the library's chances of each word after these."""
    logits = trained_model()(source(number), torch.tensor([[1, *ids]]))
    chances = logits[0, -1].softmax(dim=-1)
    chances[0] = 0  # padding
    return chances


def test_a_forced_word_leads_the_translation_elsewhere_and_back(show):
    page = show(make(number=48))
    explorer = explorer_of(page)
    first = published(explorer)["tokens"]
    chances, best = following(48, []).topk(6)
    names = [TGT.words[one - 3] if one > 2 else "end" for one in best]
    expect(page.locator(".chance .word")).to_have_text(names)
    levels = page.locator(".chance .level").evaluate_all(
        "all => all.map((one) => Number(/[(](.*)[)]/.exec("
        "one.style.transform)[1]))"
    )
    np.testing.assert_allclose(levels, chances, atol=1e-3)
    word = names[1]
    chance(page, word).click()
    expect_published(explorer, begins=word, step=0)
    expect(page.locator(".chance[aria-pressed=true] .word")).to_have_text(word)
    shown = published(explorer)
    # What follows is the likeliest after the forced word, each time.
    ids = shown["tokens"]
    assert ids[0] == best[1] != first[0]
    for step in range(1, len(ids)):
        chances = following(48, ids[:step])
        assert chances.argmax() == ids[step]
        expected = chances[ids[step]].log().item()
        assert shown["logProbs"][step] == pytest.approx(expected, abs=1e-3)
    expect(page.locator(".token-forced")).to_have_text(word)
    # Another word later keeps what was forced before.
    written(page, 1).click()
    chance(page, "end").click()
    expect_published(explorer, begins=f"{word} end", text=word, step=1)
    page.get_by_role("button", name="Let the model choose again").click()
    expect_published(explorer, begins="")
    assert published(explorer)["tokens"] == first
    # Another number is translated without it.
    written(page, 0).click()
    expect_published(explorer, step=0)
    chance(page, word).click()
    field(page).fill("12")
    expect_published(explorer, number=12, begins="", step=0)


def test_a_beam_grows_a_tree(show):
    page = show(make(number=96, method="beam", beam_size=3))
    steps = []
    found = beam_search(
        trained_model(), source(96), beam_size=3, record=steps.append, **SEARCH
    )
    slider = page.get_by_label("Word", exact=True)
    boxes = page.locator(".tree .box:not(.dropped)")
    before = 0
    for step in range(len(steps)):
        expect_published(explorer_of(page), step=step)
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
    expect(best).to_have_text([*TGT.decode(found.best[0]), "end"])
    choose(page, "How it chooses", "greedy")
    expect(page.locator(".tree")).to_be_hidden()


def test_draws_with_a_seed_can_be_repeated(show):
    page = show(make(number=96, method="sample", temperature=3.0))
    explorer = explorer_of(page)
    sentences = []
    for seed in range(6):
        expect_published(explorer, seed=seed)
        expect(page.locator(".seed")).to_have_text(f"Seed {seed}")
        sentences.append(published(explorer)["tokens"])
        press(page, "Draw again")
    assert len({str(one) for one in sentences}) > 2
    page.evaluate("location.hash = 'explorer-follow-sentence:seed=4'")
    expect_published(explorer, seed=4)
    assert published(explorer)["tokens"] == sentences[4]
    # The colder, the likelier is the likeliest.
    page.get_by_label("Temperature").press("Home")
    expect_published(explorer, temperature=0.1)
    greedy = greedy_search(trained_model(), source(96), **SEARCH)
    assert published(explorer)["tokens"] == greedy.best[0].tolist()


def test_every_stage_opens_with_its_numbers_formula_and_line(show):
    page = show(make(number=26, step=2, column=1))
    press(page, "Inside the network")
    # 14 steps in a block of the encoder, 24 in one of the decoder.
    assert len({*open_each_stage(page)}) == 8 + 2 * (14 + 24)


def test_the_network_opens_in_place_of_the_translation(show):
    page = show(make(number=18_000_000), theme="dark", width=390)
    expect_view(page, VIEWS, "The translation")
    page.evaluate("location.hash = 'explorer-follow-sentence:stage=scores'")
    expect_view(page, VIEWS, "Inside the network")
    for mark in page.locator(".strip:visible [aria-checked=true]").all():
        expect(mark).to_be_in_viewport(ratio=1)
    expect_accessible_and_inside(page)
    press(page, "Start again")
    expect_view(page, VIEWS, "The translation")
    lighten(page)
    for name, part in zip(VIEWS, (".now", ".of-stage"), strict=True):
        button(page, name).press("Enter")
        expect_view(page, VIEWS, name)
        expect_on_a_screen(page.locator(part))
    expect_accessible_and_inside(page)


def test_what_is_no_number_gets_a_kind_word(show):
    page = show(make())
    fault = page.locator(".vitedu-fault")
    for text, message in [
        ("", "Type a number"),
        ("1.5", "Digits only"),
        ("100000000", "At most 99,999,999"),
        ("一零", "write no number"),
    ]:
        field(page).fill(text)
        expect(fault).to_contain_text(message)
        expect(field(page)).to_have_attribute("aria-invalid", "true")
        # What is shown belongs to another number.
        expect(page.locator(".verdict")).to_be_hidden()
        expect_published(explorer_of(page), number=NUMBER)
    field(page).fill("三千万零五十")
    expect_published(explorer_of(page), number=30_000_050)
    expect(fault).to_be_empty()
    expect(field(page)).to_have_attribute("aria-invalid", "false")
    expect(page.locator(".verdict")).to_be_visible()
    expect(field(page)).to_have_value("三千万零五十")
    # An example replaces what was typed.
    example = button(page, "12,005")
    example.click()
    expect_published(explorer_of(page), number=12_005)
    expect(field(page)).to_have_value("12,005")
    expect(example).to_have_attribute("aria-pressed", "true")


def test_a_sentence_without_end_is_cut_and_stays_inside_the_window(show):
    # Long words, all places taken.
    model, number = make_model(norm_first=True), 77_777_777
    page = show(make(model, number=number), theme="dark", width=390)
    found = greedy_search(model, source(number), **SEARCH)
    assert not found.ended.item()
    assert published(explorer_of(page))["tokens"] == found.best[0].tolist()
    verdict = page.locator(".verdict")
    expect(verdict).to_contain_text("does not finish within 24 words")
    # 24 columns shrink a little on a phone; the letters stay legible.
    for kind, least in (("cross", 1), ("decoder", 0.85)):
        choose(page, "Attention", kind)
        written(page, 3).click()
        expect_published(explorer_of(page), attention=kind, step=3)
        expect_accessible_and_inside(page)
        scale = page.locator(".map").evaluate("map => map.getScreenCTM().a")
        assert scale >= least
    lighten(page)
    field(page).fill("1x")
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [830, 390])
def test_what_follows_stays_where_it_is_while_one_types(show, width):
    page = show(make(), width=width)
    for attention in ("encoder", "decoder", "cross"):
        choose(page, "Attention", attention)
        heights = set()
        for number in (1, 123, 12345):
            field(page).fill(str(number))
            expect_published(
                explorer_of(page), number=number, attention=attention
            )
            heights.add(explorer_of(page).bounding_box()["height"])
        assert len(heights) == 1, attention
