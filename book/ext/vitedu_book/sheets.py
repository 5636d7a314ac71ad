"""Give each page one style sheet: it waits for all of them anyway.

Fifteen small files cost a phone several trips to the host, a big one costs
one. The parts stay in the site, too: slides and the e-book use some of them.
"""

import hashlib
import posixpath
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FOLDER = "joined"
# The theme's template would link these, before all others.
FIRST = ("basic.css", "styles/pydata-sphinx-theme.css")
# What a sheet names beside itself: neither whole addresses nor data.
ADDRESS = re.compile(r"""url\(\s*(["']?)(?![a-z]+:|[/#])([^"')]+)\1\s*\)""")


class Sheets:
    """The sheets that a build joins.

    Attributes:
        parts: Of each joined sheet, by its path in the site.
    """

    def __init__(self) -> None:
        self.parts: dict[str, tuple[str, ...]] = {}

    def name_one(
        self,
        app: Sphinx,
        pagename: str,
        templatename: str,
        context: dict[str, Any],
        doctree: Any,
    ) -> None:
        """Name one sheet in the place of the page's.

        It is written at once for Sphinx, which adds its checksum to the name,
        with the parts that are there.
        """
        sheets = sorted(context["css_files"], key=lambda css: css.priority)
        names = [posixpath.relpath(css.filename, "_static") for css in sheets]
        parts = tuple(dict.fromkeys([*FIRST, *names]))
        key = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:8]
        name = f"_static/{FOLDER}/{key}.css"
        if name not in self.parts:
            self.parts[name] = parts
            static = Path(app.outdir, "_static")
            there = [part for part in parts if (static / part).is_file()]
            write(Path(app.outdir, name), there)
        context["css_files"] = [type(sheets[0])(name)]

    def write_all(self, app: Sphinx, exception: Exception | None) -> None:
        """Write them once more: parts have come or changed at the end.

        Raises:
            FileNotFoundError: A part has not come.
        """
        if exception is None:
            for name, parts in self.parts.items():
                write(Path(app.outdir, name), parts)


def setup(app: Sphinx) -> None:
    """Run when all other extensions have named and written their sheets."""
    sheets = Sheets()
    app.connect("html-page-context", sheets.name_one, priority=900)
    app.connect("build-finished", sheets.write_all, priority=900)


def write(sheet: Path, parts: Iterable[str]) -> None:
    """Write parts one after another, with addresses as from our folder."""
    sheet.parent.mkdir(exist_ok=True)
    static = sheet.parent.parent
    texts = (_from_folder(static, part) for part in parts)
    sheet.write_text("\n".join(texts), "utf-8")


def _from_folder(static: Path, name: str) -> str:
    def moved(found: re.Match[str]) -> str:
        path = posixpath.join("..", posixpath.dirname(name), found[2])
        return f'url("{posixpath.normpath(path)}")'

    return ADDRESS.sub(moved, (static / name).read_text("utf-8"))
