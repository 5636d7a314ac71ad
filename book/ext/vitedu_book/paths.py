"""Which sections to read for a goal, when there are so many minutes.

`book/paths.yml` names the goals, what each holds in the order of importance,
and what the chapters need of each other. `book/time-boxes.json` has the
minutes. A section is "3#anchor": the number of a chapter and a heading in it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml
from sphinx.errors import SphinxError

YAML = "book/paths.yml"
TIMES = "book/time-boxes.json"
EXERCISES = "exercises"


class BadPaths(SphinxError):
    """Goals, chapters or sections that cannot be."""

    category = "Paths"


@dataclass(frozen=True, kw_only=True)
class Chapter:
    """What a chapter builds on, and what is built on it.

    Attributes:
        needs: Chapters without which it cannot be followed.
        helps: Chapters that make it easier.
        core: Its sections that the others, and other chapters, build on.
    """

    needs: tuple[int, ...] = ()
    helps: tuple[int, ...] = ()
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

    def on_no_path(self) -> list[str]:
        """Return the sections that no goal reaches in the longest time."""
        longest = max(self.budgets)
        reached = {n for g in self.goals for n in self.plan(g, longest)}
        return [name for name in self.minutes if name not in reached]


def chapter_of(section: str) -> int:
    """Return the number of the chapter that a section is in."""
    return int(section.partition("#")[0])


def read_minutes(path: Path) -> dict[str, int]:
    """Return the minutes of all sections, in whole ones, at least 1."""
    boxes = json.loads(path.read_text(encoding="utf-8"))["chapters"]
    return {
        f"{int(name[:2])}#{anchor}": max(1, round(minutes))
        for name, box in boxes.items()
        for anchor, minutes in box["sections"].items()
    }


def read_paths(path: Path, minutes: dict[str, int]) -> Paths:
    """Read and check the file of goals and chapters.

    Args:
        path: The file.
        minutes: Of all sections, in the order of reading.

    Raises:
        BadPaths: Something is missing, unknown or in the wrong order; says
            where and why.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        chapters = {
            number: _chapter(number, entry, minutes)
            for number, entry in content["chapters"].items()
        }
        goals = tuple(
            _goal(entry, chapters, minutes) for entry in content["goals"]
        )
        budgets = tuple(content["minutes"])
    except (
        yaml.YAMLError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ) as error:
        raise BadPaths(f"{path.name}: {error!r}") from None
    if {*chapters} != {chapter_of(name) for name in minutes}:
        raise BadPaths(f"{path.name}: it has the chapters {[*chapters]}")
    return Paths(minutes, budgets, chapters, goals)


def _chapter(number: int, entry: dict, minutes: dict[str, int]) -> Chapter:
    where = f"chapter {number}"
    core = tuple(f"{number}#{anchor}" for anchor in entry["core"])
    _known(where, core, minutes)
    if not core:
        raise BadPaths(f"{where}: its core must not be empty")
    needs, helps = (tuple(entry.get(kind, ())) for kind in ("needs", "helps"))
    if any(other >= number for other in needs + helps):
        raise BadPaths(f"{where}: it can need and use earlier ones only")
    return Chapter(needs=needs, helps=helps, core=core)


def _goal(
    entry: dict, chapters: dict[int, Chapter], minutes: dict[str, int]
) -> Goal:
    sections: list[str] = []
    for item in entry["sections"]:
        if item in chapters:
            rest = [n for n in minutes if n.startswith(f"{item}#")]
            sections += [n for n in rest if n != f"{item}#{EXERCISES}"]
        else:
            _known(f"goal {entry['title']!r}", [item], minutes)
            sections.append(item)
    return Goal(
        title=entry["title"],
        assumed=entry["assumed"],
        knows=tuple(entry["knows"]),
        sections=tuple(dict.fromkeys(sections)),
    )


def _known(where: str, names: Iterable[str], minutes: dict[str, int]) -> None:
    for name in names:
        if name not in minutes:
            raise BadPaths(f"paths.yml, {where}: there is no section {name!r}")
