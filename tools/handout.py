"""Print the built site: python -m tools.handout

Writes into `_build/handout` one PDF a chapter and one of the whole book. Each
chapter has its own page numbers; its links to other chapters are plain words.
"""

import html
import io
import sys
import tempfile
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Browser, sync_playwright
from pypdf import PdfReader

from tools import ensure_browser, paper
from vitedu.atomic_files import write_whole

TARGET = paper.ROOT / "_build" / "handout"
BOOK = "from-transformer-to-vit.pdf"


def main() -> None:
    """Print every chapter and the book, and say where they are."""
    path = ensure_browser.find()
    if path is None:
        sys.exit("No Chromium was found: python -m tools.ensure_browser")
    TARGET.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        # The sandbox of Chromium does not start for root in a container.
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox"]
        )
        for _, pages in paper.contents():
            for page in pages:
                if page.startswith("chapters/"):
                    content = chapter(browser, paper.SITE, page)
                    write_whole(TARGET / f"{Path(page).stem}.pdf", content)
        write_whole(TARGET / BOOK, book(browser, paper.SITE))
        browser.close()
    print(f"The handouts are in {TARGET.relative_to(paper.ROOT)}")


def chapter(browser: Browser, site: Path, page: str) -> bytes:
    """Print one chapter.

    Args:
        browser: A running Chromium.
        site: The folder of the built site.
        page: A page as in `_toc.yml`, such as `chapters/04-masking`.

    Raises:
        FileNotFoundError: The site has no such page.
    """
    return _print(browser, document(site, sections(site, [page])))


def book(browser: Browser, site: Path) -> bytes:
    """Print all pages as one book, with a table of contents.

    It is printed twice: the first time tells on which page a chapter begins.
    """
    pages = [page for _, pages in paper.contents() for page in pages]
    texts = sections(site, pages)
    first = _print(browser, document(site, texts, _contents(texts, {})))
    contents = _contents(texts, _starts(first))
    return _print(browser, document(site, texts, contents))


def sections(site: Path, pages: list[str]) -> dict[str, Tag]:
    """Return the texts of pages, by the name that links between them use."""
    names = {page: Path(page).stem for page in pages}

    def address(page: str, place: str) -> str | None:
        if page not in names:
            return None
        return f"#{names[page]}--{place}" if place else f"#{names[page]}"

    found = {}
    for page, name in names.items():
        section = found[name] = paper.read(site, page)
        paper.link(section, page, address)
        for element in section.select("[id]"):
            element["id"] = f"{name}--{element['id']}"
        for image in section.select("img"):
            image["src"] = _uri(site / page, image["src"])
        section["id"], section["style"] = name, f"page: p-{name}"
    return found


def document(site: Path, texts: dict[str, Tag], contents: str = "") -> str:
    """Return one page of HTML that holds the texts, ready to be printed.

    Args:
        site: The folder of the built site, for its styles.
        texts: What `sections` returns.
        contents: A table of contents, to stand behind the first text.
    """
    first, *others = texts.values()
    title = f"{paper.title(first)} (From Transformer to ViT)"
    if others:
        title = paper.title(first)
    heads = "".join(map(_running_head, texts, texts.values()))
    parts = [first, contents, *others]
    return (
        '<!DOCTYPE html><html lang="en" data-theme="light"><head>'
        f'<meta charset="utf-8"><title>{html.escape(title)}</title>'
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


def _contents(texts: dict[str, Tag], starts: dict[str, int]) -> str:
    lines = []
    for caption, pages in paper.contents()[1:]:
        lines.append(f"<h2>{html.escape(caption)}</h2>")
        for name in (Path(page).stem for page in pages):
            words = html.escape(paper.title(texts[name]))
            lines.append(
                f'<p><a href="#{name}">{words}</a> '
                f"<span>{starts.get(name, '')}</span></p>"
            )
    return f'<nav class="pages"><h1>Contents</h1>{"".join(lines)}</nav>'


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
    main()
