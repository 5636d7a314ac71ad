"""The frame of a page: the bar above it, the contents, and the footer.

What stands where follows from `_toc.yml`: a part whose pages are chapters has
its dashes in the bar and its list in the contents; the pages of every other
part are named in the contents by that part, and listed in the footer. A page
may say `{{ chapters }}` for the number of chapters.
"""

import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.config import Config

CHAPTERS = "chapters/"
# "<h1>3. Attention" has its number in small type above the title.
NUMBERED = re.compile(r"<h1>(\d+)\. ")
NUMBER = r'<h1><span class="number">\1<span class="unseen">.</span></span> '


@dataclass(frozen=True)
class Listed:
    """A page as the frame names it.

    Attributes:
        name: Of its document.
        title: Its heading.
    """

    name: str
    title: str


@dataclass(frozen=True)
class Part:
    """A part of the book.

    Attributes:
        caption: Its name.
        pages: Those that `_toc.yml` names at its top, in order.
    """

    caption: str
    pages: tuple[Listed, ...]

    @property
    def of_chapters(self) -> bool:
        """Say whether this is what one reads from front to back."""
        return all(is_chapter(page.name) for page in self.pages)


def setup(app: Sphinx) -> None:
    """Tell every page what stands around it."""
    app.connect("config-inited", count, priority=950)  # `_toc.yml` comes first
    app.connect("html-page-context", surround)


def count(app: Sphinx, config: Config) -> None:
    """Let pages say how many chapters there are."""
    names = [name for name in config.external_site_map if is_chapter(name)]
    config.myst_substitutions = {
        **config.myst_substitutions,
        "chapters": len(names),
    }


def is_chapter(name: str) -> bool:
    """Tell whether a page is a chapter, by the name of its document."""
    return name.startswith(CHAPTERS)


def surround(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
) -> None:
    """Give the templates the parts of the book and the kind of the page."""
    context["parts"] = parts_of(app)
    context["near"] = near(app, pagename)
    context["deeper_last"] = deeper_last
    context["edition"] = version("vitedu")
    if pagename == app.config.root_doc:
        context["kind"] = "front"
    elif is_chapter(pagename):
        context["kind"] = "chapter"
        context["body"] = NUMBERED.sub(NUMBER, context.get("body", ""), 1)
    else:
        context["kind"] = "other"


def parts_of(app: Sphinx) -> list[Part]:
    """Return the parts of the book in the order of `_toc.yml`."""
    site_map = app.config.external_site_map
    return [
        Part(tree.caption or "", listed(app, tree.items))
        for tree in site_map.root.subtrees
    ]


def deeper_last(contents: object) -> str:
    """Return the contents of a page with its deeper sections at the end."""
    page = BeautifulSoup(str(contents), "html.parser")
    deeper = page.select('li:has(> a[href^="#deeper-"])')
    if deeper:
        last = page.new_tag("ul", attrs={"class": "deeper"})
        last.extend([entry.extract() for entry in deeper])
        page.append(last)
    return str(page)


def near(app: Sphinx, pagename: str) -> tuple[Listed, ...]:
    """Return the pages below the top of a part that a page belongs to."""
    site_map = app.config.external_site_map
    for name in site_map:
        if name == site_map.root.docname:
            continue
        below = [i for tree in site_map[name].subtrees for i in tree.items]
        if below and pagename in (name, *map(str, below)):
            return listed(app, below)
    return ()


def listed(app: Sphinx, names: list[str]) -> tuple[Listed, ...]:
    """Return pages under their titles."""
    titles = app.env.titles
    return tuple(
        Listed(str(name), titles[str(name)].astext()) for name in names
    )
