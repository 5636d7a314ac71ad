"""Try the book with other versions of Python and of what it depends on.

    make matrix                                   every row of the table
    make matrix MATRIX='--only "3.12 locked"'     that row, or several
    make matrix MATRIX="--runs 1"                 each chapter once, not twice

For each row, uv makes an environment under `_build/matrix` and installs what
`requirements.txt` asks for, in the versions that the row names. The tests of
the library run there, then every chapter in new kernels. The texts of the
chapters are compared with each other and with those of the executed chapters
that the site is built from; `book/versions.json` keeps what came out, and the
site shows it.

A row that cannot be set up, a failed test and a chapter that stops are
written down, and the next one follows. A chapter that has run with the same
code, library and packages is not run again; `make clean` forgets.

uv reads its own variables. `UV_TORCH_BACKEND=cpu` takes PyTorch's builds
without the libraries for graphics cards, which need several GB a row.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat

from tools.executed import ROOT, cache_path
from tools.reproduce import cached, differences, text_outputs
from vitedu.whole_files import write_whole

from vitedu_book import versions  # isort: skip  # tools.executed finds it

CHOICES = {
    "locked": ("-c", "constraints.txt"),
    "lowest": ("--resolution", "lowest-direct"),
    "newest": ("--resolution", "highest"),
}
ROWS = (
    "3.11 locked",
    "3.11 lowest",
    "3.11 newest",
    "3.12 locked",
    "3.12 newest",
    "3.13 locked",
    "3.13 newest",
)
# What runs the tests, on top of requirements.txt, and the tests: those of the
# library that need no other library beside it.
TESTERS = ("pytest", "hypothesis", "beartype")
TESTS = (
    "analysis attention cache checkpoints checks config counting data "
    "decoding doctests flops layers masks notebook oracles "
    "oracles_transformer oracles_vit patches plots sequences training "
    "transformer vit widgets wrong_inputs"
)
LIMIT = 3600  # seconds for a chapter or for the tests
LINES = 40  # of a difference that are kept
ERROR_LINES = 12
LEDGER = re.compile(r'<p class="(?:claim|rung)" ')
UV = (sys.executable, "-m", "uv", "--quiet")


class Failure(Exception):
    """A command has failed; the last lines it wrote."""


def call(*command: str | Path) -> str:
    """Run a command in the folder of the book; return what it prints.

    Raises:
        Failure: It returns another code than 0, or takes too long.
    """
    try:
        done = subprocess.run(
            [str(part) for part in command],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired as error:
        raise Failure(str(error)) from None
    if done.returncode:
        raise Failure(last_lines(done.stdout + done.stderr))
    return done.stdout


def last_lines(text: str) -> str:
    """Return the end of what a program wrote, without colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).replace(f"{ROOT}/", "")
    return "\n".join(plain.strip().splitlines()[-ERROR_LINES:])


def set_up(name: str) -> tuple[Path, str]:
    """Make the environment of a row.

    Returns:
        Its Python, and what is in it: "Python 3.12.1", then a line
        "name==version" for each package.

    Raises:
        Failure: There is no such Python, or the packages do not fit.
    """
    python, choice = name.split()
    folder = ROOT / "_build" / "matrix" / name.replace(" ", "-")
    call(*UV, "venv", "--clear", "--python", python, folder)
    found = folder / "bin" / "python"
    install = (*UV, "pip", "install", "--python", found)
    call(*install, *CHOICES[choice], "-r", "requirements.txt")
    call(*install, "--no-deps", "-e", ".")
    content = call(found, "-V") + call(*UV, "pip", "freeze", "--python", found)
    call(*install, *TESTERS)
    return found, content


def run_tests(python: Path) -> str:
    """Run the tests of the library; return how many passed or were skipped.

    Raises:
        Failure: A test fails.
    """
    files = [f"tests/test_{name}.py" for name in TESTS.split()]
    options = ("-q", "-p", "no:cacheprovider")
    said = call(python, "-m", "pytest", *options, *files)
    counts = re.findall(r"\d+ (?:passed|skipped)", said.splitlines()[-1])
    return ", ".join(counts)


