"""Folded code is one quiet line that names what is inside.

A cell says it: `"mystnb": {"code_prompt_show": "Train two models"}`. Others
are called "Code". How many lines there are is counted here.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

from .written import CELL, SOURCE, change_text, parts

UNNAMED = "Code"
COUNTED = re.compile(r",? \d+ lines?$")
# MyST-NB's line is a box with two titles, one of which its style sheet hides.
_LINE = re.compile(
    r'<details class="admonition hide ([^"]*)">\s*'
    r'<summary[^>]*>\s*<p class="collapsed [^>]*>(.*?)</p>.*?</summary>',
    re.DOTALL,
)


def setup(app: Sphinx) -> None:
    """Name folded code on reading, write its line on each page."""
    app.connect("doctree-read", name)
    # Before `accessibility` looks at the page.
    change_text(app, write, priority=400)


def name(app: Sphinx, doctree: nodes.document) -> None:
    """Give each folded cell of a page its name."""
    for cell in parts(doctree, CELL):
        if not cell.get("hide_mode"):
            continue
        code = "\n".join(
            block.astext()
            for block in cell.findall(nodes.literal_block)
            if block.parent.get("nb_element") == SOURCE
        )
        said = cell["prompt_show"]
        if "{type}" in said:
            said = UNNAMED
        cell["prompt_show"] = f"{COUNTED.sub('', said)}, {_lines(code)}"


def _lines(code: str) -> str:
    number = sum(bool(line.strip()) for line in code.splitlines())
    return f"{number} line{'' if number == 1 else 's'}"


def write(app: Sphinx, body: str) -> str:
    """Make one line of MyST-NB's box."""
    line = r'<details class="hide \1">\n<summary>\2</summary>'
    return _LINE.sub(line, body)
