"""Print the built site: python -m tools.handout [LANGUAGE]

Writes into `_build/handout` one PDF a chapter and one of the whole book, or
into `_build/handout-zh` those of the site in Chinese. Each chapter has its own
page numbers; its links to other chapters are plain words.
"""

import html
import io
import sys
import tempfile
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser
from pypdf import PdfReader
from vitedu_book.languages import NAMES

from tools import ensure_browser, paper, stills
from tools.translated import saying, site_of, target
from vitedu.atomic_files import write_whole
from vitedu.book.outputs import Say

BOOK = "from-transformer-to-vit.pdf"
# A browser draws the same box for all characters that no font has.
DRAWN = """(text) => [...text].map((character) => {
  const pen = new OffscreenCanvas(32, 32).getContext("2d");
  pen.font = "24px sans-serif";
  pen.fillText(character, 0, 26);
  return pen.getImageData(0, 0, 32, 32).data.join();
})"""


def main(language: str = "") -> None:
    """Print every chapter and the book, and say where they are.

    Raises:
        SystemExit: No font on this machine has the characters of the language.
    """
    site, folder = site_of(language), target("handout", language)
    folder.mkdir(parents=True, exist_ok=True)
    with ensure_browser.started() as browser:
        require_font(browser, language)
        for _, pages in paper.contents():
            for page in pages:
                if page.startswith("chapters/"):
                    content = chapter(browser, site, page, language)
                    write_whole(folder / f"{paper.name(page)}.pdf", content)
        write_whole(folder / BOOK, book(browser, site, language))
    print(f"The handouts are in {folder.relative_to(paper.ROOT)}")


def require_font(browser: Browser, language: str) -> None:
    """Stop where no font on this machine has the characters of a language."""
    if language and not has_font(browser, NAMES[language]):
        sys.exit(
            f"No font on this machine has the characters of "
            f"{NAMES[language]}, so PDFs and pictures would show boxes. "
            "Install one, such as Debian's fonts-noto-cjk."
        )


def has_font(browser: Browser, text: str) -> bool:
    """Return whether a browser can draw a text of different characters."""
    page = browser.new_page()
    drawn = page.evaluate(DRAWN, text)
    page.close()
    return len(set(drawn)) == len(drawn)


def chapter(
    browser: Browser, site: Path, page: str, language: str = ""
) -> bytes:
    """Print one chapter.

    Args:
        browser: A running Chromium.
        site: The folder of the built site.
        page: A page as in `_toc.yml`, such as `chapters/04-masking`.
        language: Of the site.

    Raises:
        FileNotFoundError: The site has no such page.
    """
    texts = sections(browser, site, [page], language)
    return _print(browser, document(site, texts, language=language))


def book(browser: Browser, site: Path, language: str = "") -> bytes:
    """Print all pages as one book, with a table of contents.

    It is printed twice: the first time tells on which page a chapter begins.
    """
    pages = [page for _, pages in paper.contents() for page in pages]
    texts = sections(browser, site, pages, language)
    say = saying(language)
    contents = _contents(texts, {}, say)
    first = _print(browser, document(site, texts, contents, language))
    contents = _contents(texts, _starts(first), say)
    return _print(browser, document(site, texts, contents, language))


def sections(
    browser: Browser, site: Path, pages: list[str], language: str = ""
) -> dict[str, Tag]:
    """Return the texts of pages, by the name that links between them use."""
    say, folder = saying(language), target("stills", language)
    names = {page: paper.name(page) for page in pages}

    def address(page: str, place: str) -> str | None:
        if page not in names:
            return None
        return f"#{names[page]}--{place}" if place else f"#{names[page]}"

    found = {}
    for page, name in names.items():
        pictures = stills.photograph(browser, site, page, folder)
        section = found[name] = paper.read(site, page, say, pictures)
        paper.link(section, page, address)
        for element in section.select("[id]"):
            element["id"] = f"{name}--{element['id']}"
        for image in section.select("img"):
            image["src"] = _uri(site / page, image["src"])
        section["id"], section["style"] = name, f"page: p-{name}"
    return found


def document(
    site: Path, texts: dict[str, Tag], contents: str = "", language: str = ""
) -> str:
    """Return one page of HTML that holds the texts, ready to be printed.

    Args:
        site: The folder of the built site, for its styles.
        texts: What `sections` returns.
        contents: A table of contents, to stand behind the first text.
        language: Of the texts.
    """
    first, *others = texts.values()
    title = paper.title(first)
    if not others:
        title += f" · {saying(language)('From Transformer to ViT')}"
    heads = "".join(map(_running_head, texts, texts.values()))
    parts = [first, contents, *others]
    return (
        f'<!DOCTYPE html><html lang="{language or "en"}" data-theme="light">'
        f'<head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"{_styles(site)}<style>{heads}</style></head>"
        '<body><div class="bd-content"><article class="bd-article">'
        f"{''.join(map(str, parts))}</article></div></body></html>"
    )


def _styles(site: Path) -> str:
    page = site / "book" / "index.html"
    text = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    links = text.select('head link[rel="stylesheet"]')
    for link in links:
        link["href"] = _uri(page, link["href"].split("?")[0])
    return "".join(map(str, links))


def _uri(page: Path, path: str) -> str:
    return (page.parent / path).resolve().as_uri()


def _running_head(name: str, section: Tag) -> str:
    words = paper.title(section).replace("\\", r"\\").replace('"', r"\"")
    return (
        f'@page p-{name} {{ @top-right {{ content: "{words}"; '
        'color: #57606a; font: 9pt system-ui, "Noto Sans", Arial, '
        "sans-serif; } }"
    )


def _contents(texts: dict[str, Tag], starts: dict[str, int], say: Say) -> str:
    lines = []
    for caption, pages in paper.contents()[1:]:
        lines.append(f"<h2>{html.escape(say(caption))}</h2>")
        for name in map(paper.name, pages):
            words = html.escape(paper.title(texts[name]))
            lines.append(
                f'<p><a href="#{name}">{words}</a> '
                f"<span>{starts.get(name, '')}</span></p>"
            )
    title = say("Contents")
    return f'<nav class="pages"><h1>{title}</h1>{"".join(lines)}</nav>'


def _starts(content: bytes) -> dict[str, int]:
    """Return the numbers of the pages where the targets of links stand."""
    reader = PdfReader(io.BytesIO(content))
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def _print(browser: Browser, text: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "handout.html")
        path.write_text(text, encoding="utf-8")
        page = browser.new_page()
        page.goto(path.as_uri())
        content = page.pdf(
            prefer_css_page_size=True,
            print_background=True,
            outline=True,
            tagged=True,
        )
        page.close()
    return content


if __name__ == "__main__":
    main(*sys.argv[1:])
