"""A build that is killed, and two at once, on a tiny book."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from unittest.mock import MagicMock

import nbformat
import psutil
import pytest
import vitedu_book
from filelock import FileLock
from test_build import book, build  # noqa: F401
from vitedu_book import interrupted
from vitedu_book.execution import drop_half_written

PATIENCE = 60
# Each notes the process that runs it; the slow one then waits for a file.
QUICK = """
import os
from pathlib import Path
with Path("quick.txt").open("a") as file: print(os.getpid(), file=file)
"""
SLOW = """
import os, time
from pathlib import Path
with Path("slow.txt").open("a") as file: print(os.getpid(), file=file)
while not Path("go").exists(): time.sleep(0.01)
print("came to its end")
"""


def wait_until(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_running(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill_build(folder: Path, reached: Callable[[], bool]) -> None:
    """Begin to build, and kill that as soon as something is reached."""
    command = Path(sys.executable).with_name("jupyter-book")
    with subprocess.Popen([command, "build", folder]) as process:
        try:
            wait_until(reached)
        finally:
            process.kill()


def processes(file: Path) -> list[int]:
    """Return the processes that have run a chapter, in their order."""
    return [*map(int, file.read_text().split())] if file.exists() else []


def pages(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in (folder / "_build/html").glob("*.html")
    }


def test_a_killed_build_leaves_no_half_page(book):  # noqa: F811
    kill_build(book, lambda: "one.html" in pages(book))
    # What a write that was cut short leaves.
    for name, text in pages(book).items():
        path = book / "_build/html" / name
        path.write_text(text[: len(text) // 2], encoding="utf-8")
    assert build(book).returncode == 0
    found = pages(book)
    assert all(text.rstrip().endswith("</html>") for text in found.values())
    assert {"first.html", "one.html", "claims.html"} <= set(found)
    assert not (book / "_build/.unfinished").exists()


def test_a_build_killed_in_a_chapter_goes_on_with_that_chapter(book):  # noqa: F811
    config = book / "_config.yml"
    config.write_text(config.read_text().replace('"off"', "cache"))
    toc = book / "_toc.yml"
    toc.write_text(toc.read_text().replace("claims", "two"))
    for name, code in (("one", QUICK), ("two", SLOW)):
        notebook = nbformat.v4.new_notebook(
            cells=[
                nbformat.v4.new_markdown_cell(f"# Chapter {name}"),
                nbformat.v4.new_code_cell(code),
            ],
            metadata={"kernelspec": {"name": "python3", "display_name": "P"}},
        )
        nbformat.write(notebook, book / f"{name}.ipynb")
    quick, slow = book / "quick.txt", book / "slow.txt"
    kill_build(book, lambda: processes(slow))
    # Nobody stops the chapter, and it would wait for ever: it stops itself.
    (kernel,) = processes(slow)
    wait_until(lambda: not is_running(kernel))
    (book / "go").touch()
    done = build(book)
    assert done.returncode == 0, done.stderr
    assert len(processes(quick)) == 1
    assert len(processes(slow)) == 2
    assert "came to its end" in pages(book)["two.html"]


def test_the_second_of_two_builds_says_why_it_stops(book):  # noqa: F811
    (book / "_build").mkdir()
    with FileLock(book / "_build/build.lock"):
        second = build(book)
    assert second.returncode != 0
    assert "another build is writing" in second.stdout + second.stderr
    assert pages(book) == {}


@pytest.mark.parametrize("content", [None, "", '{"cells": [{"out', "\0" * 9])
def test_a_half_written_chapter_leaves_the_cache(tmp_path, content):
    whole, half = tmp_path / "executed/aa", tmp_path / "executed/bb"
    for folder in (whole, half):
        folder.mkdir(parents=True)
    (whole / "base.ipynb").write_text('{"cells": []}')
    if content is not None:
        (half / "base.ipynb").write_text(content)
    drop_half_written(tmp_path)
    assert list(tmp_path.glob("executed/*")) == [whole]


def test_a_build_is_finished_when_all_else_has_ended():
    app = MagicMock()
    vitedu_book.setup(app)
    last = {
        call.args[1]: call.kwargs.get("priority", 500)
        for call in app.connect.call_args_list
        if call.args[0] == "build-finished"
    }
    mark = last.pop(interrupted.end)
    assert last
    assert mark > max(last.values())
