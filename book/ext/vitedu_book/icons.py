"""Keep the icons that the pages use, of the two thousand in the theme.

Their rules are a third of the theme's style sheet, which every page waits for,
and their font is heavier than the rest of most pages.
"""

import re
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset
from sphinx.application import Sphinx

SHEET = "_static/styles/pydata-sphinx-theme.css"
FONTS = "vendor/fontawesome/webfonts"
THEME = (
    Path(pydata_sphinx_theme.__file__).parent
    / "theme/pydata_sphinx_theme/static"
)
# A character in a style sheet, by its number: "\\f0c9".
CHARACTER = re.compile(r"\\([0-9a-fA-F]{2,6})")
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
    shrink_fonts(Path(app.outdir, "_static"))


def shrink_fonts(static: Path) -> None:
    """Keep the glyphs of the icon fonts that a style sheet names."""
    characters = {
        int(number, 16)
        for sheet in static.rglob("*.css")
        for number in CHARACTER.findall(sheet.read_text(encoding="utf-8"))
    }
    options = subset.Options(flavor="woff2")
    # The theme's own fonts: those of the site may have lost a glyph already.
    for original in (THEME / FONTS).glob("*.woff2"):
        font = subset.load_font(original, options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=characters)
        subsetter.subset(font)
        subset.save_font(font, static / FONTS / original.name, options)
