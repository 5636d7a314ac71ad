"""The two machines in the pages: large, and small above each chapter."""

import gzip
import io
import re
import zipfile

import pytest
from bs4 import BeautifulSoup
from pages import CHAPTERS
from playwright.sync_api import expect
from visits import DESKTOP, PHONE

from tools.epub import pack

FRONT = "book/index.html"
ATTENTION, CLASS_TOKEN = CHAPTERS[2], CHAPTERS[11]


def test_the_head_of_a_chapter_lights_its_parts(open_page):
    page = open_page(ATTENTION)
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
    drawn = nav.evaluate("nav => nav.outerHTML")
    assert len(gzip.compress(drawn.encode())) < 2_500
    page.emulate_media(media="print")
    expect(nav).not_to_be_visible()


def test_links_are_named_lists_in_the_order_of_the_machine(open_page):
    page = open_page(FRONT)
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
    count = f"{len(CHAPTERS)} chapters"
    assert page.locator("article em").first.inner_text() == count
    # The smallest window that WCAG asks for.
    page.set_viewport_size({"width": 320, "height": 844})
    box = page.locator(".machines").bounding_box()
    assert box["x"] + box["width"] <= 320


def test_a_small_part_says_its_name_when_one_comes_to_it(open_page):
    page = open_page(CLASS_TOKEN, **PHONE)
    link = page.locator(".where a.class-token.lit")
    name = link.locator("text")
    expect(name).to_have_css("opacity", "0")
    link.focus()
    expect(name).to_have_css("opacity", "1")
    expect(name).to_have_text("class token, chapter 12")
    link.locator("rect").last.click()
    expect(page).to_have_url(re.compile("#which-output-do-we-read$"))


@pytest.mark.parametrize(("size", "most"), [(DESKTOP, 0), (PHONE, 71)])
def test_the_title_stays_where_it_was(open_page, size, most):
    page = open_page(CLASS_TOKEN, **size)
    place = "document.querySelector('h1 + p').getBoundingClientRect().top"
    with_map = page.evaluate(place)
    page.evaluate("document.querySelector('.where').remove()")
    assert 0 <= with_map - page.evaluate(place) <= most


@pytest.mark.soak
def test_an_e_book_has_lists(site):
    pages = [path.removesuffix(".html") for path in (FRONT, ATTENTION)]
    book = zipfile.ZipFile(io.BytesIO(pack(site.folder, pages)))
    page = BeautifulSoup(book.read("EPUB/index.xhtml"), "html.parser")
    lanes = page.select("ol")
    assert [len(lane.select("li")) for lane in lanes] == [8, 11, 11]
    part = lanes[0].select("li")[4]
    assert part.get_text() == "self-attention, chapter 3, vitedu.attention"
    name = ATTENTION.rpartition("/")[2].replace(".html", ".xhtml")
    assert part.a["href"] == f"{name}#what-does-attention-do"
    assert not page.select("svg, path, rect, text")
