"""The chapters as files, for the tests that read them."""

from pathlib import Path

import nbformat

ROOT = Path(__file__).parent.parent
CHAPTERS = sorted((ROOT / "chapters").glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    """Return a chapter as it is stored."""
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)
