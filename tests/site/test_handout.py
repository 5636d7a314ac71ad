"""The chapters and the book as PDF, and what a reader prints by hand."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import pytest
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from tools import handout, paper

pytestmark = pytest.mark.soak

# Long lines of code and wide tables; the widest formula. Both an explorer.
CHAPTERS = (
    "chapters/04-masking",
    "chapters/06-residuals-norms-feed-forward",
)
EXPLORERS = {
    "04-masking": "Mask editor",
    "06-residuals-norms-feed-forward": "Norms: which numbers are averaged "
    "together",
}
# A4 less the margins, in the pixels of the browser.
WIDTH = 658
TOO_WIDE = """() => [...document.querySelectorAll("article *")]
  .filter((e) => !e.closest("svg, .katex-mathml"))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 120))"""

CLIPPED = """() => [...document.querySelectorAll("article :is(div, pre)")]
  .filter((e) => getComputedStyle(e).overflowX !== "visible")
  .filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.outerHTML.slice(0, 120))"""


@dataclass(frozen=True)
class Printed:
    """A chapter: on the site, as it goes to the printer, and as PDF."""

    name: str
    site: Tag
    text: str
    pdf: PdfReader

    @cached_property
    def document(self) -> Tag:
        """Return what goes to the printer, parsed."""
        return BeautifulSoup(self.text, "html.parser")

    @cached_property
    def pages(self) -> list[str]:
        """Return what is printed on each page, without spaces."""
        return [squeezed(page.extract_text()) for page in self.pdf.pages]


@pytest.fixture(scope="module", params=CHAPTERS)
def printed(site, browser: Browser, request) -> Printed:
    """Print a chapter."""
    page = site.folder / f"{request.param}.html"
    html = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    texts = handout.sections(browser, site.folder, [request.param])
    return Printed(
        Path(request.param).stem,
        html.article,
        handout.document(site.folder, texts),
        PdfReader(
            io.BytesIO(handout.chapter(browser, site.folder, request.param))
        ),
    )


@pytest.fixture
def on_paper(browser: Browser) -> Iterator[Page]:
    """Return a page as wide as the paper."""
    page = browser.new_page(viewport={"width": WIDTH, "height": 900})
    page.emulate_media(media="print")
    yield page
    page.close()


def squeezed(text: str) -> str:
    """Return a text without its spaces, which a PDF does not keep."""
    return re.sub(r"\s", "", text)


def goes_on(end: str, pages: list[str]) -> bool:
    """Return whether a line is broken at the foot of a page."""
    return any(
        page.endswith(end[:at]) and end[at:] in later
        for page, later in pairwise(pages)
        for at in range(1, len(end))
    )


def test_nothing_is_too_wide_and_every_figure_is_there(
    printed, on_paper, tmp_path
):
    path = tmp_path / "handout.html"
    path.write_text(printed.text, encoding="utf-8")
    on_paper.goto(path.as_uri())
    assert on_paper.evaluate(TOO_WIDE) == []
    assert on_paper.evaluate(CLIPPED) == []
    widths = on_paper.eval_on_selector_all(
        "img", "(all) => all.map((image) => image.naturalWidth)"
    )
    drawings = printed.site.select("svg.drawing")
    alts = [image["alt"] for image in printed.site.select("img")]
    alts += [drawing["aria-label"] for drawing in drawings]
    alts += [EXPLORERS[printed.name]]
    assert alts
    assert len(widths) == len(alts)
    assert all(widths)
    root = printed.pdf.trailer["/Root"]["/StructTreeRoot"]
    found = [e.get("/Alt") for e in below(root) if e.get("/S") == "/Figure"]
    assert [alt for alt in alts if alt not in found] == []


def test_code_is_printed_to_the_end_of_each_line(printed):
    lines = [
        line
        for pre in printed.document.select("pre")
        for line in pre.get_text().splitlines()
    ]
    ends = {squeezed(line)[-15:] for line in lines if line.isascii()}
    assert len(lines) > 100
    text = "".join(printed.pages)
    lost = [end for end in ends if end not in text]
    assert [end for end in lost if not goes_on(end, printed.pages)] == []


def test_pages_are_a4_and_have_a_number_and_the_title(printed):
    title = squeezed(printed.document.h1.get_text())
    for number, page in enumerate(printed.pdf.pages, 1):
        assert [round(x) for x in page.mediabox[2:]] == [595, 842]
        assert printed.pages[number - 1].startswith(f"{title}{number}")


def test_links_can_be_followed(printed):
    notes = [
        note.get_object()
        for page in printed.pdf.pages
        for note in page.get("/Annots", [])
    ]
    aims = {str(note["/Dest"])[1:] for note in notes if "/Dest" in note}
    hrefs = {a["href"] for a in printed.document.select("article a[href]")}
    assert len(aims) > 20
    assert {f"#{aim}" for aim in aims} == {h for h in hrefs if h[0] == "#"}
    assert aims <= {n.lstrip("/") for n in printed.pdf.named_destinations}
    uris = {note["/A"]["/URI"] for note in notes if "/A" in note}
    assert uris == {href for href in hrefs if href[0] != "#"}
    assert all(uri.startswith("https://") for uri in uris)


def below(element) -> Iterator:
    """Yield the elements of the structure of a PDF."""
    kids = element.get("/K", [])
    for kid in kids if isinstance(kids, list) else [kids]:
        kid = kid.get_object()
        if hasattr(kid, "get"):
            yield kid
            yield from below(kid)


def test_nothing_is_folded_and_answers_come_last(printed):
    forms = "details, summary, input, fieldset, button, script, label"
    assert printed.document.select(f"article :is({forms})") == []
    document = BeautifulSoup(printed.text, "html.parser")
    answers = document.select_one("[id$='--answers']").extract()
    first, last = (squeezed(part.get_text()) for part in (document, answers))
    # Somebody else's mistakes are for readers of the page.
    for attempt in printed.site.select("details.attempt"):
        attempt.decompose()
    said = printed.site.select(
        ".vitedu-answers > p, #exercises .solution > p:not([class])"
        ", #exercises .solution pre, #exercises details details > p"
    )
    assert len(said) > 30
    whys = [p for p in said if p.parent.get("class") == ["vitedu-answers"]]
    for element in said:
        for part in element.select("strong, .katex, a"):
            part.decompose()
        element.extract()
    prose = squeezed(printed.site.get_text())
    texts = {squeezed(element.get_text()) for element in said}
    assert {words for words in texts if words in first} == {
        words for words in texts if words in prose
    }
    lost = [p for p in whys if squeezed(p.get_text()) not in last]
    assert lost == []
    assert len(answers.select(".answer")) == len(
        printed.site.select("fieldset, #exercises .solution")
    ) + len(printed.site.select("#exercises .hints"))


def test_characters_without_a_font_are_noticed(browser):
    assert handout.has_font(browser, "abc")
    # For private use: no font of a system has them.
    assert not handout.has_font(browser, "\ue0f1\ue0f2")


def test_the_book_has_contents_with_numbers(site, browser, monkeypatch):
    parts = [
        ("", ["book/index"]),
        ("Start here", ["book/how-to-use"]),
        ("Reference", ["book/errata", "book/references"]),
    ]
    monkeypatch.setattr(paper, "contents", lambda: parts)
    pdf = PdfReader(io.BytesIO(handout.book(browser, site.folder)))
    pages = [page.extract_text() for page in pdf.pages]
    contents = next(n for n, text in enumerate(pages) if "Contents" in text)
    for title in ("How to use this book", "Errata", "References"):
        number = int(re.search(rf"{title}\s+(\d+)", pages[contents])[1])
        heading = pages[number - 1].replace("\n", " ")
        assert heading.count(title) >= 2, "the running head and the title"
        assert pages[number - 2].count(title) < 2
    outline = [entry.title for entry in flat(pdf.outline)]
    assert {"Errata", "References"} <= set(outline)
    aims = [n.removeprefix("/") for n in pdf.named_destinations]
    assert {"how-to-use", "errata", "references"} <= set(aims)


def flat(outline: list) -> Iterator:
    """Yield the entries of an outline, at any depth."""
    for entry in outline:
        if isinstance(entry, list):
            yield from flat(entry)
        else:
            yield entry


def test_a_missing_page_is_named(site):
    with pytest.raises(FileNotFoundError, match="99-nothing"):
        paper.read(site.folder, "chapters/99-nothing")


def test_a_page_printed_from_the_browser_fits_the_paper(open_page):
    page = open_page("chapters/15-counting.html", width=WIDTH)
    page.emulate_media(media="print")
    assert page.evaluate(TOO_WIDE) == []


def test_an_explorer_is_printed_as_it_stands_in_light_colours(open_page):
    path = "chapters/04-masking.html#explorer-mask-editor"
    page = open_page(path, color_scheme="dark")
    explorer = page.locator(".vitedu-explorer")
    expect(explorer).to_be_visible()
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": WIDTH, "height": 900})
    expect(explorer.get_by_text("order of steps")).to_be_visible()
    expect(explorer.locator(".weights .cell").first).to_be_visible()
    for name in ("Start again", "Copy link", "padding"):
        expect(explorer.get_by_text(name, exact=True)).to_be_hidden()
    shown = explorer.evaluate(
        "node => [node.getBoundingClientRect().width,"
        " getComputedStyle(node).color]"
    )
    assert shown[0] <= WIDTH
    assert shown[1] == "rgb(29, 28, 26)"
    assert page.evaluate(TOO_WIDE) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert explorer.evaluate("node => node.style.zoom") == ""


def test_a_chapter_in_chinese_is_printed_in_chinese(site, browser):
    page = "chapters/03-scaled-dot-product-attention"
    content = handout.chapter(browser, site.folder / "zh", page, "zh")
    pages = [
        normalize("NFKC", squeezed(one.extract_text()))
        for one in PdfReader(io.BytesIO(content)).pages
    ]
    if not re.search("[\u4e00-\u9fff]", "".join(pages)):
        pytest.skip("no Chinese font on this machine")
    assert "缩放点积注意力" in pages[0]
    assert "答案在本章末尾" in "".join(pages)
    assert "猜题的答案" in "".join(pages[len(pages) // 2 :])
