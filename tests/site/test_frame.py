"""The frame of every page: the bar, the contents, and the footer."""

import posixpath

import pytest
from bs4 import BeautifulSoup, Tag
from pages import PAGES
from playwright.sync_api import expect

PHONE = {"width": 390, "height": 844}
CHAPTERS = [path for path in PAGES if path.startswith("chapters/")]
CHAPTER = "chapters/03-scaled-dot-product-attention.html"
# What the overview of the reference lists itself.
BELOW = [
    path
    for path in PAGES
    if path.startswith("book/api/") and path != "book/api/index.html"
]


@pytest.fixture(scope="module")
def pages(site) -> dict[str, BeautifulSoup]:
    """Return all pages by their paths, in reading order."""
    return {
        path: BeautifulSoup(
            (site.folder / path).read_text(encoding="utf-8"), "html.parser"
        )
        for path in PAGES
    }


def heading(page: BeautifulSoup) -> str:
    words = BeautifulSoup(str(page.h1), "html.parser")
    for link in words.select(".headerlink"):
        link.decompose()
    return text_of(words).replace(" .", ".")


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


@pytest.mark.parametrize("path", PAGES)
def test_bar_contents_and_footer_list_the_pages_under_their_titles(
    pages, path
):
    page = pages[path]
    _, *others = [one for one in PAGES if one not in BELOW]
    of_all = page.select("#contents .pages ul:not(.near) a")
    assert linked(path, of_all) == others
    dashes = page.select(".dashes a")
    assert linked(path, dashes) == CHAPTERS
    footer = page.select(".foot nav a")
    assert linked(path, footer) == [p for p in others if p not in CHAPTERS]
    for links in (of_all, dashes, footer):
        found = zip(linked(path, links), map(text_of, links), strict=True)
        assert all(name == heading(pages[p]) for p, name in found)
    here = [a for a in of_all if a.get("aria-current") == "page"]
    assert linked(path, here) == [path] * (path in others)
    if path.startswith("book/api/"):
        near = page.select("#contents ul.near a")
        assert linked(path, near) == BELOW


def test_contents_open_by_keyboard_and_lead_to_a_section(open_page):
    page = open_page(CHAPTER, **PHONE)
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


def test_contents_open_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url(CHAPTER))
    page.get_by_role("button", name="Contents").click()
    expect(page.locator("#contents .pages")).to_be_visible()
    expect(page.get_by_role("button", name="Search")).not_to_be_visible()
    context.close()


def test_a_dash_says_which_chapter_it_is(open_page):
    page = open_page(CHAPTER)
    dash = page.locator(".dashes a[aria-current]")
    name = dash.locator("span")
    expect(name).to_have_css("opacity", "0")
    dash.focus()
    expect(name).to_have_css("opacity", "1")
    expect(name).to_have_text("3. Scaled dot-product attention")


def test_the_text_is_set_in_letters_of_the_site(open_page):
    page = open_page(CHAPTER)
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
