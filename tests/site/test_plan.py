"""The page that plans a path, as a reader uses it."""

import re

import pytest
from pages import ROOT
from playwright.sync_api import expect
from vitedu_book import paths

PAGE = "book/paths.html"
BOOK = paths.read_paths(ROOT)
LINK = re.compile(r"\.\./chapters/(\d\d)-[a-z-]+\.html#?(.*)")


def place(href):
    """Return the chapter and the heading that a link of the page leads to."""
    number, anchor = LINK.fullmatch(href).groups()
    return int(number), anchor


def expected(section):
    number = paths.chapter_of(section)
    first = next(n for n in BOOK.minutes if paths.chapter_of(n) == number)
    return number, "" if section == first else section.partition("#")[2]


@pytest.mark.parametrize("scripts", [True, False])
def test_each_goal_and_time_has_its_list(browser, site, scripts):
    context = browser.new_context(java_script_enabled=scripts)
    page = context.new_page()
    page.goto(site.file_url(PAGE))
    for goal in BOOK.goals:
        anchor = goal.title.lower().replace(" ", "-")
        for number, budget in enumerate(BOOK.budgets):
            box = page.locator(f"#{anchor} details").nth(number)
            lines = box.locator("li li")
            expect(lines.first).to_be_hidden()
            box.get_by_text(f"In {budget} minutes").click()
            expect(lines.first).to_be_visible()
            links = lines.locator("a").evaluate_all(
                "links => links.map((a) => a.getAttribute('href'))"
            )
            plan = BOOK.plan(goal, budget)
            assert [*map(place, links)] == [*map(expected, plan)]
            minutes = [f", {BOOK.minutes[name]} min" for name in plan]
            for text, end in zip(
                lines.all_inner_texts(), minutes, strict=True
            ):
                assert text.endswith(end)
                assert len(text) > len(end) + 5  # a heading, too
    context.close()


def test_the_table_says_what_each_chapter_needs(open_page):
    page = open_page(PAGE, width=390)
    rows = page.locator("#which-chapter-needs-which tbody tr")
    for row, chapter in zip(rows.all(), BOOK.chapters.values(), strict=True):
        cells = row.locator("td").all_inner_texts()[1:]
        for text, numbers in zip(
            cells, (chapter.needs, chapter.helps), strict=True
        ):
            assert [*map(int, re.findall(r"\d+", text))] == [*numbers]
