"""Make a built site light: python -m tools.shrink FOLDER.

A page then has one style sheet, without the rules that no page uses, and its
scripts are files that do not block. Fonts hold the glyphs in use, drawings
their photographs as JPEG. Without it the site is the same, several times as
heavy, and a host cannot forbid the scripts that stand in its pages.

Sphinx writes the pages that have changed, and copies its static files again
where they differ. So it runs after every build, and can run at any time.
"""

import argparse
import base64
import hashlib
import html
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join, normpath

import tinycss2
from fontTools import subset
from fontTools.varLib.instancer import instantiateVariableFont
from PIL import Image

from vitedu.atomic_files import write_whole

STAMP = ".shrunk"
JOINED, SETTINGS = "joined", "settings"
ICONS = ("vendor/fontawesome/webfonts/*.woff2",)
LETTERS = ("katex/fonts/*.woff2", "fonts/*/*.woff2")
# The strokes of letters that the style sheets ask for.
THINNEST, BOLDEST = 400, 700
SHEET = re.compile(
    r'(?<!<noscript>)<link [^>]*rel="stylesheet"[^>]*'
    r'href="([^"]*?)_static/([^"?]+)[^>]*>\s*'
)
INLINE = re.compile(r"<script>(.*?)</script>\s*", re.DOTALL)
# Read by the version switcher only, which the book has not.
UNREAD = "DOCUMENTATION_OPTIONS.pagename"
# All but the one that sets the theme before the page is drawn.
BLOCKING = re.compile(
    r'<script (?![^>]*(?:\bdefer\b|_static/theme\.js))(?=[^>]*\bsrc=")'
)
# What a sheet names beside itself: neither whole addresses nor data.
ADDRESS = re.compile(r"""url\(\s*(["']?)(?![a-z]+:|[/#])([^"')]+)\1\s*\)""")
PARTS = re.compile(r"/\* (.*) \*/\n")
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
# A drawing holds its photographs as PNG, seven times what a JPEG needs.
PHOTOGRAPH = re.compile(r"data:image/png;base64,([^\"]+)")
# Bytes of a PNG; drawings of numbers are smaller, and stay exact.
SMALL = 20_000


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


def shrink(site: Path) -> None:
    """Shrink a site in its place, unless nothing has changed since.

    Args:
        site: A folder that Sphinx has built as HTML.

    Raises:
        ValueError: `site` holds no `index.html`.
        FileNotFoundError: A page names a style sheet that is not there.
    """
    if not (site / "index.html").is_file():
        raise ValueError(f"site must hold an index.html, got {site}")
    stamp = site / STAMP
    if stamp.is_file() and stamp.read_text("utf-8") == state(site):
        return
    static = site / "_static"
    # The theme leaves a template of its own in that folder.
    pages = {
        page: without_inline_scripts(page.read_text("utf-8"), static)
        for page in files_of(site)
        if page.suffix == ".html" and not page.is_relative_to(static)
    }
    used = read_site(pages.values(), static)
    link_joined_sheets(pages, static, used)
    for page, text in pages.items():
        write(page, text)
    in_use = {n for text in pages.values() for _, n in sheets_of(text)}
    icons = set()
    for sheet in static.glob(f"{JOINED}/*.css"):
        if f"{JOINED}/{sheet.name}" not in in_use:
            sheet.unlink()  # of an earlier build
            continue
        numbers = CHARACTER.findall(sheet.read_text("utf-8"))
        icons.update(chr(int(number, 16)) for number in numbers)
    for folders, characters in ((ICONS, icons), (LETTERS, used.characters)):
        for fonts in folders:
            shrink_fonts(static.glob(fonts), characters)
    for drawing in site.glob("_images/*.svg"):
        write(drawing, lighter(drawing.read_text("utf-8")))
    write(stamp, state(site))


def state(site: Path) -> str:
    """Return a digest of this program and of what lies where in a site."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    for path in files_of(site):
        if path.name != STAMP:
            name, about = path.relative_to(site), path.stat()
            line = f"{name} {about.st_size} {about.st_mtime_ns}\n"
            digest.update(line.encode())
    return digest.hexdigest()


def files_of(site: Path) -> list[Path]:
    """Return the files of a site, less those of a site within it."""
    others = [stamp.parent for stamp in site.glob(f"*/{STAMP}")]
    return [
        path
        for path in sorted(site.rglob("*"))
        if path.is_file() and not any(map(path.is_relative_to, others))
    ]


def write(path: Path, text: str) -> None:
    """Write a file that says something else than before."""
    content = text.encode()
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(exist_ok=True)
        write_whole(path, content)


def digest_of(text: str) -> str:
    """Return a name for a file with this text."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def in_place_of_all(pattern: re.Pattern[str], new: str, text: str) -> str:
    """Put a text in the place of the first match, and drop the others."""
    left = iter([new])
    return pattern.sub(lambda _: next(left, ""), text)


