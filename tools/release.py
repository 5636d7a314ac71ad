"""Put all there is to download into the built sites: python -m tools.release

Notebooks that bring their library along, the book as PDF and EPUB, slides and
questions come into the folder `downloads` of each site, in its language. The
page *Downloads*, which names the commands that make them, then links to them.
"""

import re
import shutil
from pathlib import Path

from vitedu_book.languages import NAMES

from tools import editions, ensure_browser, epub, handout
from tools.folders import anew
from tools.slides import __main__ as slides
from tools.translated import saying, site_of, target
from vitedu.atomic_files import write_whole

FOLDER = "downloads"
PAGE = f"book/{FOLDER}.html"
# Name of a zip -> the edition of the notebooks in it.
ZIPS = {
    "notebooks.zip": "chapters",
    "class.zip": "student",
    "instructor.zip": "instructor",
}
_PLACE = re.compile(r'(<span data-download="([\w/.-]+)">).*?(</span>)')


def fill(folder: Path, language: str = "") -> None:
    """Write everything for a site into a folder.

    Raises:
        ValueError: The translation of something is not up to date.
    """
    site = site_of(language)
    for name, edition in ZIPS.items():
        editions.pack(folder / name, language, edition)
    for kind in ("gift", "csv"):
        text = questions([*sorted(site.glob(f"quizzes/*.{kind}"))])
        (folder / f"questions.{kind}").write_text(text, encoding="utf-8")
    slides.write(site, folder / "slides", language)
    handout.main(language)
    shutil.copytree(target("handout", language), folder / "pdf")
    epub.main(language)
    shutil.copy(target(epub.BOOK, language), folder / epub.BOOK)


def questions(files: list[Path]) -> str:
    """Return the questions of several chapters as one text.

    A table keeps only the first of its lines with the names of columns.
    """
    texts = [file.read_text(encoding="utf-8") for file in files]
    if files[0].suffix == ".csv":
        texts[1:] = [text.partition("\n")[2] for text in texts[1:]]
        return "".join(texts)
    return "\n".join(texts)


def link(page: Path, folder: Path, language: str = "") -> None:
    """Link a page to the files that are there, with their sizes."""
    say = saying(language)

    def place(found: re.Match[str]) -> str:
        path = folder / found[2]
        if not path.exists():
            return found[0]
        address = f"../{FOLDER}/{found[2]}"
        if path.suffix == ".html":
            return f'{found[1]}<a href="{address}">{say("Open")}</a>{found[3]}'
        size = path.stat().st_size / 1e6
        said = f"{size:.1f} MB" if size >= 0.1 else f"{1000 * size:.0f} kB"
        return (
            f'{found[1]}<a href="{address}" download>{say("Download")}</a> '
            f"({said}){found[3]}"
        )

    text = page.read_text(encoding="utf-8")
    write_whole(page, _PLACE.sub(place, text).encode())


def main() -> None:
    """Make the files of both sites, and say where they are.

    Raises:
        SystemExit: No font on this machine has the characters of a language.
    """
    with ensure_browser.started() as browser:
        for language in NAMES:
            handout.require_font(browser, language)
    for language in ("", *NAMES):
        site = site_of(language)
        with anew(site / FOLDER) as part:
            fill(part, language)
        link(site / PAGE, site / FOLDER, language)
        print(f"Everything to download is in {site / FOLDER}")


if __name__ == "__main__":
    main()
