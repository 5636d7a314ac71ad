"""The list of pages beside every page: all of them, under their titles."""

import posixpath
from typing import NamedTuple

import pytest
from bs4 import BeautifulSoup, Tag
from pages import PAGES


class Page(NamedTuple):
    """A page's heading, and what stands beside it."""

    heading: str
    links: list[Tag]


@pytest.fixture(scope="module")
def pages(site) -> dict[str, Page]:
    """Return all pages by their paths, in reading order."""
    found = {}
    for path in PAGES:
        html = (site.folder / path).read_text(encoding="utf-8")
        page = BeautifulSoup(html, "html.parser")
        for link in page.select("h1 .headerlink"):
            link.decompose()
        found[path] = Page(
            heading=text_of(page.h1), links=page.select("nav.bd-links a")
        )
    return found


def text_of(tag: Tag) -> str:
    return " ".join(tag.get_text().split())


@pytest.mark.parametrize("path", PAGES)
def test_the_sidebar_lists_all_pages_under_their_titles(pages, path):
    folder = posixpath.dirname(path)
    links = [
        path
        if link["href"] == "#"
        else posixpath.normpath(posixpath.join(folder, link["href"]))
        for link in pages[path].links
    ]
    start, *others = PAGES
    assert links == others
    assert [text_of(link) for link in pages[path].links] == [
        pages[other].heading for other in others
    ]
    here = [link["href"] for link in pages[path].links].count("#")
    assert here == (path != start)
