"""The chapters in another language, from the same notebooks.

    python -m tools.translated             say which cells are missing or stale
    python -m tools.translated --still NAME [CELL ...]
                        the Chinese of these cells of a chapter, or of all its
                        stale ones, still says what the English says

`book/zh/NN-name.md` holds the Chinese of a chapter: for each cell of text a
comment with its id and a digest of its English, then the Chinese. What stands
under a figure and its description for the blind are cells of their own,
`id:caption` and `id:alt`. Code stays as it is.

A cell is stale if its English has changed since; times that are measured do
not count. To bring it up to date, change the Chinese if the meaning has
changed, then run the program with `--still`.
"""

import argparse
import copy
import hashlib
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import NotebookNode
from vitedu_book.languages import NAMES
from vitedu_book.reading import FACTS
from vitedu_book.teaching import LISTS, guide_file, read_guide

from vitedu.atomic_files import damage_named, write_whole
from vitedu.book.outputs import Say
from vitedu.book.phrases import phrases_of

ROOT = Path(__file__).parent.parent
LANGUAGES = (*NAMES,)
ENGLISH = ("", "en")
CELL = re.compile(r"^<!-- ([\w:-]+) ([0-9a-f]{8}) -->\n", re.MULTILINE)
# A comment that only gives shapes: "(batch, token), (d_model,)".
SHAPE = re.compile(r"(\(([\w.*+-]+,? ?)+\)(, )?)+")
# The times of a chapter, as its first cell has them in Chinese.
_TIMES = re.compile(r"^\*\d+ 分钟\*.*?运行 \d+ 秒", re.MULTILINE)
_NUMBERS = re.compile(
    r"\*(\d+) minutes?\*"
    r"(?: · (\d+) more in deeper sections)?"
    r"(?: · (\d+) for exercises)?"
    r" · runs in (\d+) s"
)
_SAID = ("*{} 分钟*", "选读另需 {} 分钟", "练习 {} 分钟", "运行 {} 秒")


class Text(NamedTuple):
    """A text of a notebook that is to be translated.

    Attributes:
        name: Of the cell, with `:caption` or `:alt` for those of a figure.
        english: The text.
    """

    name: str
    english: str


