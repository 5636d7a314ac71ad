"""Previews of links: the first lines of a section, a definition, a reference.

For each page, a script in `_static/previews` has a short text for everything
on the page that links can lead to. `previews.js` loads this script when it
needs one of the texts: a page opened from disk can load scripts, but not other
pages.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

FOLDER, SCRIPT = "previews", "previews.js"
TEXTS = "(globalThis.viteduPreviews ??= {})"
LISTS = (nodes.bullet_list, nodes.enumerated_list)
# A tooltip must not contain links or buttons, an id must be unique, and the
# address of an image depends on the page.
LEFT_OUT = re.compile(r'</?(?:a|button|img)\b[^>]*>| id="[^"]*"')


def setup(app: Sphinx) -> None:
    """Write the texts of each page together with the page."""
    app.connect("html-page-context", write)


def write(
    app: Sphinx,
    pagename: str,
    _: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Write the previews of a page, and let the page show previews."""
    if app.builder.name != "html" or doctree is None:
        return
    app.add_js_file(SCRIPT, loading_method="defer")
    found = {}
    for node in doctree.findall(nodes.Element):
        if node.get("ids") and (parts := beginning(node)):
            text = "".join(_html(app, part) for part in parts)
            found |= dict.fromkeys(_anchors(node), text)
    texts = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir, "_static", FOLDER, f"{pagename}.js")
    path.parent.mkdir(parents=True, exist_ok=True)
    script = f"{TEXTS}[{json.dumps(pagename)}] = {texts};\n"
    path.write_text(script, encoding="utf-8")


def _anchors(node: nodes.Element) -> list[str]:
    """Return the anchors of a place; the top of a page also has none."""
    top = isinstance(node.parent, nodes.document)
    return [*node["ids"], *[""] * top]


def _html(app: Sphinx, node: nodes.Element) -> str:
    html = app.builder.render_partial(node.deepcopy())["fragment"]
    return LEFT_OUT.sub("", html).strip()


def beginning(node: nodes.Element) -> list[nodes.Element]:
    """Return what the preview of a place shows: a title and the first lines.

    Args:
        node: An element with an anchor.

    Returns:
        An empty list for an element that needs no preview, such as a claim.
    """
    match node:
        case nodes.section():
            title, text = node.next_node(nodes.title), [*_first_lines(node)]
            return [_heading(*title.children), *text] if title and text else []
        case nodes.term():
            names = [one.astext() for one in node.parent.findall(nodes.term)]
            meaning = node.parent.next_node(nodes.definition)
            return [_heading(nodes.Text(", ".join(names))), *meaning.children]
        case addnodes.desc_signature():
            name = nodes.literal("", node.get("fullname", ""))
            content = node.parent.next_node(addnodes.desc_content)
            about = content.next_node(nodes.paragraph)
            return [_heading(name), about] if about else []
        case nodes.citation():
            return [node.next_node(nodes.paragraph)]
        case nodes.paragraph():
            return [node]
    return []


def _heading(*parts: nodes.Node) -> nodes.paragraph:
    copies = [part.deepcopy() for part in parts]
    return nodes.paragraph("", "", nodes.strong("", "", *copies))


def _first_lines(section: nodes.section) -> Iterator[nodes.Element]:
    """Yield the first paragraph, and a formula or list that it announces."""
    parts = iter(
        part
        for child in section.children
        # A paragraph with a note in the margin is in a box with it.
        for part in (child if "noted" in child.get("classes", ()) else [child])
    )
    for part in parts:
        if isinstance(part, (nodes.paragraph, *LISTS)):
            yield part
            after = next(parts, None)
            announced = part.astext().rstrip().endswith((":", "："))
            if announced and isinstance(after, (nodes.math_block, *LISTS)):
                yield after
            return
