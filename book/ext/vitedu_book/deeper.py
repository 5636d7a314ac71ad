"""Sections that go deeper stand folded in the page.

A chapter writes `## Deeper: title` and below it, in italics, why one might
open it. On the page this makes one line: title, minutes, reason. The heading
stays a heading, with its address.
"""

from collections.abc import Iterator
from pathlib import Path

import nbformat
from bs4 import BeautifulSoup, Tag
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

from .reading import sections
from .teaching import DEEPER
from .written import html

_LOG = logging.getLogger(__name__)


def setup(app: Sphinx) -> None:
    """Look at each page when it is read, fold it when it is written."""
    app.connect("doctree-read", check)
    app.connect("doctree-resolved", fold)


def deeper_sections(doctree: nodes.document) -> Iterator[nodes.section]:
    """Return the sections of a page that go deeper."""
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title)
        if title and title.astext().startswith(DEEPER):
            yield section


def check(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of a section that does not say why one might open it."""
    for section in deeper_sections(doctree):
        if not _reason(section):
            title = section.next_node(nodes.title).astext()
            _LOG.warning(
                "%r must begin with a line in italics that says why one "
                "might open it",
                title,
                location=section,
            )


def fold(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put each section that goes deeper into a fold of the page."""
    if app.builder.format != "html":
        return
    folded = [*deeper_sections(doctree)]
    if not folded:
        return
    path = Path(app.env.doc2path(docname))
    minutes = {}
    if path.suffix == ".ipynb":
        found = sections(nbformat.read(path, as_version=4))
        minutes = {part.anchor: part.minutes for part in found}
    for section in folded:
        title, *content = section.children
        facts = []
        for name in minutes.keys() & {*section["ids"]}:
            said = f" · {max(1, round(minutes[name]))} min"
            facts.append(nodes.inline("", said, classes=["minutes"]))
        if reason := _reason(section):
            content.remove(reason.parent)
            why = nodes.inline("", " · ", classes=["why"])
            why += reason.children
            facts.append(why)
        section.children = []
        section += [
            html('<details class="deep"><summary>'),
            title,
            *facts,
            html("</summary>"),
            *content,
            html("</details>"),
        ]


def unfold(page: Tag) -> None:
    """Write the sections of a page out again, where nothing can fold."""
    for folded in page.select("details.deep"):
        summary = folded.summary
        for minutes in summary.select(".minutes"):
            minutes.decompose()
        if why := summary.select_one(".why"):
            why.extract()
            said = why.decode_contents().removeprefix(" · ")
            line = BeautifulSoup(f"<p><em>{said}</em></p>", "html.parser").p
            summary.insert_after(line)
        summary.unwrap()
        folded.unwrap()


def _reason(section: nodes.section) -> nodes.emphasis | None:
    """Return the line in italics below the title, if there is one."""
    title = section.next_node(nodes.title)
    place = section.index(title) + 1
    first = section[place] if place < len(section) else None
    if not isinstance(first, nodes.paragraph) or len(first) != 1:
        return None
    return first[0] if isinstance(first[0], nodes.emphasis) else None
