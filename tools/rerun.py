"""Run every cell again, as a reader does who stops it or tries it twice.

    python -m tools.rerun                     all chapters
    python -m tools.rerun 05 17               those whose names begin so

In one kernel, each cell of a chapter runs, is interrupted in the middle of a
second run if it takes a while, and then runs once more. Both times it must
show what it shows in an undisturbed run, and so must all cells after it.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from tools.executed import ROOT
from tools.reproduce import cached, text_outputs

# What runs for longer, in seconds, is interrupted.
SLOW = 0.5
LIMIT = 900
INTERRUPTED = {"ename": "Interrupted", "evalue": "", "traceback": []}


def rerun(path: Path) -> Iterator[tuple[str, str]]:
    """Run the cells of a chapter as the top of this file says.

    Yields:
        The name of a cell and what was wrong, for each that shows another
        text than in an undisturbed run.
    """
    notebook = nbformat.read(path, as_version=4)
    expected = [_shown(cell) for cell in cached(path).cells]
    client = NotebookClient(
        notebook,
        timeout_func=lambda cell: LIMIT,
        resources={"metadata": {"path": str(path.parent)}},
        allow_errors=True,
        interrupt_on_timeout=True,
        error_on_timeout=INTERRUPTED,
    )
    with client.setup_kernel():
        for index, cell in enumerate(notebook.cells):
            start = time.perf_counter()
            client.execute_cell(cell, index)
            seconds = time.perf_counter() - start
            if _shown(cell) != expected[index]:
                yield cell.id, f"at first: {_why(cell, expected[index])}"
            if seconds > SLOW:
                client.timeout_func = lambda cell, half=seconds / 2: half
                client.execute_cell(cell, index)
                client.timeout_func = lambda cell: LIMIT
            client.execute_cell(cell, index)
            if _shown(cell) != expected[index]:
                yield cell.id, f"once more: {_why(cell, expected[index])}"


def _shown(cell: NotebookNode) -> str:
    # Without line breaks: printed lines may come in several pieces.
    return "".join(text_outputs(NotebookNode(cells=[cell])))


def _why(cell: NotebookNode, expected: str) -> str:
    """Return the error of a cell, or the first line that differs."""
    for output in cell.outputs:
        if output.output_type == "error":
            return f"{output.ename}: {output.evalue}".splitlines()[0]
    lines = text_outputs(NotebookNode(cells=[cell]))
    other = [line for line in lines if line not in expected]
    return other[0][:80] if other else "fewer lines"


def main(names: list[str]) -> int:
    """Print what differs; return how many chapters differ."""
    os.environ["VITEDU_BUILD"] = "1"
    different = 0
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        if names and not path.name.startswith(tuple(names)):
            continue
        found = list(rerun(path))
        print(f"{path.stem}: {f'{len(found)} differ' if found else 'same'}")
        for cell, why in found:
            print(f"  {cell:40} {why}")
        different += bool(found)
    return different


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
