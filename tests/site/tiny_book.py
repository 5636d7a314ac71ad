"""Books of a page or two, built with the book's own extension."""

import os
import subprocess
import sys
from pathlib import Path

import yaml
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


def build(folder: Path, **environment: str) -> subprocess.CompletedProcess:
    command = Path(sys.executable).with_name("jupyter-book")
    return subprocess.run(
        [command, "build", "-W", folder],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
