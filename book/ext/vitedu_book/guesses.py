"""What follows a guess waits in one element until the reader has chosen.

It holds everything up to the next heading, so that nothing of it is seen
alone. The style sheet of the guesses does the rest; see `choices.py`. On the
site it waits for a second choice if the first was wrong (`book.js`).
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from .written import CELL, html, parts

GUESS = "vitedu-predict"
NOTE = "What comes next unfolds with the right answer or a second guess."
_NOTE = re.compile(r'(?<=<p class="vitedu-folded">)[^<]*')
AFTER = "vitedu-after"


def setup(app: Sphinx) -> None:
    """Work on each page before it is written."""
    # Before sections are folded.
    app.connect("doctree-resolved", wrap, priority=400)


def wrap(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put what follows each guess into an element of its own."""
    if app.builder.format != "html":
        return
    cells = [cell for cell in parts(doctree, CELL) if _asks(cell)]
    for cell in cells:
        for shown in [*cell.findall(nodes.raw)]:
            shown.replace_self(html(_NOTE.sub(NOTE, shown.astext())))
    # From the last, so that what follows one holds what follows the next.
    for cell in reversed(cells):
        place = cell.parent.index(cell) + 1
        after = nodes.container(classes=[AFTER])
        while place < len(cell.parent) and not _ends(cell.parent[place]):
            after += cell.parent.pop(place)
        if len(after):
            cell.parent.insert(place, after)


def _asks(cell: nodes.container) -> bool:
    return any(
        f'class="{GUESS}"' in shown.astext()
        for shown in cell.findall(nodes.raw)
    )


def _ends(node: nodes.Node) -> bool:
    return isinstance(node, nodes.section)
