"""A build that is killed, and two at once, on a tiny book."""

import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import vitedu_book
from filelock import FileLock
from test_build import book, build  # noqa: F401
from vitedu_book import interrupted
from vitedu_book.execution import drop_half_written

PATIENCE = 60


def pages(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text(encoding="utf-8")
        for path in (folder / "_build/html").glob("*.html")
    }


def test_a_killed_build_leaves_no_half_page(book):  # noqa: F811
    command = Path(sys.executable).with_name("jupyter-book")
    with subprocess.Popen([command, "build", book]) as process:
        end = time.monotonic() + PATIENCE
        while "one.html" not in pages(book):
            assert time.monotonic() < end
        process.kill()
    # What a write that was cut short leaves.
    for name, text in pages(book).items():
        path = book / "_build/html" / name
        path.write_text(text[: len(text) // 2], encoding="utf-8")
    assert build(book).returncode == 0
    found = pages(book)
    assert all(text.rstrip().endswith("</html>") for text in found.values())
    assert {"first.html", "one.html", "claims.html"} <= set(found)
    assert not (book / "_build/.unfinished").exists()


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
