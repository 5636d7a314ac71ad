"""Write a deck of slides for each chapter, from the built site.

    python -m tools.slides [LANGUAGE]

The decks and all that they need come into `_build/slides`, those in Chinese
into `_build/slides-zh`. Such a folder may be copied.
"""

import base64
import hashlib
import json
import re
import shutil
import sys
from html import escape
from pathlib import Path
from string import Template

from vitedu_book.teaching import guide_file

from tools.folders import anew
from tools.slides.deck import Deck, Teacher, read
from tools.translated import guide_to, saying, site_of, target
from vitedu.book.outputs import Say

ROOT = Path(__file__).parent.parent.parent
ASSETS = Path(__file__).parent / "assets"
# What the pages of the site use and the slides, too.
SHARED = (
    "fonts",
    "katex",
    "katex-math.css",
    "pygments.css",
    "book.css",
    "predict.css",
    "ticks.css",
    "theme.js",
    "widget-host.js",
    "logo.svg",
)
# What the templates say, between its tags.
WORDS = re.compile(r"(<(title|h1|h2|p|dd)>)(.+?)(</\2>)")
IMAGES = re.compile(r'src="(_images/[^"]+)"')
# What stands in the text of the speaker's window, by the part of the policy
# that has to know it; in the script it is a string that reads like JSON.
SPEAKER = {
    "script-src": re.compile(r"<script>(.*?)<\\/script>", re.DOTALL),
    "style-src": re.compile(r"<style>(.*?)</style>", re.DOTALL),
}


def teacher_of(name: str, say: Say) -> Teacher:
    """Read what a teacher says to a chapter, if somebody wrote it."""
    if not guide_file(ROOT / "chapters" / name).exists():
        return Teacher()
    return Teacher(**guide_to(name, say))


def write(site: Path, folder: Path, language: str = "") -> dict[str, Deck]:
    """Write the decks of all chapters of a site into a folder, anew.

    Args:
        site: The folder of the built site.
        folder: Where they are written.
        language: Of the site.

    Raises:
        ValueError: There is no such language; there are no chapters in
            `site`; a phrase is not translated.
    """
    saying(language)
    pages = sorted(site.glob("chapters/[0-9]*.html"))
    if not pages:
        raise ValueError(
            f"site must hold chapters, built by make book, got {str(site)!r}"
        )
    headers = (site / "_headers").read_text(encoding="utf-8")
    notes = (ASSETS / "reveal" / "notes.js").read_text(encoding="utf-8")
    with anew(folder) as part:
        shutil.copytree(ASSETS, part / "slides", ignore=_templates)
        for name in SHARED:
            _copy(site / "_static" / name, part / "_static" / name)
        (part / "_headers").write_text(policy(headers, notes), "utf-8")
        decks = {
            page.stem: write_deck(page, site, part, language) for page in pages
        }
        listed = "".join(
            f'<li><a href="{name}.html">{escape(deck.title)}</a></li>\n'
            for name, deck in decks.items()
        )
        _fill("index.html", part / "index.html", language, decks=listed)
    return decks


def write_deck(page: Path, site: Path, folder: Path, language: str) -> Deck:
    """Write the deck of a page and the figures and explorers it shows."""
    say = saying(language)
    text = page.read_text(encoding="utf-8")
    deck = read(text, teacher_of(page.stem, say), say)
    slides = deck.html()
    for image in IMAGES.findall(slides):
        _copy(site / image, folder / image)
    state = f"_static/widget-state/chapters/{page.stem}.js"
    script = ""
    if (site / state).exists():
        _copy(site / state, folder / state)
        later = state.removesuffix(".js")
        if (site / later).exists():
            _copy(site / later, folder / later)
        script = f'<script defer src="{state}"></script>'
    words = {"title": escape(deck.title), "slides": slides, "state": script}
    _fill("deck.html", folder / page.name, language, **words)
    return deck


def policy(headers: str, notes: str) -> str:
    """Return a site's headers that allow the window for the speaker.

    Args:
        headers: The text of the site's file `_headers`.
        notes: The script of reveal.js that holds the text of the window.
    """
    for name, part in SPEAKER.items():
        text = json.loads(f'"{part.search(notes)[1]}"')
        digest = hashlib.sha256(text.encode()).digest()
        allowed = f"{name} 'sha256-{base64.b64encode(digest).decode()}'"
        headers = headers.replace(f"{name} ", f"{allowed} ", 1)
    # The window shows the deck twice, in frames.
    return headers.replace("frame-anc", "frame-src 'self'; frame-anc", 1)


def _templates(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(".html")]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = shutil.copytree if source.is_dir() else shutil.copyfile
    copy(source, target)


def _fill(template: str, target: Path, language: str, **words: str) -> None:
    say = saying(language)
    text = (ASSETS / template).read_text(encoding="utf-8")
    text = WORDS.sub(lambda found: found[1] + say(found[3]) + found[4], text)
    words["head"] = (ASSETS / "head.html").read_text(encoding="utf-8")
    page = Template(text).substitute(words, language=language or "en")
    target.write_text(page, "utf-8")


def main(language: str = "") -> None:
    """Write the decks of a site, and say where they are."""
    folder = target("slides", language)
    try:
        decks = write(site_of(language), folder, language)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    where = folder.relative_to(ROOT) / "index.html"
    print(f"{len(decks)} decks of slides are listed in {where}")


if __name__ == "__main__":
    main(*sys.argv[1:])
