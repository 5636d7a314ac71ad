"""The chapters as files: no outputs, valid, one form."""

import re
import symtable
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from chapter_files import CHAPTERS, read

SHORTEST_ALT = 40
OFF_THE_PAGE = {"remove-input", "remove-cell"}


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [c for c in read(path).cells if c.cell_type == "code"]


def headings(path: Path) -> list[tuple[int, str]]:
    """Return the number of the cell and the text of each top heading."""
    return [
        (number, line)
        for number, cell in enumerate(read(path).cells)
        if cell.cell_type == "markdown"
        for line in _without_code(cell.source).splitlines()
        if line.startswith("# ")
    ]


def _without_code(markdown: str) -> str:
    return re.sub(r"^(```+|:::+).*?^\1", "", markdown, flags=re.M | re.S)


def scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Return a scope and all that are in it."""
    yield table
    for inner in table.get_children():
        yield from scopes(inner)


def used_and_made(code: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell takes from the page, and that it makes."""
    module = symtable.symtable(code, "cell", "exec")
    symbols = [
        symbol
        for table in scopes(module)
        for symbol in table.get_symbols()
        if table is module or symbol.is_global()
    ]
    used = {s.get_name() for s in symbols if s.is_referenced()}
    made = {
        s.get_name() for s in symbols if s.is_assigned() or s.is_imported()
    }
    return used, made


def names_from_nowhere(cells: list[nbformat.NotebookNode]) -> list[str]:
    """Return the names in cells shown that a cell not shown made last."""
    unseen, found = set(), []
    for cell in cells:
        used, made = used_and_made(
            re.sub(r"^[%!].*", "", cell.source, flags=re.M)
        )
        if OFF_THE_PAGE & set(cell.metadata.get("tags", [])):
            unseen |= made
        else:
            unseen -= made
            found += [f"{cell.id}: {n}" for n in sorted(used & unseen)]
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
class TestChapter:
    def test_is_valid(self, path):
        notebook = read(path)
        nbformat.validate(notebook)
        assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)

    def test_holds_nothing_that_was_executed(self, path):
        for cell in code_cells(path):
            assert cell.outputs == []
            assert cell.execution_count is None
            assert "execution" not in cell.metadata
        assert "widgets" not in read(path).metadata

    def test_names_its_kernel_and_nothing_of_a_machine(self, path):
        metadata = read(path).metadata
        assert metadata.kernelspec.name == "python3"
        assert set(metadata) <= {"kernelspec", "language_info", "myst"}
        assert set(metadata.get("language_info", {})) <= {"name"}

    def test_cells_have_stable_names(self, path):
        names = [cell.id for cell in read(path).cells]
        assert len(set(names)) == len(names)
        # An editor draws eight random hexadecimal digits or a whole UUID.
        assert [n for n in names if re.fullmatch(r"[0-9a-f-]{8,}", n)] == []

    def test_has_one_title_that_carries_its_number(self, path):
        titles = headings(path)
        assert len(titles) == 1
        cell, title = titles[0]
        assert cell == 0
        assert title.startswith(f"# {int(path.stem[:2])}. ")

    def test_starts_with_the_same_code_as_the_others(self, path):
        cell = read(path).cells[1]
        assert cell.source == code_cells(CHAPTERS[0])[0].source
        assert cell.metadata.tags == ["remove-cell"]

    def test_alt_texts_say_what_one_sees(self, path):
        alts = [
            cell.metadata.mystnb.image.get("alt", "")
            for cell in code_cells(path)
            if "image" in cell.metadata.get("mystnb", {})
        ]
        assert [alt for alt in alts if len(alt) < SHORTEST_ALT] == []

    def test_every_cell_that_draws_has_an_alt_text(self, path):
        """What the site shows is looked at by tests/site/test_files.py."""
        assert [
            cell.id
            for cell in code_cells(path)
            if re.search(r"\bplots\.\w+\(|\bplt\.", cell.source)
            and "image" not in cell.metadata.get("mystnb", {})
        ] == []

    def test_shows_how_each_name_was_made(self, path):
        # The first one, the same in all chapters, makes `notebook`.
        assert names_from_nowhere(code_cells(path)[1:]) == []
