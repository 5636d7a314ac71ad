"""Which pages the site has, and what stands in their HTML."""

from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.sync_api import Page, expect

ROOT = Path(__file__).parent.parent.parent
# The widget host's script names one that it loads itself.
LOADED = ("data-state", "src")
VIEW = "application/vnd.jupyter.widget-view+json"


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
# Made by Sphinx; of the pages with source code, the list and one of them.
GENERATED = [
    "search.html",
    "genindex.html",
    "_modules/index.html",
    "_modules/vitedu/masks.html",
]
ALL_PAGES = [*PAGES, *GENERATED]


@dataclass
class Html(HTMLParser):
    """The parts of a page that the tests ask for."""

    ids: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    metas: dict[str, str] = field(default_factory=dict)
    views: int = 0
    title: str = ""
    lang: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._in_title = False

    def handle_starttag(
        self, tag: str, pairs: list[tuple[str, str | None]]
    ) -> None:
        """Sort an element into its list."""
        attrs = {name: value or "" for name, value in pairs}
        self.ids.update({attrs[k] for k in ("id", "name") if k in attrs})
        if "href" in attrs:
            self.links.append(attrs["href"])
        if "src" in attrs:
            self.links.append(attrs["src"])
        if tag == "script" and "src" in attrs:
            self.scripts += [attrs[k] for k in LOADED if k in attrs]
        if tag == "script" and attrs.get("type") == VIEW:
            self.views += 1
        if tag == "img":
            self.images.append(attrs)
        if tag == "meta" and "content" in attrs:
            name = attrs.get("name") or attrs.get("property") or ""
            self.metas[name] = attrs["content"]
        if tag == "html":
            self.lang = attrs.get("lang", "")
        # The title of the page comes before those in drawings.
        self._in_title = tag == "title" and not self.title

    def handle_endtag(self, tag: str) -> None:
        """Leave the title."""
        self._in_title = False

    def handle_data(self, data: str) -> None:
        """Read the title."""
        if self._in_title:
            self.title += data


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
def read(path: Path) -> Html:
    """Parse a page of the built site."""
    html = Html()
    html.feed(path.read_text(encoding="utf-8"))
    return html


def is_broken(page: Path, link: str) -> bool:
    """Tell whether a link of a page leads to no file, or to no place in it."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return False
    target = page
    if parts.path:
        target = (page.parent / unquote(parts.path)).resolve()
    if not target.is_file():
        return True
    if not parts.fragment or target.suffix != ".html":
        return False
    # The build looks at these: an explorer makes its place by itself.
    if parts.fragment.startswith("explorer-"):
        return False
    return unquote(parts.fragment) not in read(target).ids
