"""The ledgers: what the chapters state and check, collected on a page.

`vitedu.book.notebook.claim` shows `<p id="claim-NAME" data-claim="{json}">`,
and `rung` the same with "rung". The directives `claims-ledger` and
`equality-ladder` list all of them, with links to their places: a section and
a table for each chapter.
"""

import json
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective

Entry = dict[str, Any]


class Kind(NamedTuple):
    """One kind of entry, and how its table looks.

    Attributes:
        directive: What a page writes to get the table.
        header: The columns; the first one links to the place.
        widths: Of the columns, relative to each other.
        cells: Texts of the columns.
    """

    directive: str
    header: tuple[str, ...]
    widths: tuple[int, ...]
    cells: Callable[[Entry], tuple[str, ...]]


def _claim_cells(claim: Entry) -> tuple[str, ...]:
    from vitedu.book.numbers import number_text

    def text(value: float, digits: int = 6) -> str:
        return number_text(value, digits) + claim["unit"]

    if "expected" in claim:
        allowed = f"{text(claim['expected'])} ± {text(claim['tolerance'], 3)}"
    else:
        allowed = ", ".join(
            f"{words} {text(claim[key])}"
            for key, words in (("at_least", "≥"), ("at_most", "≤"))
            if key in claim
        )
    baseline = claim.get("baseline")
    return (
        claim["statement"],
        text(claim["value"]),
        allowed,
        "" if baseline is None else text(baseline),
        str(claim["seeds"]),
    )


def _rung_cells(rung: Entry) -> tuple[str, ...]:
    return (
        rung["lower"],
        rung["upper"],
        rung["compares"],
        f"{rung['difference']:.2g}",
        f"{rung['tolerance']:.2g}",
    )


KINDS = {
    "claim": Kind(
        "claims-ledger",
        ("Statement", "Value", "Allowed", "Baseline", "Seeds"),
        (52, 13, 17, 11, 7),
        _claim_cells,
    ),
    "rung": Kind(
        "equality-ladder",
        ("This", "equals this", "Compared", "Difference", "Allowed"),
        (33, 33, 12, 11, 11),
        _rung_cells,
    ),
}


class DuplicateEntry(SphinxError):
    """Two claims, or two rungs, of the book have the same name."""

    category = "Two entries with one name"


class ledger(nodes.General, nodes.Element):
    """The place of a ledger, filled once all chapters are read."""


class Ledger(SphinxDirective):
    """List every entry of a kind."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the ledger."""
        kind = next(k for k in KINDS if KINDS[k].directive == self.name)
        _ledgers(self.env).setdefault(self.env.docname, []).append(kind)
        return [ledger(kind=kind)]


class _EntryParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.entries: list[tuple[str, Entry]] = []

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        found = dict(attrs)
        self.entries += [
            (kind, json.loads(found[f"data-{kind}"]))
            for kind in KINDS
            if found.get(f"data-{kind}") is not None
        ]


def setup(app: Sphinx) -> None:
    """Collect on reading, fill the ledgers on writing."""
    app.add_node(ledger)
    for kind in KINDS.values():
        app.add_directive(kind.directive, Ledger)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", outdated_ledgers)
    app.connect("doctree-resolved", fill)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the entries that a page makes."""
    if found := entries_of(doctree):
        _entries(app.env)[app.env.docname] = found


def entries_of(node: nodes.Element) -> list[tuple[str, Entry]]:
    """Return the kind and the contents of each entry in a part of a page."""
    parser = _EntryParser()
    for raw in node.findall(nodes.raw):
        if raw.get("format") == "html":
            parser.feed(raw.astext())
    return parser.entries


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget what a page said before it is read again."""
    _entries(env).pop(docname, None)
    _ledgers(env).pop(docname, None)


def merge(
    app: Sphinx,
    env: BuildEnvironment,
    docnames: list[str],
    other: BuildEnvironment,
) -> None:
    """Take over what another process has read."""
    for docname in docnames:
        if docname in _entries(other):
            _entries(env)[docname] = _entries(other)[docname]
        if docname in _ledgers(other):
            _ledgers(env)[docname] = _ledgers(other)[docname]


