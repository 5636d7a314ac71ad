"""The time box of each chapter says what was measured."""

from pathlib import Path

import nbformat
import pytest
from chapter_files import CHAPTERS, ROOT, read
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tools import time_boxes
from tools.reading import FACTS

each_chapter = pytest.mark.parametrize(
    "path", CHAPTERS, ids=lambda path: path.stem
)
BOXES = time_boxes.read(ROOT)
OLD = "*1 minutes* · runs in 3 s"
NEEDS = " · needs nothing"


def test_every_chapter_has_its_box():
    assert [*BOXES["chapters"]] == [path.stem for path in CHAPTERS]


@each_chapter
def test_a_chapter_says_what_the_file_says(path):
    box = BOXES["chapters"][path.stem]
    source = read(path).cells[0].source
    assert FACTS.findall(source) == [time_boxes.facts(box)]


@each_chapter
def test_the_minutes_are_those_of_the_chapter_as_it_is(path):
    box, now = BOXES["chapters"][path.stem], time_boxes.reading(read(path))
    assert [*box["sections"]] == [*now["sections"]]
    for kind in ("reading", "deeper", "exercises"):
        assert box[kind] == pytest.approx(now[kind], rel=0.1, abs=0.5)
    apart = box["sections"]["exercises"]
    total = sum(box["sections"].values()) - apart
    assert box["reading"] + box["deeper"] == pytest.approx(total, abs=1.5)
    assert box["exercises"] == pytest.approx(apart, abs=0.5)


@each_chapter
def test_the_runs_have_been_measured(path):
    box = BOXES["chapters"][path.stem]
    assert 1 < box["seconds"] < 900


@pytest.mark.parametrize(
    ("box", "said"),
    [
        (
            {"reading": 24, "deeper": 19, "exercises": 16, "seconds": 9.1},
            "*24 minutes* · 19 more in deeper sections · 16 for exercises · "
            "runs in 10 s",
        ),
        (
            {"reading": 1, "deeper": 0, "exercises": 0, "seconds": 3},
            "*1 minute* · runs in 3 s",
        ),
    ],
)
def test_the_facts_round_up_and_leave_out_what_is_not_there(box, said):
    assert time_boxes.facts(box) == said
    assert FACTS.fullmatch(said)


def test_deeper_sections_and_exercises_are_apart():
    titles = ("# 1. A", "## Deeper: why?", "## B", "## Deeper: c")
    cells = [new_markdown_cell(f"{t}\n\n{'word ' * 350}") for t in titles]
    cells.append(new_markdown_cell("## Exercises"))
    cells.append(new_markdown_cell("**Exercise 1.1: predict.**"))
    found = time_boxes.reading(new_notebook(cells=cells))
    assert (found["reading"], found["deeper"], found["exercises"]) == (4, 4, 4)
    names = ["a", "deeper-why", "b", "deeper-c", "exercises"]
    assert [*found["sections"]] == names


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A book of one chapter."""
    code = (
        "import os, time\n"
        "assert os.environ['VITEDU_BUILD'] == '1'\n"
        "time.sleep(0.4)\n"
    )
    notebook = new_notebook(
        cells=[
            new_markdown_cell(f"# 1. A\n\n{OLD}{NEEDS}\n\nMore.", id="title"),
            new_code_cell(code, id="code"),
            new_markdown_cell("## Exercises", id="ask"),
            new_markdown_cell("**Exercise 1.1: predict.**", id="ask-1"),
        ]
    )
    (tmp_path / "chapters").mkdir()
    (tmp_path / "book").mkdir()
    nbformat.write(notebook, tmp_path / "chapters" / "01-a.ipynb")
    return tmp_path


def test_a_chapter_is_run_and_its_box_written(book, monkeypatch, capsys):
    monkeypatch.setenv("VITEDU_BUILD", "")
    time_boxes.measure(book)
    assert capsys.readouterr().out.startswith("01-a {")
    box = time_boxes.read(book)["chapters"]["01-a"]
    assert box["exercises"] == 4
    assert 0.4 < box["seconds"] < 60
    path = book / "chapters" / "01-a.ipynb"
    cells = read(path).cells
    line = f"\n{time_boxes.facts(box)}{NEEDS}\n"
    assert OLD not in line
    assert line in cells[0].source
    assert cells[1].outputs == []
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_one_chapter_is_run_and_the_others_stay(book):
    others = {"00-never-run": {"seconds": 3}}
    time_boxes.write(book, {"cores": 4}, others)
    time_boxes.measure_one(book, "01-a")
    found = time_boxes.read(book)
    box = found["chapters"].pop("01-a")
    assert found == {"cores": 4, "chapters": others}
    assert 0.4 < box["seconds"] < 60
    first = read(book / "chapters" / "01-a.ipynb").cells[0]
    assert f"\n{time_boxes.facts(box)}{NEEDS}\n" in first.source
    with pytest.raises(ValueError, match="of a chapter, got '01-b'"):
        time_boxes.measure_one(book, "01-b")


def test_reading_is_refreshed_without_a_run(book, monkeypatch):
    old = {"seconds": 3}
    time_boxes.write(book, {"cores": 2}, {"01-a": old})
    monkeypatch.setattr(time_boxes, "run", None)
    time_boxes.refresh(book)
    new = time_boxes.read(book)["chapters"]["01-a"]
    assert old.items() <= new.items()
    assert new["exercises"] == 4
    before = (book / time_boxes.FILE).read_bytes()
    time_boxes.refresh(book)
    assert (book / time_boxes.FILE).read_bytes() == before


def test_a_chapter_that_was_never_run_is_named(book):
    time_boxes.write(book, {"cores": 2}, {})
    with pytest.raises(ValueError, match="01-a must have been run"):
        time_boxes.refresh(book)


def test_a_chapter_without_the_line_is_named(book):
    path = book / "chapters" / "01-a.ipynb"
    path.write_text(path.read_text().replace(OLD, "One minute"))
    with pytest.raises(ValueError, match=r"01-a.ipynb must have one .* 0"):
        time_boxes.state(path, OLD)


def test_another_option_is_refused():
    for options in (("--all",), ("01-a", "02-b")):
        with pytest.raises(SystemExit, match="the only option is --reading"):
            time_boxes.main(*options)
