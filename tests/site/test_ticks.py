"""Numbers with a tick: what an author writes, and what a reader opens."""

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import nbformat
import pytest
from accessibility import faults
from bs4 import BeautifulSoup, Tag
from conftest import watch
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell
from playwright.sync_api import Browser, Page, expect
from tiny_book import CONFIG, build, fault
from vitedu_book.ticks import cut, measured, shows

from tools import epub, paper
from tools.slides.prose import cleaned
from vitedu.book import notebook

TOC = "{format: jb-book, root: first, chapters: [{file: one}]}"
STYLED = f"""{CONFIG}
    html_css_files: [book.css, ticks.css, print.css]
    html_js_files: [book.js]
"""
HALF = """notebook.claim(
    "a-half", "Of 0.5 it is {value}.", 0.506, 0.5, tolerance=0.1, decimals=1
)"""
THIRD = """thirds = 24.3
notebook.claim(
    "a-third", "It is {value}.", thirds, 24, tolerance=1, unit="%", seeds=5
)"""
ALONE = """notebook.claim("alone", "The 7 are {value}.", 7, 7, tolerance=0)"""
RUNG = """notebook.rung(
    "halves", "a half", "two quarters", 2.5e-16, tolerance=1e-12
)"""
TEXT = """# One

The weight is [0.51](#claim-a-half), or [**0.5** of it](#claim-a-half).

- It is [24 %](#claim-a-third) here.
"""


def cell(source: str, *tags: str, printed: str = "") -> NotebookNode:
    """Return a cell that has run."""
    shown = []
    with mock.patch.object(notebook, "display", shown.append):
        exec(source, {"notebook": notebook})
    outputs = [
        nbformat.v4.new_output(
            "display_data",
            {"text/html": entry._repr_html_(), "text/plain": repr(entry)},
        )
        for entry in shown
    ]
    if printed:
        outputs.append(nbformat.v4.new_output("stream", text=printed))
    return new_code_cell(source, outputs=outputs, metadata={"tags": [*tags]})


def chapter(text: str, *cells: NotebookNode) -> NotebookNode:
    """Return a chapter that has run."""
    return nbformat.v4.new_notebook(
        cells=[new_markdown_cell(text), *cells],
        metadata={"language_info": {"name": "python"}},
    )


def write_book(folder: Path, page: NotebookNode) -> Path:
    """Write a book of this page into a folder."""
    (folder / "_config.yml").write_text(STYLED)
    (folder / "_toc.yml").write_text(TOC)
    (folder / "first.md").write_text("# First\n\nA line.\n")
    nbformat.write(page, folder / "one.ipynb")
    return folder


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a book with claims of each kind."""
    named = cell(THIRD, "hide-input")
    named.metadata["mystnb"] = {"code_prompt_show": "Count, 4 lines"}
    page = chapter(
        TEXT,
        cell(HALF, "hide-input"),
        named,
        cell(f"{ALONE}\n{RUNG}", "hide-input"),
        cell("print('seen')", "hide-input", printed="seen"),
    )
    folder = write_book(tmp_path_factory.mktemp("book"), page)
    build(folder)
    return folder / "_build" / "html"


@pytest.fixture(scope="module")
def article(html: Path) -> Tag:
    """Return the text of the page."""
    text = (html / "one.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser").article


@pytest.fixture
def page(html: Path, browser: Browser) -> Iterator[Page]:
    """Open the page from disk; it has to be quiet."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    watch(page, html.as_uri())
    page.goto((html / "one.html").as_uri())
    yield page
    page.close()
    assert page.console_errors == page.requests_outside == []


