"""What folds on a page, on a tiny book: deeper sections, guesses, code."""

from collections.abc import Iterator

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import watch
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from pages import ROOT
from playwright.sync_api import Page, expect
from tiny_book import CONFIG, build, fault

from tools import paper
from tools.epub import pack
from tools.slides.deck import Teacher, read
from vitedu.book import notebook

OPTIONS = {2: "Count.", 11: "Digits."}
ONE, OTHER = (
    notebook.predict(ask, OPTIONS, right=2)._repr_html_()
    for ask in ("1 + 1?", "3 - 1?")
)
ITALIC = "*what nobody needs, and `x`*"


def markdown(text: str) -> nbformat.NotebookNode:
    return new_markdown_cell(text)


def code(source: str, said: str = "", **metadata) -> nbformat.NotebookNode:
    outputs = [new_output("display_data", {"text/html": said})] if said else []
    return new_code_cell(source, outputs=outputs, metadata=metadata)


CELLS = [
    markdown("# 1. One\n\nWhy?\n\n*1 minutes* · runs in 1 s"),
    markdown("## First\n\n[There](#inside-it) and [top](#deeper-why-so)."),
    code("predict()", ONE, tags=["remove-input"]),
    code("outcome", "<p id='outcome'>It was two.</p>"),
    markdown("So be it.\n\nAnd this is why."),
    code("predict()", OTHER, tags=["remove-input"]),
    markdown("The second was two as well."),
    markdown("### Next\n\nAfter the heading."),
    markdown(f"## Deeper: why so?\n\n{ITALIC}\n\nThe depths."),
    markdown("word " * 200),
    markdown("### Inside it\n\nThe bottom."),
    code(
        "for step in range(3):\n\n    pass",
        "<p>Trained.</p>",
        tags=["hide-input"],
        mystnb={"code_prompt_show": "Train two models"},
    ),
    markdown(f"## Deeper: once more\n\n{ITALIC}\n\nMore depths."),
    code("unnamed = 1", tags=["hide-input"]),
    code("check.sum.must_accept(1)", "<p>Right.</p>", tags=["hide-cell"]),
    markdown("## What to remember\n\n- All of it."),
]  # fmt: skip


def write(folder, cells) -> None:
    config = yaml.safe_load(CONFIG)
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    more = config["sphinx"]["config"]
    for key in ("html_css_files", "html_js_files"):
        more[key] = book["sphinx"]["config"][key]
    more["html_static_path"].append(str(ROOT / "vitedu/book/predict.css"))
    more["myst_heading_anchors"] = 4
    (folder / "_config.yml").write_text(yaml.safe_dump(config))
    (folder / "_toc.yml").write_text(
        "{format: jb-book, root: index, chapters: [{file: chapters/01-one}]}"
    )
    (folder / "index.md").write_text("# First\n\nA line.\n")
    (folder / "chapters").mkdir()
    metadata = {"language_info": {"name": "python"}}
    written = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.write(written, folder / "chapters/01-one.ipynb")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory):
    """Build the book once."""
    folder = tmp_path_factory.mktemp("folds")
    write(folder, CELLS)
    build(folder)
    return folder / "_build/html"


@pytest.fixture
def page(browser, folder) -> Iterator[Page]:
    """The chapter, opened from disk, which has to be quiet."""
    page = browser.new_page(viewport={"width": 1280, "height": 700})
    watch(page, folder.as_uri())
    page.goto((folder / "chapters/01-one.html").as_uri())
    yield page
    page.close()
    assert page.requests_outside == page.console_errors == []


def fold(page: Page, number: int = 0):
    return page.locator("details.deep").nth(number)


def test_a_deeper_section_is_a_line_that_opens(page):
    line = fold(page).locator("> summary")
    heading = line.get_by_role("heading", level=2)
    assert heading.inner_text().startswith("Deeper: why so?")
    assert " · 3 min · what nobody needs, and x" in line.inner_text()
    assert " · 1 min · " in fold(page, 1).locator("> summary").inner_text()
    depths = page.get_by_text("The depths.")
    expect(depths).to_be_hidden()
    line.click()
    expect(depths).to_be_visible()
    expect(page.get_by_text("what nobody needs")).to_have_count(2)
    expect(page.get_by_text("More depths.")).to_be_hidden()
    assert page.locator("section#deeper-why-so > details.deep").count() == 1
    contents = page.locator("a.nav-link[href='#deeper-why-so']")
    assert "Deeper: why so?" in contents.first.text_content()


@pytest.mark.parametrize(
    ("place", "seen"),
    [
        ("deeper-why-so", "The depths."),
        ("inside-it", "The bottom."),
    ],
)
def test_what_leads_into_a_fold_opens_it(page, place, seen):
    address = page.url
    place = page.locator(f"#{place}")
    name = place.get_attribute("id")
    # An address; a reload would go back to where the reader was.
    page.goto("about:blank")
    page.goto(f"{address}#{name}")
    expect(page.get_by_text(seen)).to_be_in_viewport()
    # A link, and the same one again.
    page.goto(address)
    link = page.locator(f"p a[href='#{name}']")
    for _ in range(2):
        link.click()
        expect(fold(page)).to_have_attribute("open", "")
        expect(place).to_be_in_viewport()
        page.evaluate("document.querySelector('.deep').open = false")
        page.evaluate("scrollTo(0, 0)")
    expect(fold(page, 1)).not_to_have_attribute("open", "")


