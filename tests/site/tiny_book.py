"""Books of a page or two, built with the book's own extension."""

import sys
import warnings
from pathlib import Path

import yaml
from click.testing import CliRunner, Result
from jupyter_book.cli.main import main as jupyter_book
from pages import ROOT

BOOK = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
EXTENSIONS = BOOK["sphinx"]["config"]["extensions"]
EXTENSIONS.remove("sphinxcontrib.bibtex")  # it asks for references
CONFIG = f"""
title: Tiny
only_build_toc_files: true
execute: {{execute_notebooks: "off"}}
html: {{use_multitoc_numbering: false, home_page_in_navbar: false}}
sphinx:
  local_extensions: {{vitedu_book: "{ROOT / "book" / "ext"}"}}
  config:
    extensions: {EXTENSIONS}
    html_static_path: ["{ROOT / "book" / "web"}"]
    html_theme_options: {{logo: {{text: Tiny}}, use_fullscreen_button: false}}
    templates_path: ["{ROOT / "book" / "ext" / "templates"}"]
    html_math_renderer: katex
    katex_prerender: true
    katex_css_path: katex/katex.min.css
    myst_update_mathjax: false
    nb_ipywidgets_js: {{}}
"""
TOC = "{format: jb-book, root: first, chapters: [{file: one}, {file: claims}]}"


def build(folder: Path, **environment: str) -> str:
    """Build a book as `jupyter-book build -W` does; return what it says."""
    done = _build(folder, environment)
    assert done.exit_code == 0, done.output
    return done.output


def fault(folder: Path) -> str:
    """Return what `jupyter-book build -W` says of a book that it refuses."""
    done = _build(folder, {})
    assert done.exit_code != 0, done.output
    return " ".join(done.output.split())


def _build(folder: Path, environment: dict[str, str]) -> Result:
    # In this process: a new one takes ten seconds to import what it needs.
    command = ["build", "-W", str(folder)]
    # The extension sets the first; what is named here is put back.
    environment = {"VITEDU_BUILD": "1", **environment}
    paths = sys.path.copy()
    try:
        with warnings.catch_warnings(action="ignore"):
            return CliRunner().invoke(jupyter_book, command, env=environment)
    finally:
        sys.path[:] = paths
