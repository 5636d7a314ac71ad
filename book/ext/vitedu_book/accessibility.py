"""Mend what other extensions write and screen readers stumble over."""

import re

from sphinx.application import Sphinx

from .written import change_text

REPAIRS = {
    # docutils: the role is deprecated, and not allowed in a list.
    'role="doc-biblioentry"': 'role="listitem"',
}
# Sphinx: a list of definitions that defines nothing, for the arguments of a
# long signature.
ARGUMENTS = re.compile(
    r'<dl>\s*((?:<dd><em class="sig-param">.*?</em>,?</dd>\s*)+)</dl>'
)


def setup(app: Sphinx) -> None:
    """Mend each page before it is written."""
    change_text(app, repair)


def repair(app: Sphinx, body: str) -> str:
    """Replace the wrong pieces of the page's text."""
    for wrong, right in REPAIRS.items():
        body = body.replace(wrong, right)
    return ARGUMENTS.sub(_without_list, body)


def _without_list(found: re.Match[str]) -> str:
    return found[1].replace("<dd>", "<span>").replace("</dd>", "</span>")
