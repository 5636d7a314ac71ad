"""What in the site was made by others: a table, and their licences.

The directive `third-party` lists the libraries of `book/vendored.yml` and the
Python packages whose scripts and styles Sphinx copies into the site. The text
of each licence is put into the site beside them.
"""

from importlib.metadata import Distribution, distribution
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[3]
MANIFEST = ROOT / "book" / "vendored.yml"
PACKAGES = (
    "myst-nb",
    "pydata-sphinx-theme",
    "Sphinx",
    "sphinx-book-theme",
    "sphinx-copybutton",
    "sphinx-design",
    "sphinx-togglebutton",
    "sphinxcontrib-katex",
)
FOLDER = "_static/licences"
HEAD = "| Name | Version | Comes from | Licence |\n|---|---|---|---|\n"


class ThirdParty(SphinxDirective):
    """List what others made, with links to their licences."""

    def run(self) -> list[nodes.Node]:
        """Write the table in MyST's markdown."""
        self.env.note_dependency(str(MANIFEST))
        up = "../" * self.env.docname.count("/")
        rows = [
            f"| {name} | {library['version']} | npm | "
            f"{_link(up, name, library['licence'])} |"
            for name, library in vendored().items()
        ]
        for package in map(distribution, PACKAGES):
            name = package.metadata["Name"]
            words = _link(up, name, _licence_name(package))
            rows.append(f"| {name} | {package.version} | PyPI | {words} |")
        return self.parse_text_to_nodes(HEAD + "\n".join(rows))


def setup(app: Sphinx) -> None:
    """Add the directive, and the licences when the site is complete."""
    app.add_directive("third-party", ThirdParty)
    app.connect("build-finished", copy_licences)


def vendored() -> dict[str, dict]:
    """Return the entries of the manifest by name."""
    return yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))


def copy_licences(app: Sphinx, exception: Exception | None) -> None:
    """Put the text of each licence into the site."""
    if exception is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, FOLDER)
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        name: (ROOT / library["folder"] / "LICENSE").read_text("utf-8")
        for name, library in vendored().items()
    }
    for package in map(distribution, PACKAGES):
        texts[package.metadata["Name"]] = _licence(package)
    for name, text in texts.items():
        path = Path(folder, f"{name}.txt")
        path.parent.mkdir(parents=True, exist_ok=True)  # "@scope/name"
        path.write_text(text, encoding="utf-8")


def _licence(package: Distribution) -> str:
    files = [
        file
        for file in package.files or ()
        if file.stem.startswith("LICENSE") and ".dist-info" in str(file)
    ]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def _licence_name(package: Distribution) -> str:
    about = package.metadata
    stated = about.get("License-Expression") or about.get("License")
    if stated:
        return stated.splitlines()[0]  # some give the whole text
    classifiers = about.get_all("Classifier", [])
    named = [c for c in classifiers if c.startswith("License ::")]
    return named[0].rsplit(" :: ", 1)[-1]


def _link(up: str, name: str, licence: str) -> str:
    return f'<a href="{up}{FOLDER}/{name}.txt">{licence}</a>'
