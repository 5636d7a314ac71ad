"""The guide for teachers, the plans by the minute, the list of exercises."""

import re

import pytest
from chapter_files import CHAPTERS, ROOT
from myst_parser.mdit_to_docutils.base import default_slugify
from vitedu_book.teaching import (
    DEEPER,
    EXERCISE,
    HEADING,
    KINDS,
    BadGuide,
    exercises_by_kind,
    guide_file,
    guide_to,
    prose,
    read_guide,
)

PLANS = {
    "half-day": 2,
    "one-day": 4,
    "three-sessions": 3,
    "two-sessions": 2,
    "four-sessions": 4,
    "ten-sessions": 10,
}
UNSAID = {"Exercises", "What to remember"}
SESSION = re.compile(
    r"^## ([^\n]+) \((\d+) minutes, (\d+) to spare\)\n(.+?)(?=^## )",
    re.M | re.S,
)
ROW = re.compile(r"^\| (\d+) to (\d+) \| (.+) \| (.+) \| (.+) \|$", re.M)
CLOCK = re.compile(r"(\d+):(\d+) to (\d+):(\d+)")
LINK = re.compile(r"\[([^]]+)\]\(\.\./\.\./chapters/([\w-]+)\.ipynb#?(.*?)\)")
WAYS = {"lecture", "pairs", "exercise", "quiz"}
each_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda p: p.stem)
each_plan = pytest.mark.parametrize("name", PLANS)


def sessions(name):
    text = (ROOT / f"book/teach/{name}.md").read_text(encoding="utf-8")
    return SESSION.findall(text)


@each_chapter
def test_a_guide_speaks_of_every_section_and_of_no_other(path):
    said = read_guide(guide_file(path))["say"]
    assert list(said) == [
        heading
        for heading in HEADING.findall(prose(path))
        # Of what folds it may say something.
        if heading not in UNSAID
        and (not heading.startswith(DEEPER) or heading in said)
    ]


@each_chapter
def test_a_guide_names_exercises_of_its_own_chapter(path):
    asked = {number for number, _, _ in EXERCISE.findall(prose(path))}
    named = guide_file(path).read_text(encoding="utf-8")
    assert set(re.findall(r"exercise (\d+\.\d+)", named)) <= asked


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- a", "it needs say, goals, goes_wrong, discuss"),
        ("goals: [", "while parsing"),
        (
            "{goals: [a], say: {b: c}, goes_wrong: [d], discuss: [e]}",
            "goals must have 3 to 5 entries, got 1",
        ),
        (
            "{goals: [a, b, c], say: [b], goes_wrong: [a, b, c],"
            " discuss: [a, b, c]}",
            "say has to name headings",
        ),
        (
            "{goals: [a, b, c], say: {b: ' '}, goes_wrong: [a, b, c],"
            " discuss: [a, b, c]}",
            "' ' is no sentence",
        ),
        (
            "{goals: [a, b, 3], say: {b: c}, goes_wrong: [a, b, c],"
            " discuss: [a, b, c]}",
            "3 is no sentence",
        ),
    ],
)
def test_a_file_that_is_no_guide_is_named(tmp_path, text, why):
    file = tmp_path / "05-x.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadGuide, match=re.escape(why)) as caught:
        read_guide(file)
    assert "05-x.yml" in str(caught.value)


def test_the_page_of_guides_holds_every_word():
    path = CHAPTERS[4]
    guide = read_guide(guide_file(path))
    page = guide_to(path, guide)
    title = "## 5. Multi-head attention"
    assert page.startswith(f"{title}\n")
    for texts in (guide["goals"], guide["goes_wrong"], guide["discuss"]):
        for text in texts:
            assert f"- {text}" in page
    for (said, name, anchor), heading in zip(
        LINK.findall(page)[1:], guide["say"], strict=True
    ):
        assert (said, name) == (heading, path.stem)
        assert anchor == default_slugify(heading.replace("`", ""))
        assert f"** {guide['say'][heading]}" in page


def test_the_list_holds_every_exercise_once():
    page = exercises_by_kind(CHAPTERS)
    asked = [n for path in CHAPTERS for n, *_ in EXERCISE.findall(prose(path))]
    bold = [
        n
        for path in CHAPTERS
        for n in re.findall(r"\*\*Exercise (\d+\.\d+)", prose(path))
    ]
    assert asked == bold
    listed = re.findall(
        r"^- \[Exercise (\S+)\]\(#exercise-(\S+)\)", page, re.M
    )
    assert sorted(number for number, _ in listed) == sorted(asked)
    assert all(a.replace(".", "-") == b for a, b in listed)
    titles = re.findall(r"^## (.+)$", page, re.M)
    assert [title.lower() for title in titles] == [
        kind for kind in KINDS if kind.capitalize() in titles
    ]


@each_plan
def test_the_minutes_of_a_plan_add_up(name):
    found = sessions(name)
    assert len(found) == PLANS[name]
    for title, minutes, spare, text in found:
        rows = ROW.findall(text)
        assert len(rows) == text.count("\n| ") - 1, title
        ends = [0] + [int(end) for _, end, *_ in rows]
        assert [int(start) for start, *_ in rows] == ends[:-1], title
        assert ends == sorted(set(ends)), title
        assert int(minutes) == 90, title
        assert ends[-1] + int(spare) == 90, title
        assert int(spare) >= 5, title
        clock = CLOCK.match(title)
        if name == "one-day":
            h, m, until_h, until_m = map(int, clock.groups())
            assert (until_h - h) * 60 + until_m - m == 90, title


@each_plan
def test_a_plan_leads_to_sections_that_exist(name):
    headings = {p.stem: HEADING.findall(prose(p)) for p in CHAPTERS}
    for *_, text in sessions(name):
        for *_, where, how in ROW.findall(text):
            said, chapter, anchor = LINK.fullmatch(where).groups()
            assert how in WAYS
            number, title = said.split(": ", 1)
            assert int(number) == int(chapter[:2])
            if anchor:
                assert title in headings[chapter]
                assert anchor == default_slugify(title.replace("`", ""))
            else:
                assert title == "the questions at its end"


def test_every_chapter_has_a_guide_and_no_other_does():
    files = sorted((ROOT / "book/teach/chapters").iterdir())
    assert files == [guide_file(path) for path in CHAPTERS]
