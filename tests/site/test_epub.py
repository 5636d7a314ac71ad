"""The e-book: what a strict reader of EPUB would stumble over."""

import io
import re
import zipfile
from collections import Counter
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from tools import epub, paper

pytestmark = pytest.mark.soak

PAGES = (
    "book/index",
    "book/notation",
    "chapters/03-scaled-dot-product-attention",
    "book/references",
)
XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"
MATH = "{http://www.w3.org/1998/Math/MathML}"


@pytest.fixture(scope="module")
def book(browser, site) -> zipfile.ZipFile:
    """Pack some pages of each kind."""
    packed = epub.pack(browser, site.folder, PAGES)
    return zipfile.ZipFile(io.BytesIO(packed))


@pytest.fixture(scope="module")
def texts(book) -> dict[str, ElementTree.Element]:
    """Parse its pages; what is no XML stops here."""
    return {
        name: ElementTree.fromstring(book.read(name))
        for name in book.namelist()
        if name.endswith(".xhtml")
    }


@pytest.fixture(scope="module")
def package(book) -> ElementTree.Element:
    """Parse the list of its files."""
    return ElementTree.fromstring(book.read("EPUB/package.opf"))


def test_a_reader_of_epub_finds_every_file_and_page(book, package, texts):
    first = book.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", 0)
    assert book.read(first) == b"application/epub+zip"
    items = [*package.iter(f"{OPF}item")]
    files = {
        name.removeprefix("EPUB/")
        for name in book.namelist()
        if name.startswith("EPUB/")
    }
    listed = Counter(item.get("href") for item in items)
    assert listed == Counter(files - {"package.opf"})
    kinds = {"application/xhtml+xml", "text/css", "image/svg+xml", "image/png"}
    assert {item.get("media-type") for item in items} <= kinds
    names = {item.get("id"): item.get("href") for item in items}
    spine = [names[i.get("idref")] for i in package.iter(f"{OPF}itemref")]
    pages = [f"{Path(page).stem}.xhtml" for page in PAGES]
    assert spine == [pages[0], "nav.xhtml", *pages[1:]]
    assert {f"EPUB/{name}" for name in spine} == set(texts)
    nav = texts["EPUB/nav.xhtml"]
    linked = {a.get("href"): a.text for a in nav.iter(f"{XHTML}a")}
    for name in pages:
        heading = next(texts[f"EPUB/{name}"].iter(f"{XHTML}h1"))
        assert linked[name] == "".join(heading.itertext())


def test_ids_are_unique_and_links_lead_to_them(texts):
    ids = {}
    for name, text in texts.items():
        found = [e.get("id") for e in text.iter() if e.get("id")]
        assert len(found) == len(set(found)), name
        ids[PurePosixPath(name).name] = set(found)
    for name, text in texts.items():
        for anchor in text.iter(f"{XHTML}a"):
            path, _, place = anchor.get("href").partition("#")
            if path.startswith("https://"):
                continue
            target = path or PurePosixPath(name).name
            assert target in ids, anchor.get("href")
            assert not place or place in ids[target], anchor.get("href")


def test_nothing_runs_is_folded_or_comes_from_elsewhere(book, texts):
    for name, text in texts.items():
        for element in text.iter():
            source = element.get("src", "")
            assert not source or f"EPUB/{source}" in book.namelist(), name
        tags = {element.tag.removeprefix(XHTML) for element in text.iter()}
        assert not tags & {"script", "input", "button", "details", "fieldset"}
    images = [i for text in texts.values() for i in text.iter(f"{XHTML}img")]
    assert images
    assert all(image.get("alt") for image in images)
    for name in book.namelist():
        if name.endswith((".css", ".svg")):
            content = book.read(name).decode()
            assert not re.search(r"url\((?!#)|@import|<!DOCTYPE", content)
            assert not re.search(r'href="(?!#)', content), name
        if name.endswith(".svg"):
            for element in ElementTree.fromstring(book.read(name)).iter():
                is_path = element.tag.endswith("}path")
                assert not is_path or "d" in element.attrib


def test_each_formula_is_there_once_as_mathml(site, texts, package):
    for page in PAGES:
        html = (site.folder / f"{page}.html").read_text(encoding="utf-8")
        sources = [
            " ".join(note.get_text().split())
            for note in BeautifulSoup(html, "html.parser").select(
                ".katex annotation"
            )
        ]
        name = f"{Path(page).stem}.xhtml"
        formulas = [*texts[f"EPUB/{name}"].iter(f"{MATH}math")]
        assert Counter(f.get("alttext") for f in formulas) == Counter(sources)
        assert all(len(formula) for formula in formulas)
        # The half that is drawn by KaTeX's style sheet is gone.
        classes = [e.get("class", "") for e in texts[f"EPUB/{name}"].iter()]
        assert "katex-html" not in classes
        item = package.find(f".//{OPF}item[@href='{name}']")
        assert (item.get("properties") == "mathml") == bool(sources)


def test_an_explorer_is_a_small_sharp_picture_with_its_address(book, texts):
    chapter = texts["EPUB/03-scaled-dot-product-attention.xhtml"]
    [figure] = chapter.findall(f".//{XHTML}figure[@class='explorer']")
    [image] = figure.iter(f"{XHTML}img")
    assert image.get("alt") == "Softmax scaling explorer"
    content = book.read(f"EPUB/{image.get('src')}")
    assert len(content) < 100_000
    picture = Image.open(io.BytesIO(content))
    assert picture.width > 1200
    # White would be a picture of nothing.
    assert len(picture.convert("RGB").getcolors()) > 50
    said = "".join(figure.itertext())
    assert said.startswith("Try it on the site: ")
    assert said.endswith(f"{PAGES[2]}.html#explorer-softmax-scaling")


def test_the_whole_book_is_packed_in_order():
    pages = [page for _, pages in paper.contents() for page in pages]
    assert pages[0] == "book/index"
    assert pages == sorted(set(pages), key=pages.index)
    assert len({paper.name(page) for page in pages}) == len(pages)
    chapters = sorted(p.stem for p in paper.ROOT.glob("chapters/*.ipynb"))
    assert [Path(p).stem for p in pages if "chapters/" in p] == chapters


def test_what_is_folded_stands_open_under_its_title(site):
    page = paper.read(site.folder, "book/how-to-use")
    assert page.select("details, summary") == []
    title = page.find("strong", string="What we count, and at what rate")
    text = title.parent.find_next("p").get_text()
    assert text.startswith("The first screen of a chapter")


def test_the_e_book_in_chinese_says_so(browser, site):
    pages = ["book/index", "chapters/03-scaled-dot-product-attention"]
    packed = epub.pack(browser, site.folder / "zh", pages, "zh")
    book = zipfile.ZipFile(io.BytesIO(packed))
    package = book.read("EPUB/package.opf").decode()
    assert "<dc:language>zh</dc:language>" in package
    assert "<dc:title>从 Transformer 到 ViT</dc:title>" in package
    contents = book.read("EPUB/nav.xhtml").decode()
    assert "<h1>目录</h1>" in contents
    assert "3. 缩放点积注意力" in contents
    [name] = [n for n in book.namelist() if n.endswith("attention.xhtml")]
    text = book.read(name).decode()
    assert 'xml:lang="zh"' in text
    for words in ("答案在本章末尾。", "选项", "在网站上试试："):
        assert words in text
    assert not re.search("is right|on the site|stand at the end", text)
