"""Give each page one style sheet: it waits for all of them anyway.

Fifteen small files cost a phone several trips to the host, a big one costs
one. The parts stay in the site, too: slides and the e-book use some of them.
"""

import hashlib
import posixpath
import re
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

        It is written at once for Sphinx, which adds its checksum to the name.
        """
        sheets = sorted(context["css_files"], key=lambda css: css.priority)
        names = [posixpath.relpath(css.filename, "_static") for css in sheets]
        parts = tuple(dict.fromkeys([*FIRST, *names]))
        key = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:8]
        name = f"_static/{FOLDER}/{key}.css"
        if name not in self.parts:
            self.parts[name] = parts
            self.write(Path(app.outdir))
        context["css_files"] = [type(sheets[0])(name)]

    def write(self, site: Path) -> None:
        """Write the sheets of the pages so far."""
        for name, parts in self.parts.items():
            (site / name).parent.mkdir(exist_ok=True)
            (site / name).write_text(joined(site / "_static", parts), "utf-8")

    def write_again(self, app: Sphinx, exception: Exception | None) -> None:
        """Write them once more: parts have come or changed at the end."""
        if exception is None:
            self.write(Path(app.outdir))


def setup(app: Sphinx) -> None:
    """Run when all other extensions have named and written their sheets."""
    sheets = Sheets()
    app.connect("html-page-context", sheets.name_one, priority=900)
    app.connect("build-finished", sheets.write_again, priority=900)


def joined(static: Path, names: tuple[str, ...]) -> str:
    """Return sheets one after another, with addresses as from our folder."""
    there = (name for name in names if (static / name).is_file())
    return "\n".join(_from_folder(static, name) for name in there)


def _from_folder(static: Path, name: str) -> str:
    def moved(found: re.Match[str]) -> str:
        path = posixpath.join("..", posixpath.dirname(name), found[2])
        return f'url("{posixpath.normpath(path)}")'

    return ADDRESS.sub(moved, (static / name).read_text("utf-8"))
