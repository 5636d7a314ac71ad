"""Leave out the rules of styles and the glyphs of fonts that no page uses.

Nine tenths of the theme's rules and icons are for pages of another kind, and
a formula needs half of its font. Every page waits for all of it.
"""

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pydata_sphinx_theme
import tinycss2
from fontTools import subset
from sphinx.application import Sphinx

from .sheets import FOLDER

SHEETS = f"{FOLDER}/*.css"
ICONS = "vendor/fontawesome/webfonts"
THEME = (
    Path(pydata_sphinx_theme.__file__).parent
    / "theme/pydata_sphinx_theme/static"
)
FORMULAS = "katex/fonts"
# A character in a style sheet, by its number: "\\f0c9".
CHARACTER = re.compile(r"\\([0-9a-fA-F]{2,6})")
OTHER = re.compile(r"[^\x00-\x7f]")
CLASSES = re.compile(r'\bclass="([^"]*)"')
SCRIPT = re.compile(r'\b(?:src|data-state)="[^"?]*?([^"/?]+\.js)')
WORD = re.compile(r"[\w-]+")
INNERMOST = re.compile(r"\([^()]*\)")
NAMED = re.compile(r"\.(-?[A-Za-z_][\w-]*)")
# Rules inside of these are looked at one by one.
GROUPS = ("media", "supports")


@dataclass(frozen=True)
class Used:
    """What the pages and scripts of a site name.

    Attributes:
        names: Classes of the pages, and all words of the scripts, which may
            give a class to something later.
        beginnings: Words of scripts that need an end, as in "tooltip-" + side.
        characters: Of all texts.
    """

    names: set[str]
    beginnings: tuple[str, ...]
    characters: set[str]

    def may_match(self, selector: str) -> bool:
        """Say whether something on a page may have all classes of it.

        What stands in parentheses does not count: `:not(.a)` needs no `.a`.
        """
        while INNERMOST.search(selector):
            selector = INNERMOST.sub("", selector)
        return all(
            name in self.names or name.startswith(self.beginnings)
            for name in NAMED.findall(selector)
        )


def setup(app: Sphinx) -> None:
    """Work on the site when it is complete, its sheets joined (900)."""
    app.connect("build-finished", drop_unused, priority=950)


def drop_unused(app: Sphinx, exception: Exception | None) -> None:
    """Shorten the style sheets, then the fonts."""
    static = Path(app.outdir, "_static")
    if exception is not None or app.builder.format != "html":
        return
    used = read_site(Path(app.outdir))
    for sheet in static.glob(SHEETS):
        sheet.write_text(shortened(sheet.read_text("utf-8"), used), "utf-8")
    numbers = {
        int(number, 16)
        for sheet in static.glob(SHEETS)
        for number in CHARACTER.findall(sheet.read_text("utf-8"))
    }
    # The fonts as they were: those of the site may have lost a glyph already.
    shrink_fonts(THEME / ICONS, static / ICONS, numbers)
    web = Path(app.srcdir, "book", "web")
    shrink_fonts(web / FORMULAS, static / FORMULAS, map(ord, used.characters))


def read_site(site: Path) -> Used:
    """Read what the pages, and the scripts that they load, name."""
    names, characters, scripts = set(), set(), set()
    static = site / "_static"  # The theme leaves a template of its own there.
    for page in {*site.rglob("*.html")} - {*static.rglob("*.html")}:
        text = page.read_text("utf-8")
        characters.update(html.unescape(text))
        names.update(*map(str.split, CLASSES.findall(text)))
        scripts.update(SCRIPT.findall(text))
    words = {
        word
        for script in static.rglob("*.js")
        if script.name in scripts
        for word in WORD.findall(script.read_text("utf-8"))
    }
    beginnings = (word for word in words if re.match(r"\w.+-$", word))
    return Used(names | words, tuple(beginnings), characters)


def shortened(sheet: str, used: Used) -> str:
    """Return a style sheet without what cannot match, in ASCII."""
    rules = tinycss2.parse_stylesheet(
        sheet, skip_comments=True, skip_whitespace=True
    )
    text = "".join(kept_rules(rules, used))
    # The parser turns the icons' numbers into characters.
    return OTHER.sub(lambda found: f"\\{ord(found[0]):x} ", text)


def kept_rules(rules: Iterable, used: Used) -> Iterator[str]:
    """Yield the text of each rule that may match, without what may not."""
    for rule in rules:
        if rule.type == "at-rule" and rule.at_keyword.lower() in GROUPS:
            inside = tinycss2.parse_rule_list(
                rule.content, skip_comments=True, skip_whitespace=True
            )
            kept = "".join(kept_rules(inside, used))
            head = f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}"
            yield f"{head}{{{kept}}}" if kept else ""
        elif rule.type == "qualified-rule":
            kept = ",".join(filter(used.may_match, selectors(rule.prelude)))
            body = tinycss2.serialize(rule.content)
            yield f"{kept}{{{body}}}" if kept else ""
        else:
            yield tinycss2.serialize([rule])


def selectors(prelude: list) -> list[str]:
    """Return the selectors of a rule, which commas separate."""
    found = [[]]
    for token in prelude:
        if token == ",":
            found.append([])
        else:
            found[-1].append(token)
    return [tinycss2.serialize(tokens).strip() for tokens in found]


def shrink_fonts(
    originals: Path, folder: Path, characters: Iterable[int]
) -> None:
    """Write the fonts anew, with the glyphs of these characters."""
    numbers = list(characters)
    options = subset.Options(flavor="woff2")
    for original in originals.glob("*.woff2"):
        font = subset.load_font(original, options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=numbers)
        subsetter.subset(font)
        subset.save_font(font, folder / original.name, options)
