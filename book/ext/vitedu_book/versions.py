"""Which versions of Python and of other packages the book was tried with.

`tools.matrix` writes `book/versions.json`. The tables, and what differed, are
written as Markdown into the page that has their mark, before it is parsed.
"""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FILE = "book/versions.json"
# The packages whose versions the page shows, and how it writes their names.
SHOWN = {
    "torch": "PyTorch",
    "numpy": "NumPy",
    "scikit-learn": "scikit-learn",
    "matplotlib": "Matplotlib",
    "jupyter-book": "Jupyter Book",
}
Row = dict[str, Any]


def read(root: Path) -> dict[str, Row]:
    """Return the rows of a book: none before the first was tried."""
    path = root / FILE
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def has_failed(row: Row) -> bool:
    """Tell whether a row, a test or a chapter of it has failed."""
    chapters = row.get("chapters", {}).values()
    return any("error" in part for part in (row, *chapters)) or (
        "failed" in row
    )


def verdict(chapter: Row) -> str:
    """Say in a few words what came out for a chapter."""
    if "error" in chapter:
        return "stopped"
    if chapter["again"]:
        return "another text each time"
    return "another text" if chapter["site"] else "the same text"


def packages(rows: dict[str, Row]) -> str:
    """Write the versions in each row as a table of Markdown."""
    header = ("Row", "Python", *SHOWN.values(), "Tried on")
    return _table(header, {name: _versions(rows[name]) for name in rows})


def results(rows: dict[str, Row]) -> str:
    """Write what came out in each row as a table of Markdown."""
    header = ("Row", "Tests", "Ran", "Same twice", "Same as here")
    return _table(header, {name: _results(rows[name]) for name in rows})


def _table(header: tuple[str, ...], rows: dict[str, list[str]]) -> str:
    lines = [header, ["---"] * len(header)]
    lines += [[name, *cells] for name, cells in rows.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _versions(row: Row) -> list[str]:
    found = row.get("packages", {})
    shown = [found.get(package, "") for package in SHOWN]
    return [row.get("python", "none"), *shown, row["date"]]


def _results(row: Row) -> list[str]:
    if "error" in row:
        return ["could not be set up", "", "", ""]
    chapters = row["chapters"].values()
    ran = [chapter for chapter in chapters if "error" not in chapter]
    twice = [chapter for chapter in ran if chapter["runs"] == 2]
    again = sum(not chapter["again"] for chapter in twice)
    here = sum(not chapter["site"] for chapter in ran)
    return [
        row["tests"],
        f"{len(ran)} of {len(chapters)}",
        f"{again} of {len(twice)}" if twice else "ran once",
        f"{here} of {len(ran)}",
    ]


def findings(rows: dict[str, Row]) -> str:
    """Write what failed or differed as Markdown, each folded."""
    found = [
        _folded(f"Python {name}: {what}", text)
        for name, row in rows.items()
        for what, text in _texts(row)
    ]
    return "\n\n".join(found) or "Nothing failed, and nothing differed."


def _texts(row: Row) -> list[tuple[str, str]]:
    texts = [("could not be set up", row.get("error", ""))]
    texts += [("a test failed", row.get("failed", ""))]
    for name, chapter in row.get("chapters", {}).items():
        link = f"[{name}](../chapters/{name}.ipynb)"
        texts += [
            (f"{link} stopped", chapter.get("error", "")),
            (f"{link}, twice", "\n".join(chapter.get("again", []))),
            (f"{link}, against this site", "\n".join(chapter.get("site", []))),
        ]
    return [(what, text) for what, text in texts if text]


def _folded(title: str, text: str) -> str:
    return (
        f"::::{{admonition}} {title}\n:class: dropdown\n\n"
        f"```````text\n{text}\n```````\n::::"
    )


# The mark on a page, a comment in Markdown -> what is written there.
WRITERS = {
    "% versions that were tried": packages,
    "% what came out": results,
    "% what differed between versions": findings,
}


def setup(app: Sphinx) -> None:
    """Write the tables on reading."""
    app.connect("source-read", fill)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the tables and the findings where a page has their marks."""
    root = Path(app.srcdir)
    for mark, write in WRITERS.items():
        if mark in source[0]:
            app.env.note_dependency(str(root / FILE))
            source[0] = source[0].replace(mark, write(read(root)))
