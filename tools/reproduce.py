"""Execute the chapters again, and compare what they print with the cache."""

import difflib
import os
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools.executed import (
    ROOT,
    execute,
    keep,
    open_cache,
    with_whole_streams,
)

TEXTS = ("text/plain", "text/html", "text/markdown")


def text_outputs(notebook: NotebookNode) -> list[str]:
    """Return every line of text that a notebook shows."""
    lines: list[str] = []
    for cell in with_whole_streams(notebook).cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            texts = [output.get("text", "")]
            texts += [data[kind] for kind in TEXTS if kind in data]
            lines += [line for text in texts for line in text.splitlines()]
    return lines


def differences(first: list[str], second: list[str]) -> list[str]:
    """Return the lines in which two texts differ, as `diff` writes them."""
    return [*difflib.unified_diff(first, second, lineterm="", n=0)][2:]


def cached(path: Path) -> NotebookNode:
    """Return the executed notebook of the cache; execute it if it is new."""
    cache = open_cache()
    notebook = nbformat.read(path, as_version=4)
    try:
        return cache.merge_match_into_notebook(notebook)[1]
    except KeyError:
        notebook = execute(path)
        keep(path, notebook, 0)
        return notebook


def main() -> int:
    """Print the differences; return how many chapters differ."""
    os.environ["VITEDU_BUILD"] = "1"
    different = 0
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        first, second = text_outputs(cached(path)), text_outputs(execute(path))
        lines = differences(first, second)
        print(f"{path.stem}: {'DIFFERENT' if lines else 'the same text'}")
        print("\n".join(lines[:40]), end="\n" if lines else "")
        different += bool(lines)
    return different


if __name__ == "__main__":
    sys.exit(main())
