"""Mend what other extensions write and screen readers stumble over."""

from typing import Any

from sphinx.application import Sphinx

REPAIRS = {
    # docutils: the role is deprecated, and not allowed in a list.
    'role="doc-biblioentry"': 'role="listitem"',
    # MyST-NB: the label hides the visible words of the button.
    '<summary aria-label="Toggle hidden content">': "<summary>",
}


def setup(app: Sphinx) -> None:
    """Mend each page before it is written."""
    app.connect("html-page-context", repair)


def repair(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Replace the wrong pieces of the page's text."""
    body = context.get("body", "")
    for wrong, right in REPAIRS.items():
        body = body.replace(wrong, right)
    context["body"] = body
