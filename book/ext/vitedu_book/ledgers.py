"""The claims ledger: every number that a chapter states and checks.

`vitedu.notebook.claim` shows `<p id="claim-NAME" data-claim="{json}">`. The
directive `claims-ledger` lists all of them, with links to their places.
"""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError
from sphinx.util.docutils import SphinxDirective

HEADER = ("Chapter", "Statement", "Value", "Expected", "Seeds")


class DuplicateClaim(SphinxError):
    """Two claims of the book have the same name."""

    category = "Two claims with one name"


class ledger(nodes.General, nodes.Element):
    """The place of the ledger, filled once all chapters are read."""


class ClaimsLedger(SphinxDirective):
    """List every claim of the book."""

    def run(self) -> list[nodes.Node]:
        """Leave a place for the ledger."""
        _ledgers(self.env).add(self.env.docname)
        return [ledger()]


class _ClaimParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.claims: list[dict[str, Any]] = []

    def handle_starttag(
        self, tag: str, attrs: list[tuple[str, str | None]]
    ) -> None:
        data = dict(attrs).get("data-claim")
        if data is not None:
            self.claims.append(json.loads(data))


def setup(app: Sphinx) -> None:
    """Collect on reading, fill the ledger on writing."""
    app.add_node(ledger)
    app.add_directive("claims-ledger", ClaimsLedger)
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", purge)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", outdated_ledgers)
    app.connect("doctree-resolved", fill)


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the claims that a page makes."""
    parser = _ClaimParser()
    for raw in doctree.findall(nodes.raw):
        if raw.get("format") == "html":
            parser.feed(raw.astext())
    if parser.claims:
        _claims(app.env)[app.env.docname] = parser.claims


def purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Forget what a page said before it is read again."""
    _claims(env).pop(docname, None)
    _ledgers(env).discard(docname)


def merge(
    app: Sphinx,
    env: BuildEnvironment,
    docnames: list[str],
    other: BuildEnvironment,
) -> None:
    """Take over what another process has read."""
    for docname in docnames:
        if docname in _claims(other):
            _claims(env)[docname] = _claims(other)[docname]
    _ledgers(env).update(_ledgers(other).intersection(docnames))


def outdated_ledgers(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Check the names, and write the ledger again when anything was read."""
    places: dict[str, str] = {}
    for docname, claim in _in_reading_order(env):
        name = claim["name"]
        if name in places:
            raise DuplicateClaim(f"{name!r}: {places[name]} and {docname}")
        places[name] = docname
    return sorted(_ledgers(env))


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put a sentence and a table where a ledger was asked for."""
    for node in list(doctree.findall(ledger)):
        claims = list(_in_reading_order(app.env))
        node.replace_self(_count(claims) + _table(app, docname, claims))


def _count(claims: list[tuple[str, dict[str, Any]]]) -> list[nodes.Node]:
    number = len(claims)
    text = f"The book makes {number} claim{'s' if number != 1 else ''}."
    return [nodes.paragraph("", text)]


def _table(
    app: Sphinx, docname: str, claims: list[tuple[str, dict[str, Any]]]
) -> list[nodes.Node]:
    if not claims:
        return []
    group = nodes.tgroup("", cols=len(HEADER))
    group += [nodes.colspec(colwidth=width) for width in (20, 45, 12, 15, 8)]
    group += nodes.thead("", _row([nodes.Text(text) for text in HEADER]))
    body = nodes.tbody()
    for source, claim in claims:
        uri = app.builder.get_relative_uri(docname, source)
        link = nodes.reference(
            "",
            app.env.titles[source].astext(),
            internal=True,
            refuri=f"{uri}#claim-{quote(claim['name'])}",
        )
        body += _row([link, *map(nodes.Text, _cells(claim))])
    group += body
    return [nodes.table("", group, classes=["claims-ledger"])]


def _row(cells: list[nodes.Node]) -> nodes.row:
    return nodes.row(
        "", *(nodes.entry("", nodes.paragraph("", "", c)) for c in cells)
    )


def _cells(claim: dict[str, Any]) -> Iterator[str]:
    unit = claim["unit"]
    yield claim["statement"]
    yield f"{claim['value']:.6g}{unit}"
    yield f"{claim['expected']:.6g}{unit} ± {claim['tolerance']:.3g}{unit}"
    yield str(claim["seeds"])


def _in_reading_order(
    env: BuildEnvironment,
) -> Iterator[tuple[str, dict[str, Any]]]:
    claims = _claims(env)
    reading = env.toctree_includes.get(env.config.root_doc, [])
    for docname in dict.fromkeys([*reading, *sorted(claims)]):
        for claim in claims.get(docname, []):
            yield docname, claim


def _claims(env: BuildEnvironment) -> dict[str, list[dict[str, Any]]]:
    return env.__dict__.setdefault("vitedu_claims", {})


def _ledgers(env: BuildEnvironment) -> set[str]:
    return env.__dict__.setdefault("vitedu_ledgers", set())
