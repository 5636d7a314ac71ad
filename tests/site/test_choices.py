"""Guesses and the five questions of the chapters: a reader chooses."""

import pytest
from pages import PAGES
from playwright.sync_api import Locator, Page, expect

GUESS = ".vitedu-predict"
QUESTION = "#five-questions .vitedu-quiz"
CHAPTERS = [path for path in PAGES if path.startswith("chapters/")]
# Which option of a box is chosen, and what is said: to each, and now.
STATE = """box => {
  const radios = [...box.querySelectorAll(
    "label:not(.vitedu-show) > input[type=radio]")];
  const answers = [...box.querySelectorAll("[role=status] p")];
  return {
    chosen: radios.findIndex((radio) => radio.checked),
    options: radios.length,
    answers: answers.map((answer) => answer.textContent),
    marked: [...box.querySelectorAll("label")].filter((label) =>
      getComputedStyle(label, "::after").content.includes("✓")).map(
      (label) => label.dataset.right),
    told: answers.filter((answer) => answer.checkVisibility(
      { visibilityProperty: true })).map((answer) => answer.textContent),
  };
}"""

# What follows a guess up to the next heading: which of it can be seen.
FOLLOWING = """box => {
  const after = box.closest(".cell").nextElementSibling;
  if (!after?.matches(".vitedu-after")) return [];
  return [...after.children].filter((one) => one.textContent.trim()
    && !one.matches(".vitedu-after, script")).map(
    (one) => one.checkVisibility());
}"""


def outputs(box: Locator) -> list[bool]:
    """Return for each thing that a box folds whether it can be seen."""
    return box.evaluate(FOLLOWING)


def choose_each_option(page: Page, box: Locator) -> None:
    """Choose by keyboard; each option is answered by words of its own."""
    state = box.evaluate(STATE)
    assert state["told"] == []
    assert state["chosen"] == -1
    assert state["marked"] == []
    said = []
    box.get_by_role("radio").first.focus()
    for number in range(state["options"]):
        page.keyboard.press("ArrowDown" if number else "Space")
        now = box.evaluate(STATE)
        assert now["chosen"] == number
        assert now["marked"] == [""]
        said += now["told"]
    assert said == state["answers"]
    assert len(set(said)) == state["options"]
    assert sum(text.startswith("Right. ") for text in said) == 1


@pytest.mark.parametrize("path", CHAPTERS)
def test_each_option_is_answered(open_page, site, path):
    page = open_page(path)
    guesses = page.locator(GUESS).all()
    assert guesses
    for box in guesses:
        if not box.is_visible():
            continue  # it waits for another one, which has been answered
        assert not any(outputs(box))
        choose_each_option(page, box)
        assert all(outputs(box))
    # A guess may stand alone; then the answer itself is all there is.
    assert sum(bool(outputs(box)) for box in guesses) > 0.5 * len(guesses)
    questions = page.locator(QUESTION).all()
    assert len(questions) == 5
    for box in questions:
        choose_each_option(page, box)
    contents = page.locator("a.nav-link[href='#five-questions']")
    assert "Five questions" in contents.first.text_content()
    links = page.locator("#five-questions a[download]").all()
    assert len(links) == 2
    for link in links:
        file = (site.folder / path).parent / link.get_attribute("href")
        assert file.resolve().stat().st_size > 1000


def test_an_explanation_leads_to_its_section(open_page):
    page = open_page(CHAPTERS[4])
    box = page.locator(QUESTION).first
    box.get_by_role("radio").first.check()
    link = box.locator("[role=status] a").first
    link.click()
    name = page.url.partition("#")[2]
    section = page.locator(f"section#{name}")
    expect(section).to_be_in_viewport()
    assert link.inner_text() in section.inner_text()


def test_a_link_opens_the_output_it_leads_to(open_page):
    path = "chapters/03-scaled-dot-product-attention.html"
    folded = open_page(path).locator("#claim-broken-attentions-caught")
    expect(folded).to_be_hidden()
    linked = open_page(f"{path}#claim-broken-attentions-caught")
    expect(linked.locator("#claim-broken-attentions-caught")).to_be_visible()


def test_on_paper_everything_is_there(open_page):
    page = open_page(CHAPTERS[2])
    page.emulate_media(media="print")
    for box in page.locator(GUESS).all():
        assert all(outputs(box))
        (told,) = box.evaluate(STATE)["told"]
        assert told.startswith("Right. ")


def test_the_boxes_fit_a_phone(open_page):
    page = open_page(CHAPTERS[4], width=390)
    for box in page.locator(f"{GUESS}, {QUESTION}").all():
        # A guess hides the next one until it is made.
        expect(box).to_be_visible()
        size = box.bounding_box()
        assert size["x"] >= 0
        assert size["x"] + size["width"] <= 390
        for label in box.locator("label").all():
            assert label.bounding_box()["height"] >= 40
        if box.locator("label:not(.vitedu-show)").first.is_visible():
            box.get_by_role("radio").first.check()
