"""Keep the icons that the pages use, of the two thousand in the theme.

Their rules are a third of the theme's style sheet, which every page waits for.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx

SHEET = "_static/styles/pydata-sphinx-theme.css"
NAME = re.compile(r"\bfa-[\w-]+")
RULE = re.compile(r'(?:\.fa-[\w-]+:before,?)+\{content:"[^"]*"\}')


def setup(app: Sphinx) -> None:
    """Work on the site when it is complete."""
    app.connect("build-finished", drop_unused_icons)


def drop_unused_icons(app: Sphinx, exception: Exception | None) -> None:
    """Take the rules of icons out that no page names."""
    sheet = Path(app.outdir, SHEET)
    if exception is not None or not sheet.is_file():
        return
    used = {
        name
        for page in Path(app.outdir).rglob("*.html")
        for name in NAME.findall(page.read_text(encoding="utf-8"))
    }
    rules = sheet.read_text(encoding="utf-8")
    kept = RULE.sub(
        lambda rule: rule[0] if used & set(NAME.findall(rule[0])) else "",
        rules,
    )
    sheet.write_text(kept, encoding="utf-8")
