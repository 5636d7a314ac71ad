"""Claims and rungs where they are read: a number with a tick, and its card.

A link `[0.506](#claim-NAME)` in the text becomes a button whose number stays
in the sentence; the claim's own line leaves the page. A claim that no link
names stays as a sentence, a rung as one strip. Each number opens a card that
says what is allowed and shows the code. No script is needed.
"""

import ast
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from html import escape
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from .ledgers import KINDS, Entry, entries_of
from .written import CELL, OUTPUT, SOURCE, parts

LOGGER = logging.getLogger(__name__)
LINK = "claim-"
VERDICTS = ("notebook.claim", "notebook.rung")
WORDS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven"),
    *("eight", "nine", "ten", "eleven", "twelve"),
)
NUMBER = re.compile(
    r"(?P<sign>[-\u2212]?)(?P<digits>(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
    rf"(?:e[-+]?\d+)?)|\b(?P<word>{'|'.join(WORDS)})\b",
    re.IGNORECASE,
)


class BadTick(SphinxError):
    """A link of the text to a claim that is not there, or says otherwise."""

    category = "A number in the text"


class tick(nodes.Inline, nodes.TextElement):
    """A number that was checked; opens its card."""


class card(nodes.General, nodes.Element):
    """What is known about a claim or a rung."""


class Verdict(NamedTuple):
    """A claim or a rung on a page.

    Attributes:
        kind: "claim" or "rung".
        entry: What its ledger knows.
        output: What shows it on the page.
        cell: The cell that it comes from.
    """

    kind: str
    entry: Entry
    output: nodes.Element
    cell: nodes.Element

    @property
    def id(self) -> str:
        """The place that links lead to."""
        return f"{self.kind}-{self.entry['name']}"


def setup(app: Sphinx) -> None:
    """Work on each page after the ledgers have read it."""
    app.add_node(tick, html=(visit_tick, depart_tick))
    app.add_node(card, html=(visit_card, depart_card))
    app.connect("doctree-read", put_ticks, priority=600)


def visit_tick(self: HTML5Translator, node: tick) -> None:
    """Write a button, which browsers connect with its card."""
    target = {"type": "button", "popovertarget": node["card"]}
    # "zero" and "two of four" are checked, too, but would drown the rest.
    name = "tick" if re.search(r"\d", node.astext()) else "tick word"
    self.body.append(self.starttag(node, "button", "", CLASS=name, **target))


def depart_tick(self: HTML5Translator, node: tick) -> None:
    """End the button."""
    self.body.append("</button>")


def visit_card(self: HTML5Translator, node: card) -> None:
    """Write the card up to the code."""
    name = node["name"]
    facts = "".join(
        f"<div><dt>{escape(key)}</dt><dd>{escape(said)}</dd></div>"
        for key, said in node["facts"]
    )
    self.body.append(
        f'<div class="tick-card" id="{name}" popover role="dialog" '
        f'aria-labelledby="{name}-title">'
        f'<button type="button" class="tick-close" popovertarget="{name}" '
        'popovertargetaction="hide">Close</button>'
        f'<p id="{name}-title">{escape(node["title"])}</p><dl>{facts}</dl>\n'
    )


def depart_card(self: HTML5Translator, node: card) -> None:
    """End the card."""
    self.body.append("</div>\n")


def put_ticks(app: Sphinx, doctree: nodes.document) -> None:
    """Put the numbers that a page has checked where they are read."""
    verdicts = [*_verdicts(doctree)]
    named = _tick_links(doctree, app.env.docname, verdicts)
    if not verdicts:
        return
    leaving = [*_leaving(verdicts)]
    cards = nodes.container(classes=["tick-cards"])
    for verdict in verdicts:
        code = _code(verdict, whole=verdict.cell in leaving)
        cards += _card(verdict, code)
    for verdict in verdicts:
        if verdict.id in named:
            verdict.output.parent.remove(verdict.output)
        else:
            shown = _sentence if verdict.kind == "claim" else _strip
            box = nodes.container("", shown(verdict))
            box["classes"] = ["output", "text_html"]
            verdict.output.replace_self(box)
    for cell in {id(v.cell): v.cell for v in verdicts}.values():
        _tidy(cell, leaves=cell in leaving)
    next(iter(doctree.findall(nodes.section))).append(cards)


