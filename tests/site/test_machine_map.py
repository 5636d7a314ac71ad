"""The two machines in the pages: large, and small above each chapter."""

import gzip
import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import yaml
from accessibility import faults
from bs4 import BeautifulSoup, Tag
from conftest import watch
from nbformat.v4 import new_markdown_cell
from pages import ROOT, is_broken
from playwright.sync_api import Browser, Page, expect
from tiny_book import CONFIG, build, fault
from vitedu_book.machines import HEADING

from tools.epub import pack

BUILT = ("03-scaled-dot-product-attention", "12-class-token-and-positions")
ATTENTION, CLASS_TOKEN = (f"chapters/{name}.html" for name in BUILT)
HERE = f"^#|{'|'.join(BUILT)}"
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
FRONT = """# Front

*{{ chapters }} chapters* of two machines.

:::{div} machines
```{machine-map}
```

What they are.
:::
"""


def write(folder: Path) -> None:
    """Write a book of the real map, with two chapters of headings alone."""
    config = yaml.safe_load(CONFIG)
    book = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    more, of_book = config["sphinx"]["config"], book["sphinx"]["config"]
    for key in ("html_css_files", "html_js_files"):
        more[key] = of_book[key]
    more["html_static_path"].append(str(ROOT / "vitedu/book/predict.css"))
    config["parse"] = book["parse"]
    (folder / "_config.yml").write_text(yaml.safe_dump(config))
    entries = [{"file": f"chapters/{name}"} for name in BUILT]
    toc = {"format": "jb-book", "root": "book/index", "chapters": entries}
    (folder / "_toc.yml").write_text(yaml.safe_dump(toc))
    (folder / "vitedu").symlink_to(ROOT / "vitedu")
    for name in ("book/api", "chapters"):
        (folder / name).mkdir(parents=True)
    for name in ("book/map.yml", "book/api/modules.yml"):
        (folder / name).write_bytes((ROOT / name).read_bytes())
    (folder / "book/index.md").write_text(FRONT)
    for path in sorted(ROOT.glob("chapters/*.ipynb")):
        copy = folder / "chapters" / path.name
        if path.stem not in BUILT:
            copy.symlink_to(path)
            continue
        chapter = nbformat.read(path, as_version=4)
        for cell in chapter.cells:
            if cell.cell_type == "code":
                cell.metadata = {"tags": ["remove-cell"]}
        chapter.cells = [*map(headings, chapter.cells)]
        nbformat.write(chapter, copy)


def headings(cell: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the headings of a cell of text, and a line under each."""
    if cell.cell_type == "code":
        return cell
    found = (m[0] for m in HEADING.finditer(cell.source))
    return new_markdown_cell("\n\n".join(f"{h}\n\n*Why.*" for h in found))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the book once."""
    folder = tmp_path_factory.mktemp("machines")
    write(folder)
    build(folder)
    return folder


@pytest.fixture
def open_at(browser: Browser, folder: Path) -> Iterator:
    """Return a function that opens a page of it; it has to be quiet."""
    site = folder / "_build/html"
    pages = []

    def open_one(path: str, **options) -> Page:
        page = browser.new_page(**options)
        watch(page, site.as_uri())
        page.goto((site / path).as_uri())
        pages.append(page)
        return page

    yield open_one
    for page in pages:
        assert page.requests_outside == page.console_errors == []
        page.close()


def parsed(folder: Path, path: str) -> Tag:
    text = (folder / "_build/html" / path).read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def test_a_part_without_its_section_stops_the_build(folder, tmp_path):
    write(tmp_path)
    path = tmp_path / "book/map.yml"
    text = path.read_text().replace("3#what-does-attention-do", "3#gone")
    path.write_text(text)
    said = "book/map.yml: self-attention: chapter 3 has no section 'gone'"
    assert said in fault(tmp_path)


def test_the_head_of_a_chapter_lights_its_parts(open_at):
    page = open_at(ATTENTION, viewport=DESKTOP)
    nav = page.get_by_role("navigation", name="Where you are")
    lit = nav.locator("a[aria-current=true]")
    expect(lit).to_have_count(2)
    links = nav.get_by_role("link", name="self-attention, chapter 3")
    for link in links.all():
        assert link.get_attribute("href").endswith("#what-does-attention-do")
        assert link.get_attribute("aria-current") == "true"
    shapes = "turns (batch, token, d_model) → into (batch, token, d_model)"
    said = " ".join(nav.locator("p").text_content().split())
    assert said == f"self-attention {shapes.replace('→ into', '→into')}"


def test_links_are_named_lists_in_the_order_of_the_machine(open_at):
    page = open_at("book/index.html", viewport=DESKTOP)
    reads = page.get_by_role("list", name="The Transformer reads")
    expect(reads.get_by_role("listitem")).to_have_count(8)
    page.get_by_role("link", name="words, chapter 1, vitedu.data").focus()
    names = []
    for _ in range(6):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.firstChild.textContent")
        )
    assert names == [
        "embedding, chapter 2, vitedu.transformer",
        "positions, chapter 2, vitedu.positions",
        "PositionalEncoding, explorer of positions, chapter 2",
        "encoder block × N, chapter 7, vitedu.layers",
        "ReverseTrainer, explorer of encoder block × N, chapter 7",
        "self-attention, chapter 3, vitedu.attention",
    ]


