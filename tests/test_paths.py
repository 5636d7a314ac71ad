"""The paths: what fits is taken, with what it needs, in order."""

import json
import re

import pytest
from chapter_files import CHAPTERS, ROOT, read
from nbformat import write
from nbformat.v4 import new_markdown_cell, new_notebook
from vitedu_book import paths
from vitedu_book.paths import chapter_of

from tools.reading import ALLOWANCES

BOOK = paths.read_paths(ROOT)
MINUTES = BOOK.minutes
PLANS = [
    pytest.param(
        goal, budget, BOOK.plan(goal, budget), id=f"{number}-{budget}"
    )
    for number, goal in enumerate(BOOK.goals)
    for budget in BOOK.budgets
]
each_plan = pytest.mark.parametrize(("goal", "budget", "plan"), PLANS)


@each_plan
def test_a_plan_fills_the_time_and_no_more(goal, budget, plan):
    total = sum(MINUTES[section] for section in plan)
    assert 0.7 * budget <= total <= budget
    assert goal.sections[0] in plan or budget == 15


@each_plan
def test_what_a_section_needs_stands_before_it(goal, budget, plan):
    order = [*MINUTES]
    assert plan == sorted(set(plan), key=order.index)
    for section in plan:
        number = chapter_of(section)
        for other in (*BOOK.chapters[number].needs, number):
            if other in goal.knows:
                continue
            for core in BOOK.chapters[other].core:
                if order.index(core) < order.index(section):
                    assert plan.index(core) < plan.index(section)
        # A chapter that is needed comes earlier, so the line above saw it.
        assert all(other < number for other in BOOK.chapters[number].needs)


@each_plan
def test_more_time_loses_nothing_important(goal, budget, plan):
    first = goal.sections[:3]
    if budget > 15:
        assert set(first) <= set(plan)


def test_the_paths_hold_nearly_all_of_the_book():
    reached = {name for g in BOOK.goals for name in BOOK.plan(g, 240)}
    assert len(reached) > 0.85 * len(MINUTES)


def test_the_sections_are_those_of_the_chapters():
    assert {chapter_of(section) for section in MINUTES} == {
        int(path.stem[:2]) for path in CHAPTERS
    }
    assert all(minutes >= 1 for minutes in MINUTES.values())


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_needs_are_those_that_the_first_screen_names(path):
    chapter = BOOK.chapters[int(path.stem[:2])]
    facts = re.search(r"^\*\d+ minutes?\*.*", _first(path), re.M)[0]
    needs, _, helps = facts.partition(" · easier after ")
    for said, wanted in ((needs, chapter.needs), (helps, chapter.helps)):
        found = re.findall(r"\[([^]]+)\]\(([^)]+)\)", said)
        assert found == [
            (_title(other), f"{BOOK.chapters[other].name}.ipynb")
            for other in wanted
        ]


def _title(number):
    """Return the title of a chapter as others call it, up to a colon."""
    path = CHAPTERS[number - 1]
    title = _first(path).partition("\n")[0].removeprefix("# ")
    return title.partition(":")[0]


def _first(path):
    return read(path).cells[0].source


TINY = """
minutes: [5]
chapters:
  1: {core: [a, b]}
  2: {needs: [1], core: [c]}
  3: {needs: [2], core: [e]}
goals:
  - {title: T, assumed: "A.", knows: [], sections: [2#d, 1#x-y-s, 3]}
  - {title: U, assumed: "A.", knows: [1], sections: [2#d, 3, 1#x-y-s]}
"""
# In the order of reading.
FEW = {
    "01-one": {"a": 1, "x-y-s": 3.4, "b": 2},
    "02-two": {"c": 0.2, "d": 4},
    "03-three": {"e": 1, "f": 1, "exercises": 9},
}


