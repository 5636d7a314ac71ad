"""Every item that the book has to cover names the cells that do it."""

import re
from functools import cache

import pytest
import yaml
from test_notebooks import ROOT, read

TEXT = (ROOT / "book" / "coverage.yml").read_text(encoding="utf-8")
ENTRIES = yaml.safe_load(TEXT)
# Safe loading keeps the last of two equal keys without a word.
KEYS = re.findall(r"^([^\s#].*):$", TEXT, re.MULTILINE)
# How many items each of the five articles has; topics, numbers, errata.
RANGES = {
    "000-": 72,
    "001-": 20,
    "002-": 20,
    "003-": 19,
    "004-": 28,
    "T": 44,
    "N": 36,
    "E-": 66,
}
WITHDRAWN = {"E-59", "E-66"}  # the articles are right there
IDS = [
    name
    for kind, last in RANGES.items()
    for number in range(1, last + 1)
    if (name := f"{kind}{number:02}") not in WITHDRAWN
]


@cache
def cells(page: str) -> dict[str | None, str] | None:
    """Return the source of each cell; a page of text is one, without id."""
    text, notebook = ROOT / f"{page}.md", ROOT / f"{page}.ipynb"
    if text.is_file():
        return {None: text.read_text(encoding="utf-8")}
    if notebook.is_file():
        return {cell.id: cell.source for cell in read(notebook).cells}
    return None


def mistakes(name: str, entry: dict) -> list[str]:
    """Say what is wrong with an entry, and where its words stand instead."""
    found = []
    if set(entry) != {"what", "where"}:
        return [f"{name}: has {sorted(entry)}, not what and where"]
    if not 5 <= len(entry["what"].split()) <= 10:
        found.append(f"{name}: what has not five to ten words")
    if not 1 <= len(entry["where"]) <= 3:
        found.append(f"{name}: has not one to three places")
    for place in entry["where"]:
        page, cell, words = map(place.get, ("page", "cell", "words"))
        sources = cells(page)
        if not words or set(place) - {"page", "cell", "words"}:
            found.append(f"{name}: a place has page, cell and words: {place}")
        elif sources is None:
            found.append(f"{name}: there is no page {page}")
        elif words not in sources.get(cell, ""):
            here = [key for key, source in sources.items() if words in source]
            found.append(
                f"{name}: {words!r} is not in cell {cell} of {page}, but in "
                f"{here or 'no cell'}"
            )
    return found


def test_every_item_has_one_entry_in_order():
    assert sorted(set(IDS) - set(KEYS)) == [], "without an entry"
    assert sorted(set(KEYS) - set(IDS)) == [], "no such item"
    assert KEYS == IDS, "twice, or not in order"


@pytest.mark.parametrize("name", KEYS)
def test_an_entry_names_cells_that_hold_its_words(name):
    assert mistakes(name, ENTRIES[name]) == []


@pytest.mark.parametrize("name", [n for n in KEYS if n.startswith("E-")])
def test_an_item_of_the_errata_starts_at_its_label(name):
    label, *code = [place["words"] for place in ENTRIES[name]["where"]]
    assert label == f"({name.lower()})="
    assert code, f"{name}: no cell that shows it"


PAGE = "chapters/03-scaled-dot-product-attention"
CELL = "e-27-the-derivative-of-softmax"
PLACE = {"page": PAGE, "cell": CELL, "words": "(e-27)="}


def test_a_right_place_is_right():
    assert mistakes("X", {"what": "a b c d e", "where": [PLACE]}) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"page": "chapters/00"}, "there is no page chapters/00"),
        ({"cell": "e-99"}, f"'(e-27)=' is not in cell e-99 of {PAGE}, but"),
        ({"cell": "e-99"}, f"but in ['{CELL}']"),
        ({"words": "never said"}, "but in no cell"),
        ({"words": ""}, "a place has page, cell and words"),
        ({"line": 7}, "a place has page, cell and words"),
        ({"page": "book/notation"}, "of book/notation, but in no cell"),
    ],
)
def test_a_wrong_place_is_noticed(change, said):
    entry = {"what": "a b c d e", "where": [PLACE | change]}
    [found] = mistakes("X", entry)
    assert found.startswith("X: ")
    assert said in found


def test_a_wrong_entry_is_noticed():
    assert mistakes("X", {"what": "a b c d e"})
    assert mistakes("X", {"what": "a b c d", "where": []})
    assert mistakes("X", {"what": "a b c d e", "where": [PLACE] * 4})
