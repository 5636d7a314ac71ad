"""The page that plans a path: its lists, which fold without a script."""

import re

import pytest
from bs4 import Tag
from pages import ROOT, parsed
from vitedu_book import paths

BOOK = paths.read_paths(ROOT)
LINK = re.compile(r"\.\./chapters/(\d\d)-[a-z-]+\.html#?(.*)")


@pytest.fixture
def page(site) -> Tag:
    """The page as it was built."""
    return parsed(site.folder / "book/paths.html")


def place(href):
    """Return the chapter and the heading that a link of the page leads to."""
    number, anchor = LINK.fullmatch(href).groups()
    return int(number), anchor


def expected(section):
    number = paths.chapter_of(section)
    first = next(n for n in BOOK.minutes if paths.chapter_of(n) == number)
    return number, "" if section == first else section.partition("#")[2]


def test_each_goal_and_time_has_its_list(page):
    for goal in BOOK.goals:
        anchor = goal.title.lower().replace(" ", "-")
        boxes = page.select(f"#{anchor} details")
        for box, budget in zip(boxes, BOOK.budgets, strict=True):
            assert not box.has_attr("open")
            assert f"In {budget} minutes" in box.summary.get_text()
            plan = BOOK.plan(goal, budget)
            lines = box.select("li li")
            links = [a["href"] for line in lines for a in line.select("a")]
            assert [*map(place, links)] == [*map(expected, plan)]
            for line, name in zip(lines, plan, strict=True):
                text, end = line.get_text().strip(), BOOK.minutes[name]
                assert re.fullmatch(rf".{{6,}}, {end} min", text)


def test_the_table_says_what_each_chapter_needs(page):
    rows = page.select("#which-chapter-needs-which tbody tr")
    for row, chapter in zip(rows, BOOK.chapters.values(), strict=True):
        _, *cells = (cell.get_text() for cell in row.select("td"))
        for text, numbers in zip(
            cells, (chapter.needs, chapter.helps), strict=True
        ):
            assert [*map(int, re.findall(r"\d+", text))] == [*numbers]