def run_chapter(python: Path, path: Path, content: str, run: int) -> Path:
    """Return an executed chapter; execute it if that is new.

    Args:
        python: Of the environment.
        path: The chapter.
        content: Of the environment.
        run: Which of its runs, so that each has a file.

    Raises:
        Failure: A cell fails.
    """
    cells = nbformat.read(path, as_version=4).cells
    codes = [cell.source for cell in cells if cell.cell_type == "code"]
    library = cache_path(ROOT, ROOT / "_build").name
    state = hashlib.sha256("\n".join([library, content, *codes]).encode())
    folder = python.parents[2] / "executed"
    folder.mkdir(exist_ok=True)
    whole = folder / f"{path.stem}-{state.hexdigest()[:16]}-{run}.ipynb"
    part = whole.with_suffix(".part.ipynb")
    if not whole.exists():
        execute = (python.with_name("jupyter-execute"), f"--output={part}")
        call(*execute, "--timeout=900", path)
        part.replace(whole)
    return whole


def keep(root: Path, name: str, row: dict[str, Any]) -> None:
    """Put a row into the file, in place of an older one of its name."""
    rows = versions.read(root) | {name: row}
    text = json.dumps(dict(sorted(rows.items())), indent=1) + "\n"
    write_whole(root / versions.FILE, text.encode())


def visible(lines: list[str]) -> list[str]:
    """Return lines without the HTML of claims and of rungs.

    It says again what stands in their text, and holds numbers unrounded.
    """
    return [line for line in lines if not LEDGER.match(line)]


def try_chapter(
    python: Path, path: Path, content: str, runs: int
) -> dict[str, Any]:
    """Run a chapter so many times; return how the texts differ."""
    site = text_outputs(cached(path))
    try:
        paths = [run_chapter(python, path, content, n) for n in range(runs)]
    except Failure as failure:
        return {"error": str(failure)}
    texts = [text_outputs(nbformat.read(done, as_version=4)) for done in paths]
    return {
        "runs": runs,
        "again": differences(texts[0], texts[-1])[:LINES],
        "site": differences(visible(site), visible(texts[0]))[:LINES],
    }


def try_row(name: str, runs: int) -> dict[str, Any]:
    """Try a row, and keep every result as soon as it is there."""
    row: dict[str, Any] = {"date": time.strftime("%Y-%m-%d")}
    try:
        python, content = set_up(name)
    except Failure as failure:
        return row | {"error": str(failure)}
    row["python"] = content.split()[1]
    found = dict(re.findall(r"^([\w.-]+)==(.+)$", content, re.MULTILINE))
    row["packages"] = {name: found[name] for name in versions.SHOWN}
    try:
        row["tests"] = run_tests(python)
    except Failure as failure:
        row["tests"], row["failed"] = "failed", str(failure)
    row["chapters"] = {}
    for path in sorted((ROOT / "chapters").glob("[0-9]*.ipynb")):
        result = try_chapter(python, path, content, runs)
        row["chapters"][path.stem] = result
        print(f"{name}: {path.stem}: {versions.verdict(result)}", flush=True)
        keep(ROOT, name, row)
    return row


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the rows, print the tables; return how many of the rows failed."""
    parser = argparse.ArgumentParser(prog="tools.matrix")
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS)
    parser.add_argument("--runs", type=int, choices=(1, 2), default=2)
    options = parser.parse_args(arguments)
    os.environ["VITEDU_BUILD"] = "1"
    call(*UV, "--version")  # without it every row would fail
    for name in options.only:
        keep(ROOT, name, try_row(name, options.runs))
    rows = versions.read(ROOT)
    print(versions.packages(rows), versions.results(rows), sep="\n\n")
    return sum(versions.has_failed(rows[name]) for name in options.only)


if __name__ == "__main__":
    sys.exit(main())