def test_a_small_part_says_its_name_when_one_comes_to_it(open_at):
    page = open_at(CLASS_TOKEN, viewport=PHONE)
    link = page.locator(".where a.class-token.lit")
    name = link.locator("text")
    expect(name).to_have_css("opacity", "0")
    link.focus()
    expect(name).to_have_css("opacity", "1")
    expect(name).to_have_text("class token, chapter 12")
    link.locator("rect").last.click()
    expect(page).to_have_url(re.compile("#which-output-do-we-read$"))


@pytest.mark.parametrize("path", ["book/index.html", ATTENTION])
def test_links_lead_to_what_is_there(folder, path):
    page = folder / "_build/html" / path
    links = [a["href"] for a in parsed(folder, path).select("svg a[href]")]
    built = [x for x in links if re.search(HERE, x)]
    assert len(built) >= 4
    assert [x for x in built if is_broken(page, x)] == []


def test_the_front_page_counts_the_chapters(folder):
    first = parsed(folder, "book/index.html").select_one("article em")
    assert first.get_text() == "2 chapters"


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE, PHONE | {"width": 320}])
@pytest.mark.parametrize("path", ["book/index.html", CLASS_TOKEN])
def test_nothing_is_wider_than_the_page(open_at, path, size, colours):
    page = open_at(path, viewport=size, color_scheme=colours)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= size["width"]
    assert faults(page) == []


@pytest.mark.parametrize(("size", "most"), [(DESKTOP, 0), (PHONE, 71)])
def test_the_title_stays_where_it_was(open_at, size, most):
    page = open_at(CLASS_TOKEN, viewport=size)
    place = "document.querySelector('h1 + p').getBoundingClientRect().top"
    with_map = page.evaluate(place)
    page.evaluate("document.querySelector('.where').remove()")
    assert 0 <= with_map - page.evaluate(place) <= most


def test_it_is_light(folder):
    drawn = str(parsed(folder, ATTENTION).select_one("nav.where"))
    assert len(gzip.compress(drawn.encode())) < 2_500


def test_what_prints_leaves_the_small_one_out(open_at):
    page = open_at(ATTENTION, viewport=DESKTOP)
    page.emulate_media(media="print")
    expect(page.locator(".where")).not_to_be_visible()


def test_an_e_book_has_lists(folder):
    pages = ["book/index", f"chapters/{BUILT[0]}"]
    book = zipfile.ZipFile(io.BytesIO(pack(folder / "_build/html", pages)))
    page = BeautifulSoup(book.read("EPUB/index.xhtml"), "html.parser")
    lanes = page.select("ol")
    assert [len(lane.select("li")) for lane in lanes] == [8, 11, 11]
    part = lanes[0].select("li")[4]
    assert part.get_text() == "self-attention, chapter 3, vitedu.attention"
    assert part.a["href"] == f"{BUILT[0]}.xhtml#what-does-attention-do"
    assert not page.select("svg, path, rect, text")
