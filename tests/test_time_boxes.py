"""The times of a chapter: counted from its words, and measured."""

import re

import nbformat
import pytest
from chapter_files import CHAPTERS, ROOT, read
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from vitedu_book.reading import FACTS, WORDS, sections, words
from vitedu_book.teaching import slug

from tools import time_boxes

PAGE = (ROOT / "book/paths.md").read_text(encoding="utf-8")
OLD = "*1 minutes* · runs in 3 s"


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_says_how_long_it_takes(path):
    notebook = read(path)
    (said,) = FACTS.findall(notebook.cells[0].source)
    *minutes, seconds = map(int, re.findall(r"\d+", said))
    now = time_boxes.facts(sections(notebook), seconds)
    *counted, _ = map(int, re.findall(r"\d+", now))
    assert re.sub(r"\d+", "", said) == re.sub(r"\d+", "", now)
    # A sentence more or less needs no new count.
    assert minutes == pytest.approx(counted, rel=0.1, abs=1), now
    assert 1 < seconds < 900


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("| a | b |\n|---|---|\n| c | d e |", 5),
        ("{term}`a query <query>`", 2),
        ("(e-05)=\n\n[this](03-x.ipynb#y) one", 2),
        ('<p class="a b">one</p>', 1),
        (f"{OLD} · needs it\n\none", 1),
        ("if a < b and c > d", 6),
        ("here $a + b$ is\n\n$$\nc = d\n$$", 2),
        ("```{admonition} Solution\n:class: dropdown\nno\n```", 0),
        ("两个词 here", 1 + 3 / 1.55),
    ],
)
def test_words_are_what_is_read(text, count):
    assert words(text) == pytest.approx(count)


@pytest.fixture
def chapter(tmp_path):
    """A chapter of one word in the main line, but for its headings."""
    code = "import time\ntime.sleep(1.1)\n"
    cells = [
        new_markdown_cell(f"# 1. A\n\n{OLD} · needs nothing", id="title"),
        new_code_cell(code, id="code"),
        new_markdown_cell("## B `c`", id="b"),
        new_markdown_cell("word " * (2 * WORDS - 4), id="words"),
        new_markdown_cell(f"## Deeper: d?\n\n{'word ' * WORDS}", id="d"),
        new_markdown_cell("## Exercises\n\nHow to do them.", id="ask"),
        new_markdown_cell("**Exercise 1.1: predict.** How many?", id="ask-1"),
    ]
    path = tmp_path / "chapters/01-a.ipynb"
    path.parent.mkdir()
    nbformat.write(new_notebook(cells=cells), path)
    return path


def test_the_sections_have_the_names_that_the_site_gives_them(chapter):
    found = sections(read(chapter))
    assert [section.title for section in found] == [
        *("1. A", "B `c`", "Deeper: d?", "Exercises")
    ]
    names = [section.anchor for section in found]
    assert names == ["a", "b-c", "deeper-d", "exercises"]
    assert [section.deeper for section in found] == [False, False, True, False]


def test_a_chapter_is_run_and_its_times_are_written(chapter, monkeypatch):
    monkeypatch.setattr(time_boxes, "ROOT", chapter.parent.parent)
    monkeypatch.setenv("VITEDU_BUILD", "")
    start = "*2 minutes* · 1 more in deeper sections · 4 for exercises"
    time_boxes.main("--reading")
    said = f"{start} · runs in 3 s · needs nothing"
    assert said in read(chapter).cells[0].source
    time_boxes.main("01-a")
    cells = read(chapter).cells
    seconds = re.search(rf"{re.escape(start)} · runs in (\d+) s", str(cells))
    assert 1 < int(seconds[1]) < 60
    assert cells[1].outputs == []
    with pytest.raises(SystemExit, match="name a chapter, got '02-b'"):
        time_boxes.main("02-b")
    chapter.write_text(re.sub(r"\*2 min.*? s ", "", chapter.read_text()))
    with pytest.raises(ValueError, match=r"01-a.ipynb must have one .* 0"):
        time_boxes.main("01-a")


MINUTES = {
    f"{path.stem}.ipynb#{slug(section.title)}": section.minutes
    for path in CHAPTERS
    for section in sections(read(path))
}
LINK = re.compile(r"\]\(\.\./chapters/(.+?)\)")


@pytest.mark.parametrize("goal", PAGE.split("\n## ")[1:-1])
def test_a_list_to_read_takes_the_time_that_it_says(goal):
    found = re.search(r"takes (\d+) minutes, the sections in bold (\d+)", goal)
    for said, bold in zip(map(int, found.groups()), ("", "**"), strict=True):
        lines = re.findall(rf"^ +- {re.escape(bold)}.+$", goal, re.MULTILINE)
        taken = sum(MINUTES[LINK.search(line)[1]] for line in lines)
        assert taken == pytest.approx(said, rel=0.1, abs=3)


def test_the_table_says_what_each_chapter_needs():
    rows = PAGE.partition("|---|---|---|\n")[2].splitlines()
    for path, row in zip(CHAPTERS, rows, strict=True):
        first = read(path).cells[0].source
        facts = re.search(r"^\*\d+ min.*", first, re.MULTILINE)[0]
        needs, _, helps = facts.partition(" · easier after ")
        _, chapter, *cells, _ = row.split("|")
        assert LINK.search(chapter)[1] == path.name
        for said, cell in zip((needs, helps), cells, strict=True):
            assert LINK.findall(cell) == re.findall(r"\]\((.+?)\)", said)
