"""The errata: each item says what is right, and links to a cell."""

import re

import nbformat
import pytest
from chapter_files import CHAPTERS, ROOT, read

PAGE = (ROOT / "book" / "errata.md").read_text(encoding="utf-8")
ITEM = re.compile(
    r"^### (?P<number>\d+)\. .+\n\n"
    r"\*Said:\* .+\n\*Right:\* .+\n\*Shown:\* (?P<shown>.+)\.$",
    re.MULTILINE,
)
LINK = re.compile(r"\[chapter (\d+)\]\(#e-(\d\d)\)")
LABEL = re.compile(r"^\(e-(\d\d)\)=$", re.MULTILINE)
ITEMS = {int(item["number"]): item["shown"] for item in ITEM.finditer(PAGE)}


def labels(cells: list[nbformat.NotebookNode]) -> dict[int, bool]:
    """Return each labelled item, and whether a code cell follows it."""
    followed = zip(cells, [*cells[1:], None], strict=True)
    return {
        int(number): after is not None and after.cell_type == "code"
        for cell, after in followed
        if cell.cell_type == "markdown"
        for number in LABEL.findall(cell.source)
    }


LABELS = {int(path.stem[:2]): labels(read(path).cells) for path in CHAPTERS}


def test_every_item_is_complete():
    headings = re.findall(r"^### (\d+)\.", PAGE, re.MULTILINE)
    assert sorted(map(int, headings)) == sorted(ITEMS)


@pytest.mark.parametrize("number", sorted(ITEMS))
def test_an_item_links_to_a_cell_that_shows_it(number):
    link = LINK.fullmatch(ITEMS[number])
    assert link, ITEMS[number]
    chapter, label = map(int, link.groups())
    assert label == number
    assert number in LABELS[chapter], "the chapter has no such label"
    assert LABELS[chapter][number], "no code cell follows the label"


def test_every_label_is_of_one_item_that_links_to_it():
    found = [number for chapter in LABELS.values() for number in chapter]
    assert sorted(found) == sorted(ITEMS)
