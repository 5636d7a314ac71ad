"""A picture of the library: its modules and rooms, and who needs whom.

``.. library-map::`` draws it from the imports, from the foundation upwards. A
room is a package; an arrow that follows from two others is left out.
"""

from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .library import PACKAGE, builds_on, index, layers
from .written import html

WIDTH, ROW, HEIGHT, GAP, LETTER = 400, 62, 26, 8, 6.4
# Imported nearly everywhere, and nowhere.
LEFT_OUT = {"require", "widgets"}


class LibraryMap(SphinxDirective):
    """Draw who needs whom."""

    def run(self) -> list[nodes.Node]:
        """Write the picture as SVG into the page."""
        library = Path(self.env.srcdir, PACKAGE)
        needs = direct(rooms(builds_on(library)))
        words = "; ".join(
            f"{name} needs {', '.join(sorted(on)) or 'no other'}"
            for name, on in needs.items()
        )
        pages = {
            name.split(".")[0]: f"{group.lower().replace(' ', '-')}.html"
            for group, names in index(library).items()
            for name in names
        }
        return [html(drawn(needs, pages, words))]


def rooms(needs: dict[str, list[str]]) -> dict[str, set[str]]:
    """Join the modules of a package into one room."""
    found: dict[str, set[str]] = {}
    for name, on in needs.items():
        room = name.split(".")[0]
        others = {other.split(".")[0] for other in on} - LEFT_OUT - {room}
        if room not in LEFT_OUT:
            found.setdefault(room, set()).update(others)
    return found


def direct(needs: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out what a room needs by way of another one already."""

    def below(name: str) -> set[str]:
        return needs[name].union(*(below(other) for other in needs[name]))

    return {
        name: {o for o in on if not any(o in below(x) for x in on - {o})}
        for name, on in needs.items()
    }


def drawn(
    needs: dict[str, set[str]], pages: dict[str, str], words: str
) -> str:
    """Return the picture as SVG."""
    rows = _rows(needs)
    height = ROW * len(rows) - (ROW - HEIGHT) + 2
    centre, boxes, arrows = {}, [], []
    for number, row in enumerate(rows):
        y = height - 1 - HEIGHT - ROW * number
        widths = [LETTER * len(name) + 14 for name in row]
        space = (WIDTH - sum(widths)) / len(row)
        x = space / 2
        for name, width in zip(row, widths, strict=True):
            centre[name] = (x + width / 2, y)
            boxes.append(
                f'<a href="{escape(pages[name])}"><rect x="{x:.1f}" y="{y}" '
                f'width="{width:.1f}" height="{HEIGHT}" rx="5"/><text '
                f'x="{x + width / 2:.1f}" y="{y + 17.5}">{name}</text></a>'
            )
            x += width + space
    for name, on in needs.items():
        for other in sorted(on):
            (x1, y1), (x2, y2) = centre[name], centre[other]
            y1, bend = y1 + HEIGHT, (y2 - y1 - HEIGHT) / 2
            arrows.append(
                f'<path d="M{x1:.1f} {y1}C{x1:.1f} {y1 + bend} '
                f'{x2:.1f} {y2 - bend} {x2:.1f} {y2}"/>'
            )
    return (
        f'<svg class="library-map" viewBox="0 0 {WIDTH} {height}" '
        f'role="group" aria-label="{escape(words)}">'
        f"{''.join(arrows)}{''.join(boxes)}</svg>"
    )


def _rows(needs: dict[str, set[str]]) -> list[list[str]]:
    """Lay rooms in rows, each above all that it needs and near its users."""
    users = {n: [x for x in needs if n in needs[x]] for n in needs}
    # From above: a room stands directly below the lowest that needs it.
    rows, last = [], {}
    for layer in layers({name: users[name] for name in needs}):
        row: list[str] = []
        for name in sorted(layer, key=lambda n: _mean(users[n], last)):
            widths = sum(LETTER * len(n) + 14 + GAP for n in [*row, name])
            if row and widths > WIDTH:
                rows.append(row)
                row = []
            row.append(name)
        rows.append(row)
        for row in rows:
            last |= {n: (i + 0.5) / len(row) for i, n in enumerate(row)}
    return rows[::-1]


def _mean(names: list[str], places: dict[str, float]) -> float:
    found = [places[name] for name in names]
    return sum(found) / len(found) if found else 0.5


def setup(app: Sphinx) -> None:
    """Add the directive."""
    app.add_directive("library-map", LibraryMap)
