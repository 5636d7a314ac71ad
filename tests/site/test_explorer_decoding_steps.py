"""DecodingSteps in the browser: every step as the library takes it."""

import base64
import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from mounted import (
    EXPLORER,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
    stop_clock,
    value_of,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect
from translators import (
    SEARCH,
    SRC,
    TGT,
    make_explorer,
    make_model,
    source,
    trained_model,
)

from vitedu.decoding import beam_search, greedy_search
from vitedu.page_weights import page_weights, rounded_to_half
from vitedu.widgets import DecodingSteps

CHAPTER = "chapters/10-decoding.html"
LOG_PROBS = 1e-3
MODELS = {
    "trained": trained_model,
    "random": lambda: make_model(1, norm_first=True),
    # Learned positions end the sentences.
    "short": lambda: make_model(
        3, positions="learned", max_len=17, activation="gelu"
    ),
}

SCRIPTS = (
    "common",
    "transformer_model",
    "numeral_words",
    "translation",
    "decoding_steps_search",
)
SEARCH_ALL = """
([data, state, cases]) => {
  const bytes = Uint8Array.from(atob(data), (sign) => sign.charCodeAt(0));
  state.weights = { data: new DataView(bytes.buffer), dtype: "float16" };
  const translator = translatorOf({ get: (name) => state[name] });
  return cases.map(([number, size, alpha]) => {
    const { found, steps } = search(
      writerOf(translator, number), { method: "beam", size, alpha, seed: 0 });
    return [
      found.map(({ ids, logProb, score }) => [logProb, score, ...ids]),
      steps.map(({ alive }) => alive.map(({ ids }) => ids)),
    ];
  });
}
"""


def make(model=None, **view) -> DecodingSteps:
    model = trained_model() if model is None else model
    return make_explorer(DecodingSteps, model, **{"number": 26} | view)


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


def search(model, number: int, size: int = 0, alpha: float = 0.0):
    """Search with the library; return what it finds and its steps."""
    limit = model.config.max_len or SEARCH["max_len"]
    how = SEARCH | {"max_len": limit}
    steps = []
    if size:
        how |= {"beam_size": size, "length_penalty": alpha}
    function = beam_search if size else greedy_search
    return function(model, source(number), record=steps.append, **how), steps


def expect_steps(shown: list[dict], steps: list) -> None:
    """Compare prefixes and candidates with what `record` has got."""
    assert len(shown) == len(steps)
    whole = 0
    for page_step, step in zip(shown, steps, strict=True):
        rows = page_step["prefixes"]
        assert [row[1:] for row in rows] == step.prefixes.tolist()
        np.testing.assert_allclose(
            [row[0] for row in rows], step.log_probs, atol=LOG_PROBS
        )
        totals = step.log_probs[:, None] + step.next_log_probs
        best = totals.flatten().topk(len(page_step["candidates"])).values
        for place, (row, token, chance, total) in enumerate(
            page_step["candidates"]
        ):
            assert total == pytest.approx(best[place].item(), abs=LOG_PROBS)
            following = step.next_log_probs[row, token]
            assert totals[row, token].item() == pytest.approx(
                total, abs=LOG_PROBS
            )
            assert chance == pytest.approx(following.exp().item(), abs=1e-3)
        whole += step.prefixes.numel()
        assert page_step["whole"] == whole


def expect_found(shown: dict, found) -> None:
    """Compare the finished sentences with those of the library."""
    lengths = found.lengths[0].tolist()
    tokens = found.tokens[0].tolist()
    assert [row[2:] for row in shown["found"]] == [
        words[:length] for words, length in zip(tokens, lengths, strict=True)
    ]
    for column, values in enumerate((found.log_probs, found.scores)):
        np.testing.assert_allclose(
            [row[column] for row in shown["found"]], values[0], atol=LOG_PROBS
        )


@pytest.mark.parametrize(
    ("model", "number"), [("trained", 26), ("random", 12_005)]
)
def test_greedy_search_is_that_of_the_library(show, model, number):
    made = MODELS[model]()
    found, steps = search(made, number)
    page = show(make(made, number=number))
    shown = each_step(page)
    expect_steps(shown, steps)
    expect_found(shown[-1], found)
    assert shown[-1]["cached"] == len(steps)


@pytest.mark.parametrize(
    ("model", "number", "size", "alpha"),
    [("trained", 26, 3, 0.6), ("trained", 96, 5, 1.0), ("short", 7, 2, 0.0)],
)
def test_beam_search_is_that_of_the_library(show, model, number, size, alpha):
    made = MODELS[model]()
    found, steps = search(made, number, size, alpha)
    view = {"method": "beam", "beam_size": size, "length_penalty": alpha}
    page = show(make(made, number=number, **view))
    shown = each_step(page)
    expect_steps(shown, steps)
    expect_found(shown[-1], found)
    assert shown[-1]["cached"] == sum(len(step.prefixes) for step in steps)
    # What goes on is what lives in the next step.
    for before, after in pairwise(shown):
        going = [
            [*before["prefixes"][row][1:], token]
            for (row, token, *_), fate in zip(
                before["candidates"], before["fates"], strict=True
            )
            if fate == "goes"
        ]
        assert going == [row[1:] for row in after["prefixes"]]


def test_what_the_model_has_said_serves_the_next_search_of_its_number(show):
    model = trained_model()
    page = show(make(model, method="beam", beam_size=2, length_penalty=0.6))
    page.get_by_label("Beam size").press("End")
    expect_steps(each_step(page), search(model, 26, 5, 0.6)[1])
    page.get_by_label("Number, 0 to 99,999,999", exact=True).fill("96")
    expect_published(explorer_of(page), number=96, step=0)
    expect_steps(each_step(page), search(model, 96, 5, 0.6)[1])


def test_many_searches_find_what_the_library_finds(browser, root):
    # Flat chances: sentences end everywhere, and overtake each other.
    model = make_model(4, num_layers=1, norm_first=True, dropout=0.0)
    with torch.no_grad():
        model.generator.weight.mul_(0.25)
        model.generator.weight[2] += 0.25
    model = rounded_to_half(model)
    cases = [
        (number, size, alpha)
        for number in (9, 12_005)
        for size in (1, 2, 5)
        for alpha in (0.0, 1.0)
    ]
    page = browser.new_page()
    page.add_script_tag(content="const WORDS = { marks: {} };")
    for name in SCRIPTS:
        page.add_script_tag(path=root / f"vitedu/widgets/{name}.js")
    sent = page_weights(model)
    data = base64.b64encode(sent["weights"].tobytes()).decode()
    words = {"src_words": SRC.words, "tgt_words": TGT.words}
    del sent["weights"]
    shown = page.evaluate(SEARCH_ALL, [data, sent | words, cases])
    page.close()
    for case, (sentences, prefixes) in zip(cases, shown, strict=True):
        found, steps = search(model, *case)
        expect_found({"found": sentences}, found)
        lived = [step.prefixes.tolist() for step in steps]
        assert prefixes == lived, case


def test_a_cold_draw_is_greedy_and_a_hot_one_is_not(show):
    page = show(make(method="sample", temperature=0.1, number=12_005))
    found, _ = search(trained_model(), 12_005)
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


def test_words_are_drawn_as_often_as_their_chance_says(browser, root):
    page = browser.new_page()
    for name in ("common", "transformer_model", "decoding_steps_search"):
        page.add_script_tag(path=root / f"vitedu/widgets/{name}.js")
    counts = page.evaluate(
        "(logits) => { const next = [{ logProbs: logSoftmax(logits, 0) }];"
        " const random = uniformNumbers(5); const counts = [0, 0, 0, 0];"
        " for (let n = 0; n < 20000; n += 1) {"
        "   const all = rankCandidates([{ ids: [], logProb: 0 }], next, 2);"
        "   counts[draw(all, random()).id] += 1; }"
        " return counts; }",
        [9.0, 1.0, 0.0, -1.0],
    )
    page.close()
    logits = torch.tensor([1.0, 0.0, -1.0])
    chances = (logits / 2).softmax(0)
    assert counts[0] == 0
    np.testing.assert_allclose(
        np.divide(counts[1:], 20_000), chances, atol=0.015
    )


def test_chances_of_a_draw_depend_on_the_temperature(show):
    page = show(make(method="sample", temperature=2.0))
    _, steps = search(trained_model(), 26)
    first = steps[0].next_log_probs[0]
    chances = (first / 2).softmax(0)
    for _, token, chance, total in published(explorer_of(page))["candidates"]:
        assert chance == pytest.approx(chances[token].item(), abs=1e-3)
        assert total == pytest.approx(first[token].item(), abs=LOG_PROBS)


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


@pytest.mark.parametrize(
    ("method", "heading", "chance", "kept", "verdict", "said"),
    [
        (
            "greedy",
            "The prefix that lives",
            "probability",
            0,
            "It is",
            "The sentence is",
        ),
        (
            "sample",
            "The prefix that lives",
            "chance of a draw",
            0,
            "It is",
            "The sentence drawn is",
        ),
        (
            "beam",
            "Prefixes that live",
            "probability",
            1,
            "The first one is",
            "The best sentence is",
        ),
    ],
)
def test_each_search_has_its_own_words(
    show, method, heading, chance, kept, verdict, said
):
    page = show(make(method=method, step=1))
    shown = explorer_of(page)
    expect(shown.get_by_text(heading, exact=True)).to_be_visible()
    expect(page.locator("table.candidates th").nth(2)).to_have_text(chance)
    button(page, "Back").click()
    first = shown.get_by_text("has read 1 token with a cache")
    expect(first).to_be_visible()
    each_step(page)
    only = shown.get_by_text("Only the best 3 are kept.", exact=True)
    expect(only).to_have_count(kept)
    expect(page.locator(".verdict")).to_contain_text(verdict)
    expect(page.locator(".vitedu-reading")).to_contain_text(said)


def test_a_new_number_starts_over(show):
    page = show(make(step=2))
    field = page.get_by_label("Number, 0 to 99,999,999", exact=True)
    field.fill("x")
    expect(page.locator(".number-fault")).to_contain_text("Digits only")
    expect_published(explorer_of(page), step=2, number=26)
    field.fill("61")
    expect_published(explorer_of(page), step=0, number=61)


def test_what_is_said_is_what_is_written(show):
    page = show(make(method="beam", step=1))
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text("Step 2 of ")
    expect(written).to_contain_text("Prefixes that live: 3.")
    expect(page.locator("[aria-live=polite]")).to_have_text(
        written.text_content()
    )


def test_two_views_of_a_model_move_together(show):
    page = show(make(), views=2)
    first, second = page.locator(EXPLORER).all()
    first.get_by_role("button", name="Next").click()
    expect(second).to_have_attribute("data-step", "1")


@each_look
def test_accessible_and_inside_the_window(show, theme, width):
    view = {"method": "beam", "beam_size": 5, "number": 77_777_777}
    model = make_model(0, norm_first=True)
    page = show(make(model, step=10, **view), theme=theme, width=width)
    expect_accessible_and_inside(page)
    each_step(page)
    expect(page.locator(".verdict")).to_be_visible()
    expect_accessible_and_inside(page)


def test_the_chapter_ends_with_the_sentences_it_prints(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    search = page.locator(".vitedu-decoding-steps")
    outputs = page.locator(".cell_output pre")
    line = re.compile(r"greedy +([a-z ]+) \(chance")
    greedy = outputs.filter(has_text=line).text_content()
    lines = re.compile(r"^( *-\d+\.\d{3}  [a-z ]+\s*){3}$")
    beam = outputs.filter(has_text=lines).text_content()
    expected = {
        "greedy": line.findall(greedy),
        "beam": re.findall("[a-z][a-z ]+", beam),
    }
    for method, sentences in expected.items():
        search.get_by_label("Search", exact=True).select_option(method)
        expect_published(search, method=method, step=0)
        for step in range(1, published(search)["steps"] + 1):
            button(page, "Next").press("Enter")
            expect_published(search, step=step)
        expect(search.locator("td.sentence")).to_have_text(
            [f"{sentence} end" for sentence in sentences]
        )
        expect(search.locator(".vitedu-reading")).to_contain_text(
            f"“{sentences[0]}” with the log probability "
        )
    np.testing.assert_allclose(
        [total for total, *_ in published(search)["found"]],
        [float(total) for total in re.findall(r"-\d+\.\d+", beam)],
        atol=LOG_PROBS,
    )
