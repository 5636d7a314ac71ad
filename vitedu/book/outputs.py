"""What cells show, in another language: pages, tables, drawings, lines."""

import html
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from bs4 import BeautifulSoup, NavigableString, Tag

Say = Callable[[str], str]

_TEXT = re.compile(r"<text\b([^>]*)>([^<]*)</text>")
_MOVED = re.compile(r'transform="translate\(([\d.-]+) ([\d.-]+)\)"')
_SIZE = re.compile(r'font-size="([\d.]+)"')
_ESCAPED = re.compile(r"\\([\\`*_{}\[\]<>&$|~])")
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>&$|~])")
_CODE = re.compile("`([^`]+)`")
# A line is this many times as high as its letters, in drawings.
_LEADING = 1.2
# A letter is about half as wide as high.
_LETTER = 0.5
# The sentences in the entry of a ledger.
_ENTRIES = {
    "data-claim": ("statement",),
    "data-rung": ("lower", "upper", "compares"),
}


def shown_in(data: Mapping[str, Any], say: Say) -> dict[str, Any]:
    """Return an output of a cell with its words in another language.

    Args:
        data: MIME type -> content.
        say: Takes a phrase, returns what to say instead.
    """
    ways = {
        "text/html": _html_in,
        "text/markdown": _table_in,
        "image/svg+xml": _drawing_in,
    }
    shown = {
        kind: ways[kind](content, say) if kind in ways else content
        for kind, content in data.items()
    }
    if "text/plain" in data and not {*ways} & {*data}:
        shown["text/plain"] = lines_in(data["text/plain"], say)
    return shown


def lines_in(text: str, say: Say) -> str:
    """Return printed text, translated line by line."""
    return "\n".join(map(say, text.split("\n")))


def _table_in(text: str, say: Say) -> str:
    """Return a Markdown table translated cell by cell; all else unchanged."""
    if not text.startswith("| "):
        return text
    lines = []
    for number, line in enumerate(text.split("\n")):
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        if number != 1:
            said = [say(_ESCAPED.sub(r"\1", cell.strip())) for cell in cells]
            escaped = [_SPECIAL.sub(r"\\\1", cell) for cell in said]
            cells = [f" {cell} " for cell in escaped]
        lines.append(f"|{'|'.join(cells)}|")
    return "\n".join(lines)


def _html_in(text: str, say: Say) -> str:
    """Return HTML with translated texts; code in a text is between backticks.

    Raises:
        ValueError: The number of a claim is not in its translation.
    """
    if not re.search("[A-Za-z]", re.sub("<[^>]*>", "", text)):
        return text
    page = BeautifulSoup(text, "html.parser")
    for kind, names in _ENTRIES.items():
        for tag in page.find_all(attrs={kind: True}):
            entry = json.loads(tag[kind])
            before = dict(entry)
            for name in names:
                entry[name] = say(entry[name])
            if "at" in entry:
                entry["at"] = _place(before, entry)
            else:
                both = f"{before['lower']} = {before['upper']}"
                rest = tag.get_text().removeprefix(both).strip()
                tag.string = f"{entry['lower']} = {entry['upper']}{say(rest)}"
            tag[kind] = json.dumps(entry, sort_keys=True, ensure_ascii=False)
    for tag in page.find_all(True):
        said = tag.name in ("code", "style", "pre", "svg")
        if not said and not tag.has_attr("data-rung"):
            _say_runs(tag, say)
    _say_runs(page, say)
    return page.decode(formatter="minimal")


def _place(before: dict[str, Any], entry: dict[str, Any]) -> int:
    """Return where the number of a claim is in its translation."""
    shown = entry["shown"]
    earlier = before["statement"][: before["at"]].count(before["shown"])
    places = [
        found.start()
        for found in re.finditer(re.escape(shown), entry["statement"])
    ]
    if not places:
        raise ValueError(
            f"the translation of {before['statement']!r} must hold "
            f"{shown!r}, got {entry['statement']!r}"
        )
    return places[min(earlier, len(places) - 1)]


def _say_runs(tag: Tag, say: Say) -> None:
    """Translate each run of text and code that is between other elements."""
    run: list = []
    for node in [*tag.children, None]:
        code = isinstance(node, Tag) and node.name == "code" and not node.attrs
        if code or type(node) is NavigableString:
            run.append(node)
        else:
            _say_run(run, say)
            run = []


def _say_run(run: list, say: Say) -> None:
    if not any(type(node) is NavigableString and node.strip() for node in run):
        return
    english = "".join(
        f"`{node.get_text()}`" if isinstance(node, Tag) else str(node)
        for node in run
    )
    said = say(english)
    if said == english:
        return
    marked = _CODE.sub(r"<code>\1</code>", html.escape(said, quote=False))
    for node in [*BeautifulSoup(marked, "html.parser").children]:
        run[0].insert_before(node)
    for node in run:
        node.extract()


def _drawing_in(text: str, say: Say) -> str:
    """Return a drawing with translated texts; lines of one text are joined.

    Matplotlib writes the lines of a text one below the other, each from where
    it begins; they become lines centred on the same point.
    """
    result, end = [], 0
    found = [*_TEXT.finditer(text)]
    while found:
        lines = [found.pop(0)]
        while found and _follows(lines[-1], found[0], text):
            lines.append(found.pop(0))
        result.append(text[end : lines[0].start()])
        result.append(_label(lines, say))
        end = lines[-1].end()
    return "".join([*result, text[end:]])


def _follows(upper: re.Match, lower: re.Match, text: str) -> bool:
    """Tell whether one line continues a text of several lines."""
    places = _MOVED.search(upper[1]), _MOVED.search(lower[1])
    size = _SIZE.search(upper[1])
    if None in (*places, size) or text[upper.end() : lower.start()].strip():
        return False
    distance = float(places[1][2]) - float(places[0][2])
    return abs(distance / float(size[1]) - _LEADING) < 0.05


def _label(lines: list[re.Match], say: Say) -> str:
    english = " ".join(html.unescape(line[2].strip()) for line in lines)
    said = say(english)
    if said == english:
        return "".join(line[0] for line in lines)
    if len(lines) == 1:
        [line] = lines
        return f"<text{line[1]}>{html.escape(said, quote=False)}</text>"
    size = float(_SIZE.search(lines[0][1])[1])
    starts = [float(_MOVED.search(line[1])[1]) for line in lines]
    middles = [
        start + len(line[2]) * size * _LETTER / 2
        for start, line in zip(starts, lines, strict=True)
    ]
    left = max(starts) - min(starts) < 1
    x = starts[0] if left else sum(middles) / len(middles)
    rows = []
    for line, words in zip(lines, _broken(said, len(lines)), strict=True):
        y = _MOVED.search(line[1])[2]
        kept = _MOVED.sub(f'x="{x:.2f}" y="{y}"', line[1])
        anchor = "" if left else ' text-anchor="middle"'
        if words:
            rows.append(
                f"<text{kept}{anchor}>{html.escape(words, quote=False)}</text>"
            )
    return "".join(rows)


def _broken(text: str, count: int) -> list[str]:
    """Return a text in that many lines of about equal length."""
    lines, left = [], text
    for rest in range(count, 1, -1):
        at = round(len(left) / rest)
        # Neither within a number or a Latin word, nor before a comma.
        while 0 < at < len(left) and re.match(
            r"[\w.][\w.]|.[，。：；、）]", left[at - 1 : at + 1], re.ASCII
        ):
            at += 1
        lines.append(left[:at].strip())
        left = left[at:]
    return [*lines, left.strip()]
