"""The two machines of the book, part by part, as `book/map.yml` has them.

Whatever the file names must exist: chapters and their headings, modules of
the library, explorers and the chapters that show them. Who draws it is
machine_map.py.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from sphinx.errors import SphinxError

from .library import PACKAGE, modules, passed_on
from .teaching import anchor_of

YAML = "book/map.yml"
HEADING = re.compile(r"^#{1,3} (.+)$", re.MULTILINE)
ROLES = ("", "position", "class-token")
SOURCES = ("", "itself", "memory")


class BadMap(SphinxError):
    """A map that names what the book does not have."""

    category = "Map of the machines"


@dataclass(frozen=True)
class Place:
    """A section of a chapter.

    Attributes:
        chapter: Its number.
        page: The chapter's name for Sphinx.
        anchor: Of the section's heading.
    """

    chapter: int
    page: str
    anchor: str


@dataclass(frozen=True)
class Part:
    """A part of a machine; `book/map.yml` says what is what.

    Attributes:
        name: As the drawings have it.
        module: Of `vitedu`, without that name.
        at: Where it is explained, the first place first.
        explorers: Class -> where it shows the part.
        leaves: The shape of what leaves it.
        role: Its colour, or "".
        attends: Where its keys and values come from, or "".
        inside: How many of the parts that follow are its own.
    """

    name: str
    module: str
    at: tuple[Place, ...]
    explorers: dict[str, Place]
    leaves: str
    role: str
    attends: str
    inside: int


@dataclass(frozen=True)
class Lane:
    """Parts in the order in which things flow.

    Attributes:
        name: As `chapters` of the map call it.
        title: What the drawing says above it.
        parts: Those of a block follow the block.
    """

    name: str
    title: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Machine:
    """One of the two.

    Attributes:
        name: What it is called.
        lanes: Side by side.
    """

    name: str
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Head:
    """What the head of a chapter shows.

    Attributes:
        lit: Lane -> numbers of its parts that are lit.
        named: What these are, in words.
        enters: The shape of what comes to the first of them.
        leaves: The shape of what the last of them gives.
    """

    lit: dict[str, frozenset[int]]
    named: str
    enters: str
    leaves: str


@dataclass(frozen=True)
class Chapter:
    """What a map may name of a chapter.

    Attributes:
        page: Its name for Sphinx.
        anchors: Of its headings.
        explorers: Class -> the anchor of the section that shows it.
    """

    page: str
    anchors: tuple[str, ...]
    explorers: dict[str, str]


@dataclass(frozen=True)
class Map:
    """Both machines, and what each chapter lights of them.

    Attributes:
        machines: In the order of the book.
        heads: Name of a chapter for Sphinx -> what its head shows.
    """

    machines: tuple[Machine, ...]
    heads: dict[str, Head]

    @property
    def lanes(self) -> tuple[Lane, ...]:
        """All lanes, from the first machine's first."""
        return tuple(lane for each in self.machines for lane in each.lanes)


def read_map(root: Path) -> Map:
    """Read the map, and check that all it names is there.

    Args:
        root: The folder of the project.

    Raises:
        BadMap: A part names a chapter, section, module, explorer, role or
            source that is not there, lacks an entry or has an unknown one; a
            chapter lights nothing, or what is not there.
    """
    content = yaml.safe_load((root / YAML).read_text(encoding="utf-8"))
    reader = _Reader(root)
    machines = tuple(
        Machine(
            machine["name"],
            tuple(
                Lane(name, lane["title"], tuple(reader.parts(lane["parts"])))
                for name, lane in machine["lanes"].items()
            ),
        )
        for machine in content["machines"]
    )
    lanes = [lane for machine in machines for lane in machine.lanes]
    stated = content.get("chapters", {})
    for number in stated:
        reader.chapter(str(number), f"{YAML}: chapters")
    heads = {
        chapter.page: _head(number, lanes, stated.get(number, {}))
        for number, chapter in reader.chapters.items()
    }
    return Map(machines, heads)


