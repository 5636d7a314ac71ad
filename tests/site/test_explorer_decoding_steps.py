"""DecodingSteps in the browser: its buttons, its controls, its chapter."""

import numpy as np
from explorers import decoding_steps as make
from mounted import (
    button,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    press,
    published,
    stop_clock,
)
from pages import start_explorers
from playwright.sync_api import expect
from translators import make_model

CHAPTER = "chapters/10-decoding.html"


def test_buttons_go_and_stop_at_the_ends_and_play_does(show):
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
    stop_clock(page)
    # From the end it begins again.
    press(page, "Play")
    page.clock.run_for(100)
    expect_published(explorer_of(page), step=1)
    press(page, "Pause")
    page.clock.run_for(5000)
    expect_published(explorer_of(page), step=1)
    press(page, "Play")
    page.clock.run_for(60_000)
    expect_published(explorer_of(page), step=steps)
    expect(button(page, "Play")).to_have_count(1)
    # One step before the end, nothing is left to play after it.
    press(page, "Back")
    press(page, "Play")
    page.clock.run_for(100)
    expect_published(explorer_of(page), step=steps)
    expect(button(page, "Play")).to_have_count(1)


def test_each_search_has_its_own_controls_and_starts_over(show):
    page = show(make(step=1))
    explorer = explorer_of(page)
    controls = {
        "Beam size": "beam",
        "Length penalty": "beam",
        "Temperature": "sample",
    }
    for method in ("greedy", "beam", "sample"):
        page.get_by_label("Search", exact=True).select_option(method)
        expect_published(explorer, method=method)
        for label, owner in controls.items():
            control = page.get_by_label(label, exact=True)
            expect(control).to_be_visible(visible=owner == method)
        expect(page.locator(".again")).to_be_visible(
            visible=method == "sample"
        )

    def go_on() -> None:
        press(page, "Next")
        expect_published(explorer, step=1)

    go_on()
    press(page, "Draw again")
    expect_published(explorer, step=0, seed=1)
    go_on()
    page.get_by_label("Temperature").press("End")
    expect_published(explorer, step=0)
    go_on()
    field = page.get_by_label("Number, 0 to 99,999,999", exact=True)
    field.fill("x")
    expect(page.locator(".vitedu-fault")).to_contain_text("Digits only")
    expect_published(explorer, step=1, number=26)
    field.fill("61")
    expect_published(explorer, step=0, number=61)


def test_all_of_a_long_search_is_accessible_and_inside_a_phone(show):
    view = {"method": "beam", "beam_size": 5, "number": 77_777_777}
    model = make_model(0, norm_first=True)
    page = show(make(model, step=10, **view), width=390)
    # Presses that are quicker than the page draws count, too.
    button(page, "Next").evaluate(
        "node => Array.from({ length: 64 }, () => node.click())"
    )
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
        atol=0.006,
    )
