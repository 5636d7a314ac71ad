"""What the library holds, read from its source without importing it."""

import ast
from collections.abc import Collection
from functools import cache
from pathlib import Path

import yaml

PACKAGE = "vitedu"
INDEX = "book/api/modules.yml"


@cache
def index(library: Path) -> dict[str, dict[str, str]]:
    """Return group -> module -> words, in reading order."""
    text = (library.parent / INDEX).read_text(encoding="utf-8")
    return yaml.safe_load(text)


def modules(library: Path) -> list[str]:
    """Return the modules of the index in reading order."""
    return [name for group in index(library).values() for name in group]


@cache
def builds_on(library: Path) -> dict[str, list[str]]:
    """Return for each module the ones it imports, in reading order.

    `require` is left out: it is everywhere.
    """
    names, found = modules(library), {}
    for name in names:
        needed = _imports(library, name, names) - {"require"}
        found[name] = [other for other in names if other in needed]
    return found


def layers(needs: dict[str, list[str]]) -> list[list[str]]:
    """Sort modules into layers: each one stands above all that it needs."""
    left, found = dict(needs), []
    while left:
        layer = [name for name, on in left.items() if not left.keys() & on]
        if not layer:
            raise ValueError(f"modules must not import in a circle: {[*left]}")
        found.append(layer)
        for name in layer:
            del left[name]
    return found


def passed_on(library: Path, name: str) -> list[str]:
    """Return what a module offers that another one defines."""
    tree = _tree(library, name)
    defined = {getattr(node, "name", "") for node in tree.body}
    for node in tree.body:
        if isinstance(node, ast.Assign) and _names(node) == ["__all__"]:
            offered = ast.literal_eval(node.value)
            return [other for other in offered if other not in defined]
    return []


def _names(node: ast.Assign) -> list[str]:
    return [getattr(target, "id", "") for target in node.targets]


@cache
def arguments(library: Path) -> frozenset[str]:
    """Return every name that a function of the library gives an argument."""
    return frozenset(
        node.arg
        for path in library.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.arg)
    )


def _imports(library: Path, name: str, known: Collection[str]) -> set[str]:
    found = set()
    for node in ast.walk(_tree(library, name)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    inside = {
        full.removeprefix(f"{PACKAGE}.")
        for full in found
        if full.startswith(f"{PACKAGE}.")
    }
    return {module for full in inside for module in _parents(full, known)}


def _parents(full: str, known: Collection[str]) -> list[str]:
    """Return the module of the index that an imported name belongs to."""
    parts = full.split(".")
    names = [".".join(parts[:end]) for end in range(len(parts), 0, -1)]
    return [name for name in names if name in known][:1]


def _tree(library: Path, name: str) -> ast.Module:
    path = library.joinpath(*name.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))
