"""The two machines of the book, drawn: large, and small above each chapter.

``.. machine-map::`` draws them large; each part leads to the section that
explains it, and has its module and its explorers. The head of every chapter
has the same drawing on its side and without words, the chapter's parts lit.
The links of a lane are a list, in the order in which things flow.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .library import PACKAGE
from .machines import YAML, Head, Lane, Machine, Map, Part, Place, read_map
from .written import html

# Given a place, its address from the page that has the drawing.
Address = Callable[[Place], str]


@dataclass(frozen=True)
class Form:
    """How lanes are laid out, in pixels.

    Attributes:
        down: Whether a lane runs down the page, or across it.
        step: From one part of a lane to the next.
        lane: From one lane to the next.
        box: Width and height of a part.
        edge: From the parts of a block to its frame.
        top: Room above the first part.
    """

    down: bool
    step: int
    lane: int
    box: tuple[int, int]
    edge: int
    top: int

    def corner(self, lane: int, row: int) -> tuple[float, float]:
        """Return the upper left corner of a part."""
        width, height = self.box
        if self.down:
            left = self.lane * lane + (self.lane - width) / 2
            return left, self.top + self.step * row
        left = self.step * row + (self.step - width) / 2
        return left, self.top + self.lane * lane + (self.lane - height) / 2

    def wire(
        self, lane: int, row: int, aside: int = 0, *, through: bool = False
    ) -> str:
        """Return the path from the part before a part to it, or through it."""
        (x, y), (width, height) = self.corner(lane, row), self.box
        if self.down:
            gap = self.step - height
            return f"M{x + width / 2 + aside:g} {y - gap:g}v{gap}"
        gap = self.step - width
        long = self.step if through else gap
        return f"M{x - gap:g} {y + height / 2 + aside:g}h{long}"

    def crossing(self, lane: int, row: int, to: int, aside: int = 0) -> str:
        """Return the path from a part to one of the next lane."""
        (x, y), (u, v) = self.corner(lane, row), self.corner(lane + 1, to)
        width, height = self.box
        between = self.lane * (lane + 1) + aside
        if self.down:
            start, end = y + height / 2 - aside, v + height / 2 - aside
            return f"M{x + width:g} {start:g}H{between:g}V{end:g}H{u:g}"
        start, end = x + width / 2, u + width / 2
        return f"M{start:g} {y + height:g}V{between:g}H{end:g}V{v:g}"

    def frame(self, lane: int, row: int, inside: int) -> str:
        """Return the frame around a block and the parts in it."""
        (x, y), (u, v) = (
            self.corner(lane, row),
            self.corner(lane, row + inside),
        )
        width, height = (size + 2 * self.edge for size in self.box)
        return _rect(
            x - self.edge, y - self.edge, u - x + width, v - y + height, 9
        )


CHIP = 24  # the side of a small link


@dataclass(frozen=True)
class Chip:
    """A link in the box of a part: a slider, the number of a chapter, or both.

    Attributes:
        what: What it leads to.
        place: Where that is.
        numbered: Whether the number is shown.
        moves: Whether there is an explorer.
    """

    what: str
    place: Place
    numbered: bool
    moves: bool

    @property
    def name(self) -> str:
        """What a screen reader says."""
        return f"{self.what}, chapter {self.place.chapter}"

    @property
    def width(self) -> int:
        """How much of the box it takes."""
        beside = self.numbered and self.moves
        return CHIP + 8 * len(str(self.place.chapter)) * beside

    def drawn(self, left: float, top: float) -> str:
        """Draw it with its upper left corner at this point."""
        middle = top + CHIP / 2 + 1
        drawn = _rect(left, top, self.width, CHIP, 6)
        if self.moves:
            drawn += (
                f'<path d="M{left + 8:g} {middle:g}h13"/>'
                f'<circle cx="{left + 13:g}" cy="{middle:g}" r="3"/>'
            )
        if self.numbered:
            drawn += (
                f'<text class="number" x="{left + self.width - 2:g}" '
                f'y="{middle + 4:g}">{self.place.chapter}</text>'
            )
        return drawn


LARGE = Form(down=True, step=52, lane=175, box=(155, 41), edge=5, top=30)
SMALL = Form(down=False, step=24, lane=24, box=(16, 12), edge=3, top=0)
TIP = 88  # where a part's name stands, below the small drawing


class MachineMap(SphinxDirective):
    """Draw both machines large."""

    def run(self) -> list[nodes.Node]:
        """Write a drawing for each machine into the page."""
        root, page = Path(self.env.srcdir), self.env.docname
        book = read_map(root)
        for file in (YAML, *(f"{name}.ipynb" for name in book.heads)):
            self.env.note_dependency(str(root / file))
        address = _addresses(self.env.app, page)
        drawings = [large(machine, address) for machine in book.machines]
        return [html(f'<div class="machine-map">{"".join(drawings)}</div>')]


def large(machine: Machine, address: Address) -> str:
    """Draw a machine with names, modules and explorers, as SVG."""
    titles, lists = [], []
    for number, lane in enumerate(machine.lanes):
        x, _ = LARGE.corner(number, 0)
        titles.append(
            f'<text class="lane" x="{x:g}" y="16">{escape(lane.title)}</text>'
        )
        parts = [
            _described(LARGE.corner(number, row), part, address)
            for row, part in enumerate(lane.parts)
        ]
        lists.append(_listed(lane.title, parts))
    rows = max(len(lane.parts) for lane in machine.lanes)
    width, height = LARGE.lane * len(machine.lanes), LARGE.step * rows + 24
    return (
        f'<svg viewBox="0 0 {width} {height}" role="group" '
        f'aria-label="{escape(machine.name)}">{"".join(titles)}'
        f"{_ground(LARGE, machine.lanes, None)}{''.join(lists)}</svg>"
    )


def small(book: Map, head: Head, address: Address) -> str:
    """Draw both machines without words; say what is lit and what flows."""
    lists, lanes = [], book.lanes
    for number, lane in enumerate(lanes):
        lit = head.lit.get(lane.name, frozenset())
        parts = [
            _unlabelled(number, row, part, address, row in lit)
            for row, part in enumerate(lane.parts)
        ]
        lists.append(_listed(lane.title, parts))
    rows = max(len(lane.parts) for lane in lanes)
    width, height = SMALL.step * rows, SMALL.lane * len(lanes)
    return (
        f'<svg viewBox="0 0 {width} {height}" role="group" '
        f'aria-label="The two machines">{_ground(SMALL, lanes, head)}'
        f"{''.join(lists)}</svg><p><b>{escape(head.named)}</b> "
        f'<span class="unseen">turns </span><span>{escape(head.enters)}</span>'
        ' <span><span aria-hidden="true">→</span>'
        f'<span class="unseen">into</span> {escape(head.leaves)}</span></p>'
    )


def _listed(name: str, parts: Iterable[str]) -> str:
    items = "".join(f'<g role="listitem">{part}</g>' for part in parts)
    return f'<g role="list" aria-label="{escape(name)}">{items}</g>'


def _described(
    corner: tuple[float, float], part: Part, address: Address
) -> str:
    """Draw a part with its words, and links to all that is about it."""
    (x, y), (width, height) = corner, LARGE.box
    first = part.at[0]
    words = (
        f'<text x="{x + 7:g}" y="{y + 16:g}">{escape(part.name)}</text>'
        f'<text class="number" x="{x + width - 7:g}" y="{y + 16:g}">'
        f'{first.chapter}</text><text class="module" x="{x + 7:g}" '
        f'y="{y + 32:g}">{part.module}</text>'
    )
    name = f"{part.name}, chapter {first.chapter}, {PACKAGE}.{part.module}"
    box = _rect(x, y, width, height, 6) + words
    link = _link(_classes(part), address(first), box, name)
    # The last number stands below that of the chapter.
    chips = [*_chips(part)]
    left = x + width - 5 - sum(chip.width for chip in chips)
    for chip in chips:
        drawn = chip.drawn(left, y + height - CHIP)
        link += _link("chip", address(chip.place), drawn, chip.name)
        left += chip.width
    return link


def _chips(part: Part) -> Iterator[Chip]:
    """Yield what else is about a part: explorers, and other chapters."""
    first = part.at[0].chapter
    for explorer, place in part.explorers.items():
        name = f"{explorer}, explorer of {part.name}"
        yield Chip(name, place, place.chapter != first, True)
    shown = {place.chapter for place in part.explorers.values()}
    for place in part.at[1:]:
        if place.chapter not in shown:
            yield Chip(part.name, place, True, False)


def _unlabelled(
    lane: int, row: int, part: Part, address: Address, lit: bool
) -> str:
    """Draw a part as a box; its name is there for those who come to it."""
    corner = SMALL.step * row, SMALL.lane * lane
    drawn = _rect(*corner, SMALL.step, SMALL.lane, 4)
    drawn += _rect(*SMALL.corner(lane, row), *SMALL.box, 3)
    name = f"{escape(part.name)}, chapter {part.at[0].chapter}"
    drawn += f'<text y="{TIP}">{name}</text>'
    return _link(_classes(part, lit), address(part.at[0]), drawn, lit=lit)


def _link(
    kind: str, address: str, drawn: str, title: str = "", *, lit: bool = False
) -> str:
    here = ' aria-current="true"' if lit else ""
    name = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<a class="{kind}" href="{escape(address)}"{here}>{name}{drawn}</a>'
    )


def _classes(part: Part, lit: bool = False) -> str:
    block = "block" if part.inside else ""
    return " ".join(filter(None, ["part", part.role, block, lit and "lit"]))


def _rect(x: float, y: float, width: float, height: float, round_: int) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" '
        f'rx="{round_}"/>'
    )


def _ground(form: Form, lanes: tuple[Lane, ...], head: Head | None) -> str:
    """Draw what lies under the parts: frames of blocks, and wires."""
    drawn = []
    for number, lane in enumerate(lanes):
        lit = head.lit.get(lane.name, frozenset()) if head else frozenset()
        for row, part in enumerate(lane.parts):
            if part.inside:
                kind = "frame lit" if row in lit else "frame"
                frame = form.frame(number, row, part.inside)
                drawn.append(f'<g class="{kind}">{frame}</g>')
            if row:
                drawn += _wires(form, lanes, number, row)
    return f'<g class="ground" aria-hidden="true">{"".join(drawn)}</g>'


def _wires(
    form: Form, lanes: tuple[Lane, ...], lane: int, row: int
) -> Iterator[str]:
    """Draw what comes to a part: large, attention takes three things."""
    part = lanes[lane].parts[row]
    if not (form.down and part.attends):
        yield _path("", form.wire(lane, row, through=bool(part.inside)))
    elif part.attends == "memory":
        yield _path("query", form.wire(lane, row))
    else:
        for kind, aside in (("query", -16), ("key", 0), ("value", 16)):
            yield _path(kind, form.wire(lane, row, aside))
    if part.attends == "memory":  # what the lane before ends with
        last = len(lanes[lane - 1].parts) - 1
        for kind, aside in (
            (("key", -2), ("value", 2)) if form.down else [("", 0)]
        ):
            yield _path(kind, form.crossing(lane - 1, last, row, aside))


def _path(kind: str, path: str) -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<path{named} d="{path}"/>'


def _addresses(app: Sphinx, page: str) -> Address:
    def address(place: Place) -> str:
        to = app.builder.get_relative_uri(page, place.page)
        return f"{to}#{place.anchor}"

    return address


def setup(app: Sphinx) -> None:
    """Add the directive, and a small map to each chapter."""
    app.add_directive("machine-map", MachineMap)
    app.connect("builder-inited", follow)


def follow(app: Sphinx) -> None:
    """Read the map of a book that has one, before anything is built."""
    if (Path(app.srcdir) / YAML).is_file():
        book = read_map(Path(app.srcdir))
        app.connect("html-page-context", partial(show, book))


def show(
    book: Map,
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Give the template of a chapter its small map."""
    if head := book.heads.get(pagename):
        context["machines"] = small(book, head, _addresses(app, pagename))
