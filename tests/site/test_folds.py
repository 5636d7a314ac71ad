"""What folds in a chapter: deeper sections, guesses, solutions, code."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from pages import CHAPTERS, ROOT
from playwright.sync_api import Locator, Page, expect
from vitedu_book import deeper

PAGE = CHAPTERS[2]
DEEP = "deeper-the-usual-argument-fails-for-197-keys"
# Inside it, behind a guess.
WAITING = "claim-jacobian-rises"


@pytest.fixture
def page(open_page) -> Page:
    """The chapter, opened from disk."""
    return open_page(PAGE, from_disk=True)


def first_guess(page: Page) -> tuple[Locator, Locator]:
    """Return a guess and what waits for it."""
    box = page.locator("#how-large-does-a-score-get .vitedu-predict")
    return box, page.locator(".cell:has(.vitedu-predict) + .vitedu-after").nth(
        0
    ).locator("figure").first


def marked(box: Locator) -> list[bool]:
    """Say of each option whether it is marked as the right one."""
    return box.evaluate(
        """box => [...box.querySelectorAll("label")].map((label) =>
          getComputedStyle(label, "::after").content.includes("✓"))"""
    )


GUESSES = """<fieldset class="vitedu-predict"><div class="vitedu-choices">
  <label><input type="radio" name="guess-{0}"> one</label>
  <label><input type="radio" name="guess-{0}"> two</label>
