"""What several parts of the extension do to a page: its cells and its text."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from docutils import nodes
from sphinx.application import Sphinx

CELL, SOURCE, OUTPUT = "cell_code", "cell_code_source", "cell_code_output"


def parts(node: nodes.Element, element: str) -> Iterator[nodes.container]:
    """Return the parts of a page or a cell that MyST-NB calls `element`."""
    for part in node.findall(nodes.container):
        if part.get("nb_element") == element:
            yield part


def html(text: str) -> nodes.raw:
    """Return HTML as a part of a page."""
    return nodes.raw(text=text, format="html")


def change_text(
    app: Sphinx, change: Callable[[Sphinx, str], str], priority: int = 500
) -> None:
    """Let a function change the HTML of every page before it is written."""

    def write(
        app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
    ) -> None:
        if "body" in context:
            context["body"] = change(app, context["body"])

    app.connect("html-page-context", write, priority=priority)


def picture_file(app: Sphinx, name: str) -> Path:
    """Return the file of a picture that pages name `_images/NAME`."""
    known = {named: path for path, named in app.builder.images.items()}
    return Path(app.srcdir, known[unquote(name)])
