"""What search engines and link previews are told about a page."""

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

DESCRIPTION = (
    "An executable book that derives, proves and trains the Transformer and "
    "the Vision Transformer step by step, with live figures on every page."
)
LONGEST = 160


def setup(app: Sphinx) -> None:
    """Describe every page."""
    app.connect("html-page-context", describe)


def describe(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add the description, the preview card and the icon of a page.

    The description stands in the front matter (`html_meta: description:`).
    A page without one is described by its first paragraph.
    """
    tags = context.get("metatags", "")
    stated = re.search(r'<meta content="([^"]*)" name="description"', tags)
    if stated:
        description = stated[1]
    else:
        description = escape(_first_paragraph(doctree) or DESCRIPTION)
        tags += f'<meta name="description" content="{description}" />\n'
    card = "_static/social-card.png"
    # Those who show previews ask for a whole address, where there is one.
    address = app.config.html_baseurl
    card = address + card if address else context["pathto"](card, True)
    icon = context["pathto"]("_static/favicon.png", True)
    site = escape(app.config.html_title)
    title = re.sub(r"<[^>]+>", "", context.get("title", "")) or site
    if pagename == app.config.root_doc:
        context["docstitle"] = ""  # or the title would say it twice
    context["metatags"] = tags + "\n".join(
        [
            '<meta property="og:type" content="article" />',
            f'<meta property="og:site_name" content="{site}" />',
            f'<meta property="og:title" content="{title}" />',
            f'<meta property="og:description" content="{description}" />',
            f'<meta property="og:image" content="{card}" />',
            '<meta name="twitter:card" content="summary_large_image" />',
            f'<link rel="apple-touch-icon" href="{icon}" />',
        ]
    )


def _first_paragraph(doctree: nodes.document | None) -> str:
    if doctree is None:
        return ""
    for section in doctree.findall(nodes.section):
        for child in section.children:
            if isinstance(child, nodes.paragraph):
                return _shorten(" ".join(child.astext().split()))
        return ""
    return ""


def _shorten(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1].rsplit(" ", 1)[0].rstrip(" ,;:.") + "…"