def texts(notebook: NotebookNode) -> Iterator[Text]:
    """Yield all that is to be translated, in the order of the page."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield Text(cell.id, cell.source)
            continue
        if "caption" in cell.metadata:
            yield Text(f"{cell.id}:caption", cell.metadata.caption)
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        if alt:
            yield Text(f"{cell.id}:alt", alt)


def digest(english: str) -> str:
    """Return eight letters that change with a text, its times aside."""
    timeless = FACTS.sub("", english).strip()
    return hashlib.sha256(timeless.encode()).hexdigest()[:8]


def read(path: Path) -> dict[str, tuple[str, str]]:
    """Return of each cell of a translation its digest and its text.

    Raises:
        ValueError: There is no such file, no text of cells, or one cell twice.
    """
    with damage_named(path, "translation"):
        before, *pieces = CELL.split(path.read_text(encoding="utf-8"))
        if before.strip():
            raise ValueError(f"{before.strip()[:40]!r} before the first cell")
        names = pieces[::3]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{twice} twice")
    return {
        name: (known, text.strip())
        for name, known, text in zip(
            names, pieces[1::3], pieces[2::3], strict=True
        )
    }


def remarks(
    notebook: NotebookNode, cells: dict[str, tuple[str, str]]
) -> list[str]:
    """Say what is missing, stale or not there in English; each in a line."""
    found, names = [], set()
    for name, english in texts(notebook):
        names.add(name)
        if name not in cells:
            found.append(f"{name} is missing, {digest(english)}")
        elif cells[name][0] != digest(english):
            found.append(f"{name} is stale, now {digest(english)}")
    return found + [f"{name} is no cell" for name in cells.keys() - names]


def translated(notebook: NotebookNode, path: Path) -> NotebookNode:
    """Return the notebook with its texts in another language.

    Args:
        notebook: A chapter; executed or not.
        path: Of its translation.

    Raises:
        ValueError: A cell is missing or stale, or one is no cell; a file that
            is damaged.
    """
    cells = read(path)
    told = remarks(notebook, cells)
    if told:
        raise ValueError(f"{path} must be up to date, got: {'; '.join(told)}")
    edition = copy.deepcopy(notebook)
    for cell in edition.cells:
        if cell.cell_type == "markdown":
            cell.source = _timed(cells[cell.id][1], cell.source)
            continue
        if "caption" in cell.metadata:
            cell.metadata.caption = cells[f"{cell.id}:caption"][1]
        if f"{cell.id}:alt" in cells:
            cell.metadata.mystnb.image.alt = cells[f"{cell.id}:alt"][1]
    return edition


def comments_in(code: str, say: Say) -> str:
    """Return Python with its comments in another language.

    A comment of several lines is one phrase; its translation says where its
    lines end. Shapes such as `(batch, token)` stay.
    """
    lines = code.split("\n")
    blocks: list[tuple[int, int, list[str]]] = []  # row, column, words
    for token in tokenize.generate_tokens(io.StringIO(code).readline):
        if token.type != tokenize.COMMENT or not token.string.startswith("# "):
            continue
        row, column = token.start[0] - 1, token.start[1]
        alone = not lines[row][:column].strip()
        words = token.string.removeprefix("# ")
        if alone and blocks and blocks[-1][:2] == (row - 1, column):
            before = blocks.pop()[2]
            blocks.append((row, column, [*before, words]))
        else:
            blocks.append((row, column, [words]))
    for last, column, words in reversed(blocks):
        first = last - len(words) + 1
        text = " ".join(words)
        said = text if SHAPE.fullmatch(text) else say(text)
        if said != text:
            said = said.replace("\n", f"\n{' ' * column}# ")
            lines[first : last + 1] = [f"{lines[first][:column]}# {said}"]
    return "\n".join(lines)


def _timed(text: str, english: str) -> str:
    """Put the times of the English text into its translation."""
    numbers = _NUMBERS.search(english)
    if numbers is None:
        return text
    parts = zip(_SAID, numbers.groups(), strict=True)
    said = " · ".join(
        words.format(number) for words, number in parts if number
    )
    return _TIMES.sub(said, text, count=1)


def translation_of(name: str, language: str) -> Path:
    """Return where the translation of a chapter is."""
    return ROOT / "book" / language / f"{name}.md"


def target(name: str, language: str) -> Path:
    """Return where an edition is written, such as `_build/slides-zh`."""
    path = ROOT / "_build" / name
    if language in ENGLISH:
        return path
    return path.with_stem(f"{path.stem}-{language}")


def site_of(language: str) -> Path:
    """Return the folder of the built site in a language."""
    site = ROOT / "_build" / "html"
    return site if language in ENGLISH else site / language


@cache
def saying(language: str) -> Say:
    """Return what says a phrase of a program in a language.

    It raises a ValueError that names the phrase, if no table has it.

    Raises:
        ValueError: There are no tables of phrases in this language.
    """
    if language in ENGLISH:
        return str
    phrases = phrases_of(language)

    def say(english: str) -> str:
        said = phrases(english)
        if phrases.missed:
            raise ValueError(
                f"book/{language}/phrases must have a phrase for "
                f"{phrases.missed.pop()!r}"
            )
        return said

    return say


def guide_to(name: str, say: Say) -> dict:
    """Return the guide to a chapter in a language, its headings in English.

    Raises:
        BadGuide: The file is no guide.
        ValueError: A sentence of it is not translated.
    """
    guide = read_guide(guide_file(ROOT / "chapters" / name))
    said = {title: say(text) for title, text in guide["say"].items()}
    return {"say": said} | {part: [*map(say, guide[part])] for part in LISTS}


def carry(name: str, language: str, cells: list[str]) -> list[str]:
    """Mark stale cells of a chapter as up to date; return their names.

    Args:
        name: Of the chapter, such as `04-masking`.
        language: Of the translation.
        cells: The names of those that still hold; if empty, all stale ones.

    Raises:
        ValueError: There is no such chapter, or a cell is not stale.
    """
    source = ROOT / "chapters" / f"{name}.ipynb"
    if not source.is_file():
        raise ValueError(
            f"NAME must be a chapter such as 04-masking, got {name!r}"
        )
    path = translation_of(name, language)
    known = read(path)
    stale = {
        cell: digest(english)
        for cell, english in texts(nbformat.read(source, as_version=4))
        if cell in known and known[cell][0] != digest(english)
    }
    for cell in cells:
        if cell not in stale:
            raise ValueError(
                f"CELL must be a stale cell of {name}, got {cell!r}"
            )
    changed = [cell for cell in stale if cell in (cells or stale)]
    text = path.read_text(encoding="utf-8")
    for cell in changed:
        old = f"<!-- {cell} {known[cell][0]} -->\n"
        text = text.replace(old, f"<!-- {cell} {stale[cell]} -->\n")
    write_whole(path, text.encode())
    return changed


def main() -> int:
    """Print all remarks; return 1 if there is one."""
    parser = argparse.ArgumentParser(
        description="Say which translated cells are not up to date."
    )
    parser.add_argument("--still", nargs="+", metavar=("NAME", "CELL"))
    if still := parser.parse_args().still:
        name, *cells = still
        try:
            for language in LANGUAGES:
                for cell in carry(name, language, cells):
                    print(f"{cell} still holds in {language}")
        except ValueError as error:
            parser.error(str(error))
    count = 0
    for path in sorted(ROOT.glob("chapters/[0-9]*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        for language in LANGUAGES:
            there = translation_of(path.stem, language)
            told = remarks(notebook, read(there))
            for remark in told:
                print(f"{there.relative_to(ROOT)}: {remark}")
            count += len(told)
    print(f"{count} cells to bring up to date")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