</div></fieldset>"""


def test_guesses_are_kept_until_they_are_taken_back(browser, tmp_path):
    script = (ROOT / "book/web/book.js").as_uri()
    boxes = GUESSES.format("a") + GUESSES.format("b")
    file = tmp_path / "a.html"
    file.write_text(f'<script src="{script}"></script>{boxes}', "utf-8")
    page = browser.new_page()

    def chosen() -> list[bool]:
        """Come back to the page, and look what is chosen."""
        page.goto("about:blank")
        page.goto(file.as_uri())
        choices = page.get_by_role("radio").all()
        return [choice.is_checked() for choice in choices]

    assert chosen() == 4 * [False]
    page.get_by_label("two").first.check()
    page.get_by_label("two").last.press("Space")
    page.get_by_label("two").last.press("ArrowUp")
    assert chosen() == [False, True, True, False]
    page.get_by_label("two").first.click()
    page.get_by_label("one").last.press("Space")
    assert chosen() == 4 * [False]
    page.close()


def test_a_deeper_section_is_a_line_that_opens_by_click_and_by_link(page):
    section = page.locator(f"section#{DEEP}")
    fold = section.locator("> details.deep")
    line, text = fold.locator("> summary"), fold.locator("> p").first
    heading = line.get_by_role("heading", level=2)
    assert heading.inner_text().startswith("Deeper: the usual argument")
    assert re.search(r" · \d+ min · \S+ \w", line.inner_text())
    expect(text).to_be_hidden()
    line.click()
    expect(text).to_be_visible()
    link = page.locator(f".page-toc a[href='#{DEEP}']").first
    # The same link, once more.
    for _ in range(2):
        fold.evaluate("fold => { fold.open = false; scrollTo(0, 0); }")
        page.get_by_role("button", name="Contents").click()
        link.click()
        expect(text).to_be_visible()
        expect(line).to_be_in_viewport()
    expect(page.locator("details.deep[open]")).to_have_count(1)


def test_an_address_opens_what_it_leads_to(open_page):
    page = open_page(f"{PAGE}#{WAITING}", from_disk=True)
    place = page.locator(f"#{WAITING}")
    expect(place).to_be_visible()
    expect(place).to_be_in_viewport()
    # A question's answer leads to a section.
    box = page.locator("#five-questions .vitedu-quiz").first
    box.get_by_role("radio").first.check()
    link = box.locator("[role=status] a").first
    link.click()
    name = page.url.partition("#")[2]
    section = page.locator(f"section#{name}")
    expect(section).to_be_in_viewport()
    assert link.inner_text() in section.inner_text()


def test_folded_code_has_a_name(page):
    lines = page.locator("div.cell details.hide > summary")
    said = [line.strip() for line in lines.all_text_contents()]
    assert "Draw 20,000 scores for each width, 6 lines" in said
    assert [x for x in said if not re.search(r"\w, \d+ lines?$", x)] == []
    code = page.get_by_text("widths = [1, 4, 16, 64, 256, 1024]")
    expect(code).to_be_hidden()
    lines.first.click()
    expect(code).to_be_visible()
    paint = "line => getComputedStyle(line.parentElement).backgroundColor"
    assert lines.first.evaluate(paint) == "rgba(0, 0, 0, 0)"


def test_the_code_of_a_figure_opens_from_a_small_link(page):
    figure = page.locator("figure.figure:has(details.code):visible").first
    code = figure.locator(".cell_input")
    assert not code.is_visible()
    link = figure.locator("summary")
    assert link.inner_text() == "code"
    link.focus()
    page.keyboard.press("Enter")
    assert code.is_visible()
    caption = figure.locator("figcaption").bounding_box()
    inside = code.bounding_box()
    assert inside["y"] >= link.bounding_box()["y"] + 10
    assert inside["width"] >= caption["width"] - 10


def test_what_follows_waits_for_a_guess_by_keyboard(page):
    box, waiting = first_guess(page)
    note = box.get_by_text("unfolds with")
    expect(waiting).to_be_hidden()
    expect(note).to_be_visible()
    heading = page.get_by_role("heading", name="Explore: take the root away")
    expect(heading).to_be_visible()
    box.get_by_role("radio").first.focus()
    page.keyboard.press("Space")
    expect(waiting).to_be_hidden()
    page.keyboard.press("ArrowDown")
    expect(box.get_by_role("radio").nth(1)).to_be_checked()
    expect(box.locator("[role=status] p:visible")).to_have_count(1)
    expect(waiting).to_be_visible()
    expect(note).to_be_hidden()


def test_a_reader_may_ask_for_the_answer(page):
    box, waiting = first_guess(page)
    box.get_by_text("Show the answer").click()
    assert sum(marked(box)) == 1
    said = box.get_by_role("status").inner_text().strip()
    assert said
    assert not said.startswith(("Right", "No"))
    expect(waiting).to_be_visible()
    # Who has guessed needs no way out.
    box.get_by_role("radio").first.check()
    expect(box.get_by_text("Show the answer")).to_be_hidden()


def test_without_scripts_all_can_be_opened(browser, site):
    page = browser.new_page(java_script_enabled=False)
    page.goto(site.file_url(PAGE))
    box, waiting = first_guess(page)
    expect(waiting).to_be_hidden()
    box.get_by_text("Show the answer").click()
    expect(waiting).to_be_visible()
    fold = page.locator(f"section#{DEEP} > details.deep")
    fold.locator("> summary").click()
    expect(fold.locator("> p").first).to_be_visible()
    page.close()


def test_on_paper_is_everything_but_solutions(page):
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    closed = page.locator("details.deep:not([open])")
    expect(closed).to_have_count(0)
    page.emulate_media(media="print")
    for box in page.locator(".vitedu-predict").all():
        told = box.locator("[role=status] p:visible")
        expect(told).to_have_count(1)
        assert told.inner_text().startswith("Right. ")
    for after in page.locator(".vitedu-after > p").all():
        expect(after).to_be_visible()
    printed = page.inner_text("body")
    for word in ("Search", "On this page", "Show code cell", "Show hint"):
        assert word not in printed
    assert "Five questions" in printed
    solution = "Each product has variance"
    assert solution not in printed
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count()
    # One that is open is printed, and the summary of what is closed.
    height = "fold => fold.getBoundingClientRect().height"
    assert closed.first.evaluate(height) > 100
    page.emulate_media(media="screen")
    page.locator("details.solution > summary").first.click()
    page.emulate_media(media="print")
    assert solution in page.inner_text("body")


def test_the_boxes_can_be_touched_on_a_phone(open_page):
    page = open_page(PAGE, width=390)
    small = page.evaluate(
        """() => [...document.querySelectorAll(".vitedu-choices label")]
          .filter((label) => label.checkVisibility())
          .map((label) => [label.getBoundingClientRect(), label])
          .filter(([{ left, right, height }]) =>
            left < 0 || right > innerWidth || height < 40)
          .map(([, label]) => label.textContent)"""
    )
    assert small == []


def test_a_deeper_section_has_to_say_why(caplog):
    section = nodes.section("", nodes.title("", "Deeper: so"))
    section += nodes.paragraph("", "It is not said why.")
    env = SimpleNamespace(note_dependency=lambda path: None)
    deeper.check(SimpleNamespace(srcdir=ROOT, env=env), section)
    assert "'Deeper: so' must begin with a line in italics" in caplog.text
