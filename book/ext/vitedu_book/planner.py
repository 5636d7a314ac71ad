"""The page "Plan your path": lists of sections, and a map of the chapters.

The directive `path-planner` asks for a goal and a time, and shows one of the
lists that `paths` makes, by a style sheet and without a script.
`sections-on-no-path` lists the others. `chapter-map` draws which chapter
needs which, and says the same in a table.
"""

import html
import re
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from .chapter_map import arcs
from .paths import (
    TIMES,
    YAML,
    BadPaths,
    Goal,
    chapter_of,
    read_minutes,
    read_paths,
)

PAGE = "book/paths"
STYLE = "paths.css"
NUMBERED = re.compile(r"chapters/\d\d-")


class Book:
    """The paths, and links to their chapters and sections.

    Attributes:
        paths: Goals, chapters and minutes.
    """

    def __init__(self, app: Sphinx) -> None:
        source = Path(app.srcdir)
        minutes = read_minutes(source / TIMES)
        self.paths = read_paths(source / YAML, minutes)
        self._app = app
        self._documents = {
            int(name.removeprefix("chapters/")[:2]): name
            for name in app.env.found_docs
            if NUMBERED.match(name)
        }
        self._first = {chapter_of(s): s for s in reversed([*minutes])}
        missing = self.paths.chapters.keys() - self._documents
        if missing:
            raise BadPaths(f"{YAML}: the book has no chapters {missing}")

    def chapter(self, number: int) -> nodes.reference:
        """Return a link to a chapter."""
        name = self._documents[number]
        return self._link(name, "", self._app.env.titles[name].astext())

    def section(self, section: str) -> nodes.reference:
        """Return a link to a section.

        Raises:
            BadPaths: Its chapter has no such heading.
        """
        number, (_, _, anchor) = chapter_of(section), section.partition("#")
        name = self._documents[number]
        if section == self._first[number]:
            return self._link(name, "", "First screen")
        contents = self._app.env.tocs[name].findall(nodes.reference)
        for heading in contents:
            if heading["anchorname"] == f"#{anchor}":
                return self._link(name, f"#{anchor}", heading.astext())
        raise BadPaths(
            f"{name}: there is no section {anchor!r}, which {TIMES} and "
            f"{YAML} may name; after a change of headings run "
            "python -m tools.time_boxes --reading"
        )

    def _link(self, name: str, end: str, text: str) -> nodes.reference:
        uri = self._app.builder.get_relative_uri(PAGE, name)
        return nodes.reference("", text, internal=True, refuri=uri + end)


def planner(book: Book) -> list[nodes.Node]:
    """Return the questions, and a list for each pair of answers."""
    goals, budgets = book.paths.goals, book.paths.budgets
    questions = _question(
        "What do you want?", "goal", [goal.title for goal in goals]
    ) + _question(
        "How much time do you have?", "time", [f"{b} minutes" for b in budgets]
    )
    plans = [[book.paths.plan(goal, b) for b in budgets] for goal in goals]
    sums = "".join(
        f"<div>{''.join(_sum(book, plan) for plan in row)}</div>"
        for row in plans
    )
    found: list[nodes.Node] = [
        _raw(
            f'<div class="vitedu-planner">{questions}'
            f'<div class="vitedu-plans vitedu-sums" role="status">{sums}</div>'
            '<div class="vitedu-plans">'
        )
    ]
    for goal, row in zip(goals, plans, strict=True):
        found.append(_raw("<div>"))
        for budget, plan in zip(budgets, row, strict=True):
            found += _plan(book, goal, budget, plan)
        found.append(_raw("</div>"))
    return [*found, _raw("</div></div>")]


def _question(ask: str, name: str, answers: list[str]) -> str:
    labels = "".join(
        f'<label><input type="radio" name="path-{name}"'
        f"{' checked' * (number == 0)}> {html.escape(answer)}</label>"
        for number, answer in enumerate(answers)
    )
    return (
        f'<fieldset class="vitedu-{name}"><legend>{ask}</legend>'
        f'<div class="vitedu-choices">{labels}</div></fieldset>'
    )


def _sum(book: Book, plan: list[str]) -> str:
    minutes = sum(book.paths.minutes[section] for section in plan)
    chapters = len({chapter_of(section) for section in plan})
    return (
        f"<p>Your path takes {minutes} minutes: {len(plan)} sections "
        f"of {chapters} chapter{'s' * (chapters > 1)}.</p>"
    )


