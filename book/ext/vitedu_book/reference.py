"""The reference of the library: its pages, made from the docstrings.

`book/api/modules.yml` lists the modules in groups. A page shows one group with
``.. library:: Group``; the overview shows all with ``.. library-overview::``.
Autodoc writes each module; here its text is prepared and its names linked.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from numpy.typing import ArrayLike
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx.util.inspect import stringify_annotation
from sphinx.util.nodes import make_refnode

from .library import (
    INDEX,
    PACKAGE,
    arguments,
    builds_on,
    index,
    passed_on,
)

SECTIONS = re.compile(r"(Returns|Yields):")
REMARK = re.compile(r"(Source|Deviates): ")
DERIVED = re.compile(r"Derived in: (.+)")
QUOTED = re.compile(r"'[^'\"]*'")
NAMED = re.compile(rf"{PACKAGE}(\.\w+)+")
# What autodoc writes, and what stands in the source.
READABLE = {
    stringify_annotation(ArrayLike, "smart"): "~numpy.typing.ArrayLike",
    # The default of a dataclass that is made anew each time.
    "= <factory>": "= ...",
}
# Methods that stand in every layer; what they do is said by the class.
HIDDEN = {"extra_repr", "validate"}
NOTHING = "\N{EN DASH}"
# What Python itself writes for the fields of a NamedTuple.
GENERATED = "Alias for field number"


class Library(SphinxDirective):
    """Show the modules of a group, one section each."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Hand each module to autodoc."""
        library = _library(self.env)
        self.env.note_dependency(library.parent / INDEX)
        group = index(library).get(self.arguments[0])
        if group is None:
            raise self.error(
                f"no group {self.arguments[0]!r} in {library}, "
                f"there are {[*index(library)]}"
            )
        lines = [line for name in group for line in _module(library, name)]
        return _parse(self, lines)


def _module(library: Path, name: str) -> Iterator[str]:
    title = f"``{PACKAGE}.{name}``"
    yield from (title, "-" * len(title), "")
    yield f".. automodule:: {PACKAGE}.{name}"
    others = passed_on(library, name)
    if others:
        yield from ("   :ignore-module-all:", "")
        names = ", ".join(f"`{other}`" for other in others)
        yield f"   From here, too: {names}."
    yield ""


class LibraryOverview(SphinxDirective):
    """Show a table of modules per group."""

    def run(self) -> list[nodes.Node]:
        """Write the tables."""
        library = _library(self.env)
        # A table of imports depends on every module.
        for path in (library.parent / INDEX, *library.rglob("*.py")):
            self.env.note_dependency(path)
        return _parse(self, list(_overview(library)))


def _overview(library: Path) -> Iterator[str]:
    needs = builds_on(library)
    for group, words in index(library).items():
        page = group.lower().replace(" ", "-")
        title = f":doc:`{group} </book/api/{page}>`"
        yield from (title, "-" * len(title), "")
        yield from (".. list-table::", "   :header-rows: 1")
        yield from ("   :class: library-modules", "")
        yield from _row("Module", "What it holds", "Builds on")
        for name, about in words.items():
            yield from _row(_link(name), about, _links(needs[name]) or NOTHING)
        yield ""


def _row(*cells: str) -> Iterator[str]:
    for number, cell in enumerate(cells):
        yield f"   {'- ' if number else '* - '}{cell}".replace(
            "   - ", "     - "
        )


def _link(name: str) -> str:
    return f":py:mod:`{name} <{PACKAGE}.{name}>`"


def _links(names: list[str]) -> str:
    return ", ".join(_link(name) for name in names)


def _parse(directive: SphinxDirective, lines: list[str]) -> list[nodes.Node]:
    node = nodes.section()
    node.document = directive.state.document
    text = StringList(lines, source=directive.get_source_info()[0])
    directive.state.nested_parse(text, 0, node, match_titles=True)
    return node.children


def _library(env: BuildEnvironment) -> Path:
    return Path(env.srcdir, PACKAGE)


