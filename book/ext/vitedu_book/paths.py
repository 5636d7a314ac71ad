"""The page "Plan your path": what to read for a goal, in so many minutes.

`book/paths.yml` names the goals, what each holds in the order of importance,
and what the chapters need of each other. `book/time-boxes.json` has the
minutes. A section is "3#anchor": the number of a chapter and a heading in it.
The lists are written as Markdown into the page that has their marks, before
it is parsed, so that a link to a heading that is gone is a warning.
"""

import json
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import yaml
from sphinx.application import Sphinx

from .teaching import DEEPER, HEADING, anchor_of, prose, slug

YAML = "book/paths.yml"
TIMES = "book/time-boxes.json"
EXERCISES = "exercises"


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What a chapter builds on, and what is built on it.

    Attributes:
        name: Of its file.
        slugs: Anchors of headings -> their names in links of MyST.
        needs: Chapters without which it cannot be followed.
        helps: Chapters that make it easier.
        core: Its sections that the others, and other chapters, build on.
    """

    name: str
    slugs: dict[str, str]
    needs: tuple[int, ...]
    helps: tuple[int, ...]
    core: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Goal:
    """What a reader may want.

    Attributes:
        title: In a few words.
        assumed: What one has to know, in words.
        knows: The same as chapters, whose sections are not needed.
        sections: The most important first.
    """

    title: str
    assumed: str
    knows: tuple[int, ...]
    sections: tuple[str, ...]


@dataclass(frozen=True)
class Paths:
    """Everything that "Plan your path" shows.

    Attributes:
        minutes: Section -> whole minutes, in the order of reading.
        budgets: How many minutes a reader may have.
        chapters: By number, in order.
        goals: As they are offered.
    """

    minutes: dict[str, int]
    budgets: tuple[int, ...]
    chapters: dict[int, Chapter]
    goals: tuple[Goal, ...]

    def plan(self, goal: Goal, budget: int) -> list[str]:
        """Return what to read for a goal, in the order of reading.

        Section by section, the most important first: each is taken if it
        fits, together with all that it needs and that is not there yet.

        Args:
            goal: One of the goals.
            budget: Minutes, at least 0.
        """
        chosen: set[str] = set()
        for section in goal.sections:
            more = chosen | self.with_needs(section, goal.knows)
            if sum(self.minutes[name] for name in more) <= budget:
                chosen = more
        return [name for name in self.minutes if name in chosen]

    def with_needs(self, section: str, knows: tuple[int, ...]) -> set[str]:
        """Return a section and all it needs of chapters that are unknown."""
        found, ahead = {section}, [section]
        while ahead:
            needed = {
                name
                for name in self.needs(ahead.pop())
                if chapter_of(name) not in knows
            }
            ahead += needed - found
            found |= needed
        return found

    def needs(self, section: str) -> list[str]:
        """Return the sections that one needs, all of which come before it."""
        order = [*self.minutes]
        number = chapter_of(section)
        above = order[: order.index(section)]
        own = [name for name in self.chapters[number].core if name in above]
        others = self.chapters[number].needs
        return [n for other in others for n in self.chapters[other].core] + own


def chapter_of(section: str) -> int:
    """Return the number of the chapter that a section is in."""
    return int(section.partition("#")[0])


def is_deeper(section: str) -> bool:
    """Tell whether a section goes deeper than the main line."""
    return section.partition("#")[2].startswith(f"{anchor_of(DEEPER[0])}-")


def read_paths(root: Path) -> Paths:
    """Read the goals, the chapters and their minutes.

    Args:
        root: The folder of the project.

    Raises:
        ValueError: A goal or a chapter names a section that is not there, or
            a chapter builds on one that goes deeper.
    """
    content = yaml.safe_load((root / YAML).read_text(encoding="utf-8"))
    boxes = json.loads((root / TIMES).read_text(encoding="utf-8"))["chapters"]
    names = {int(name[:2]): name for name in boxes}
    minutes = {
        f"{number}#{anchor}": max(1, round(found))
        for number, name in names.items()
        for anchor, found in boxes[name]["sections"].items()
    }
    chapters = {
        number: Chapter(
            name=names[number],
            slugs=_slugs(root / f"chapters/{names[number]}.ipynb"),
            needs=tuple(entry.get("needs", ())),
            helps=tuple(entry.get("helps", ())),
            core=tuple(f"{number}#{anchor}" for anchor in entry["core"]),
        )
        for number, entry in content["chapters"].items()
    }
    goals = tuple(_goal(entry, minutes) for entry in content["goals"])
    for entry in (*chapters.values(), *goals):
        for name in getattr(entry, "core", None) or entry.sections:
            if name not in minutes:
                raise ValueError(f"{YAML}: there is no section {name!r}")
    for name in (
        name for chapter in chapters.values() for name in chapter.core
    ):
        if is_deeper(name):
            raise ValueError(f"{YAML}: nothing may need {name!r}")
    return Paths(minutes, tuple(content["minutes"]), chapters, goals)


def _slugs(chapter: Path) -> dict[str, str]:
    headings = HEADING.findall(prose(chapter))
    return {anchor_of(heading): slug(heading) for heading in headings}


def _goal(entry: dict, minutes: dict[str, int]) -> Goal:
    sections: list[str] = []
    for item in entry["sections"]:
        if isinstance(item, int):  # the rest of a chapter
            rest = [n for n in minutes if n.startswith(f"{item}#")]
            rest = [n for n in rest if n != f"{item}#{EXERCISES}"]
            sections += sorted(rest, key=is_deeper)  # the main line first
        else:
            sections.append(item)
    return Goal(
        title=entry["title"],
        assumed=entry["assumed"],
        knows=tuple(entry["knows"]),
        sections=tuple(dict.fromkeys(sections)),
    )


def by_goal(book: Paths) -> str:
    """Write a section for each goal, a folded list for each time, in MyST."""
    lines = []
    for goal in book.goals:
        lines += [f"## {goal.title}", "", f"Assumed known: {goal.assumed}", ""]
        for budget in book.budgets:
            plan = book.plan(goal, budget)
            lines += [
                f":::{{dropdown}} In {budget} minutes",
                *_by_chapter(book, plan),
                ":::",
                "",
            ]
    return "\n".join(lines)


def _by_chapter(book: Paths, sections: list[str]) -> list[str]:
    lines = []
    for number, group in groupby(sections, chapter_of):
        link = _link(book, number)
        lines.append(f"- []({link})")
        first = next(n for n in book.minutes if chapter_of(n) == number)
        for section in group:
            anchor = section.partition("#")[2]
            name = book.chapters[number].slugs.get(anchor, anchor)
            place = (
                f"[First screen]({link})"
                if section == first
                else f"[]({link}#{name})"
            )
            lines.append(f"  - {place}, {book.minutes[section]} min")
    return lines


def what_is_needed(book: Paths) -> str:
    """Write a table of the chapters and of what they need, in MyST."""
    lines = ["| Chapter | Needs | Helped by |", "|---|---|---|"]
    for number, chapter in book.chapters.items():
        cells = [
            ", ".join(f"[{other}]({_link(book, other)})" for other in others)
            for others in (chapter.needs, chapter.helps)
        ]
        lines.append(f"| []({_link(book, number)}) | {' | '.join(cells)} |")
    return "\n".join(lines)


def _link(book: Paths, number: int) -> str:
    return f"../chapters/{book.chapters[number].name}.ipynb"


# The mark on a page, a comment in Markdown -> what is written there.
WRITERS = {
    "% paths by goal": by_goal,
    "% what each chapter needs": what_is_needed,
}


def setup(app: Sphinx) -> None:
    """Write the lists on reading."""
    app.connect("source-read", fill)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the lists where a page has their marks."""
    marks = [mark for mark in WRITERS if mark in source[0]]
    if not marks:
        return
    root = Path(app.srcdir)
    book = read_paths(root)
    names = (f"chapters/{c.name}.ipynb" for c in book.chapters.values())
    for file in (YAML, TIMES, *names):
        app.env.note_dependency(str(root / file))
    for mark in marks:
        source[0] = source[0].replace(mark, WRITERS[mark](book))