def _plan(
    book: Book, goal: Goal, budget: int, plan: list[str]
) -> list[nodes.Node]:
    name = nodes.strong("", f"{goal.title}, {budget} minutes.")
    assumed = nodes.Text(f" Assumed known: {goal.assumed}")
    return [
        _raw("<div>"),
        nodes.paragraph("", "", name, assumed),
        _by_chapter(book, plan),
        _raw("</div>"),
    ]


def _by_chapter(book: Book, sections: list[str]) -> nodes.bullet_list:
    chapters = nodes.bullet_list("", classes=["vitedu-path"])
    for number, group in groupby(sections, chapter_of):
        inner = nodes.bullet_list("")
        for section in group:
            minutes = f" {book.paths.minutes[section]} min"
            line = nodes.paragraph("", "", book.section(section))
            line += nodes.inline("", minutes)
            inner += nodes.list_item("", line)
        title = nodes.paragraph("", "", book.chapter(number))
        chapters += nodes.list_item("", title, inner)
    return chapters


def rest(book: Book) -> list[nodes.Node]:
    """Return the sections that no path holds."""
    return [_by_chapter(book, book.paths.on_no_path())]


def chapter_map(book: Book) -> list[nodes.Node]:
    """Return the drawing and the table of what each chapter needs."""
    chapters = book.paths.chapters
    drawing = nodes.bullet_list("", classes=["vitedu-map"])
    for number in chapters:
        arcs_here = _raw(arcs(number, chapters))
        line = nodes.paragraph("", "", book.chapter(number))
        drawing += nodes.list_item("", arcs_here, line)
    return [drawing, _table(book)]


def _table(book: Book) -> nodes.table:
    group = nodes.tgroup("", cols=3)
    group += [nodes.colspec(colwidth=width) for width in (60, 20, 20)]
    head = [nodes.Text(text) for text in ("Chapter", "Needs", "Helped by")]
    group += nodes.thead("", _row([[text] for text in head]))
    group += nodes.tbody(
        "",
        *(
            _row(
                [
                    [book.chapter(number)],
                    _numbers(book, chapter.needs),
                    _numbers(book, chapter.helps),
                ]
            )
            for number, chapter in book.paths.chapters.items()
        ),
    )
    return nodes.table("", group)


def _numbers(book: Book, numbers: tuple[int, ...]) -> list[nodes.Node]:
    links: list[nodes.Node] = []
    for number in numbers:
        target = book.chapter(number)["refuri"]
        links += [
            nodes.reference("", str(number), internal=True, refuri=target),
            nodes.Text(", "),
        ]
    return links[:-1]


def _row(cells: list[list[nodes.Node]]) -> nodes.row:
    return nodes.row(
        "", *(nodes.entry("", nodes.paragraph("", "", *c)) for c in cells)
    )


def _raw(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


PARTS: dict[str, Callable[[Book], list[nodes.Node]]] = {
    "path-planner": planner,
    "sections-on-no-path": rest,
    "chapter-map": chapter_map,
}


class path_part(nodes.General, nodes.Element):
    """The place of a part, filled once all chapters are read."""


class PathPart(SphinxDirective):
    """One of the parts of the page."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for it."""
        for file in (YAML, TIMES):
            self.env.note_dependency(str(Path(self.env.srcdir) / file))
        return [path_part(kind=self.name)]


def setup(app: Sphinx) -> None:
    """Fill the page on writing, whenever a chapter has changed."""
    app.add_node(path_part)
    for name in PARTS:
        app.add_directive(name, PathPart)
    app.connect("env-updated", outdated)
    app.connect("doctree-resolved", fill)
    app.connect("html-page-context", add_style)


def outdated(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write the page again when anything was read."""
    return [PAGE] if PAGE in env.found_docs else []


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the parts where they were asked for."""
    places = list(doctree.findall(path_part))
    book = Book(app) if places else None
    for place in places:
        place.replace_self(PARTS[place["kind"]](book))


def add_style(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, Any],
    doctree: Any,
) -> None:
    """Give the page a style sheet of its own."""
    if pagename == PAGE:
        app.add_css_file(STYLE)