def test_a_link_becomes_a_tick_and_the_line_leaves(article):
    paragraph = article.select_one("p:has(#claim-a-half)")
    assert paragraph.get_text() == "The weight is 0.51, or 0.5 of it."
    ticks = paragraph.select("button.tick")
    assert [tick.get("id") for tick in ticks] == ["claim-a-half", None]
    assert {tick["popovertarget"] for tick in ticks} == {
        "card-of-claim-a-half"
    }
    assert "Of 0.5 it is" not in "".join(
        cell.get_text() for cell in article.select("div.cell")
    )


def test_bars_are_left_only_where_more_than_claims_is_shown(article):
    bars = [bar.get_text() for bar in article.select("details.hide summary")]
    assert len(bars) == 2
    assert bars[0] == "Count, 4 lines"
    assert len(article.select("div.cell")) == 3


def test_what_no_link_names_keeps_a_line_of_its_own(article):
    assert article.select_one("p.claim").get_text() == "The 7 are 7."
    # The first 7 is not what was checked.
    assert str(article.select_one("p.claim")).startswith(
        '<p class="claim">The 7 are <button'
    )
    assert article.select_one("p.rung").get_text() == (
        "a half = two quarters · outputs · largest difference 2.5e-16"
    )
    assert article.select_one("p.rung #rung-halves")


def test_a_card_holds_the_evidence_and_the_code(article):
    card = article.select_one("#card-of-claim-a-third")
    facts = {
        key.get_text(): key.find_next("dd").get_text()
        for key in card.select("dt")
    }
    assert facts == {"Value": "24.3%", "Allowed": "24% ± 1%", "Seeds": "5"}
    # The rest of the cell stands on the page.
    assert card.pre.get_text().startswith("notebook.claim(")
    assert card.pre.select("span.s2")
    strip = article.select_one("#card-of-rung-halves")
    assert strip.pre.get_text().strip() == RUNG


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("[0.5](#claim-another)", "one: a link leads to the claim 'another'"),
        (
            "[0.62](#claim-a-half)",
            "one: the link to the claim 'a-half' says '0.62', "
            "but its value is 0.506",
        ),
    ],
)
def test_a_wrong_link_stops_the_build(tmp_path, link, message):
    page = chapter(f"# One\n\nIt is {link}.", cell(HALF))
    assert message in fault(write_book(tmp_path, page))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.506", 0.50648),
        ("0.51", 0.506),
        ("24%", 24.4),
        ("24\u00a0% of 100", 24.4),
        ("1,234", 1234.4),
        ("1,234.5 ms", 1234.54),
        ("8.9e-16", 8.88e-16),
        ("8.9E-16", 8.88e-16),
        ("\u22120.3", -0.31),
        ("-3", -3),
        ("Two of the 4", 2),
        ("twelve", 12),
        ("zero", 0),
        ("about 7, not 9", 7.2),
        ("0.12", 0.125),
        ("0.13", 0.125),
        ("0.3", 0.1 + 0.15),
    ],
)
def test_a_number_may_be_rounded(text, value):
    assert shows(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.507", 0.50648),
        ("0.50", 0.506),
        ("24%", 0.244),
        ("25", 24.4),
        ("1,235", 1234.4),
        ("8.8e-16", 8.88e-16),
        ("9e-16", 8.88e-17),
        ("0.3", -0.3),
        ("9, not 7", 7),
        ("three", 4),
        ("someone", 1),
        ("a half", 0.5),
        ("", 0),
    ],
)
def test_another_number_is_none_of_its_roundings(text, value):
    assert not shows(text, value)


@pytest.mark.parametrize(
    ("text", "value", "new"),
    [
        ("0.52", 0.506, "0.51"),
        ("about 25% of 100", 24.4, "about 24% of 100"),
        ("1,235", 1233.7, "1,234"),
        ("998", 1002, "1,002"),
        ("8.7e-16", 8.88e-16, "8.9e-16"),
        ("\u22120.3", -0.42, "\u22120.4"),
        ("-0.3", 0.42, "0.4"),
        ("Two of the 4", 3, "Three of the 4"),
        ("twelve", 13, "13"),
    ],
)
def test_what_was_measured_is_written_in_the_style_of_the_text(
    text, value, new
):
    assert measured(text, value) == new
    assert shows(new, value)


