"""The paths: what fits is taken, with what it needs, in order."""

import re

import pytest
from test_notebooks import CHAPTERS, ROOT, read
from vitedu_book import chapter_map, paths
from vitedu_book.paths import BadPaths, Chapter, chapter_of

from tools.reading import ALLOWANCES

MINUTES = paths.read_minutes(ROOT / paths.TIMES)
BOOK = paths.read_paths(ROOT / paths.YAML, MINUTES)
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


def test_a_section_is_on_a_path_or_said_to_be_on_none():
    reached = {name for g in BOOK.goals for name in BOOK.plan(g, 240)}
    assert BOOK.on_no_path() == [n for n in MINUTES if n not in reached]
    assert len(reached) > 0.85 * len(MINUTES)


def test_the_sections_are_those_of_the_chapters():
    assert {chapter_of(section) for section in MINUTES} == {
        int(path.stem[:2]) for path in CHAPTERS
    }
    assert all(minutes >= 1 for minutes in MINUTES.values())


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_needs_are_those_that_the_first_screen_names(path):
    chapter = BOOK.chapters[int(path.stem[:2])]
    text = read(path).cells[0].source
    said = re.search(r"\*\*You need:\*\* (.*?) \*\*Time:\*\*", text)[1]
    named = re.findall(r"\d+", re.sub(r"\]\([^)]*\)", "", said))
    assert {*map(int, named)} == {*chapter.needs, *chapter.helps}


TINY = """
minutes: [5]
chapters:
  1: {core: [a, b]}
  2: {needs: [1], core: [c]}
  3: {needs: [2], core: [e]}
goals:
  - {title: T, assumed: "A.", knows: [], sections: [2#d, 1#x, 3]}
  - {title: U, assumed: "A.", knows: [1], sections: [2#d, 3, 1#x]}
"""
# In the order of reading.
FEW = {"1#a": 1, "1#x": 3, "1#b": 2, "2#c": 1, "2#d": 4, "3#e": 1, "3#f": 1}
FEW |= {"3#exercises": 9}


def tiny(tmp_path, text=TINY):
    file = tmp_path / "paths.yml"
    file.write_text(text)
    return paths.read_paths(file, FEW)


def test_a_section_brings_what_it_needs(tmp_path):
    book = tiny(tmp_path)
    first, second = book.goals
    assert book.with_needs("2#d", ()) == {"1#a", "1#b", "2#c", "2#d"}
    assert book.with_needs("2#d", (1,)) == {"2#c", "2#d"}
    assert book.with_needs("1#x", ()) == {"1#a", "1#x"}
    assert book.plan(first, 8) == ["1#a", "1#b", "2#c", "2#d"]
    assert book.plan(first, 7) == ["1#a", "1#x"]
    assert book.plan(first, 5) == ["1#a", "1#x"]
    assert book.plan(first, 3) == []
    assert book.plan(second, 5) == ["2#c", "2#d"]
    assert book.plan(second, 7) == ["2#c", "2#d", "3#e", "3#f"]
    assert book.plan(second, 10) == ["1#x", "2#c", "2#d", "3#e", "3#f"]
    assert "3#exercises" not in first.sections
    assert book.on_no_path() == ["1#b", "3#e", "3#f", "3#exercises"]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("2#d", "2#gone", r"goal 'T': there is no section '2#gone'"),
        ("[c]", "[gone]", r"chapter 2: there is no section '2#gone'"),
        ("core: [e]", "core: []", "chapter 3: its core must not be empty"),
        ("needs: [1]", "needs: [3]", "chapter 2: it can need .* earlier"),
        ("needs: [1]", "helps: [2]", "chapter 2: it can need .* earlier"),
        ("  3: {needs: [2], core: [e]}\n", "", "no section 3"),
        ("sections: [2#d, 1", "section: [2#d, 1", "KeyError"),
        ("minutes: [5]", "minutes: [", "ParserError"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, old, new, why):
    assert TINY.count(old) >= 1
    with pytest.raises(BadPaths, match=why):
        tiny(tmp_path, TINY.replace(old, new, 1))


def test_a_chapter_without_an_entry_is_named(tmp_path):
    text = TINY.replace("  3: {needs: [2], core: [e]}\n", "")
    with pytest.raises(BadPaths, match=r"it has the chapters \[1, 2\]"):
        tiny(tmp_path, text.replace(", 3", ""))


def test_an_arc_stands_for_a_need_that_is_not_implied():
    chapters = {
        1: Chapter(core=("1#a",)),
        2: Chapter(core=("2#a",), needs=(1,)),
        3: Chapter(core=("3#a",), needs=(1, 2)),
        4: Chapter(core=("4#a",), needs=(1, 3)),
    }
    assert chapter_map.all_needs(4, chapters) == {1, 2, 3}
    assert chapter_map.direct_needs(4, chapters) == [3]
    assert chapter_map.arcs(4, chapters).count('class="tip"') == 1
    assert chapter_map.arcs(1, chapters).count("<path") == 0


@pytest.mark.parametrize("number", BOOK.chapters)
def test_the_arcs_of_the_book_lose_no_need(number):
    """Following the arcs, one comes to all that a chapter needs."""
    found, ahead = set(), [number]
    while ahead:
        near = chapter_map.direct_needs(ahead.pop(), BOOK.chapters)
        ahead += [other for other in near if other not in found]
        found.update(near)
    assert found == chapter_map.all_needs(number, BOOK.chapters)


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
