"""The exercises of a chapter as an assignment for otter-grader.

    python -m tools.assignment 05

It is written into `_build/assignment-05`: the chapter without its solutions,
a test for each exercise that calls the check of the book, and the settings
of otter. See `book/teach/grading.md` for what a teacher does with it.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import nbformat
from nbformat import NotebookNode

from tools import editions
from vitedu.atomic_files import write_whole

ASKED = re.compile(r"^check\.(\w+)\((\w+)\)$", re.MULTILINE)
TEST = '''\
"""Exercise {number}: otter calls the check of the book."""

from otter.test_files import test_case

from vitedu.book.exercises import {module} as check

OK_FORMAT = False
name = "{number}"
points = 1


@test_case(name="{check}")
def test_answer({answer}):
    verdict = check.{check}({answer})
    if not verdict:
        raise AssertionError(verdict.message)
'''


def prepare(
    name: str, notebook: NotebookNode
) -> tuple[NotebookNode, dict[str, str]]:
    """Return a chapter for students, and the tests of its exercises.

    Args:
        name: The name of the chapter, as "05-multi-head-attention".
        notebook: The chapter.

    Returns:
        The notebook, whose cells name their tests, and the source of each
        test by its name.
    """
    module = editions.exercises_of(name)
    edition, tests = editions.student(notebook), {}
    edition.metadata["otter"] = {"assignment_name": name}
    for cell in edition.cells:
        asked = ASKED.search(cell.source)
        if cell.cell_type != "code" or not asked:
            continue
        number, source = _test(module, *asked.groups())
        test = f"exercise-{number.replace('.', '-')}"
        tests[test] = source
        # Otter runs the test right after this cell.
        cell.metadata["otter"] = {"tests": [test]}
    return edition, tests


def _test(module: ModuleType, check: str, answer: str) -> tuple[str, str]:
    number = getattr(module, check).number
    short = module.__name__.rpartition(".")[2]
    return number, TEST.format(
        number=number, module=short, check=check, answer=answer
    )


def write(chapter: str, folder: Path) -> None:
    """Write an assignment; other files in the folder stay as they are.

    Args:
        chapter: The two digits of a chapter.
        folder: Where to write it.

    Raises:
        ValueError: There is no such chapter.
    """
    notebooks = editions.chapters()
    found = {name[:2]: name for name in notebooks}
    if chapter not in found:
        raise ValueError(
            f"chapter must be one of {', '.join(found)}, got {chapter!r}"
        )
    name = found[chapter]
    notebook, tests = prepare(name, notebooks[name])
    shutil.rmtree(folder / "tests", ignore_errors=True)
    (folder / "tests").mkdir(parents=True)
    files = {f"tests/{test}.py": source for test, source in tests.items()}
    files[f"{name}.ipynb"] = nbformat.writes(notebook) + "\n"
    files["otter_config.json"] = json.dumps({"assignment_name": name}) + "\n"
    for file, text in files.items():
        write_whole(folder / file, text.encode())


def main(chapter: str) -> None:
    """Write the assignment of a chapter, and say where it is."""
    folder = editions.ROOT / "_build" / f"assignment-{chapter}"
    try:
        write(chapter, folder)
    except ValueError as error:
        raise SystemExit(str(error)) from None
    print(f"The assignment is {folder.relative_to(editions.ROOT)}")


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
