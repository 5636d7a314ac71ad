"""Execute the chapters that are out of date, two at a time, longest first.

    python -m tools.executed

They are put where MyST-NB looks for executed notebooks, so that the build of
the site executes nothing. So are those that the tests execute.
"""

import os
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import nbformat
from filelock import FileLock
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from vitedu_book.execution import KEPT, drop_stale
from vitedu_book.weights import without_weights

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "_build"
RUNS = re.compile(r"\bruns in (\d+) s\b")


@cache
def _drop_stale_once() -> None:
    # What changes while chapters run is for the next process to notice.
    drop_stale(ROOT, BUILD)


def open_cache() -> JupyterCacheAbstract:
    """Return the executed chapters, without any that is out of date."""
    _drop_stale_once()
    return get_cache(BUILD / KEPT)


def with_whole_streams(notebook: NotebookNode) -> NotebookNode:
    """Join what a cell prints: a busy machine sends it in parts.

    A part can end within a line, and MyST-NB breaks the line there.
    """
    return CoalesceStreamsPreprocessor().preprocess(notebook, {})[0]


def keep(path: Path, notebook: NotebookNode, seconds: float) -> None:
    """Put an executed notebook into the cache."""
    for cell in notebook.cells:
        # Times that nbmake records; the cache takes them for a change.
        cell.metadata.pop("execution", None)
    bundle = CacheBundleIn(
        with_whole_streams(notebook),
        str(path),
        data={"execution_seconds": seconds},
    )
    # Several processes may execute chapters at a time.
    BUILD.mkdir(exist_ok=True)
    with FileLock(BUILD / "cache.lock"):
        open_cache().cache_notebook_bundle(
            bundle, check_validity=False, overwrite=True
        )


def execute(path: Path) -> NotebookNode:
    """Execute a notebook in a new kernel, as a build does."""
    notebook = nbformat.read(path, as_version=4)
    folder = {"metadata": {"path": str(path.parent)}}
    NotebookClient(notebook, timeout=900, resources=folder).execute()
    return notebook


def out_of_date() -> list[Path]:
    """Return the chapters that the cache does not hold as they are now."""
    kept, found = open_cache(), []
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        try:
            kept.match_cache_notebook(nbformat.read(path, as_version=4))
        except KeyError:
            found.append(path)
    return found


def seconds(path: Path) -> int:
    """Return how long a chapter says that it runs; 0 if it does not say."""
    found = RUNS.search(path.read_text(encoding="utf-8"))
    return int(found[1]) if found else 0


def _execute_and_keep(path: Path) -> str | None:
    """Return what went wrong, if anything did."""
    start = time.perf_counter()
    try:
        notebook = execute(path)
    except CellExecutionError as error:
        return f"{path.relative_to(ROOT)}: {error}"
    took = time.perf_counter() - start
    keep(path, notebook, took)
    print(f"{path.stem}: {took:.0f} s", flush=True)
    return None


def main() -> int:
    """Execute; print what went wrong and return how often."""
    os.environ["VITEDU_BUILD"] = "1"
    paths = out_of_date()
    for path, why in (left_out := without_weights(paths)).items():
        print(f"{path.stem} is left out: {why}", flush=True)
    paths = [path for path in paths if path not in left_out]
    # So that no core is idle while the last one runs.
    paths.sort(key=seconds, reverse=True)
    with ThreadPoolExecutor(max_workers=2) as pool:
        problems = [x for x in pool.map(_execute_and_keep, paths) if x]
    print("\n".join(problems), file=sys.stderr, end="")
    return len(problems)


if __name__ == "__main__":
    sys.exit(main())
