"""What it costs to build the site, and how that grows with its pages.

All builds take place in a copy, whose chapters were executed before: no build
here runs a kernel. A larger book has copies of the chapters in it, with their
outputs, under names of their own.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import yaml

from benchmarks.table import Row

# What a copy of the project does without.
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__")
CACHE = "_build/.jupyter_cache"
EXECUTED = "_build/jupyter_execute/chapters"
# How many pages the larger book has; a quick run takes fewer.
PAGES, QUICK_PAGES = 200, 80
CHAPTER = "chapters/03-scaled-dot-product-attention"
# Names that have to be unique in a book: labels, claims and rungs.
NAMES = re.compile(
    r"(?<=\()[\w-]+(?=\)=)"
    r"|(?<=id=\\\"claim-)[\w-]+|(?<=id=\\\"rung-)[\w-]+"
    r"|(?<=&quot;name&quot;: &quot;)[\w-]+"
)
# The label of an exercise comes from its number.
EXERCISE = re.compile(r"(?<=\*\*Exercise )\d+")


def rows(root: Path, quick: bool) -> Iterator[Row]:
    """Yield what building costs: everything, nothing, one chapter, more.

    Args:
        root: The project; its site is built.
        quick: Take a smaller book for the larger one.

    Raises:
        FileNotFoundError: The site of `root` is not built.
        CalledProcessError: A build has failed; its output is printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder, "book")
        shutil.copytree(root, book, ignore=LEFT_OUT)
        shutil.copytree(root / CACHE, book / CACHE)
        clean = build(book)
        yield row("nothing changed", build(book), "everything", clean, "s")
        change(book / f"{CHAPTER}.ipynb")
        yield row("one chapter changed", build(book), "everything", clean, "s")
        few = weights(book)
        add_chapters(root / EXECUTED, book, QUICK_PAGES if quick else PAGES)
        time_of_many, many = build(book), weights(book)
    growth = many["pages"] / few["pages"]
    what = f"{many['pages']} pages"
    peer = f"{few['pages']} pages x {growth:.2f}"
    yield row(f"{what}: time", time_of_many, peer, clean * growth, "s")
    for kind in ("all documents", "search index"):
        size, share = many[kind], few[kind] * growth
        yield row(f"{what}: {kind}", size, peer, share, "kB")
    kind, peer = "one chapter's document", f"{few['pages']} pages"
    yield row(f"{what}: {kind}", many[kind], peer, few[kind], "kB")


def row(what: str, ours: float, peer: str, theirs: float, unit: str) -> Row:
    """Return a cost beside another."""
    return Row(what=what, ours=ours, peer=peer, theirs=theirs, unit=unit)


def build(book: Path) -> float:
    """Build what is out of date; return the seconds."""
    program = Path(sys.executable).with_name("jupyter-book")
    start = time.perf_counter()
    for command in (
        [program, "build", "-W", "."],
        [sys.executable, "-m", "tools.shrink", "_build/html"],
    ):
        done = subprocess.run(
            command,
            cwd=book,
            env={**os.environ, "PYTHONPATH": str(book)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            print(done.stdout[-4000:], done.stderr[-4000:], file=sys.stderr)
            done.check_returncode()
    return time.perf_counter() - start


def change(chapter: Path) -> None:
    """Say a sentence more in the first cell of a chapter."""
    notebook = json.loads(chapter.read_text("utf-8"))
    notebook["cells"][0]["source"] += ["\n\nThis sentence is new.\n"]
    chapter.write_text(json.dumps(notebook), "utf-8")


def add_chapters(executed: Path, book: Path, pages: int) -> None:
    """Add copies of executed chapters until the book has so many pages."""
    toc = yaml.safe_load((book / "_toc.yml").read_text("utf-8"))
    config = yaml.safe_load((book / "_config.yml").read_text("utf-8"))
    sources = sorted(executed.glob("[0-9]*.ipynb"))
    number = pages - count_pages(book)
    names = []
    for copy, source in zip(range(number), cycle(sources), strict=False):
        names.append(f"chapters/copy-{copy:03}-{source.stem}")
        text = NAMES.sub(rf"\g<0>-copy-{copy}", source.read_text("utf-8"))
        text = EXERCISE.sub(rf"\g<0>{copy:03}", text)
        (book / f"{names[-1]}.ipynb").write_text(text, "utf-8")
    entries = [{"file": name} for name in names]
    toc["parts"].append({"caption": "Copies", "chapters": entries})
    config["execute"]["exclude_patterns"] = ["chapters/copy-*"]
    (book / "_toc.yml").write_text(yaml.safe_dump(toc), "utf-8")
    (book / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")
    shutil.rmtree(book / "_build" / ".doctrees")
    shutil.rmtree(book / "_build" / "html")


def count_pages(book: Path) -> int:
    """Return how many pages of a book were built from sources."""
    return len(list((book / "_build" / ".doctrees").rglob("*.doctree")))


def weights(book: Path) -> dict[str, float]:
    """Return how many pages a built site has, and kB after gzip of parts."""
    site = book / "_build" / "html"
    pages = list(site.rglob("*.html"))
    return {
        "pages": count_pages(book),
        "all documents": sum(map(compressed, pages)),
        "search index": compressed(site / "searchindex.js"),
        "one chapter's document": compressed(site / f"{CHAPTER}.html"),
    }


def compressed(file: Path) -> float:
    """Return the kB of a file after gzip."""
    return len(gzip.compress(file.read_bytes(), 6)) / 1000
