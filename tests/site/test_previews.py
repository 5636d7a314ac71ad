"""Previews of links: a term, a reference or a section, shown in place."""

import gzip
import json
import re
from os.path import normpath
from pathlib import Path

import pytest
from accessibility import faults
from pages import CHAPTERS, PAGES, read
from playwright.sync_api import Locator, Page, expect
from visits import PHONE

CHAPTER = CHAPTERS[2]
GLOSSARY, REFERENCES = "book/glossary.html", "book/references.html"
TERM = "article a[href$='glossary.html#term-query']"
REFERENCE = "article a[href*='references.html#']"
# Longer than a pointer has to rest, or may be away.
A_WHILE = 1000


def preview(page: Page) -> Locator:
    return page.get_by_role("tooltip")


def focus(page: Page, selector: str) -> Locator:
    """Go to the first link of a kind, as the Tab key does."""
    link = page.locator(selector).first
    page.keyboard.press("Tab")
    link.focus()
    return link


def beginning(page: Page) -> str:
    """Return title and first paragraph of where an address leads."""
    name = page.url.partition("#")[2]
    place = page.locator(f"section[id='{name}']" if name else "article")
    return place.evaluate(
        """place => ["h1, h2, h3, h4", "p"].map((kind) => {
          const node = place.querySelector(kind).cloneNode(true);
          node.querySelector(".headerlink")?.remove();
          return node.textContent;
        }).join(" ")"""
    )


def is_inside(panel: Locator) -> bool:
    return panel.evaluate(
        """panel => {
          const { left, top, right, bottom } = panel.getBoundingClientRect();
          return left >= 0 && right <= document.documentElement.clientWidth
            && top >= 0 && bottom <= innerHeight;
        }"""
    )


def test_a_term_is_explained_as_long_as_the_pointer_is_there(open_page):
    page = open_page(CHAPTER)
    link, panel = page.locator(TERM).first, preview(page)
    link.hover()
    expect(panel).to_have_text(re.compile("^query.*查询.*a token looks for"))
    expect(link).to_have_accessible_description(re.compile("^query"))
    panel.hover()
    page.wait_for_timeout(A_WHILE)
    expect(panel).to_be_visible()
    page.mouse.move(0, 0)
    expect(panel).to_be_hidden()
    expect(link).not_to_have_attribute("aria-describedby", re.compile(""))


def test_a_pointer_that_passes_by_loads_nothing(open_page):
    page = open_page(CHAPTER)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator(TERM).first.evaluate(
        """link => {
          for (const node of [link, document.body]) {
            node.dispatchEvent(new PointerEvent("pointerover",
              { bubbles: true, pointerType: "mouse" }));
          }
        }"""
    )
    page.wait_for_timeout(A_WHILE)
    expect(preview(page)).to_have_count(0)
    assert [url for url in asked if "/previews/" in url] == []


def test_a_reference_is_shown_to_the_keyboard_until_escape(open_page):
    page = open_page(CHAPTER)
    focus(page, TERM)
    panel = preview(page)
    expect(panel).to_be_visible()
    page.get_by_role("button", name="Contents").focus()
    expect(panel).to_be_hidden()
    link = focus(page, REFERENCE)
    expect(panel).to_contain_text("Attention Is All You Need")
    # A pointer that moves elsewhere takes nothing from the keyboard.
    page.mouse.move(1, 1)
    page.mouse.move(640, 300)
    page.wait_for_timeout(A_WHILE)
    expect(panel).to_be_visible()
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(link).to_be_focused()


@pytest.mark.parametrize(
    ("path", "link"),
    [
        (CHAPTERS[8], "04-masking.html#a-leak-looks-like-success"),
        (CHAPTERS[15], "#deeper-the-same-test-on-photographs"),
        (CHAPTERS[7], "04-masking.html"),
    ],
    ids=["another page", "the same page", "a whole page"],
)
def test_a_section_begins_as_where_it_stands(open_page, path, link):
    page = open_page(path)
    focus(page, f"article p a[href^='{link}']")
    expect(preview(page)).to_be_visible()
    shown = preview(page).locator("p").all_text_contents()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{link}*")
    expect(preview(page)).to_be_hidden()
    assert " ".join(shown).split() == beginning(page).split()


