"""Write how long each chapter takes into its first cell.

    python -m tools.time_boxes              run every chapter and measure it
    python -m tools.time_boxes 20-name      run one of them
    python -m tools.time_boxes --reading    only the times of reading, anew

They stand at the start of the line that begins like "*24 minutes*"; what the
chapter needs, behind them, stays.
"""

import math
import os
import sys
import time
from pathlib import Path

import nbformat
from vitedu_book.reading import EXERCISES, FACTS, Section, sections

from tools.executed import execute, seconds
from vitedu.atomic_files import write_whole

ROOT = Path(__file__).parent.parent


def facts(found: list[Section], seconds: float) -> str:
    """Return what the first cell of a chapter says about its times."""
    apart = [s for s in found if s.anchor == EXERCISES]
    deeper = [s for s in found if s.deeper]
    main = [s for s in found if s not in apart and s not in deeper]
    reading, more, solving = (
        round(sum(section.minutes for section in part))
        for part in (main, deeper, apart)
    )
    parts = [f"*{reading} minute{'' if reading == 1 else 's'}*"]
    parts += [f"{more} more in deeper sections"] if more else []
    parts += [f"{solving} for exercises"] if solving else []
    return " · ".join([*parts, f"runs in {math.ceil(seconds)} s"])


def write(path: Path, *, run: bool) -> None:
    """Write the times of a chapter; without a run, that of the last stays.

    Raises:
        ValueError: The first cell has no line for them, or several.
        nbclient.exceptions.CellExecutionError: A cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0]
    if len(lines := FACTS.findall(first.source)) != 1:
        raise ValueError(
            f"{path.name} must have one line like '*24 minutes* · runs in "
            f"10 s' in its first cell, got {len(lines)}"
        )
    took: float = seconds(path)
    if run:
        os.environ["VITEDU_BUILD"] = "1"
        start = time.perf_counter()
        execute(path)
        took = time.perf_counter() - start
    said = facts(sections(notebook), took)
    print(path.stem, said, flush=True)
    first.source = first.source.replace(lines[0], said)
    whole = nbformat.writes(notebook, indent=1, sort_keys=True) + "\n"
    if whole != path.read_text(encoding="utf-8"):
        write_whole(path, whole.encode())


def main(option: str = "[0-9]*") -> None:
    """Write the times of all chapters, or of one that is named."""
    run = option != "--reading"
    name = option if run else "[0-9]*"
    paths = sorted((ROOT / "chapters").glob(f"{name}.ipynb"))
    if not paths:
        raise SystemExit(f"it must name a chapter, got {option!r}")
    for path in paths:
        write(path, run=run)


if __name__ == "__main__":
    main(*sys.argv[1:])