def without_inline_scripts(text: str, static: Path) -> str:
    """Put the scripts in the head of a page into a file; let none block.

    They stand in the place of the first one, since they set what the scripts
    in files read.
    """
    head, end, body = text.partition("</head>")
    bodies = dict.fromkeys(INLINE.findall(head))
    settings = "".join(f"{b}\n" for b in bodies if not b.startswith(UNREAD))
    script = ""
    if settings:
        name = f"{SETTINGS}/{digest_of(settings)}.js"
        write(static / name, settings)
        script = f'<script src="{SHEET.search(head)[1]}_static/{name}">'
        script += "</script>\n"
    head = in_place_of_all(INLINE, script, head)
    return BLOCKING.sub("<script defer ", head) + end + body


def sheets_of(text: str) -> list[tuple[str, str]]:
    """Return the way to the site and the name of each sheet of a page."""
    return SHEET.findall(text.partition("</head>")[0])


def link_joined_sheets(
    pages: dict[Path, str], static: Path, used: Used
) -> None:
    """Write one sheet in the place of a page's, and link it.

    The page waits for all of them anyway, and fifteen small files cost a
    phone several trips to the host. The parts stay in the site: slides use
    some of them, and a joined sheet, which names its parts in its first line,
    is made of them again.
    """
    names: dict[tuple[str, ...], str] = {}
    for page, text in pages.items():
        linked = sheets_of(text)
        parts = tuple(p for _, name in linked for p in _parts(static, name))
        if not parts:
            continue
        if parts not in names:
            sheet = joined(static, parts, used)
            names[parts] = f"{JOINED}/{digest_of(sheet)}.css"
            write(static / names[parts], sheet)
        address = f"{linked[0][0]}_static/{names[parts]}"
        link = f'<link rel="stylesheet" href="{address}" />\n'
        head, end, body = text.partition("</head>")
        pages[page] = in_place_of_all(SHEET, link, head) + end + body


def _parts(static: Path, name: str) -> list[str]:
    if not name.startswith(f"{JOINED}/"):
        return [name]
    text = (static / name).read_text("utf-8")
    return PARTS.match(text)[1].split()


def joined(static: Path, parts: tuple[str, ...], used: Used) -> str:
    """Return parts one after another, with addresses as from our folder."""

    def moved(found: re.Match[str]) -> str:
        path = normpath(join("..", dirname(name), found[2]))
        return f'url("{path}")'

    texts = [f"/* {' '.join(parts)} */\n"]
    for name in parts:
        text = (static / name).read_text("utf-8")
        texts.append(shortened(ADDRESS.sub(moved, text), used) + "\n")
    return "".join(texts)


def read_site(pages: Iterable[str], static: Path) -> Used:
    """Read what pages, and the scripts that they load, name."""
    names, characters, scripts = set(), set(), set()
    for text in pages:
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


def shrink_fonts(fonts: Iterable[Path], characters: set[str]) -> None:
    """Leave out the glyphs of all other characters, and other strokes.

    A glyph that is gone is back after the next build: Sphinx copies each
    font that is not as it was.
    """
    options = subset.Options(flavor="woff2")
    for path in fonts:
        font = subset.load_font(path, options)
        if characters >= {*map(chr, font.getBestCmap())}:
            continue
        subsetter = subset.Subsetter(options)
        subsetter.populate(text="".join(characters))
        subsetter.subset(font)
        if "fvar" in font:
            strokes = {"wght": (THINNEST, BOLDEST)}
            instantiateVariableFont(font, strokes, inplace=True)
        file = io.BytesIO()
        subset.save_font(font, file, options)
        write_whole(path, file.getvalue())


def lighter(text: str) -> str:
    """Return a drawing with its photographs as JPEG."""
    return PHOTOGRAPH.sub(_as_jpeg, text)


def _as_jpeg(found: re.Match[str]) -> str:
    data = base64.b64decode(found[1])
    image = Image.open(io.BytesIO(data))
    if len(data) < SMALL or image.convert("RGBA").getextrema()[3][0] < 255:
        return found[0]
    jpeg = io.BytesIO()
    image.convert("RGB").save(jpeg, "JPEG", quality=90, subsampling=0)
    text = base64.b64encode(jpeg.getvalue()).decode()
    return f"data:image/jpeg;base64,{text}"


def main() -> None:
    """Shrink the site that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    shrink(parser.parse_args().folder)


if __name__ == "__main__":
    main()
