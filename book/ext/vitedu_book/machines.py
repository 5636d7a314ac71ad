"""The two machines of the book: large, and small above each chapter.

The drawings are `book/machines/*.svg`. In them, `data-at` names the section
that a part leads to, as chapter#heading, and `data-lit` the chapters in whose
small drawing a part is lit. `heads.yml` has the words beside that drawing.
``.. machine-map::`` puts the large ones into a page.
"""

import re
from collections.abc import Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective

from .teaching import anchor_of, prose
from .written import html

FOLDER = "book/machines"
LARGE, SMALL, HEADS = ("transformer.svg", "vit.svg"), "small.svg", "heads.yml"
AT = re.compile(r'data-at="(\d+)#([^"]+)"')
LIT = re.compile(r'data-lit="([\d ]*)" class="([^"]*)"')
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)


class BadMap(SphinxError):
    """A drawing that leads to what the book does not have."""

    category = "Map of the machines"


def pages(root: Path) -> dict[int, str]:
    """Return the number of each chapter and its name for Sphinx."""
    return {
        int(path.name[:2]): f"chapters/{path.stem}"
        for path in sorted(root.glob("chapters/[0-9][0-9]-*.ipynb"))
    }


def check(root: Path) -> None:
    """See that all sections exist that the drawings lead to.

    Raises:
        BadMap: A drawing names a chapter or a heading that is not there.
    """
    anchors = {
        number: {
            *map(anchor_of, HEADING.findall(prose(root / f"{page}.ipynb")))
        }
        for number, page in pages(root).items()
    }
    for name in (*LARGE, SMALL):
        for number, anchor in AT.findall(_read(root, name)):
            who = f"{FOLDER}/{name}: chapter {number}"
            if int(number) not in anchors:
                raise BadMap(f"{who} does not exist")
            if anchor not in anchors[int(number)]:
                raise BadMap(f"{who} has no section {anchor!r}")


def small(root: Path, number: int, address: Callable[[str], str]) -> str:
    """Return the drawing for the head of a chapter, and its words."""

    def light(found: re.Match[str]) -> str:
        if str(number) not in found[1].split():
            return f'class="{found[2]}"'
        here = "" if found[2] == "frame" else ' aria-current="true"'
        return f'class="{found[2]} lit"{here}'

    words = yaml.safe_load(_read(root, HEADS))[number]
    named, enters, leaves = (
        escape(words[key]) for key in ("named", "enters", "leaves")
    )
    return (
        f"{LIT.sub(light, _linked(root, SMALL, address))}<p><b>{named}</b> "
        f'<span class="unseen">turns </span><span>{enters}</span>'
        ' <span><span aria-hidden="true">→</span>'
        f'<span class="unseen">into</span> {leaves}</span></p>'
    )


class MachineMap(SphinxDirective):
    """Draw both machines large."""

    def run(self) -> list[nodes.Node]:
        """Write the drawings into the page."""
        root, page = Path(self.env.srcdir), self.env.docname
        for name in LARGE:
            self.env.note_dependency(str(root / FOLDER / name))
        address = partial(self.env.app.builder.get_relative_uri, page)
        drawings = [_linked(root, name, address) for name in LARGE]
        return [html(f'<div class="machine-map">{"".join(drawings)}</div>')]


def _read(root: Path, name: str) -> str:
    return (root / FOLDER / name).read_text(encoding="utf-8")


def _linked(root: Path, name: str, address: Callable[[str], str]) -> str:
    """Return a drawing whose parts lead to their sections."""
    known = pages(root)

    def link(found: re.Match[str]) -> str:
        return f'href="{address(known[int(found[1])])}#{found[2]}"'

    return AT.sub(link, _read(root, name).replace("\n", ""))


def setup(app: Sphinx) -> None:
    """Add the directive, and a small drawing to each chapter."""
    app.add_directive("machine-map", MachineMap)
    app.connect("builder-inited", follow)


def follow(app: Sphinx) -> None:
    """Look at the drawings of a book that has them, before it is built."""
    root = Path(app.srcdir)
    if (root / FOLDER).is_dir():
        check(root)
        numbers = {page: number for number, page in pages(root).items()}
        app.connect("html-page-context", partial(show, numbers))


def show(
    numbers: dict[str, int],
    app: Sphinx,
    pagename: str,
    _: str,
    context: dict[str, Any],
    *rest: Any,
) -> None:
    """Give the template of a chapter its small drawing."""
    if number := numbers.get(pagename):
        address = partial(app.builder.get_relative_uri, pagename)
        context["machines"] = small(Path(app.srcdir), number, address)
