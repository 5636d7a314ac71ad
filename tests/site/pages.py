"""Which pages the site has, and what stands in their HTML."""

import re
from dataclasses import dataclass
from functools import cache
from html import unescape
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parent.parent.parent
# The widget host's script names one that it loads itself.
LOADED = ("data-state", "src")
VIEW = "application/vnd.jupyter.widget-view+json"
TAG = re.compile(r'<([a-z][\w-]*)\b((?:[^<>"]+|"[^"]*")*)>')
ATTRIBUTE = re.compile(r'\s([\w:@.-]+)(?:="([^"]*)")?')
ASKED_FOR = re.compile(r"\s(?:id|name|href|src|content|type|lang)=")


def _table_of_contents() -> list[str]:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [c for part in toc["parts"] for c in part["chapters"]]
    return [f"{toc['root']}.html", *_below(chapters)]


def _below(entries: list[dict]) -> list[str]:
    return [
        page
        for entry in entries
        for page in (
            f"{entry['file']}.html",
            *_below(entry.get("sections", [])),
        )
    ]


PAGES = _table_of_contents()
CHAPTERS = [path for path in PAGES if path.startswith("chapters/")]
# Made by Sphinx; of the pages with source code, the list and one of them.
GENERATED = [
    "search.html",
    "genindex.html",
    "_modules/index.html",
    "_modules/vitedu/masks.html",
]
ALL_PAGES = [*PAGES, *GENERATED]


def sampled(pages: list[str], sample: list[str]) -> list:
    """Return pages to test; `make soak` has those outside the sample."""
    return [
        path if path in sample else pytest.param(path, marks=pytest.mark.soak)
        for path in pages
    ]


@dataclass(frozen=True)
class Html:
    """The parts of a page that the tests ask for."""

    ids: set[str]
    links: list[str]
    scripts: list[str]
    images: list[dict[str, str]]
    metas: dict[str, str]
    views: int
    title: str
    lang: str


@cache
def read(path: Path) -> Html:
    """Read the tags of a page, which the build writes in one form.

    Of a hundred thousand few are asked for: a parser needs a minute for all.
    """
    text = path.read_text(encoding="utf-8")
    tags = [
        {"": name}
        | {key: unescape(value) for key, value in ATTRIBUTE.findall(rest)}
        for name, rest in TAG.findall(text)
        if ASKED_FOR.search(rest)
    ]
    scripts = [tag for tag in tags if tag[""] == "script"]
    # The title of the page comes before those in drawings.
    titles = re.search("<title>(.*?)</title>|$", text, re.DOTALL)
    return Html(
        ids={t[key] for t in tags for key in ("id", "name") if key in t},
        links=[t[key] for t in tags for key in ("href", "src") if key in t],
        scripts=[
            t[key] for t in scripts for key in LOADED if {key, "src"} <= {*t}
        ],
        images=[tag for tag in tags if tag[""] == "img"],
        metas={
            tag.get("name") or tag.get("property", ""): tag["content"]
            for tag in tags
            if tag[""] == "meta" and "content" in tag
        },
        views=sum(tag.get("type") == VIEW for tag in scripts),
        title=unescape(titles[1] or ""),
        lang="".join(t.get("lang", "") for t in tags if t[""] == "html"),
    )


@cache
def parsed(path: Path) -> Tag:
    """Return a page with all its elements; for chapters this takes long."""
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def start_explorers(page: Page) -> None:
    """Go to each place of an explorer until all are there."""
    for place in page.locator(".vitedu-widget").all():
        explorer = place.locator(".vitedu-explorer")
        for _ in range(50):
            # What comes near gets its height, and may push the place away.
            place.scroll_into_view_if_needed()
            if explorer.count():
                break
            page.wait_for_timeout(100)
        expect(explorer).to_be_visible()
    views = page.locator(f'script[type="{VIEW}"]').count()
    expect(page.locator(".vitedu-widget .vitedu-explorer")).to_have_count(
        views
    )


@cache
def _is_file(path: Path) -> bool:
    return path.resolve().is_file()


def is_broken(page: Path, link: str) -> bool:
    """Tell whether a link of a page leads to no file, or to no place in it."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = page
    if parts.path:
        target = Path(normpath(page.parent / unquote(parts.path)))
    if not _is_file(target):
        return True
    if not parts.fragment or target.suffix != ".html":
        return False
    # The build looks at these: an explorer makes its place by itself.
    if parts.fragment.startswith("explorer-"):
        return False
    return unquote(parts.fragment) not in read(target).ids