def tiny(tmp_path, text=TINY, other_names=None):
    boxes = {
        chapter: {(other_names or {}).get(n, n): m for n, m in found.items()}
        for chapter, found in FEW.items()
    }
    for folder in ("book", "chapters"):
        (tmp_path / folder).mkdir(parents=True)
    for name, found in boxes.items():
        headings = ("X_y's?" if n == "x-y-s" else n for n in found)
        lines = "\n".join(f"## {heading}" for heading in headings)
        cells = [new_markdown_cell(lines)]
        write(new_notebook(cells=cells), tmp_path / f"chapters/{name}.ipynb")
    (tmp_path / paths.YAML).write_text(text)
    boxes = {name: {"sections": found} for name, found in boxes.items()}
    (tmp_path / paths.TIMES).write_text(json.dumps({"chapters": boxes}))
    return paths.read_paths(tmp_path)


def test_a_section_brings_what_it_needs(tmp_path):
    book = tiny(tmp_path)
    first, second = book.goals
    assert book.with_needs("2#d", ()) == {"1#a", "1#b", "2#c", "2#d"}
    assert book.with_needs("2#d", (1,)) == {"2#c", "2#d"}
    assert book.with_needs("1#x-y-s", ()) == {"1#a", "1#x-y-s"}
    assert book.plan(first, 8) == ["1#a", "1#b", "2#c", "2#d"]
    assert book.plan(first, 7) == ["1#a", "1#x-y-s"]
    assert book.plan(first, 5) == ["1#a", "1#x-y-s"]
    assert book.plan(first, 3) == []
    assert book.plan(second, 5) == ["2#c", "2#d"]
    assert book.plan(second, 7) == ["2#c", "2#d", "3#e", "3#f"]
    assert book.plan(second, 10) == ["1#x-y-s", "2#c", "2#d", "3#e", "3#f"]
    assert "3#exercises" not in first.sections


@pytest.mark.parametrize(
    ("old", "new"), [("2#d", "2#gone"), ("core: [c]", "core: [gone]")]
)
def test_a_section_that_is_not_there_is_named(tmp_path, old, new):
    with pytest.raises(ValueError, match="there is no section '2#gone'"):
        tiny(tmp_path, TINY.replace(old, new, 1))


def test_deeper_sections_come_after_the_others_and_nothing_needs_them(
    tmp_path,
):
    few = {"d": "deeper-d", "e": "deeper-e"}
    text = TINY.replace("core: [e]", "core: [f]").replace("2#d", "2#deeper-d")
    book = tiny(tmp_path, text, few)
    assert book.goals[0].sections[-2:] == ("3#f", "3#deeper-e")
    with pytest.raises(ValueError, match="nothing may need '3#deeper-e'"):
        tiny(tmp_path / "other", text.replace("[f]", "[deeper-e]"), few)


def test_the_lists_are_written_as_markdown(tmp_path):
    book = tiny(tmp_path)
    one, two, three = (
        f"../chapters/{name}.ipynb"
        for name in ("01-one", "02-two", "03-three")
    )
    assert paths.by_goal(book) == (
        f"""## T

Assumed known: A.

:::{{dropdown}} In 5 minutes
- []({one})
  - [First screen]({one}), 1 min
  - []({one}#x_ys), 3 min
:::

## U

Assumed known: A.

:::{{dropdown}} In 5 minutes
- []({two})
  - [First screen]({two}), 1 min
  - []({two}#d), 4 min
:::
"""
    )
    assert paths.what_is_needed(book).splitlines()[2:] == [
        f"| []({one}) |  |  |",
        f"| []({two}) | [1]({one}) |  |",
        f"| []({three}) | [2]({two}) |  |",
    ]


def test_the_rules_are_on_the_page_that_explains_them():
    def said(seconds):
        if seconds < 1:
            return f"1/{60 / seconds:.0f} min"
        return f"{seconds} s" if seconds < 60 else f"{seconds // 60} min"

    page = (ROOT / "book" / "how-to-use.md").read_text(encoding="utf-8")
    table = page.partition("| What | Time for one |\n|---|---|\n")[2]
    rows = table.partition("\n\n")[0].splitlines()
    assert rows == [
        f"| {name} | {said(seconds)} |" for name, seconds in ALLOWANCES.items()
    ]