def _verdicts(doctree: nodes.document) -> Iterator[Verdict]:
    for cell in parts(doctree, CELL):
        for output in parts(cell, "mime_bundle"):
            for kind, entry in entries_of(output):
                yield Verdict(kind, entry, output, cell)


def _part(cell: nodes.Element, element: str) -> nodes.Element | None:
    return next(parts(cell, element), None)


def _tick_links(
    doctree: nodes.document, docname: str, verdicts: list[Verdict]
) -> set[str]:
    """Make the links to claims ticks; return the ids of those claims."""
    claims = {v.id: v for v in verdicts if v.kind == "claim"}
    named: set[str] = set()
    for link in [*doctree.findall(addnodes.pending_xref)]:
        target = link.get("reftarget", "")
        if link.get("reftype") != "myst" or not target.startswith(LINK):
            continue
        name = target.removeprefix(LINK)
        if target not in claims:
            raise BadTick(
                f"{docname}: a link leads to the claim {name!r}, which no "
                "cell of this page makes"
            )
        entry = claims[target].entry
        [text] = link.children
        if not shows(link.astext(), entry["value"]):
            if not _is_allowed(link.astext(), entry):
                raise BadTick(
                    f"{docname}: the link to the claim {name!r} says "
                    f"{link.astext()!r}, but its value is "
                    f"{entry['value']:.6g}"
                )
            LOGGER.info(
                "%s: the claim %r is %.6g here, %s in the text",
                *(docname, name, entry["value"], link.astext()),
            )
            _measure(text, entry["value"])
        first = [] if target in named else [target]
        link.replace_self(
            tick("", "", *text.children, ids=first, card=f"card-of-{target}")
        )
        named.add(target)
    return named


def shows(text: str, value: float) -> bool:
    """Tell whether the first number of a text is this value, rounded.

    Args:
        text: Such as "24%", "1,234", "8.9e-16" or "two of the three".
        value: What it should be at the decimals that are written.
    """
    found = NUMBER.search(text)
    if found is None:
        return False
    number = _number(found)
    half = Decimal(5).scaleb(number.as_tuple().exponent - 1)
    # A float that lies between two numbers may be written as either.
    blur = abs(Decimal(value)) * Decimal("1e-12")
    return abs(Decimal(value) - number) <= half + blur


def measured(text: str, value: float) -> str:
    """Write a value in place of the first number of a text, in its style.

    Networks that are trained on another kind of processor end at slightly
    other numbers. A page shows those of the machine that has built it.

    Args:
        text: As for `shows`.
        value: Rounded to the decimals that are written.
    """
    found = NUMBER.search(text)
    places = max(0, -_number(found).as_tuple().exponent)
    number = f"{abs(value):,.{places}f}"
    if found["word"] and round(value) < len(WORDS):
        number = WORDS[round(value)]
        if found["word"][0].isupper():
            number = number.capitalize()
    elif "e" in (found["digits"] or "").lower():
        digits = found["digits"].lower().partition("e")[0]
        number = f"{abs(value):.{len(digits.partition('.')[2])}e}"
    sign = (found["sign"] or "\u2212") if value < 0 else ""
    return text[: found.start()] + sign + number + text[found.end() :]


def _number(found: re.Match) -> Decimal:
    """Return the number that `NUMBER` has found."""
    if found["word"]:
        return Decimal(WORDS.index(found["word"].lower()))
    number = Decimal(found["digits"].replace(",", ""))
    return -number if found["sign"] else number


def _is_allowed(text: str, claim: Entry) -> bool:
    """Tell whether a claim would hold with the first number of a text."""
    found = NUMBER.search(text)
    if found is None:
        return False
    number = float(_number(found))
    if "expected" in claim:
        return abs(number - claim["expected"]) <= claim["tolerance"]
    least = claim.get("at_least", -math.inf)
    return least <= number <= claim.get("at_most", math.inf)


def _measure(link: nodes.Node, value: float) -> None:
    """Write a value in place of the first number of a link."""
    for text in [*link.findall(nodes.Text)]:
        if NUMBER.search(text):
            new = nodes.Text(measured(text, value))
            text.parent.replace(text, new)
            return


