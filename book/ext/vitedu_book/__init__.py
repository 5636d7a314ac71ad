"""The local Sphinx extension of the book: one module a concern."""

import hashlib
from importlib import import_module
from pathlib import Path

from sphinx.application import Sphinx

PARTS = (
    "accessibility",
    "code_map",
    "code_names",
    "deeper",
    "embeds",
    "execution",
    "exercises",
    "explorer_links",
    "figures",
    "formulas",
    "frame",
    "guesses",
    "hosting",
    "images",
    "languages",
    "ledgers",
    "machines",
    "metadata",
    "networks",
    "previews",
    "quizzes",
    "reference",
    "search",
    "sidenotes",
    "tables",
    "teaching",
    "third_party",
    "ticks",
    "weights",
    "widget_state",
)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect every part of the extension."""
    for part in PARTS:
        import_module(f"{__name__}.{part}").setup(app)
    # Sphinx reads all pages again when a value of its configuration changes;
    # it would not notice a change in this extension or in the web files.
    app.add_config_value("vitedu_book_digest", _digest(), "env", (str,))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _digest() -> str:
    book = Path(__file__).parents[2]
    files = [
        *book.glob("ext/**/*.py"),
        *book.glob("hosting/*"),
        *book.glob("machines/*"),
        *book.glob("web/*.*"),
    ]
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()
