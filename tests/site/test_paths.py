"""The page that plans a path, as a reader uses it."""

import re

from pages import ROOT, read
from playwright.sync_api import expect
from vitedu_book import paths

PAGE = "book/paths.html"
BOOK = paths.read_paths(
    ROOT / paths.YAML, paths.read_minutes(ROOT / paths.TIMES)
)
TITLES = [goal.title for goal in BOOK.goals]


def listed(page, where=".vitedu-plans .vitedu-path"):
    """Return the sections that can be seen, with their minutes."""
    return page.locator(f"{where} li li").evaluate_all(
        """lines => lines.filter((line) => line.checkVisibility()).map(
          (line) => [line.querySelector("a").getAttribute("href"),
                     line.querySelector("span").textContent])"""
    )


def targets(sections):
    """Return the sections as a page links them, with their minutes."""
    first = {}
    for section in BOOK.minutes:
        first.setdefault(paths.chapter_of(section), section)
    return [
        (
            paths.chapter_of(name),
            "" if name in first.values() else name.partition("#")[2],
            f"{BOOK.minutes[name]} min",
        )
        for name in sections
    ]


def parsed(lines):
    """Return the same of lines that were read from the page."""
    found = []
    for href, minutes in lines:
        number, anchor = re.fullmatch(
            r"\.\./chapters/(\d\d)-[a-z-]+\.html#?(.*)", href
        ).groups()
        found.append((int(number), anchor, minutes.strip()))
    return found


def test_each_goal_and_time_has_its_list(open_page):
    page = open_page(PAGE, from_disk=True)
    for goal in BOOK.goals:
        page.get_by_label(goal.title, exact=True).check()
        for budget in BOOK.budgets:
            page.get_by_label(f"{budget} minutes", exact=True).check()
            plan = BOOK.plan(goal, budget)
            assert parsed(listed(page)) == targets(plan)
            total = sum(BOOK.minutes[section] for section in plan)
            said = page.locator(".vitedu-sums").inner_text()
            assert f"takes {total} minutes: {len(plan)} sections" in said
            name = page.get_by_text(f"{goal.title}, {budget} minutes.")
            expect(name).to_be_visible()


def test_the_keyboard_chooses(open_page):
    page = open_page(PAGE)
    page.get_by_label(TITLES[0], exact=True).focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    plan = BOOK.plan(BOOK.goals[1], BOOK.budgets[1])
    assert parsed(listed(page)) == targets(plan)
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.textContent")
    assert focused.startswith(f"{paths.chapter_of(plan[0])}. ")


def test_it_works_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.file_url(PAGE))
    assert page.locator(".vitedu-sums p:visible").count() == 1
    page.get_by_label("60 minutes", exact=True).check()
    page.get_by_label(TITLES[2], exact=True).check()
    expect(page.get_by_text(f"{TITLES[2]}, 60 minutes.")).to_be_visible()
    assert page.locator(".vitedu-plans .vitedu-path:visible").count() == 1
    context.close()


def test_every_link_leads_to_its_section(site):
    here = site.folder / PAGE
    links = [link for link in read(here).links if "/chapters/" in link]
    assert len({*links}) > 0.9 * len(BOOK.minutes)
    for link in links:
        path, _, anchor = link.partition("#")
        ids = read((here.parent / path).resolve()).ids
        assert not anchor or anchor in ids, link


def test_what_is_on_no_path_is_said(open_page):
    page = open_page(PAGE)
    where = "#what-the-paths-leave-out .vitedu-path"
    assert parsed(listed(page, where)) == targets(BOOK.on_no_path())


def test_the_map_has_a_box_for_each_chapter_and_a_table(open_page):
    page = open_page(PAGE, width=390)
    boxes = page.locator(".vitedu-map a")
    expect(boxes).to_have_count(len(BOOK.chapters))
    for box in boxes.all():
        size = box.bounding_box()
        assert size["x"] > 90
        assert size["x"] + size["width"] <= 390
        assert 40 <= size["height"] <= 52
    arcs = page.locator(".vitedu-map path").evaluate_all(
        "paths => paths.map((path) => path.getBoundingClientRect().left)"
    )
    assert min(arcs) > 0
    rows = page.locator("#which-chapter-needs-which tbody tr")
    for row, chapter in zip(rows.all(), BOOK.chapters.values(), strict=True):
        cells = row.locator("td").all_inner_texts()[1:]
        for text, numbers in zip(
            cells, (chapter.needs, chapter.helps), strict=True
        ):
            assert [*map(int, re.findall(r"\d+", text))] == [*numbers]


def test_a_chapter_in_focus_shows_its_arcs_alone(open_page):
    page = open_page(PAGE)
    line = page.locator(".vitedu-map > li").nth(12)
    opacity = "node => getComputedStyle(node).opacity"
    other = page.locator(".vitedu-map > li").nth(6).locator("path").first
    assert other.evaluate(opacity) == "1"
    line.locator("a").focus()
    assert line.locator("path").first.evaluate(opacity) == "1"
    assert float(other.evaluate(opacity)) < 0.5
