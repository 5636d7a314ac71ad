"""DecodingSteps in the browser: its buttons, its table, its words."""

import numpy as np
import pytest
from explorers import decoding_steps as make
from mounted import (
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
    stop_clock,
    value_of,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect
from translators import SEARCH, make_model, source, trained_model

from vitedu.decoding.search import beam_search, greedy_search

CHAPTER = "chapters/10-decoding.html"
LOG_PROBS = 1e-3


def button(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=name, exact=True)


def each_step(page: Page) -> list[dict]:
    """Press Next until the end; read the explorer before each press."""
    button(page, "Next").wait_for()
    texts = explorer_of(page).evaluate(
        """async (root) => {
          const texts = [];
          const next = [...root.querySelectorAll("button")].find(
            ({ textContent }) => textContent === "Next");
          const frame = () => new Promise(requestAnimationFrame);
          while (root.dataset.step !== root.dataset.steps) {
            texts.push({ ...root.dataset });
            next.click();
            await frame();
            await frame();
          }
          return texts;
        }"""
    )
    return [{name: value_of(t) for name, t in step.items()} for step in texts]


def test_every_step_of_a_beam_can_be_walked_through(show):
    page = show(make(method="beam", beam_size=2, length_penalty=0.6))
    page.get_by_label("Beam size").press("End")
    page.get_by_label("Number, 0 to 99,999,999", exact=True).fill("96")
    expect_published(explorer_of(page), number=96, step=0)
    shown, steps = each_step(page), []
    found = beam_search(
        trained_model(),
        source(96),
        beam_size=5,
        length_penalty=0.6,
        record=steps.append,
        **SEARCH,
    )
    for page_step, step in zip(shown, steps, strict=True):
        prefixes = [row[1:] for row in page_step["prefixes"]]
        assert prefixes == step.prefixes.tolist()
    np.testing.assert_allclose(
        [row[1] for row in shown[-1]["found"]],
        found.scores[0],
        atol=LOG_PROBS,
    )


def test_a_cold_draw_is_greedy_and_a_hot_one_is_not(show):
    page = show(make(method="sample", temperature=0.1, number=12_005))
    found = greedy_search(trained_model(), source(12_005), **SEARCH)
    assert (
        published(explorer_of(page))["found"][0][2:] == found.best[0].tolist()
    )
    page.get_by_label("Temperature").press("End")
    drawn = set()
    for seed in range(1, 7):
        button(page, "Draw again").click()
        expect_published(explorer_of(page), seed=seed)
        shown = published(explorer_of(page))
        drawn.add(tuple(shown["found"][0][2:]))
    assert len(drawn) > 3


def test_the_table_shows_the_candidates(show):
    page = show(make(method="beam", step=1))
    shown = published(explorer_of(page))
    rows = page.locator("table.candidates tbody tr")
    expect(rows).to_have_count(len(shown["candidates"]))
    names = {"goes": "goes on", "ends": "ends", "dropped": "dropped"}
    for at, (row, _, chance, total) in enumerate(shown["candidates"]):
        cells = rows.nth(at).locator("td")
        assert cells.nth(0).inner_text() == str(row + 1)
        expected = f"{total:.2f}".replace("-", "\N{MINUS SIGN}")
        assert cells.nth(3).inner_text() == expected
        assert cells.nth(4).inner_text() == names[shown["fates"][at]]
        width = (
            cells.nth(2)
            .locator(".fill")
            .evaluate("mark => parseFloat(mark.style.width)")
        )
        assert width == pytest.approx(100 * chance, abs=1e-3)


def test_buttons_go_and_stop_at_the_ends(show):
    page = show(make(number=87))
    steps = published(explorer_of(page))["steps"]
    for name, step in [
        ("Back", 0),
        ("Next", 1),
        ("Next", 2),
        ("Back", 1),
        ("Start over", 0),
        *[("Next", step) for step in range(1, steps + 1)],
        ("Next", steps),
    ]:
        button(page, name).press("Enter")
        expect_published(explorer_of(page), step=step)
        expect(button(page, name)).to_be_focused()
    expect(button(page, "Next")).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".verdict")).to_have_text("✓ It is right.")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "The sentence is “eighty seven”"
    )


