"""Decide when the chapters are executed again.

MyST-NB executes a chapter when its own code has changed. What it imports, and
the files that it reads, count here as well: what MyST-NB keeps of a chapter
is dropped when one of them has changed. So it is with the other pages that
have code, such as the front page.
"""

import ast
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from jupyter_cache import get_cache
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment

CHAPTERS, PAGES = "chapters/*.ipynb", "book/**/*.md"
CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
# What a script imports.
FROM = re.compile(r"^(?:import|\}).* from \"(\..*?)\"", re.MULTILINE)
KEPT = ".jupyter_cache"
STATES = "executed.json"


def setup(app: Sphinx) -> None:
    """Look at the cache first, and tell kernels that a build started them."""
    os.environ["VITEDU_BUILD"] = "1"
    app.connect("config-inited", choose_cache)
    app.connect("env-get-outdated", look_at_cache)


def choose_cache(app: Sphinx, config: Config) -> None:
    """Point MyST-NB at the cache that the tests fill, too."""
    config.nb_execution_cache_path = str(Path(app.outdir).parent / KEPT)


def look_at_cache(
    app: Sphinx,
    env: BuildEnvironment,
    added: set[str],
    changed: set[str],
    removed: set[str],
) -> list[str]:
    """Leave nothing in the cache that is out of date, before it is read.

    Returns:
        The pages of chapters whose library is not that of last time.
    """
    found = drop_stale(Path(app.srcdir), Path(app.outdir).parent)
    states = {
        path.relative_to(app.srcdir).with_suffix("").as_posix(): state
        for path, state in found.items()
    }
    before = getattr(env, "vitedu_states", {})
    env.vitedu_states = states
    known = env.found_docs - added
    return [n for n in states if n in known and states[n] != before.get(n)]


def drop_stale(root: Path, build: Path) -> dict[Path, str]:
    """Drop executed chapters that another state of the library made.

    So is what a killed process left half written: jupyter-cache fails on it,
    in every build from then on.

    Returns:
        For each page with code a digest of the files that it depends on.
    """
    folder, file = build / KEPT / "executed", build / STATES
    before = _read(file) or {}
    states = {path: _digest(root, path) for path in _executed(root)}
    now = {str(path): state for path, state in states.items()}
    cache, known = get_cache(build / KEPT), set()
    for record in cache.list_cache_records():
        known.add(record.hashkey)
        base = folder / record.hashkey / "base.ipynb"
        if not _read(base) or now.get(record.uri) != before.get(record.uri):
            # jupyter-cache removes only what it finds.
            base.parent.mkdir(parents=True, exist_ok=True)
            base.touch()
            cache.remove_cache(record.pk)
    for path in folder.glob("*"):
        if path.name not in known:
            shutil.rmtree(path)
    build.mkdir(exist_ok=True)
    file.write_text(json.dumps(now, indent=1), encoding="utf-8")
    return states


def _executed(root: Path) -> Iterator[Path]:
    """Yield the chapters, and the other pages that have code."""
    yield from root.glob(CHAPTERS)
    for path in root.glob(PAGES):
        if CELL.search(path.read_text(encoding="utf-8")):
            yield path


def _read(path: Path) -> dict | None:
    """Return what a file of JSON holds, or None if it is not whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _digest(root: Path, chapter: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(depends_on(root, chapter)):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def depends_on(root: Path, chapter: Path) -> set[Path]:
    """Return the files besides its own that decide what a chapter shows.

    These are the modules of the library that it imports, those that they
    import, the scripts that any of them names, with their styles and what they
    import, stored results where one reads such, and the exact versions of
    other libraries.
    """
    code = _code_of(chapter)
    waiting, texts = [*_imported(code)], [code]
    found = {path for path in [root / "constraints.txt"] if path.is_file()}
    while waiting:
        module, name = waiting.pop()
        for path in _files_of(root, module, name):
            if path in found:
                continue
            found.add(path)
            texts.append(path.read_text(encoding="utf-8"))
            if path.name != "__init__.py":
                waiting += _imported(texts[-1])
        waiting += _passed_on(root, module, name)
    named = "\n".join(texts)
    if "book/data" in named:
        found |= {p for p in root.glob("book/data/**/*") if p.is_file()}
    return found | _web_files(root, named)


def _web_files(root: Path, named: str) -> set[Path]:
    """Return scripts that code names, what these import, and their styles."""
    waiting = [
        path
        for path in root.glob("vitedu/**/*.[jc]s*")
        if path.name in named or f'"{path.stem}"' in named
    ]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in found or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".js":
            waiting.append(path.with_suffix(".css"))
            waiting += [
                Path(os.path.normpath(path.parent / name))
                for name in FROM.findall(path.read_text(encoding="utf-8"))
            ]
    return found


def _code_of(chapter: Path) -> str:
    text = chapter.read_text(encoding="utf-8")
    if chapter.suffix == ".md":
        cells = CELL.findall(text)
    else:
        cells = [
            "".join(cell["source"])
            for cell in json.loads(text)["cells"]
            if cell["cell_type"] == "code"
        ]
    lines = [line for cell in cells for line in [*cell.splitlines(), ""]]
    # Neither magic, nor the options of a cell in Markdown.
    return "\n".join(x for x in lines if not x.startswith(("%", "!", ":")))


@cache
def _imported(code: str) -> tuple[tuple[str, str], ...]:
    """Return (module, name) for each import; "" where there is no name."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            found += [(node.module or "", alias.name) for alias in node.names]
    return tuple(found)


def _files_of(root: Path, module: str, name: str) -> Iterator[Path]:
    """Yield the files that are read to import a name from a module."""
    parts = f"{module}.{name}".rstrip(".").split(".")
    if parts[0] not in ("vitedu", "experiments"):
        return
    for end in range(1, len(parts) + 1):
        folder = root.joinpath(*parts[:end])
        for path in (folder / "__init__.py", folder.with_suffix(".py")):
            if path.is_file():
                yield path


def _passed_on(root: Path, module: str, name: str) -> list[tuple[str, str]]:
    """Return where a package has a name from that it passes on.

    What else the package imports says nothing about that name.
    """
    package = root.joinpath(*module.split("."), "__init__.py")
    if not name or not module.startswith("vitedu") or not package.is_file():
        return []
    code = package.read_text(encoding="utf-8")
    return [pair for pair in _imported(code) if pair[1] == name]
