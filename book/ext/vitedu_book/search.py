"""The search: what each section says, in a script that the search page loads.

Sphinx's own index knows pages and their words. This one has the sections of
the book, each under its address, with their text, of which search.js shows
what is around the words that were found. A script can be read from disk, too.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unicodedata import lookup

import yaml
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.search.en import js_porter_stemmer

from .written import CELL

NAMES = Path(__file__).parents[2] / "search.yml"
PAGE, INDEX, KEPT = "search", "search-index.js", "search.json"
API = "book/api/"
# What a section counts for, by the beginning of its page's name; 0 is for the
# reference of the library, which is listed by itself.
COUNTS = {
    "chapters/": 1.0,
    API: 0.0,
    "book/teach/": 0.3,
    "book/claims": 0.2,
    "book/errata": 0.4,
    "book/hosting": 0.3,
    "book/ladder": 0.2,
    "book/references": 0.2,
    "book/third-party": 0.2,
}
OTHERS = 0.6
# Sphinx copies these into every site.
UNUSED = (
    "doctools.js",
    "sphinx_highlight.js",
    "searchtools.js",
    "language_data.js",
    "translations.js",
)
SILENT = (
    nodes.comment,
    nodes.image,
    nodes.literal_block,
    nodes.math_block,
    nodes.raw,
    nodes.system_message,
    nodes.title,
    addnodes.index,
    addnodes.toctree,
)
# What commands of formulas are as text; others are left out, or are words.
GREEK = ("alpha", "beta", "gamma", "epsilon", "theta", "mu", "pi", "sigma")
SIGNS = {
    **{"cdot": "·", "times": "×", "sqrt": "√", "le": "≤", "ge": "≥"},
    **{"approx": "≈", "ne": "≠", "to": "→", "in": "∈", "sum": "Σ"},
    **{"dots": "…", "ldots": "…", "top": "T", "infty": "∞", "pm": "±"},
    **{name: lookup(f"greek small letter {name}") for name in GREEK},
}
FUNCTIONS = ("cos", "exp", "ln", "log", "max", "min", "sin", "softmax")
FRACTION = re.compile(r"\\frac\{([^{}]*)\}\{([^{}]*)\}")
COMMAND = re.compile(r"\\([A-Za-z]+) ?|\\(.)")

Section = tuple[str, list[str], str]  # its anchor, its titles, its text


def setup(app: Sphinx) -> None:
    """Collect the sections of each page, then write the index."""
    app.connect("builder-inited", forgo_sphinx)
    app.connect("html-page-context", keep_sections)
    app.connect("html-collect-pages", add_page)
    app.connect("build-finished", remove_unused)


def forgo_sphinx(app: Sphinx) -> None:
    """Have Sphinx make no index and no page of its own."""
    app.builder.search = False


def keep_sections(
    app: Sphinx,
    pagename: str,
    _: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Keep what the sections of a page say, until it is written again.

    A page that has not changed is not written, but is in the index.
    """
    scripts = context["script_files"]
    scripts[:] = [one for one in scripts if _is_used(one)]
    if pagename == PAGE:
        where = context["pathto"]
        addresses = {
            "data-index": where(f"_static/{context['search_index']}", True),
            "data-library": where("_static/minisearch/index.js", True),
        }
        app.add_js_file("search.js", defer="defer", **addresses)
    if app.builder.name != "html" or doctree is None:
        return
    path = _kept(app, pagename)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = list(sections(doctree))
    path.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")


def _is_used(script: Any) -> bool:
    return Path(str(script.filename)).name not in UNUSED


def _kept(app: Sphinx, name: str) -> Path:
    return Path(app.doctreedir, f"{name}.{KEPT}")


