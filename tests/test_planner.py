"""The planner at build time: a link that would lead nowhere stops it."""

import json
import shutil
from types import SimpleNamespace

import pytest
from docutils import nodes
from test_notebooks import CHAPTERS, ROOT
from vitedu_book import paths, planner

BOXES = json.loads((ROOT / paths.TIMES).read_text(encoding="utf-8"))


def contents(anchors):
    """Return the table of contents of a page, as Sphinx keeps it."""
    links = [
        nodes.reference("", name, anchorname=name and f"#{name}")
        for name in ("", *anchors)
    ]
    return nodes.bullet_list("", *links)


@pytest.fixture
def app(tmp_path):
    """A build of the book, in which every chapter has been read."""
    (tmp_path / "book").mkdir()
    for name in (paths.YAML, paths.TIMES):
        shutil.copy(ROOT / name, tmp_path / name)
    docnames = {f"chapters/{path.stem}": path.stem for path in CHAPTERS}
    env = SimpleNamespace(
        found_docs={*docnames, planner.PAGE},
        titles={doc: nodes.title("", name) for doc, name in docnames.items()},
        tocs={
            doc: contents([*BOXES["chapters"][name]["sections"]][1:])
            for doc, name in docnames.items()
        },
    )
    builder = SimpleNamespace(
        get_relative_uri=lambda here, there: f"../{there}.html"
    )
    return SimpleNamespace(srcdir=tmp_path, env=env, builder=builder)


def test_the_parts_are_made_of_links(app):
    book = planner.Book(app)
    for part in planner.PARTS.values():
        found = nodes.container("", *part(book))
        assert [*found.findall(nodes.reference)]
    link = book.section("3#what-does-attention-do")
    page = "../chapters/03-scaled-dot-product-attention.html"
    assert link["refuri"] == f"{page}#what-does-attention-do"
    first = book.section("3#scaled-dot-product-attention")
    assert (first["refuri"], first.astext()) == (page, "First screen")


def test_a_heading_that_is_gone_stops_the_build(app):
    app.env.tocs["chapters/13-vision-transformer"] = contents(["else"])
    with pytest.raises(paths.BadPaths, match=r"13-vis.* 'what-are-the-five"):
        planner.planner(planner.Book(app))


def test_a_chapter_that_is_gone_stops_the_build(app):
    app.env.found_docs.remove("chapters/10-decoding")
    with pytest.raises(paths.BadPaths, match=r"no chapters \{10\}"):
        planner.Book(app)


def test_the_page_is_written_again_when_a_chapter_has_changed(app):
    assert planner.outdated(app, app.env) == [planner.PAGE]
    assert planner.outdated(app, SimpleNamespace(found_docs={"a"})) == []
