"""The frame of a page: the bar above it, the contents, and the footer.

What stands where follows from `_toc.yml`: a part whose pages are chapters has
its dashes in the bar and its list in the contents; the pages of every other
part are named in the contents by that part, and listed in the footer.
"""

import re
from dataclasses import dataclass
from typing import Any

from sphinx.application import Sphinx

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
        return all(page.name.startswith(CHAPTERS) for page in self.pages)


def setup(app: Sphinx) -> None:
    """Tell every page what stands around it."""
    app.connect("html-page-context", surround)


def surround(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Give the templates the parts of the book and the kind of the page."""
    context["parts"] = parts_of(app)
    context["near"] = near(app, pagename)
    if pagename == app.config.root_doc:
        context["kind"] = "front"
    elif pagename.startswith(CHAPTERS):
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