class _Reader:
    """Turns entries into parts, and knows what they may name."""

    def __init__(self, root: Path) -> None:
        library = root / PACKAGE
        self.modules = modules(library)
        self.explorers = passed_on(library, "widgets")
        self.chapters = {
            int(path.name[:2]): _chapter(path, self.explorers)
            for path in sorted(root.glob("chapters/[0-9][0-9]-*.ipynb"))
        }

    def parts(
        self, entries: list[dict[str, Any]], leaves: str = ""
    ) -> Iterator[Part]:
        """Yield parts, those of a block after it; each passes on a shape."""
        for entry in entries:
            part = self._part(dict(entry), leaves)
            leaves = part.leaves
            inside = [*self.parts(entry.get("block", []), leaves)]
            yield replace(part, inside=len(inside))
            yield from inside

    def chapter(self, number: str, who: str) -> Chapter:
        """Return a chapter that `who` names."""
        if not number.isdigit() or int(number) not in self.chapters:
            raise BadMap(f"{who}: there is no chapter {number}")
        return self.chapters[int(number)]

    def _part(self, entry: dict[str, Any], leaves: str) -> Part:
        who = f"{YAML}: {entry.get('name', 'a part')}"
        for needed in ("name", "at", "module"):
            if not entry.get(needed):
                raise BadMap(f"{who}: it needs {needed!r}")
        name = entry.pop("name")
        entry.pop("block", None)
        module, at = entry.pop("module"), entry.pop("at")
        explorers = entry.pop("explorer", [])
        role, attends = entry.pop("role", ""), entry.pop("attends", "")
        leaves = entry.pop("leaves", leaves)
        if entry:
            raise BadMap(f"{who}: unknown entry {', '.join(entry)}")
        if module not in self.modules:
            raise BadMap(f"{who}: there is no module {PACKAGE}.{module}")
        for value, known in ((role, ROLES), (attends, SOURCES)):
            if value not in known:
                raise BadMap(f"{who}: {value!r} is none of {known[1:]}")
        places = tuple(self._place(place, who) for place in at)
        shown = {e: self._shown(e, places, who) for e in explorers}
        return Part(name, module, places, shown, leaves, role, attends, 0)

    def _place(self, place: str, who: str) -> Place:
        number, _, anchor = place.partition("#")
        chapter = self.chapter(number, who)
        if anchor not in chapter.anchors:
            raise BadMap(f"{who}: chapter {number} has no section {anchor!r}")
        return Place(int(number), chapter.page, anchor)

    def _shown(
        self, explorer: str, places: tuple[Place, ...], who: str
    ) -> Place:
        if explorer not in self.explorers:
            raise BadMap(f"{who}: there is no explorer {explorer}")
        for place in places:
            anchor = self.chapters[place.chapter].explorers.get(explorer)
            if anchor is not None:
                return replace(place, anchor=anchor)
        raise BadMap(
            f"{who}: no chapter that `at` names shows the explorer {explorer}"
        )


def _chapter(path: Path, explorers: list[str]) -> Chapter:
    """Read the headings of a chapter, and where it shows which explorer."""
    anchors, shown = [""], {}
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            anchors += map(anchor_of, HEADING.findall(text))
        else:
            found = re.findall(r"\b[A-Z]\w+", text)
            for name in {*found} & {*explorers}:
                shown.setdefault(name, anchors[-1])
    return Chapter(f"chapters/{path.stem}", tuple(anchors[1:]), shown)


def _head(number: int, lanes: list[Lane], stated: dict[str, Any]) -> Head:
    """Return what a chapter lights: what the map states, or what is in it."""
    who = f"{YAML}: chapter {number}"
    if unknown := stated.keys() - {"lit", "named", "enters", "leaves"}:
        raise BadMap(f"{who}: unknown entry {', '.join(sorted(unknown))}")
    if "lit" in stated:
        chosen = _stated(stated["lit"], lanes, who)
    else:
        chosen = {lane.name: _explained(number, lane) for lane in lanes}
    chosen = {name: found for name, found in chosen.items() if found}
    if not chosen:
        raise BadMap(f"{who}: no part is lit; name it in `at` or in `lit`")
    lit = [lane for lane in lanes if lane.name in chosen]
    names = [lane.parts[n].name for lane in lit for n in chosen[lane.name]]
    # The shapes are those of the lane with most to show, or of the first.
    lane = max(lit, key=lambda one: len(chosen[one.name]))
    first, last = chosen[lane.name][0], chosen[lane.name][-1]
    return Head(
        lit={
            one.name: frozenset(_with_insides(one, chosen[one.name]))
            for one in lit
        },
        named=stated.get("named", ", ".join(dict.fromkeys(names))),
        # What a lane begins with is there, and comes from no part.
        enters=stated.get("enters", lane.parts[max(first - 1, 0)].leaves),
        leaves=stated.get("leaves", lane.parts[last].leaves),
    )


def _stated(
    lit: dict[str, Any], lanes: list[Lane], who: str
) -> dict[str, list[int]]:
    if unknown := lit.keys() - {lane.name for lane in lanes}:
        raise BadMap(f"{who}: there is no lane {', '.join(sorted(unknown))}")
    chosen = {}
    for lane in lanes:
        known = [part.name for part in lane.parts]
        wanted = lit.get(lane.name, [])
        wanted = known if wanted == "all" else wanted
        if unknown := {*wanted} - {*known}:
            names = ", ".join(sorted(unknown))
            raise BadMap(f"{who}: the lane {lane.name} has no part {names}")
        chosen[lane.name] = [n for n, x in enumerate(known) if x in wanted]
    return chosen


def _explained(number: int, lane: Lane) -> list[int]:
    """Return the parts of a lane that a chapter explains."""
    return [
        n
        for n, part in enumerate(lane.parts)
        if any(place.chapter == number for place in part.at)
    ]


def _with_insides(lane: Lane, numbers: list[int]) -> Iterator[int]:
    for number in numbers:
        yield from range(number, number + 1 + lane.parts[number].inside)