def test_a_first_tap_shows_and_a_second_follows(open_page):
    page = open_page(CHAPTER, has_touch=True, **PHONE)
    link, panel = page.locator(TERM).first, preview(page)
    here = page.url
    link.tap()
    expect(panel).to_contain_text("查询")
    page.locator("h1:visible").tap()
    expect(panel).to_be_hidden()
    link.tap()
    expect(panel).to_be_visible()
    assert page.url == here
    link.tap()
    page.wait_for_url("**/glossary.html#term-query")
    # Of a screen with a keyboard the Enter key follows at once.
    page.go_back()
    page.locator("h1:visible").tap()
    link.evaluate("link => link.focus()")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    page.wait_for_url("**/glossary.html#term-query")


def test_a_tap_on_what_has_no_preview_follows(open_page):
    page = open_page("book/claims.html", has_touch=True, **PHONE)
    page.locator("article a[href*='#claim-']").first.tap()
    page.wait_for_url("**/chapters/**#claim-*")


@pytest.mark.parametrize(
    ("folder", "said"), [("", "looks for"), ("zh/", "用来提问")]
)
def test_from_disk_in_both_languages(open_page, folder, said):
    page = open_page(f"{folder}{CHAPTER}", from_disk=True)
    page.locator(TERM).first.hover()
    expect(preview(page)).to_contain_text(said)


@pytest.mark.parametrize("look", [{}, PHONE])
def test_a_preview_is_inside_the_window_wherever_its_link_is(open_page, look):
    page = open_page("book/errata.html", **look)
    links = page.locator("article a[href*='#e-']").all()[::9]
    assert len(links) > 5
    for link in links:
        for block in ("start", "end"):
            link.evaluate(
                "(link, block) => link.scrollIntoView({ block })", block
            )
            page.evaluate("document.activeElement.blur()")
            page.keyboard.press("Shift")
            link.evaluate("link => link.focus({ preventScroll: true })")
            expect(preview(page)).to_be_visible()
            assert is_inside(preview(page))


def test_a_preview_stays_inside_a_window_that_becomes_narrow(open_page):
    page = open_page(CHAPTERS[4])
    focus(page, REFERENCE)
    expect(preview(page)).to_be_visible()
    page.set_viewport_size(PHONE)
    page.wait_for_function(
        """() => document.getElementById("link-preview")
          .getBoundingClientRect().right <= innerWidth"""
    )


def test_a_preview_on_a_phone_in_the_dark_is_accessible(open_page):
    page = open_page(CHAPTERS[21], color_scheme="dark", **PHONE)
    focus(page, "article a[href$='#a-step-is-a-rotation']")
    expect(preview(page).locator("div.math")).to_be_visible()
    assert faults(page) == []
    expect(preview(page)).to_be_visible()
    page.emulate_media(media="print")
    expect(preview(page)).to_be_hidden()


def test_every_term_and_reference_has_a_light_preview(site):
    for folder in (site.folder, site.folder / "zh"):
        wanted, texts = set(), {}
        for path in PAGES:
            for link in read(folder / path).links:
                page, _, name = link.partition("#")
                page = normpath(Path(path).parent / page)
                if page in (GLOSSARY, REFERENCES) and name:
                    wanted.add((page, name))
            name = path.removesuffix(".html")
            file = folder / "_static" / "previews" / f"{name}.js"
            script = file.read_text(encoding="utf-8")
            assert len(gzip.compress(script.encode())) < 20_000
            assert not re.search(r"<(a|button|img)\b| id=", script)
            found = json.loads(script.partition(" = ")[2].rstrip(";\n"))
            texts |= {(path, anchor): text for anchor, text in found.items()}
        assert len(wanted) > 150
        assert wanted - texts.keys() == set()
        assert all(re.sub("<.*?>", "", text) for text in texts.values())
