"""Assignments: otter grades answers with the checks of the book."""

import ast
import copy
import csv
import importlib.util
import os
import subprocess
import sys

import nbformat
import pytest
from chapter_files import CHAPTERS
from nbclient import NotebookClient

from tools import assignment, editions, grade

NOTEBOOKS = editions.chapters()
NAME = "05-multi-head-attention"
each_chapter = pytest.mark.parametrize("name", [p.stem for p in CHAPTERS])


def graded_cells(notebook):
    return [cell for cell in notebook.cells if "otter" in cell.metadata]


@each_chapter
def test_every_exercise_has_its_test(name):
    notebook, tests = assignment.prepare(name, NOTEBOOKS[name])
    nbformat.validate(notebook)
    headings = "\n".join(cell.source for cell in notebook.cells)
    numbers = editions.EXERCISE.findall(headings)
    names = [f"exercise-{number.replace('.', '-')}" for number in numbers]
    assert list(tests) == names
    cells = graded_cells(notebook)
    assert [cell.metadata["otter"].tests for cell in cells] == [
        [test] for test in names
    ]
    for number, cell, source in zip(
        numbers, cells, tests.values(), strict=True
    ):
        call = cell.source.splitlines()[-1]
        assert f'name = "{number}"' in source
        assert f"verdict = {call}\n" in source
        assert f"import chapter_{name[:2]} as check" in source
        ast.parse(source)


@each_chapter
def test_nothing_else_in_the_chapter_passes_for_an_answer(name):
    notebook, _ = assignment.prepare(name, NOTEBOOKS[name])
    names = set()
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        if "otter" in cell.metadata:
            answer = assignment.ASKED.search(cell.source)[2]
            assert answer == "my_answer" or answer not in names
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(
                node.ctx, ast.Store
            ):
                names.add(node.id)
            elif isinstance(node, ast.ImportFrom) and node.module != "vitedu":
                names.update(
                    alias.asname or alias.name for alias in node.names
                )


