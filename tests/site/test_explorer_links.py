"""Links from the text into explorers, in a tiny book."""

import json
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from conftest import watch
from ipywidgets.embed import dependency_state
from mounted import expect_published
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output
from playwright.sync_api import expect
from tiny_book import CONFIG, build, fault
from vitedu_book.explorer_links import check_settings

from vitedu.widgets import ModelCounter, SoftmaxScaling
from vitedu.widgets.base import Explorer

TOC = "{format: jb-book, root: one, chapters: [{file: two}, {file: three}]}"
LINKS = """# Two

[no root](#explorer-softmax-scaling:head_dim=512&scale=none) and
[the `root`](#explorer-softmax-scaling:scale=1%2Fsqrt(head_dim)),
[here](#explorer-model-counter), [there](one.ipynb#explorer-model-counter).
"""


def notebook(title: str, *explorers: Explorer) -> str:
    """Return a notebook that has been run, and shows these explorers."""
    view = "application/vnd.jupyter.widget-view+json"
    cells = [new_markdown_cell(title)]
    for one in explorers:
        shown = new_output("display_data", {view: {"model_id": one.model_id}})
        cells.append(new_code_cell("explore()", outputs=[shown]))
    state = dependency_state(explorers, drop_defaults=False)
    version = {"version_major": 2, "version_minor": 0}
    kernel = {"name": "python3", "display_name": "Python 3"}
    metadata = {
        "kernelspec": kernel,
        "language_info": {"name": "python"},
        "widgets": {
            "application/vnd.jupyter.widget-state+json": {
                "state": state,
                **version,
            }
        },
    }
    return json.dumps(nbformat.v4.new_notebook(cells=cells, metadata=metadata))


QUIZ = """
- ask: "Which?"
  where: "Two"
  options:
    - {text: "this", why: "No."}
    - text: "that"
      right: true
      why: "See [ViT-L](#explorer-model-counter:num_layers=24&fused=true)."
"""


def book(folder: Path, two: str) -> Path:
    first = notebook("# One", SoftmaxScaling(), ModelCounter())
    (folder / "_config.yml").write_text(CONFIG)
    (folder / "_toc.yml").write_text(TOC)
    (folder / "one.ipynb").write_text(first)
    (folder / "two.ipynb").write_text(notebook(two, ModelCounter()))
    (folder / "three.md").write_text("# Three\n")
    return folder


def test_links_lead_to_the_explorer_wherever_it_stands(browser, tmp_path):
    build(book(tmp_path, LINKS))
    text = (tmp_path / "_build/html/two.html").read_text("utf-8")
    links = BeautifulSoup(text, "html.parser").select("article p a")
    assert [(link.get_text(), link["href"]) for link in links][:4] == [
        (
            "no root",
            "one.html#explorer-softmax-scaling:head_dim=512&scale=none",
        ),
        (
            "the root",
            "one.html#explorer-softmax-scaling:scale=1%2Fsqrt%28head_dim%29",
        ),
        ("here", "#explorer-model-counter"),
        ("there", "one.html#explorer-model-counter"),
    ]
    assert links[1].code.get_text() == "root"

    page = browser.new_page()
    site = (tmp_path / "_build/html").as_uri()
    watch(page, site)
    page.goto(f"{site}/two.html")
    page.get_by_role("link", name="no root").click()
    explorer = page.locator("#explorer-softmax-scaling")
    expect(explorer).to_be_focused()
    expect(explorer).to_be_in_viewport()
    expect_published(explorer, head_dim=512, scale=1)
    page.close()
    assert page.requests_outside == page.console_errors == []


def test_a_quiz_links_into_explorers_and_its_files_do_not(tmp_path):
    book(tmp_path, "# Two")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "two.ipynb").rename(tmp_path / "chapters/two.ipynb")
    (tmp_path / "_toc.yml").write_text(TOC.replace("two", "chapters/two"))
    (tmp_path / "book/quizzes").mkdir(parents=True)
    (tmp_path / "book/quizzes/two.yml").write_text(QUIZ)
    build(tmp_path)
    site = tmp_path / "_build/html"
    text = (site / "chapters/two.html").read_text("utf-8")
    boxes = BeautifulSoup(text, "html.parser")
    [link] = boxes.select(".vitedu-quiz a[href*=explorer]")
    assert link.get_text() == "ViT-L"
    assert link["href"] == "#explorer-model-counter:num_layers=24&fused=true"
    for suffix in ("gift", "csv"):
        exported = (site / f"quizzes/two.{suffix}").read_text("utf-8")
        assert "See ViT-L." in exported


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            "#explorer-softmax-scaling:head_dim=1025",
            "head_dim must fit {'kind': 'integer', 'low': 1, 'high': 1024}, "
            "got '1025'",
        ),
        (
            "two.ipynb#explorer-softmax-scaling",
            "'softmax-scaling' stands on ['one']",
        ),
    ],
)
def test_a_link_to_what_is_not_there_stops_the_build(tmp_path, link, message):
    two = f"# Two\n\n[words]({link})\n"
    assert message in fault(book(tmp_path, two))


def test_a_setting_that_is_not_there_is_named():
    message = r"softmax-scaling has the settings \['head_dim', .* not 'heads'"
    with pytest.raises(ValueError, match=message):
        check_settings(
            *("softmax-scaling", SoftmaxScaling()._schema, [("heads", "1")])
        )