def _leaving(verdicts: list[Verdict]) -> Iterator[nodes.Element]:
    """Yield cells whose code is folded, and has nothing else to show.

    One whose fold says what is inside stays: it is there to be read.
    """
    outputs = {id(verdict.output) for verdict in verdicts}
    for cell in {id(v.cell): v.cell for v in verdicts}.values():
        told = cell["cell_metadata"].get("mystnb", {})
        shown = _part(cell, OUTPUT).children
        if (
            cell.get("hide_mode") == "input"
            and _part(cell, SOURCE)
            and "code_prompt_show" not in told
            and all(id(output) in outputs for output in shown)
        ):
            yield cell


def _tidy(cell: nodes.Element, *, leaves: bool) -> None:
    """Take from a cell what has nothing to show any more."""
    output = _part(cell, OUTPUT)
    if not output.children:
        output.parent.remove(output)
    if leaves:
        cell.remove(_part(cell, SOURCE))
    if not cell.children:
        cell.parent.remove(cell)


def _card(verdict: Verdict, code: nodes.Element | None) -> card:
    kind = KINDS[verdict.kind]
    facts = [
        (key, said)
        for key, said in zip(
            kind.header, kind.cells(verdict.entry), strict=True
        )
        if said and key not in ("Statement", "This", "equals this")
    ]
    entry = verdict.entry
    title = entry.get("statement") or f"{entry['lower']} = {entry['upper']}"
    found = card(name=f"card-of-{verdict.id}", title=title, facts=facts)
    if code is not None:
        found += code
    return found


def _code(verdict: Verdict, *, whole: bool) -> nodes.Element | None:
    """Return the code that states it, as the page shows other code."""
    source = _part(verdict.cell, SOURCE)
    if source is None:
        return None
    [block] = source.findall(nodes.literal_block)
    name = verdict.entry["name"]
    text = cut(block.astext(), verdict.kind, name, whole=whole)
    return nodes.literal_block(text, text, language=block["language"])


def cut(code: str, kind: str, name: str, *, whole: bool) -> str:
    """Return the lines of a cell that state a claim or a rung.

    Args:
        code: Of the cell.
        kind: "claim" or "rung".
        name: Of what is stated.
        whole: Keep what is no claim or rung, too: it stands nowhere else.
    """
    try:
        body = ast.parse(code).body
    except SyntaxError:  # a command of IPython
        return code
    called = f"notebook.{kind}"
    found = [
        (_certainty(call.args[0], name), statement)
        for statement in body
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and ast.unparse(call.func) == called
    ]
    certainty, own = max(found, key=lambda pair: pair[0], default=(0, None))
    if not certainty:
        return code
    lines = code.splitlines()
    kept = range(own.lineno, own.end_lineno + 1)
    if whole:
        others = {
            line
            for statement in body
            if statement is not own and _is_verdict(statement)
            for line in range(statement.lineno, statement.end_lineno + 1)
        }
        kept = [n for n in range(1, len(lines) + 1) if n not in others]
    return "\n".join(lines[number - 1] for number in kept).strip("\n")


def _certainty(written: ast.expr, name: str) -> int:
    """Say how surely an expression is a name: 0 if it cannot be."""
    if isinstance(written, ast.Constant):
        return 3 * (written.value == name)
    if isinstance(written, ast.JoinedStr):
        pattern = "".join(
            re.escape(part.value) if isinstance(part, ast.Constant) else ".+"
            for part in written.values
        )
        return 2 * bool(re.fullmatch(pattern, name))
    return 1


def _is_verdict(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Call)
        and ast.unparse(statement.value.func) in VERDICTS
    )


def _sentence(verdict: Verdict) -> nodes.paragraph:
    """Return a claim's own sentence, with a tick on the number in it."""
    entry = verdict.entry
    text, shown, at = entry["statement"], entry["shown"], entry["at"]
    return nodes.paragraph(
        "",
        "",
        nodes.Text(text[:at]),
        _tick(verdict, shown),
        nodes.Text(text[at + len(shown) :]),
        classes=["claim"],
    )


def _strip(verdict: Verdict) -> nodes.paragraph:
    """Return a rung as one line: what is equal, and how closely."""
    entry = verdict.entry
    return nodes.paragraph(
        "",
        "",
        nodes.strong("", f"{entry['lower']} = {entry['upper']}"),
        nodes.Text(f" · {entry['compares']} · largest difference "),
        _tick(verdict, f"{entry['difference']:.2g}"),
        classes=["rung"],
    )


def _tick(verdict: Verdict, shown: str) -> tick:
    name = f"card-of-{verdict.id}"
    return tick("", shown, ids=[verdict.id], card=name)