def test_what_a_teacher_put_into_the_folder_stays(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/exercise-9-9.py").touch()
    (tmp_path / "submissions").mkdir()
    (tmp_path / "submissions/anna.ipynb").touch()
    assignment.write("05", tmp_path)
    assert (tmp_path / "submissions/anna.ipynb").exists()
    names = {path.name for path in (tmp_path / "tests").iterdir()}
    assert "exercise-9-9.py" not in names
    assert {"exercise-5-1.py", "exercise-5-2.py"} <= names
    assert {path.name for path in tmp_path.iterdir()} == {
        "tests",
        "submissions",
        f"{NAME}.ipynb",
        "otter_config.json",
    }


def imports(notebook):
    """Return a cell with all that a chapter imports."""
    lines = [
        ast.unparse(node)
        for cell in notebook.cells
        if cell.cell_type == "code"
        for node in ast.parse(cell.source).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return nbformat.v4.new_code_cell("\n".join(lines))


def submission(answers):
    """Hand in the exercises of a chapter, without its other cells.

    Args:
        answers: Number of an exercise -> what stands in its cell in the
            place of the book's own solution.
    """
    chapter = NOTEBOOKS[NAME]
    notebook, tests = assignment.prepare(NAME, chapter)
    solved = [c.source for c in chapter.cells if editions.is_solution(c)]
    cells = graded_cells(notebook)
    for test, cell, solution in zip(tests, cells, solved, strict=True):
        given = answers.get(test.removeprefix("exercise-"), solution)
        if given is solution:
            tree = ast.parse(solution)
            call = tree.body.pop().value
            answer = assignment.ASKED.search(cell.source)[2]
            value = ast.unparse(call.args[0])
            given = f"{ast.unparse(tree)}\n{answer} = {value}"
        cell.source = f"{given}\n{cell.source.splitlines()[-1]}"
    notebook.cells = [imports(chapter), *copy.deepcopy(cells)]
    return notebook


@pytest.fixture
def in_kernels(monkeypatch, root):
    monkeypatch.setenv(
        "PYTHONPATH", f"{root}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    )


# What a student's own Jupyter may have written into a notebook.
ELSEWHERE = {
    "missing": {"kernelspec": {"name": "conda-env", "display_name": "mine"}},
    "none": {},
    "R": {
        "kernelspec": {"name": "ir", "display_name": "R", "language": "R"},
        "language_info": {"name": "R", "mimetype": "text/x-r-source"},
    },
}


@pytest.mark.parametrize("metadata", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_notebook_runs_in_the_kernel_of_the_book(tmp_path, metadata):
    cells = [nbformat.v4.new_code_cell("import sys; print(sys.executable)")]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.write(notebook, tmp_path / "anna.ipynb")
    before = (tmp_path / "anna.ipynb").read_bytes()
    grade._in_our_kernel(tmp_path / "anna.ipynb", tmp_path / "copy.ipynb")
    assert (tmp_path / "anna.ipynb").read_bytes() == before
    copy = nbformat.read(tmp_path / "copy.ipynb", as_version=4)
    nbformat.validate(copy)
    NotebookClient(copy).execute()
    assert copy.cells[0].outputs[0].text.strip() == sys.executable


@pytest.mark.soak
@pytest.mark.usefixtures("in_kernels")
def test_otter_gives_the_points(tmp_path):
    if importlib.util.find_spec("otter") is None:
        assert not os.environ.get("CI"), "otter-grader is not installed"
        pytest.skip("otter-grader is not installed")
    assignment.write("05", tmp_path)
    (tmp_path / "submissions").mkdir()
    notebooks = {
        "anna": submission({}),
        "ben": submission({"5-1": "my_answer = 3 * 512**2"}),
        "cleo": editions.student(NOTEBOOKS[NAME]),
    }
    for name, kernel in (("anna", "missing"), ("ben", "R"), ("cleo", "none")):
        metadata = notebooks[name].metadata
        for key in ("kernelspec", "language_info"):
            metadata.pop(key, None)
        metadata.update(ELSEWHERE[kernel])
    for name, notebook in notebooks.items():
        nbformat.write(notebook, tmp_path / f"submissions/{name}.ipynb")
    grade.main(str(tmp_path))
    with (tmp_path / "grades.csv").open(encoding="utf-8") as file:
        anna, ben, cleo = csv.DictReader(file)
    exercises = {key for key in anna if key[0].isdigit()}
    assert exercises >= {"5.1", "5.2"}
    assert all(anna[number] == "1" for number in exercises)
    assert (anna["points"], anna["notes"]) == (str(len(exercises)), "")
    lost = {number for number in exercises if ben[number] != "1"}
    assert lost == {"5.1"}
    assert ben["5.1"] == "0"
    assert ben["points"] == str(len(exercises) - 1)
    assert ben["notes"] == (
        "5.1: that is queries, keys and values; the matrix after the heads "
        "is missing."
    )
    assert (cleo["points"], cleo["5.1"]) == ("", "")
    assert cleo["notes"].startswith("could not be graded: ")
    assert f"(this is assignment '{NAME}')" in cleo["notes"]


@pytest.mark.soak
@pytest.mark.usefixtures("in_kernels")
def test_the_progress_file_counts_without_otter(tmp_path):
    (tmp_path / "exercises-done.json").write_text("{}")
    handed_in = submission({"5-1": "my_answer = 3 * 512**2"})
    handed_in.metadata.update(ELSEWHERE["missing"])
    nbformat.write(handed_in, tmp_path / "ben.ipynb")
    command = (
        "nbconvert --execute --ExecutePreprocessor.kernel_name=python3 "
        "--allow-errors --to html ben.ipynb"
    )
    subprocess.run(
        [sys.executable, "-m", *command.split()],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    done = (tmp_path / "exercises-done.json").read_text()
    assert '"5.1": {"name": "parameters", "right": false' in done
    assert '"5.2": {"name": "multi head", "right": true' in done
    report = (tmp_path / "ben.html").read_text(encoding="utf-8")
    assert "the matrix after the heads is missing" in report


def test_a_grader_that_dies_without_a_word_is_reported(tmp_path, monkeypatch):
    def dies(folder, command, *rest):
        if command == "run":
            raise subprocess.CalledProcessError(-9, "otter", stderr="")

    monkeypatch.setattr(grade, "_otter", dies)
    for name in ("tests", "submissions"):
        (tmp_path / name).mkdir()
    (tmp_path / "submissions" / "anna.ipynb").write_text("{}")
    [row] = grade.grade(tmp_path)
    assert row["points"] == ""
    assert row["notes"] == "could not be graded: otter stopped with -9"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"metadata": 3}', "\xff"])
def test_what_is_no_notebook_is_reported(tmp_path, monkeypatch, text):
    monkeypatch.setattr(grade, "_otter", lambda *_: None)
    for name in ("tests", "submissions"):
        (tmp_path / name).mkdir()
    path = tmp_path / "submissions" / "anna.ipynb"
    path.write_text(text, encoding="latin-1")
    [row] = grade.grade(tmp_path)
    assert row["points"] == ""
    assert row["notes"].startswith("could not be graded: ")