def outdated_ledgers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Check the names, and write the ledgers again when anything was read.

    Their sections are known now, and enter the contents of their pages.
    """
    for kind in KINDS:
        places: dict[str, str] = {}
        for docname, entry in _in_reading_order(env, kind):
            name = entry["name"]
            if name in places:
                raise DuplicateEntry(
                    f"{kind} {name!r}: {places[name]} and {docname}"
                )
            places[name] = docname
    for docname, kinds in _ledgers(env).items():
        _enter_contents(env, docname, kinds)
    return sorted(_ledgers(env))


def _enter_contents(
    env: BuildEnvironment, docname: str, kinds: list[str]
) -> None:
    [page] = env.tocs[docname]
    # What an earlier build entered is old.
    items = [
        item
        for item in page.findall(nodes.list_item)
        if item.parent.parent is page and "ledger" not in item["classes"]
    ]
    for kind in kinds:
        for source in _by_chapter(env, kind):
            link = nodes.reference(
                "",
                env.titles[source].astext(),
                internal=True,
                refuri=docname,
                anchorname=f"#{_section_id(kind, source)}",
            )
            text = addnodes.compact_paragraph("", "", link)
            items.append(nodes.list_item("", text, classes=["ledger"]))
    del page[1:]
    if items:
        page += nodes.bullet_list("", *items)
    env.toc_num_entries[docname] = 1 + len(items)


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a sentence and a section for each chapter where one asked for it."""
    for node in list(doctree.findall(ledger)):
        kind = node["kind"]
        chapters = _by_chapter(app.env, kind)
        number = sum(map(len, chapters.values()))
        node.replace_self(
            [
                _count(kind, number),
                *(
                    _section(app, docname, kind, source, entries)
                    for source, entries in chapters.items()
                ),
            ]
        )


def _count(kind: str, number: int) -> nodes.Node:
    verb = {"claim": "makes", "rung": "proves"}[kind]
    text = f"The book {verb} {number} {kind}{'s' if number != 1 else ''}."
    return nodes.paragraph("", text)


def _section(
    app: Sphinx, docname: str, kind: str, source: str, entries: list[Entry]
) -> nodes.Node:
    uri = app.builder.get_relative_uri(docname, source)
    _, header, widths, cells = KINDS[kind]
    group = nodes.tgroup("", cols=len(header))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += nodes.thead("", _row([nodes.Text(text) for text in header]))
    body = nodes.tbody()
    for entry in entries:
        first, *others = cells(entry)
        place = f"{uri}#{kind}-{quote(entry['name'])}"
        link = nodes.reference("", first, internal=True, refuri=place)
        body += _row([link, *map(nodes.Text, others)])
    group += body
    return nodes.section(
        "",
        nodes.title("", app.env.titles[source].astext()),
        nodes.table("", group),
        ids=[_section_id(kind, source)],
        classes=["ledger"],
    )


def _section_id(kind: str, source: str) -> str:
    return f"{kind}s-of-{PurePosixPath(source).name}"


def _row(cells: list[nodes.Node]) -> nodes.row:
    return nodes.row(
        "", *(nodes.entry("", nodes.paragraph("", "", c)) for c in cells)
    )


def _in_reading_order(
    env: BuildEnvironment, kind: str
) -> Iterator[tuple[str, Entry]]:
    entries = _entries(env)
    reading = env.toctree_includes.get(env.config.root_doc, [])
    for docname in dict.fromkeys([*reading, *sorted(entries)]):
        for found, entry in entries.get(docname, []):
            if found == kind:
                yield docname, entry


def _by_chapter(env: BuildEnvironment, kind: str) -> dict[str, list[Entry]]:
    chapters: dict[str, list[Entry]] = {}
    for docname, entry in _in_reading_order(env, kind):
        chapters.setdefault(docname, []).append(entry)
    return chapters


def _entries(env: BuildEnvironment) -> dict[str, list[tuple[str, Entry]]]:
    return env.__dict__.setdefault("vitedu_entries", {})


def _ledgers(env: BuildEnvironment) -> dict[str, list[str]]:
    return env.__dict__.setdefault("vitedu_ledgers", {})
