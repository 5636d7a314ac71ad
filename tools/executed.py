"""Executed chapters: keep them for the build of the site, and read them.

The tests execute every chapter with nbmake. What they get is put where
MyST-NB looks for executed notebooks, so that the build executes nothing.
"""

import time
from pathlib import Path

from filelock import FileLock
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode
from nbmake.nb_result import NotebookResult
from nbmake.nb_run import NotebookRun
from vitedu_book.execution import KEPT, drop_stale

ROOT = Path(__file__).parent.parent


class CachingRun(NotebookRun):
    """A run of nbmake whose result the build of the site finds."""

    def execute(self) -> NotebookResult:
        """Execute the notebook, and keep it if nothing failed."""
        start = time.perf_counter()
        result = super().execute()
        if result.error is None:
            keep(self.filename, result.nb, time.perf_counter() - start)
        return result


def open_cache() -> JupyterCacheAbstract:
    """Return the executed chapters, without any that is out of date."""
    drop_stale(ROOT, ROOT / "_build")
    return get_cache(ROOT / "_build" / KEPT)


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
    (ROOT / "_build").mkdir(exist_ok=True)
    with FileLock(ROOT / "_build" / "cache.lock"):
        open_cache().cache_notebook_bundle(
            bundle, check_validity=False, overwrite=True
        )
