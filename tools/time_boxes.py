"""How long each chapter takes: to read, to solve and to run.

    python -m tools.time_boxes              run every chapter and measure it
    python -m tools.time_boxes 20-name      run one of them
    python -m tools.time_boxes --reading    only the times of reading, anew

All write `book/time-boxes.json` and the start of the one line of each
chapter's first cell that begins like "*24 minutes*"; what the chapter needs,
behind it, stays. Times of reading follow the model of `tools.reading`.
"""

import json
import math
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from tools.executed import execute
from tools.reading import FACTS, is_exercises, sections
from vitedu.atomic_files import write_whole

ROOT = Path(__file__).parent.parent
CHAPTERS = "chapters/[0-9]*.ipynb"
FILE = "book/time-boxes.json"


def run(path: Path) -> dict[str, float]:
    """Run a notebook in a kernel of its own; return the seconds.

    They include the start of the kernel. Nothing is written.

    Raises:
        nbclient.exceptions.CellExecutionError: A cell fails.
    """
    os.environ["VITEDU_BUILD"] = "1"
    start = time.perf_counter()
    execute(path)
    return {"seconds": round(time.perf_counter() - start, 1)}


def reading(notebook: NotebookNode) -> dict[str, Any]:
    """Return the minutes of a chapter: to read, to solve, of each section."""
    found = sections(notebook)
    apart = {
        "deeper": [s.minutes for s in found if s.deeper],
        "exercises": [s.minutes for s in found if is_exercises(s)],
    }
    whole = {kind: round(sum(minutes)) for kind, minutes in apart.items()}
    main = [s.minutes for s in found if not (s.deeper or is_exercises(s))]
    return {
        "reading": round(sum(main)),
        **whole,
        "sections": {s.anchor: round(s.minutes, 1) for s in found},
    }


def facts(box: dict[str, Any]) -> str:
    """Return what the first screen of a chapter says about its times.

    Args:
        box: The entry of the chapter.
    """
    minutes = box["reading"]
    parts = [f"*{minutes} minute{'' if minutes == 1 else 's'}*"]
    if box["deeper"]:
        parts.append(f"{box['deeper']} more in deeper sections")
    if box["exercises"]:
        parts.append(f"{box['exercises']} for exercises")
    return " · ".join([*parts, f"runs in {math.ceil(box['seconds'])} s"])


def state(path: Path, text: str) -> None:
    """Put the times into the first cell of a chapter.

    Raises:
        ValueError: The cell has no line for them, or several.
    """
    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0]
    first.source, found = FACTS.subn(text, first.source)
    if found != 1:
        raise ValueError(
            f"{path.name} must have one line like '*24 minutes* · runs in "
            f"10 s' in its first cell, got {found}"
        )
    whole = nbformat.writes(notebook, indent=1, sort_keys=True) + "\n"
    if whole != path.read_text(encoding="utf-8"):
        write_whole(path, whole.encode())


def read(root: Path) -> dict[str, Any]:
    """Return the file of a book."""
    return json.loads((root / FILE).read_text(encoding="utf-8"))


def write(root: Path, head: dict, chapters: dict[str, dict]) -> None:
    """Write the file, one chapter a line, so that a change is a line."""
    start = json.dumps(head, indent=1)
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(box)}"
        for name, box in chapters.items()
    )
    whole = f'{start[:-2]},\n "chapters": {{\n{lines}\n }}\n}}\n'
    write_whole(root / FILE, whole.encode())


def refresh(root: Path) -> None:
    """Write the times of reading anew; those of running stay.

    Raises:
        ValueError: A chapter has never been measured.
    """
    head = read(root)
    _write_all(root, head, head.pop("chapters"))


def measure(root: Path) -> None:
    """Run all chapters, one after another, and write what came out."""
    measured = {}
    for path in sorted(root.glob(CHAPTERS)):
        measured[path.stem] = run(path)
        print(path.stem, measured[path.stem], flush=True)
    head = {
        "script": "tools/time_boxes.py",
        "python": platform.python_version(),
        "torch": version("torch").partition("+")[0],
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }
    _write_all(root, head, measured)


def measure_one(root: Path, name: str) -> None:
    """Run one chapter; what the file says of the others stays.

    Raises:
        ValueError: There is no such chapter.
    """
    path = root / "chapters" / f"{name}.ipynb"
    if not path.exists():
        raise ValueError(f"name must be that of a chapter, got {name!r}")
    head = read(root)
    boxes = head.pop("chapters")
    boxes[name] = _box(path, run(path))
    write(root, head, boxes)


def _write_all(root: Path, head: dict, measured: dict[str, dict]) -> None:
    boxes = {}
    for path in sorted(root.glob(CHAPTERS)):
        if path.stem not in measured:
            raise ValueError(
                f"{path.stem} must have been run: python -m tools.time_boxes"
            )
        boxes[path.stem] = _box(path, measured[path.stem])
    write(root, head, boxes)


def _box(path: Path, measured: dict) -> dict[str, Any]:
    """Return the entry of a chapter, and put its times into it."""
    kept = {"seconds": measured["seconds"]}
    box = kept | reading(nbformat.read(path, as_version=4))
    state(path, facts(box))
    return box


def main(*options: str) -> None:
    """Measure everything, or one chapter, or only the reading."""
    match options:
        case ():
            measure(ROOT)
        case ("--reading",):
            refresh(ROOT)
        case (name,) if not name.startswith("-"):
            measure_one(ROOT, name)
        case _:
            raise SystemExit(f"the only option is --reading, got {options}")


if __name__ == "__main__":
    main(*sys.argv[1:])