def sections(doctree: nodes.document) -> Iterator[Section]:
    """Yield the sections of a page, its glossary's terms and its objects."""
    for section in doctree.findall(nodes.section):
        titles = [_title(section)]
        for above in _above(section):
            titles.insert(0, _title(above))
        # The first section is the page.
        anchor = section["ids"][0] if len(titles) > 1 else ""
        yield anchor, titles, text_of(section)
    for item in doctree.findall(nodes.definition_list_item):
        terms = [*item.findall(nodes.term)]
        if terms[0]["ids"] and isinstance(
            item.parent.parent, addnodes.glossary
        ):
            names = ", ".join(map(_plain, terms))
            meaning = item.next_node(nodes.definition)
            path = [_title(above) for above in _above(item)]
            yield terms[0]["ids"][0], [path[-1], names], text_of(meaning)
    for thing in doctree.findall(addnodes.desc):
        signature = thing.next_node(addnodes.desc_signature)
        if signature["ids"]:
            titles = [signature["module"], signature["fullname"]]
            content = thing.next_node(addnodes.desc_content)
            about = content.next_node(nodes.paragraph)
            text = _plain(about) if about else ""
            yield signature["ids"][0], titles, text


def _above(node: nodes.Node) -> Iterator[nodes.section]:
    while node := node.parent:
        if isinstance(node, nodes.section):
            yield node


def _title(section: nodes.section) -> str:
    title = section.next_node(nodes.title)
    return _plain(title) if title else ""


def _plain(node: nodes.Node) -> str:
    return " ".join("".join(_words(node)).split())


def text_of(node: nodes.Element) -> str:
    """Return the prose of a part of a page, without the sections in it."""
    text = " ".join("".join(map(_prose, node.children)).split())
    return text.removeprefix("· ")  # before why one might go deeper


def _prose(node: nodes.Node) -> str:
    inside = (nodes.section, addnodes.glossary, addnodes.desc)
    code = isinstance(node, nodes.container) and (
        node.get("nb_element") == CELL
    )
    if code or isinstance(node, (*inside, *SILENT)) or _is_facts(node):
        return ""
    if isinstance(node, nodes.TextElement | nodes.Text):
        return f"{''.join(_words(node))} "
    return "".join(map(_prose, node.children))


def _is_facts(node: nodes.Node) -> bool:
    """Tell whether this is how long a part takes, or what a chapter needs."""
    if isinstance(node, nodes.inline) and "minutes" in node["classes"]:
        return True
    return (
        isinstance(node, nodes.paragraph)
        and isinstance(first := node.next_node(), nodes.emphasis)
        and first.astext()[:1].isdigit()
    )


def _words(node: nodes.Node) -> Iterator[str]:
    """Yield the text of a paragraph, with its formulas as plain as can be."""
    if isinstance(node, nodes.math):
        formula = FRACTION.sub(r"\1/\2", node.astext())
        yield re.sub("[{}]", "", COMMAND.sub(_sign, formula))
    elif isinstance(node, nodes.Text):
        yield node.astext()
    elif not isinstance(node, nodes.raw | addnodes.index):
        for child in node.children:
            yield from _words(child)


def _sign(found: re.Match[str]) -> str:
    if found[1]:
        name = found[1]
        return SIGNS.get(name, f"{name} " if name in FUNCTIONS else "")
    return found[2] if found[2] in "%_{}#&" else " "


def add_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Write the index, and the page that asks it."""
    if app.builder.name != "html":
        return
    pages = []
    for name in app.config.external_site_map:
        if not _kept(app, name).is_file():
            continue  # a build of one page
        kept = json.loads(_kept(app, name).read_text(encoding="utf-8"))
        address = app.builder.get_target_uri(name)
        pages.append([address, _count(name), kept])
    names = yaml.safe_load(NAMES.read_text(encoding="utf-8"))
    index = {"names": names, "pages": pages}
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    script = f"var viteduSearchIndex = {text};\n{js_porter_stemmer}"
    path = Path(app.outdir, "_static", INDEX)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    digest = hashlib.sha256(script.encode()).hexdigest()[:8]
    yield PAGE, {"search_index": f"{INDEX}?v={digest}"}, f"{PAGE}.html"


def _count(name: str) -> float:
    found = (
        count for start, count in COUNTS.items() if name.startswith(start)
    )
    return next(found, OTHERS)


def remove_unused(app: Sphinx, exception: Exception | None) -> None:
    """Take out of the site what no page loads."""
    if exception is None and app.builder.name == "html":
        for name in UNUSED:
            Path(app.outdir, "_static", name).unlink(missing_ok=True)
        Path(app.outdir, app.builder.searchindex_filename).unlink(
            missing_ok=True
        )