def test_it_plays_to_the_end_and_pauses(show):
    page = show(make(number=87))
    stop_clock(page)
    button(page, "Play").click()
    page.clock.run_for(100)
    expect_published(explorer_of(page), step=1)
    button(page, "Pause").click()
    page.clock.run_for(5000)
    expect_published(explorer_of(page), step=1)
    button(page, "Play").click()
    page.clock.run_for(60_000)
    expect_published(explorer_of(page), step=3)
    expect(button(page, "Play")).to_have_count(1)
    # Played once more, it begins again.
    button(page, "Play").click()
    page.clock.run_for(100)
    expect_published(explorer_of(page), step=1)


def test_each_search_has_its_own_controls(show):
    page = show(make())
    controls = {
        "Beam size": "beam",
        "Length penalty": "beam",
        "Temperature": "sample",
    }
    for method in ("greedy", "beam", "sample"):
        page.get_by_label("Search", exact=True).select_option(method)
        expect_published(explorer_of(page), method=method)
        for label, owner in controls.items():
            control = page.get_by_label(label, exact=True)
            expect(control).to_be_visible(visible=owner == method)
        expect(page.locator(".again")).to_be_visible(
            visible=method == "sample"
        )


def test_a_search_says_what_it_keeps_and_a_draw_what_it_drew(show):
    page = show(make(method="beam", step=1))
    shown = explorer_of(page)
    chance = page.locator("table.candidates th").nth(2)
    for method, chances, said in [
        ("beam", "probability", "The best sentence is"),
        ("sample", "chance of a draw", "The sentence drawn is"),
    ]:
        page.get_by_label("Search", exact=True).select_option(method)
        expect(chance).to_have_text(chances)
        each_step(page)
        only = shown.get_by_text("Only the best 3 are kept.", exact=True)
        expect(only).to_have_count(int(method == "beam"))
        expect(page.locator(".vitedu-reading")).to_contain_text(said)


def test_a_new_number_starts_over(show):
    page = show(make(step=2))
    field = page.get_by_label("Number, 0 to 99,999,999", exact=True)
    field.fill("x")
    expect(page.locator(".vitedu-fault")).to_contain_text("Digits only")
    expect_published(explorer_of(page), step=2, number=26)
    field.fill("61")
    expect_published(explorer_of(page), step=0, number=61)


def test_all_of_a_long_search_is_accessible_and_inside_a_phone(show):
    view = {"method": "beam", "beam_size": 5, "number": 77_777_777}
    model = make_model(0, norm_first=True)
    page = show(make(model, step=10, **view), width=390)
    expect_accessible_and_inside(page)
    each_step(page)
    expect(page.locator(".verdict")).to_be_visible()
    expect_accessible_and_inside(page)


def test_the_chapter_opens_on_the_sentences_of_its_table(open_page):
    page = open_page(CHAPTER)
    rows = page.locator("table", has_text="alpha = 0.6").locator("tbody tr")
    table = [
        [cell.strip() for cell in row.locator("td").all_text_contents()]
        for row in rows.all()
    ]
    start_explorers(page)
    search = page.locator(".vitedu-decoding-steps")
    expect_published(search, number=9061, method="beam")
    shown = published(search)
    assert shown["step"] == shown["steps"]
    expect(search.locator("td.sentence")).to_have_text(
        [f"{sentence} end" for sentence, *_ in table]
    )
    expect(search.locator(".vitedu-reading")).to_contain_text(
        f"“{table[0][0]}” with the log probability "
    )
    # The table has two digits; the weights in the page have 16 bits.
    np.testing.assert_allclose(
        [total for total, *_ in shown["found"]],
        [float(total.replace("−", "-")) for _, total, *_ in table],
        atol=0.005 + LOG_PROBS,
    )