def setup(app: Sphinx) -> None:
    """Add the directives, and follow autodoc from docstring to link."""
    app.setup_extension("sphinx.ext.autodoc")
    app.add_directive("library", Library)
    app.add_directive("library-overview", LibraryOverview)
    app.connect("config-inited", find_library)
    # Before napoleon (500), which reads the sections that are left.
    app.connect("autodoc-process-docstring", write_fields, priority=400)
    app.connect("autodoc-process-signature", write_signature)
    app.connect("autodoc-skip-member", choose_member)
    app.connect("env-before-read-docs", forget_names)
    app.connect("doctree-read", mark_names)
    app.connect("missing-reference", find_name)


def find_library(app: Sphinx, config: Any) -> None:
    """Document the library that lies beside the book."""
    sys.path.insert(0, str(app.srcdir))


def forget_names(
    app: Sphinx, env: BuildEnvironment, docnames: list[str]
) -> None:
    """Forget what the pages to be read have defined, before the first is.

    Otherwise a module that has moved to another group would exist twice for
    a moment.
    """
    for docname in docnames:
        for domain in env.domains.values():
            domain.clear_doc(docname)


def write_fields(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Turn the sections of our own into fields, as the others will be.

    Types stand in the signature only. Napoleon would take what comes before
    a colon in "Returns" for one.
    """
    inside = False
    for number, line in enumerate(lines):
        field = SECTIONS.sub(lambda found: f":{found[1].lower()}:", line)
        field = REMARK.sub(r":\1: ", field)
        field = DERIVED.sub(_derived, field)
        # What continues a field has to be indented.
        continues = inside and field == line and line[:1].strip()
        lines[number] = f"    {line}" if continues else field
        inside = field != line or (inside and bool(line.strip()))


def _derived(found: re.Match[str]) -> str:
    chapters = found[1].split(", ")
    links = ", ".join(f":doc:`/chapters/{name}`" for name in chapters)
    return f":Derived in: {links}"


def write_signature(
    app: Sphinx,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write types and defaults as the source does."""
    for written, meant in READABLE.items():
        signature = signature and signature.replace(written, meant)
    return signature, returns


def choose_member(
    app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any
) -> bool | None:
    """Show `forward` always: its shapes say what the layer does."""
    if name == "forward":
        return False
    generated = (getattr(obj, "__doc__", "") or "").startswith(GENERATED)
    return True if name in HIDDEN or generated else None


def mark_names(app: Sphinx, doctree: nodes.document) -> None:
    """Link names like ``vitedu.masks`` wherever a page has them as code."""
    for node in list(doctree.findall(nodes.literal)):
        if NAMED.fullmatch(node.astext()) and _is_plain(node):
            link = addnodes.pending_xref(
                refdomain="py", reftype="obj", reftarget=node.astext()
            )
            node.replace_self(link)
            link += node
    for node in doctree.findall(_is_quoted):
        # With the quotes of the source.
        node.children = [nodes.Text(f'"{node.astext()[1:-1]}"')]


def _is_quoted(node: nodes.Node) -> bool:
    written = isinstance(node, addnodes.desc_sig_literal_string) or (
        isinstance(node, nodes.inline) and "default_value" in node["classes"]
    )
    return written and bool(QUOTED.fullmatch(node.astext()))


def _is_plain(node: nodes.Node) -> bool:
    parent = node.parent
    while parent is not None:
        if isinstance(
            parent, nodes.reference | nodes.title | addnodes.pending_xref
        ):
            return False
        parent = parent.parent
    return True


def find_name(
    app: Sphinx,
    env: BuildEnvironment,
    node: addnodes.pending_xref,
    content: nodes.Node,
) -> nodes.Element | None:
    """Find an object of the library by its last name, if only one has it.

    A docstring names objects of other modules so, and a name may be imported
    from another module than the one that defines it. The name of an argument
    is none of an object.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"]
    inside = NAMED.fullmatch(target)
    short = ".".join(target.split(".")[2:]) if inside else target
    if not short or (not inside and short in arguments(_library(env))):
        return None
    found = [
        (name, entry)
        for name, entry in env.domaindata["py"]["objects"].items()
        if name.endswith(f".{short}")
        and not entry.aliased
        and entry.objtype not in ("module", "property", "attribute")
    ]
    if len(found) != 1:
        return None
    ((name, entry),) = found
    return make_refnode(
        app.builder,
        node["refdoc"],
        entry.docname,
        entry.node_id,
        content,
        name,
    )