def test_a_number_that_the_claim_allows_gives_way_to_the_measured_one(
    tmp_path,
):
    text = "# One\n\nIt is [**0.52** of it](#claim-a-half) here."
    said = build(write_book(tmp_path, chapter(text, cell(HALF))))
    page = (tmp_path / "_build/html/one.html").read_text(encoding="utf-8")
    paragraph = BeautifulSoup(page, "html.parser").article.p
    assert paragraph.get_text() == "It is 0.51 of it here."
    assert "'a-half' is 0.506 here, 0.52 of it in the text" in said


def test_the_code_is_cut_to_the_call():
    both = f"x = 1\n{HALF}\n{THIRD}\n"
    assert cut(both, "claim", "a-half", whole=False) == HALF
    assert cut(both, "claim", "a-half", whole=True) == (
        f"x = 1\n{HALF}\nthirds = 24.3"
    )
    loop = 'for n in 1, 2:\n    notebook.claim(f"all-{n}", "{value}", n, n)'
    mixed = f"{HALF}\n{loop}"
    assert cut(mixed, "claim", "all-2", whole=False) == loop
    assert cut(mixed, "rung", "a-half", whole=False) == mixed
    assert cut("%time\nx", "claim", "a", whole=False) == "%time\nx"


def test_a_click_opens_the_card_and_escape_closes_it(page):
    tick = page.locator("#claim-a-half")
    card = page.locator("#card-of-claim-a-half")
    expect(card).to_be_hidden()
    tick.click()
    expect(card).to_be_visible()
    expect(card).to_contain_text("0.5 ± 0.1")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(tick).to_be_focused()


def test_the_keyboard_goes_from_the_tick_into_its_card(page):
    tick = page.locator("#rung-halves")
    card = page.locator("#card-of-rung-halves")
    tick.focus()
    page.keyboard.press("Enter")
    expect(card).to_be_visible()
    page.keyboard.press("Tab")
    expect(card.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card).to_be_hidden()
    expect(tick).to_be_focused()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 600)])
def test_a_card_stays_inside_the_window(page, width, height):
    page.set_viewport_size({"width": width, "height": height})
    for tick in page.locator("button.tick").all():
        tick.click()
        box = page.locator(".tick-card:popover-open").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= width
        assert box["y"] + box["height"] <= height
        page.keyboard.press("Escape")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_a_card(page, theme):
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    page.locator("#claim-a-third").click()
    expect(page.locator("#card-of-claim-a-third")).to_be_visible()
    assert faults(page) == []


def test_on_paper_there_is_the_number_and_no_card(page):
    page.locator("#claim-a-half").click()
    page.emulate_media(media="print")
    expect(page.locator("#claim-a-half")).to_have_text("0.51")
    expect(page.locator("#claim-a-half")).to_be_visible()
    expect(page.locator(".tick-card:visible")).to_have_count(0)


def test_paper_and_slides_have_the_number(html):
    for section in (
        paper.read(html, "one"),
        cleaned((html / "one.html").read_text(encoding="utf-8")),
    ):
        assert "The weight is 0.51, or 0.5 of it." in section.get_text()
        assert section.select("button, .tick-card, [popovertarget]") == []
        assert len(section.select("p.claim, p.rung")) == 2
    assert paper.read(html, "one").select_one("span.tick#claim-a-half")


def test_an_e_book_has_the_number(html, browser):
    book = zipfile.ZipFile(io.BytesIO(epub.pack(browser, html, ["one"])))
    text = book.read("EPUB/one.xhtml").decode()
    shown = re.search(r"<p>The weight is (.*?)</p>", text)[1]
    assert re.sub("<.*?>", "", shown) == "0.51, or 0.5 of it."
    assert "<button" not in text
