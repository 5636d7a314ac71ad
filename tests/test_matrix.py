"""The tool that tries other versions, its file, and what the page shows."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from test_notebooks import CHAPTERS
from vitedu_book import versions

from tools import matrix
from tools.reproduce import differences, text_outputs

SAME = {"runs": 2, "again": [], "site": []}
ROW = {
    "date": "2026-11-22",
    "python": "3.12.1",
    "packages": dict.fromkeys(versions.SHOWN, "1.2"),
    "tests": "7 passed",
    "chapters": {"01-a": SAME, "02-b": SAME},
}
DIFFERENT = SAME | {"site": ["-0.5", "+0.6"]}
RANDOM = SAME | {"again": ["-0.7", "+0.8"]}
STOPPED = {"error": "AssertionError: claim 'a-half': 0.6 is not 0.5"}


def with_chapter(chapter):
    return ROW | {"chapters": {"01-a": SAME, "02-b": chapter}}


def test_differences_are_the_lines_that_changed():
    assert differences(["a", "b"], ["a", "b"]) == []
    found = differences(["a", "b", "c"], ["a", "B", "c"])
    assert found == ["@@ -2 +2 @@", "-b", "+B"]


def printed(*parts):
    outputs = [nbformat.v4.new_output("stream", text=part) for part in parts]
    return new_notebook(cells=[new_code_cell("f()", outputs=outputs)])


def test_a_stream_that_came_in_parts_is_the_same_text():
    whole = ["one", "two"]
    assert text_outputs(printed("one\ntwo\n")) == whole
    assert text_outputs(printed("one", "\ntwo\n")) == whole
    assert text_outputs(printed("on", "e\ntw", "o\n")) == whole


def test_a_difference_that_no_reader_sees_is_none():
    shown = ["Claim: It is 0.5.", "<p>a rung</p>"]
    claim = (
        '<p class="claim" data-claim="{&quot;value&quot;: 0.51}">It is 0.5.'
    )
    rung = '<p class="rung" data-rung="{&quot;difference&quot;: 1e-9}">a = b'
    assert matrix.visible([shown[0], claim, rung, shown[1]]) == shown


@pytest.mark.parametrize(
    ("row", "failed"),
    [
        (ROW, False),
        (with_chapter(DIFFERENT), False),
        (with_chapter(RANDOM), False),
        (with_chapter(STOPPED), True),
        (ROW | {"tests": "failed", "failed": "1 failed"}, True),
        ({"date": "2026-11-22", "error": "no Python 3.12"}, True),
    ],
)
def test_what_fails_is_told_from_what_differs(row, failed):
    assert versions.has_failed(row) is failed


@pytest.mark.parametrize(
    ("row", "cells"),
    [
        (ROW, ["7 passed", "2 of 2", "2 of 2", "2 of 2"]),
        (with_chapter(DIFFERENT), ["7 passed", "2 of 2", "2 of 2", "1 of 2"]),
        (with_chapter(RANDOM), ["7 passed", "2 of 2", "1 of 2", "2 of 2"]),
        (with_chapter(STOPPED), ["7 passed", "1 of 2", "1 of 1", "1 of 1"]),
        (
            ROW | {"chapters": {"01-a": SAME | {"runs": 1}}},
            ["7 passed", "1 of 1", "ran once", "1 of 1"],
        ),
        (
            ROW | {"tests": "failed", "failed": "1 failed"},
            ["failed", "2 of 2", "2 of 2", "2 of 2"],
        ),
    ],
)
def test_the_table_counts_chapters(row, cells):
    assert last_row(versions.results({"3.12 newest": row})) == [
        "3.12 newest",
        *cells,
    ]


def last_row(table):
    return [cell.strip() for cell in table.splitlines()[-1][1:-1].split("|")]


def test_the_other_table_shows_the_versions():
    line = last_row(versions.packages({"3.12 newest": ROW}))
    versions_found = ["1.2"] * len(versions.SHOWN)
    wanted = ["3.12 newest", "3.12.1", *versions_found, "2026-11-22"]
    assert line == wanted


def test_a_row_that_could_not_be_set_up_says_so():
    rows = {"3.13 newest": {"date": "2026-11-22", "error": "No Python 3.13"}}
    assert "could not be set up" in last_row(versions.results(rows))
    for table in (versions.results(rows), versions.packages(rows)):
        header, _, line = table.splitlines()
        assert line.count("|") == header.count("|")
    assert "No Python 3.13" in versions.findings(rows)


def test_the_findings_show_what_differed_and_what_stopped():
    assert versions.findings({"3.12 newest": ROW}).startswith("Nothing")
    for chapter, said in (
        (DIFFERENT, "-0.5\n+0.6"),
        (RANDOM, "-0.7\n+0.8"),
        (STOPPED, STOPPED["error"]),
    ):
        text = versions.findings({"3.12 newest": with_chapter(chapter)})
        assert "[02-b](../chapters/02-b.ipynb)" in text
        assert said in text
        assert "01-a" not in text


def test_a_row_is_kept_beside_the_others(tmp_path):
    (tmp_path / "book").mkdir()
    assert versions.read(tmp_path) == {}
    matrix.keep(tmp_path, "3.12 newest", ROW)
    matrix.keep(tmp_path, "3.11 locked", ROW)
    matrix.keep(tmp_path, "3.12 newest", with_chapter(STOPPED))
    rows = versions.read(tmp_path)
    assert [*rows] == ["3.11 locked", "3.12 newest"]
    assert rows == {"3.11 locked": ROW, "3.12 newest": with_chapter(STOPPED)}
    names = [path.name for path in (tmp_path / "book").iterdir()]
    assert names == ["versions.json"]


def test_the_books_own_file_is_about_its_rows_and_chapters(root):
    rows = versions.read(root)
    assert set(rows) <= set(matrix.ROWS)
    stems = {path.stem for path in CHAPTERS}
    for row in rows.values():
        assert set(row.get("chapters", {})) <= stems
    text = json.dumps(rows, indent=1) + "\n"
    assert (root / versions.FILE).read_text("utf-8") == text


@pytest.fixture
def environment(tmp_path, monkeypatch) -> Path:
    """The Python of an environment, and a book of one chapter beside it."""
    folder = tmp_path / "_build" / "matrix" / "row" / "bin"
    folder.mkdir(parents=True)
    for name in ("python", "jupyter-execute"):
        real = Path(sys.executable).with_name(name)
        (folder / name).write_text(f'#!/bin/sh\nexec "{real}" "$@"\n')
        (folder / name).chmod(0o755)
    (tmp_path / "chapters").mkdir()
    (tmp_path / "book").mkdir()
    monkeypatch.setattr(matrix, "ROOT", tmp_path)
    monkeypatch.setattr(matrix, "cached", executed_before)
    monkeypatch.setenv("VITEDU_BUILD", "")
    return folder / "python"


def executed_before(path):
    return printed("1\n")


def chapter(environment, code):
    path = environment.parents[4] / "chapters" / "01-a.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(code, id="c")]), path)
    return path


@pytest.fixture
def quick(monkeypatch) -> list:
    """Executes no notebook: what the n-th one shows is n."""
    executed = []

    def call(*command):
        words = [str(part) for part in command]
        if "uv" in words:
            return ""
        executed.append(words[-1])
        part = words[1].removeprefix("--output=")
        nbformat.write(printed(f"{len(executed)}\n"), part)
        return ""

    monkeypatch.setattr(matrix, "call", call)
    return executed


def test_each_run_of_a_chapter_is_compared(environment, quick):
    path = chapter(environment, "print(1)")
    first = matrix.try_chapter(environment, path, "torch==1", 1)
    assert first == {"runs": 1, "again": [], "site": []}
    second = matrix.try_chapter(environment, path, "torch==1", 2)
    assert second["again"][-2:] == ["-1", "+2"]
    assert quick == [str(path)] * 2  # the first run was not repeated
    other = matrix.try_chapter(environment, path, "torch==2", 1)
    assert other["site"][-2:] == ["-1", "+3"]
    changed = chapter(environment, "print(2)")
    matrix.try_chapter(environment, changed, "torch==2", 1)
    assert len(quick) == 4


def test_a_chapter_that_stops_is_written_down(environment):
    path = chapter(environment, "assert False, 'the claim is wrong'")
    found = matrix.try_chapter(environment, path, "torch==1", 2)
    assert list(found) == ["error"]
    assert "AssertionError: the claim is wrong" in found["error"]
    assert versions.verdict(found) == "stopped"


def test_a_row_that_fails_does_not_stop_the_next(
    environment, quick, monkeypatch, capsys
):
    def set_up(name):
        if name == "3.11 lowest":
            raise matrix.Failure("No solution found")
        content = "\n".join(f"{name}==1.2" for name in versions.SHOWN)
        return environment, f"Python 3.11.7\n{content}"

    def run_tests(python):
        raise matrix.Failure("1 failed, 6 passed")

    chapter(environment, "print(1)")
    monkeypatch.setattr(matrix, "set_up", set_up)
    monkeypatch.setattr(matrix, "run_tests", run_tests)
    names = ["3.11 lowest", "3.11 newest"]
    assert matrix.main(["--only", *names, "--runs", "1"]) == 2
    rows = versions.read(matrix.ROOT)
    assert os.environ["VITEDU_BUILD"] == "1"
    assert rows["3.11 lowest"]["error"] == "No solution found"
    assert rows["3.11 newest"]["python"] == "3.11.7"
    assert rows["3.11 newest"]["failed"] == "1 failed, 6 passed"
    assert rows["3.11 newest"]["chapters"] == {"01-a": SAME | {"runs": 1}}
    out = capsys.readouterr().out
    assert "3.11 newest: 01-a: the same text" in out
    assert out.endswith(versions.results(rows) + "\n")


def test_the_tests_are_counted(environment, monkeypatch):
    said = (
        "....s\n= warnings summary =\n4 passed, 1 skipped, 3 warnings in 5s\n"
    )
    monkeypatch.setattr(matrix, "call", lambda *command: said)
    assert matrix.run_tests(environment) == "4 passed, 1 skipped"


def test_the_tests_that_run_are_there(root):
    files = [root / f"tests/test_{name}.py" for name in matrix.TESTS.split()]
    assert [path for path in files if not path.exists()] == []


def test_without_uv_nothing_is_tried(environment, monkeypatch):
    def fail(*command):
        raise matrix.Failure("No module named uv")

    monkeypatch.setattr(matrix, "call", fail)
    with pytest.raises(matrix.Failure, match="No module named uv"):
        matrix.main([])
    assert versions.read(matrix.ROOT) == {}


def test_the_end_of_an_error_is_plain_and_names_no_folder(monkeypatch):
    text = "\n".join(f"line {n}" for n in range(30))
    text += f"\n\x1b[31m{matrix.ROOT}/chapters/01-a.ipynb\x1b[0m failed\n\n"
    lines = matrix.last_lines(text).splitlines()
    assert len(lines) == matrix.ERROR_LINES
    assert lines[-1] == "chapters/01-a.ipynb failed"


def test_a_command_that_takes_too_long_is_a_failure(monkeypatch):
    def run(*arguments, **options):
        raise subprocess.TimeoutExpired("jupyter-execute", options["timeout"])

    monkeypatch.setattr(matrix.subprocess, "run", run)
    with pytest.raises(matrix.Failure, match="timed out after 3600 seconds"):
        matrix.call("jupyter-execute")
