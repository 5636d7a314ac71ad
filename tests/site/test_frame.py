"""The frame of every page: the bar, the contents, and the footer."""

import posixpath
import re

import pytest
from bs4 import BeautifulSoup, Tag
from pages import CHAPTERS, PAGES
from playwright.sync_api import expect
from visits import PHONE

CHAPTER = CHAPTERS[2]
# What the overview of the reference lists itself.
BELOW = [
    path
    for path in PAGES
    if path.startswith("book/api/") and path != "book/api/index.html"
]
# All of a page but its text.
FRAME = re.compile(
    r'<h1\b.*?</h1>|<nav class="(?:dashes|pages)".*?</nav>'
    r'|<footer class="foot">.*?</footer>',
    re.DOTALL,
)


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Tag]:
    """Return titles and frames of all pages by their paths."""
    texts = {p: (site.folder / p).read_text(encoding="utf-8") for p in PAGES}
    return {
        path: BeautifulSoup(" ".join(FRAME.findall(text)), "html.parser")
        for path, text in texts.items()
    }


def heading(page: Tag) -> str:
    title = text_of(page.h1).removesuffix("#").strip()
    return title.replace(" .", ".")


def text_of(tag: Tag) -> str:
    return " ".join(tag.get_text().split())


def linked(path: str, links: list[Tag]) -> list[str]:
    """Return the pages that the links of a page lead to."""
    folder = posixpath.dirname(path)
    return [
        path
        if link["href"] == "#"
        else posixpath.normpath(posixpath.join(folder, link["href"]))
        for link in links
    ]


def test_bar_contents_and_footer_list_the_pages_under_their_titles(pages):
    titles = {path: heading(page) for path, page in pages.items()}
    _, *others = [one for one in PAGES if one not in BELOW]
    listed = {
        ".pages ul:not(.near) a": others,
        ".dashes a": CHAPTERS,
        ".foot nav a": [p for p in others if p not in CHAPTERS],
    }
    for path, page in pages.items():
        for place, wanted in listed.items():
            links = page.select(place)
            assert linked(path, links) == wanted, (path, place)
            names = [text_of(link) for link in links]
            assert names == [titles[p] for p in wanted], (path, place)
            here = [a for a in links if a.get("aria-current") == "page"]
            assert linked(path, here) == [path] * (path in wanted), path
        near = page.select(".pages ul.near a")
        wanted = BELOW if path.startswith("book/api/") else []
        assert linked(path, near) == wanted, path


def test_contents_open_by_keyboard_and_lead_to_a_section(open_page):
    page = open_page(CHAPTER)
    panel = page.locator("#contents")
    expect(panel).not_to_be_visible()
    page.get_by_role("button", name="Contents").press("Enter")
    expect(panel).to_be_visible()
    page.keyboard.press("Tab")
    first = panel.locator(".page-toc a").first
    expect(first).to_be_focused()
    target = first.get_attribute("href")
    page.keyboard.press("Enter")
    expect(panel).not_to_be_visible()
    assert page.url.endswith(target)
    page.get_by_role("button", name="Contents").click()
    page.keyboard.press("Escape")
    expect(panel).not_to_be_visible()


def test_on_a_phone_the_contents_begin_with_the_chapters(open_page):
    page = open_page(CHAPTER, **PHONE)
    page.get_by_role("button", name="Contents").click()
    panel = page.locator("#contents")
    first = panel.locator(".pages a").first
    page.keyboard.press("Tab")
    expect(first).to_be_focused()
    section = panel.locator(".page-toc a").first
    assert first.bounding_box()["y"] < section.bounding_box()["y"]


def test_sections_that_go_deeper_come_last_in_the_contents(site):
    text = (site.folder / CHAPTER).read_text(encoding="utf-8")
    entries = [
        link["href"].startswith("#deeper-")
        for link in BeautifulSoup(text, "html.parser").select(".page-toc a")
    ]
    assert {*entries} == {True, False}
    assert entries == sorted(entries)


def test_links_skip_the_dashes_to_the_text_and_to_the_contents(open_page):
    page = open_page(CHAPTER)
    for name in ("Skip to main content", "Skip to the contents"):
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name=name)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Contents")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#contents")).to_be_visible()


def test_contents_open_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url(CHAPTER))
    page.get_by_role("button", name="Contents").click()
    expect(page.locator("#contents .pages")).to_be_visible()
    expect(page.get_by_role("button", name="Search")).not_to_be_visible()
    context.close()


def test_a_dash_says_which_chapter_it_is_in_letters_of_the_site(open_page):
    page = open_page(CHAPTER)
    dash = page.locator(".dashes a[aria-current]")
    name = dash.locator("span")
    expect(name).to_have_css("opacity", "0")
    dash.focus()
    expect(name).to_have_css("opacity", "1")
    expect(name).to_have_text("3. Scaled dot-product attention")
    loaded = page.evaluate(
        """async () => {
          await document.fonts.ready;
          return [...document.fonts].filter((f) => f.status === "loaded")
            .map((f) => f.family.replaceAll('"', ""));
        }"""
    )
    assert {"Book Serif", "Book Sans", "Book Mono"} <= set(loaded)
    text = page.locator(".bd-article section section > p").first
    assert text.bounding_box()["width"] == 660


def test_the_letters_are_light(site):
    fonts = list(site.folder.glob("_static/fonts/*/*.woff2"))
    assert len(fonts) == 4
    assert sum(font.stat().st_size for font in fonts) <= 120_000