def test_on_paper_deeper_sections_are_open(page):
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(fold(page)).to_have_attribute("open", "")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(fold(page)).not_to_have_attribute("open", "")
    page.emulate_media(media="print")
    expect(fold(page).locator("h2")).to_be_visible()
    height = "fold => fold.getBoundingClientRect().height"
    assert fold(page).evaluate(height) > 100


def test_folded_code_has_a_name(page):
    lines = page.locator("div.cell details.hide > summary")
    assert [said.strip() for said in lines.all_text_contents()] == [
        "Train two models, 2 lines",
        "Code, 1 line",
        "The solution's code, 1 line",
    ]
    for deep in (0, 1):
        fold(page, deep).locator("> summary").click()
    trained = page.get_by_text("for step in range(3)")
    expect(page.get_by_text("Trained.")).to_be_visible()
    expect(trained).to_be_hidden()
    lines.first.click()
    expect(trained).to_be_visible()
    expect(lines.first).to_have_text("Train two models, 2 lines")
    paint = "line => getComputedStyle(line.parentElement).backgroundColor"
    assert lines.first.evaluate(paint) == "rgba(0, 0, 0, 0)"


def test_all_up_to_the_next_heading_waits_for_a_guess(page):
    first, second = page.locator(".vitedu-predict").all()
    behind = [page.get_by_text(t) for t in ("It was two.", "And this is why")]
    last = page.get_by_text("The second was two")
    for words in (*behind, last):
        expect(words).to_be_hidden()
    expect(page.locator("pre", has_text="outcome")).to_be_hidden()
    expect(second).to_be_hidden()
    expect(page.get_by_text("After the heading.")).to_be_visible()
    expect(first.get_by_text("unfolds when")).to_be_visible()
    first.get_by_label("11").check()
    for words in behind:
        expect(words).to_be_visible()
    expect(first.get_by_text("No. Digits.")).to_be_visible()
    expect(first.get_by_text("unfolds when")).to_be_hidden()
    expect(last).to_be_hidden()
    second.get_by_label("2").check()
    expect(second.get_by_text("Right. Count.")).to_be_visible()
    expect(last).to_be_visible()


def marked(box) -> list[str]:
    return box.evaluate(
        """box => [...box.querySelectorAll("label")].filter((label) =>
          getComputedStyle(label, "::after").content.includes("✓")).map(
          (label) => label.textContent.trim())"""
    )


def test_the_right_answer_is_marked(page):
    box = page.locator(".vitedu-predict").first
    assert marked(box) == []
    box.get_by_label("11").check()
    assert marked(box) == ["2"]


def test_a_reader_may_ask_for_the_answer(page):
    box = page.locator(".vitedu-predict").first
    box.get_by_text("Show the answer").click()
    assert marked(box) == ["2"]
    said = box.get_by_role("status")
    assert said.inner_text().strip() == "Count."
    expect(page.get_by_text("It was two.")).to_be_visible()
    # Who has guessed needs no way out.
    box.get_by_label("11").check()
    expect(box.get_by_text("Show the answer")).to_be_hidden()
    expect(box.get_by_text("No. Digits.")).to_be_visible()


def test_a_link_into_what_waits_shows_it(page):
    page.goto(f"{page.url}#outcome")
    expect(page.get_by_text("It was two.")).to_be_visible()


def test_without_scripts_all_can_be_opened(browser, folder):
    page = browser.new_page(java_script_enabled=False)
    page.goto((folder / "chapters/01-one.html").as_uri())
    expect(page.get_by_text("It was two.")).to_be_hidden()
    page.get_by_text("Show the answer").first.click()
    expect(page.get_by_text("It was two.")).to_be_visible()
    fold(page).locator("> summary").click()
    expect(page.get_by_text("The depths.")).to_be_visible()
    page.close()


def test_paper_and_slides_hold_what_folds(folder):
    text = paper.read(folder, "chapters/01-one")
    assert text.select("details.deep, .vitedu-after, .vitedu-show") == []
    deeper = text.select_one("#deeper-why-so")
    assert [tag.name for tag in deeper.find_all(recursive=False)][:3] == [
        *("h2", "p", "p"),
    ]
    assert deeper.em.get_text() == "what nobody needs, and x"
    assert deeper.em.code
    assert "The second was two as well." in text.get_text()
    assert "Show the answer" not in text.get_text()
    assert pack(folder, ["index", "chapters/01-one"])
    page = (folder / "chapters/01-one.html").read_text(encoding="utf-8")
    deck = read(page, Teacher(goals=["Count to `two`."]))
    assert [*deck.stacks] == [
        *("one", "first", "deeper-why-so", "deeper-once-more"),
        "what-to-remember",
    ]
    shown = BeautifulSoup(deck.html(), "html.parser")
    assert shown.select_one("#one-1 li code").get_text() == "two"
    assert shown.select(".vitedu-show, details") == []
    assert "The depths." in shown.select_one("#deeper-why-so").get_text()


def test_a_deeper_section_has_to_say_why(tmp_path):
    bad = [CELLS[0], markdown("## Deeper: so\n\nIt is not said why.")]
    write(tmp_path, bad)
    said = fault(tmp_path)
    assert "'Deeper: so' must begin with a line in italics" in said
