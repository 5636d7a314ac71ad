"""The two machines in the pages: large, and small above each chapter."""

import gzip
import io
import re
import zipfile

from bs4 import BeautifulSoup
from playwright.sync_api import expect

from tools.epub import pack

FRONT = "book/index.html"
ATTENTION = "chapters/03-scaled-dot-product-attention.html"
CLASS_TOKEN = "chapters/12-class-token-and-positions.html"
PHONE = {"width": 390, "height": 844}


def test_the_head_of_a_chapter_lights_its_parts(open_page):
    page = open_page(ATTENTION)
    nav = page.get_by_role("navigation", name="Where you are")
    expect(nav.locator("a[aria-current=true]")).to_have_count(2)
    for link in nav.get_by_role(
        "link", name="self-attention, chapter 3"
    ).all():
        assert link.get_attribute("href").endswith("#what-does-attention-do")
        assert link.get_attribute("aria-current") == "true"
    said = " ".join(nav.locator("p").text_content().split())
    shape = "(batch, token, d_model)"
    assert said == f"self-attention turns {shape} →into {shape}"
    page.emulate_media(media="print")
    expect(nav).not_to_be_visible()


def test_links_are_named_lists_in_the_order_of_the_machine(open_page):
    page = open_page(FRONT)
    reads = page.get_by_role("list", name="The Transformer reads")
    expect(reads.get_by_role("listitem")).to_have_count(8)
    page.get_by_role("link", name="words, chapter 1, vitedu.data").focus()
    names = []
    for _ in range(4):
        page.keyboard.press("Tab")
        names.append(
            page.evaluate("document.activeElement.firstChild.textContent")
        )
    assert names == [
        "embedding, chapter 2, vitedu.transformer",
        "positions, chapter 2, vitedu.positions",
        "PositionalEncoding, explorer of positions, chapter 2",
        "encoder block × N, chapter 7, vitedu.layers",
    ]


def test_a_small_part_shows_its_name_and_leads_to_its_section(open_page):
    page = open_page(CLASS_TOKEN, **PHONE)
    link = page.locator(".where a.class-token.lit")
    name = link.locator("text")
    expect(name).to_have_css("opacity", "0")
    link.focus()
    expect(name).to_have_css("opacity", "1")
    expect(name).to_have_text("class token, chapter 12")
    link.locator("rect").last.click()
    expect(page).to_have_url(re.compile("#which-output-do-we-read$"))


def test_it_is_light_and_an_e_book_has_lists(site, browser):
    text = (site.folder / ATTENTION).read_text(encoding="utf-8")
    drawn = str(BeautifulSoup(text, "html.parser").select_one("nav.where"))
    assert len(gzip.compress(drawn.encode())) < 2_500
    pages = [FRONT.removesuffix(".html"), ATTENTION.removesuffix(".html")]
    book = zipfile.ZipFile(io.BytesIO(pack(browser, site.folder, pages)))
    page = BeautifulSoup(book.read("EPUB/index.xhtml"), "html.parser")
    lanes = [
        lane for lane in page.select("ol") if "vitedu." in lane.get_text()
    ]
    assert [len(lane.select("li")) for lane in lanes] == [8, 11, 11]
    part = lanes[0].select("li")[4]
    assert part.get_text() == "self-attention, chapter 3, vitedu.attention"
    assert part.a["href"].endswith(".xhtml#what-does-attention-do")
    assert not page.select("svg, path, rect, text")
