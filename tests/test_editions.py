"""The editions for a class: what students get gives nothing away."""

import ast
import re
import subprocess
import sys
import zipfile

import nbformat
import pytest
from chapter_files import CHAPTERS
from vitedu_book.teaching import DEEPER

from tools import editions
from tools.assignment import ASKED

NAMES = [path.stem for path in CHAPTERS]
NOTEBOOKS = editions.chapters()
each_chapter = pytest.mark.parametrize("name", NAMES)


def code(notebook):
    return [c.source for c in notebook.cells if c.cell_type == "code"]


def prose(notebook):
    return "\n\n".join(
        cell.source for cell in notebook.cells if cell.cell_type == "markdown"
    )


def exercises(notebook):
    return editions.EXERCISE.findall(prose(notebook))


@each_chapter
def test_students_get_exercises_and_hints_but_no_solutions(name):
    edition = editions.student(NOTEBOOKS[name])
    nbformat.validate(edition)
    assert exercises(edition) == exercises(NOTEBOOKS[name]) != []
    assert "{admonition} Solution" not in prose(edition)
    hints = [source for source in code(edition) if source.endswith(".hints")]
    assert len(hints) == len(exercises(edition))
    assert not any("must_accept" in source for source in code(edition))
    assert all(cell.source for cell in edition.cells)
    kept = {cell.id for cell in edition.cells}
    for cell in NOTEBOOKS[name].cells:
        is_told = cell.source.startswith("```{admonition} Solution")
        gone = editions.is_solution(cell) or is_told
        assert (cell.id not in kept) == gone


def run_exercises(sources, folder):
    """Run what the exercises need of a chapter; return their verdicts."""
    space, verdicts = {"folder": folder}, []
    for source in sources:
        for node in ast.parse(source).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), "import", "exec"), space)
    for source in sources:
        if ASKED.search(source):
            tree = ast.parse(source)
            last = tree.body.pop()
            exec(compile(tree, "exercise", "exec"), space)
            if isinstance(last, ast.Expr):
                answer = compile(ast.Expression(last.value), "last", "eval")
                verdicts.append(eval(answer, space))
    return verdicts


@each_chapter
def test_the_checks_of_a_student_edition_say_not_yet(name, tmp_path):
    edition = editions.student(NOTEBOOKS[name])
    verdicts = [
        verdict
        for verdict in run_exercises(code(edition), tmp_path)
        if hasattr(verdict, "right")
    ]
    assert len(verdicts) == len(exercises(edition))
    assert not any(verdicts)


@each_chapter
def test_teachers_get_open_solutions_and_the_usual_mistakes(name):
    edition = editions.make("instructor", name, NOTEBOOKS[name])
    nbformat.validate(edition)
    cells = edition.cells
    solutions = [i for i, c in enumerate(cells) if editions.is_solution(c)]
    assert len(solutions) == len(exercises(edition))
    assert "dropdown solution" not in prose(edition)
    for place in solutions:
        assert "hide-cell" not in cells[place].metadata.get("tags", [])
        note = cells[place + 1].source
        assert note.startswith("**For teachers.**")
        assert note.count("\n- ") >= 4


@each_chapter
def test_teachers_read_under_each_heading_what_to_say_and_how_long(name):
    edition = prose(editions.make("instructor", name, NOTEBOOKS[name]))
    parts = editions.sections(NOTEBOOKS[name])
    minutes = {part.title: max(1, round(part.minutes)) for part in parts}
    found = re.findall(
        r"^## (.+)\n\n> \*\*For teachers \((\d+) (minutes?)\):\*\* .+[.]$",
        edition,
        re.MULTILINE,
    )
    titles = editions.HEADING.findall(prose(NOTEBOOKS[name]))
    silent = {"Exercises", "What to remember"}
    guide = editions.guide_to(name, str)
    assert [title for title, *_ in found] == [
        title
        for title in titles
        if title not in silent
        and (not title.startswith(DEEPER) or title in guide["say"])
    ]
    for title, number, unit in found:
        assert int(number) == minutes[title]
        assert unit == ("minute" if number == "1" else "minutes")


def printed_in(folder, program):
    """Run a program with nothing but what lies in a folder."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=True,
        env={"PYTHONPATH": str(folder), "PYTHONIOENCODING": "utf-8"},
    )
    return done.stdout


def test_the_zip_holds_what_a_class_needs(tmp_path):
    target = tmp_path / "book.zip"
    editions.pack(target)
    assert [path.name for path in tmp_path.iterdir()] == ["book.zip"]
    with zipfile.ZipFile(target) as archive:
        archive.extractall(tmp_path / "class")
    folder = tmp_path / "class"
    notebooks = sorted((folder / "chapters").iterdir())
    assert [path.stem for path in notebooks] == NAMES
    for path in notebooks:
        notebook = nbformat.read(path, as_version=4)
        assert code(notebook) == code(editions.student(NOTEBOOKS[path.stem]))
        assert "CC BY 4.0" in notebook.cells[-1].source
    assert "pip install" in (folder / "START-HERE.md").read_text()
    assert "MIT License" in (folder / "LICENSE").read_text()
    assert "Attribution 4.0" in (folder / "LICENSE-text").read_text()
    probe = (
        "import vitedu, experiments.transfer as t, experiments.runs as r;"
        "from vitedu.widgets import SoftmaxScaling;"
        "print(vitedu.__file__, len(r.read_runs(t.RESULT)), SoftmaxScaling())"
    )
    assert str(folder) in printed_in(folder, probe)


IN_CHINESE = re.compile("[\u4e00-\u9fff]")


@each_chapter
def test_teachers_get_all_of_it_in_chinese(name):
    edition = editions.make("instructor", name, NOTEBOOKS[name], "zh")
    nbformat.validate(edition)
    english = editions.make("instructor", name, NOTEBOOKS[name])
    assert len(edition.cells) == len(english.cells)
    pairs = zip(edition.cells, english.cells, strict=True)
    notes = [
        (one.source, other.source)
        for one, other in pairs
        if other.source.startswith("**For teachers.**")
    ]
    assert len(notes) > 1
    for one, other in notes:
        assert one.startswith("**教师注释**")
        assert one.count("\n- ") == other.count("\n- ")
        assert all(map(IN_CHINESE.search, one.split("\n\n")))
    minutes = r"^> \*\*{}(\d+)"
    said, wanted = (
        re.findall(minutes.format(words), prose(book), re.MULTILINE)
        for words, book in (
            ("教师注释（", edition),
            (r"For teachers \(", english),
        )
    )
    assert said == wanted
    guide = editions.guide_to(name, str)
    texts = [*guide["say"].values(), *guide["goals"], *guide["goes_wrong"]]
    for text in texts + guide["discuss"]:
        assert text not in prose(edition)
    assert 'notebook.set_up(language="zh")' in "\n".join(code(edition))
    for one, other in zip(code(english), code(edition), strict=True):
        other = other.replace('set_up(language="zh")', "set_up()")
        assert ast.dump(ast.parse(other)) == ast.dump(ast.parse(one))
    comments = re.findall(r"(?<=# ).*", "\n".join(code(edition)))
    assert sum(map(bool, map(IN_CHINESE.search, comments))) > 3
