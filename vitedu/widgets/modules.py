"""Join the modules of an explorer into the one that a page loads.

The files are ES modules, as Node and the linter read them. A page gets a
single text, because modules that import others do not load from disk. A file
may import names from other files, or all of a JSON file:

    import { tidy } from "./core/texts.js";
    import WORDS from "./NAME.words.json" with { type: "json" };

and it may export functions, classes and constants where it declares them.
"""

import json
import posixpath
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
_IMPORT = re.compile(
    r"^import (?P<names>\w+|\{[^}]*\})\s+from\s+"
    r"\"(?P<file>\.[\w./]+)\"(?: with \{ type: \"json\" \})?;\n",
    re.MULTILINE,
)
_EXPORT = re.compile(
    r"^export (?=(?:async )?(?:function\*?|class|const) (\w+))", re.MULTILINE
)
_LEFT = re.compile(r"^(?:import\b|export (?!default\b)).*", re.MULTILINE)
_FUNCTION = re.compile(
    r"^((?:async )?function\*? \w+\(.*?^}\n)", re.MULTILINE | re.DOTALL
)
_COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
_INDENT = re.compile(r"^ +", re.MULTILINE)
_UNSEEN_STYLE = re.compile(r"/\*.*?\*/|^\s+", re.MULTILINE | re.DOTALL)


def joined(entry: str) -> str:
    """Return a module that imports nothing and does what `entry` does.

    Functions that nothing uses are left out.

    Args:
        entry: Name of a file in this folder.

    Raises:
        ValueError: A file imports itself indirectly, imports what another does
            not export, or imports or exports in an unsupported way.
    """
    *others, last = order(entry)
    asked: dict[str, set[str]] = defaultdict(set)
    for importer in (*others, last):
        for file, names in _imports(importer):
            asked[file].update(names)
    constants = (_as_constant(name, asked[name]) for name in others)
    return "\n".join([*constants, _body(last, {*exports(last)})])


def order(entry: str) -> list[str]:
    """Return the names of all files, each after those that it imports."""
    found: dict[str, None] = {}

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            way = " -> ".join([*above, name])
            raise ValueError(f"modules must not import themselves, got {way}")
        if name in found:
            return
        for file, _ in _imports(name):
            visit(file, (*above, name))
        found[name] = None

    visit(entry, ())
    return [*found]


def styles(entry: str) -> str:
    """Return the style sheets of a module and of all that it imports."""
    sheets = (FOLDER / name.replace(".js", ".css") for name in order(entry))
    texts = (
        sheet.read_text(encoding="utf-8")
        for sheet in sheets
        if sheet.suffix == ".css" and sheet.exists()
    )
    return _UNSEEN_STYLE.sub("", "\n".join(texts))


@cache
def exports(name: str) -> tuple[str, ...]:
    """Return the names that a file exports."""
    return tuple(_EXPORT.findall(_text(name)))


@cache
def _text(name: str) -> str:
    text = (FOLDER / name).read_text(encoding="utf-8")
    # Comments and indents are for those who read the files, not for pages.
    return _COMMENT.sub("", text) if name.endswith(".js") else text


@cache
def _imports(name: str) -> list[tuple[str, list[str]]]:
    """Return which names a file imports, and from which files."""
    if not name.endswith(".js"):
        return []
    return [
        (_path(name, found), re.findall(r"\w+", found["names"]))
        for found in _IMPORT.finditer(_text(name))
    ]


def _path(name: str, found: re.Match[str]) -> str:
    """Return what a file imports, relative to the folder of all files."""
    return posixpath.normpath(
        posixpath.join(posixpath.dirname(name), found["file"])
    )


def _as_constant(name: str, asked: set[str]) -> str:
    if name.endswith(".json"):
        # On a line of its own, where an edition finds it.
        text = json.dumps(json.loads(_text(name)), ensure_ascii=False)
        return f"const {_constant(name)} = {text};"
    own = [export for export in exports(name) if export in asked]
    return (
        f"const {_constant(name)} = (() => {{\n{_body(name, asked)}"
        f"return {{ {', '.join(own)} }};\n}})();"
    )


def _body(name: str, asked: set[str]) -> str:
    """Return what a file does, without the functions that nothing calls."""
    pieces, called, before = _pieces(name), {*asked, ""}, 0
    while len(called) > before:
        before = len(called)
        called.update(*(one.words for one in pieces if one.name in called))
    return "".join(one.text for one in pieces if one.name in called)


class _Piece(NamedTuple):
    """A top-level function; or what is between two, without a name."""

    name: str
    text: str
    words: frozenset[str]


@cache
def _pieces(name: str) -> list[_Piece]:
    """Return a file in pieces, without what it imports and exports."""

    def constant(found: re.Match[str]) -> str:
        file, names = _path(name, found), found["names"]
        missing = {*re.findall(r"\w+", names)} - {*exports(file)}
        if missing and file.endswith(".js"):
            raise ValueError(
                f"{file} must export {missing}: {name} imports it"
            )
        return f"const {names} = {_constant(file)};\n"

    text = _EXPORT.sub("", _IMPORT.sub(constant, _text(name)))
    if left := _LEFT.search(text):
        raise ValueError(f"{name} must import and export plainly: {left[0]}")
    found = []
    for at, piece in enumerate(_FUNCTION.split(text)):
        words = re.findall(r"\w+", piece)
        own = words[words.index("function") + 1] if at % 2 else ""
        plain = _INDENT.sub("", piece)
        found.append(_Piece(own, plain, frozenset(words)))
    return found


def _constant(file: str) -> str:
    return "$" + re.sub(r"\W", "_", file.rsplit(".", 1)[0])
