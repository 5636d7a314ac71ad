"""Figures on the site: colours of the theme, words one can read, captions."""

import re

import pytest
from pages import PAGES, ROOT

CHAPTERS = [page for page in PAGES if page.startswith("chapters/")]
PAGE = "chapters/05-multi-head-attention.html"
# The drawing that is seen, and the height of its letters; exponents, which are
# parts of a text, may be smaller.
SHOWN = """() => [...document.querySelectorAll(".drawings")].flatMap((box) => {
  const seen = [...box.querySelectorAll(":scope > svg")].filter(
    (svg) => svg.getBoundingClientRect().width);
  return seen.map((svg) => ({
    kind: svg.getAttribute("class"),
    label: svg.getAttribute("aria-label"),
    right: svg.getBoundingClientRect().right,
    sizes: [...svg.querySelectorAll("text[font-size]")].map((text) =>
      parseFloat(text.getAttribute("font-size")) * svg.getScreenCTM().a),
  }));
})"""
COLOR = """(name) => {
  const part = document.querySelector(`.drawing .s-${name}`);
  return getComputedStyle(part).stroke;
}"""


def rgb(color):
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return f"rgb({', '.join(map(str, parts))})"


def test_colors_are_those_of_the_theme(open_page):
    css = (ROOT / "book/web/book.css").read_text(encoding="utf-8")
    themes = zip(("light", "dark"), css.split("{")[1:3], strict=True)
    seen = {}
    for theme, block in themes:
        page = open_page(PAGE, color_scheme=theme)
        for name in ("query", "key", "ink"):
            color = re.search(rf"--{name}: (#\w+)", block)[1]
            seen[theme, name] = page.evaluate(COLOR, name)
            assert seen[theme, name] == rgb(color), (theme, name)
    for name in ("query", "key", "ink"):
        assert seen["light", name] != seen["dark", name]


@pytest.mark.parametrize("path", CHAPTERS)
def test_figures_are_legible_on_a_phone(open_page, path):
    page = open_page(path, width=390, height=844)
    for drawing in page.evaluate(SHOWN):
        assert drawing["kind"] == "drawing-phone"
        assert min(drawing["sizes"], default=11) >= 11, drawing["label"]
        assert drawing["right"] <= 390, drawing["label"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_figures_say_what_one_sees_and_their_names_are_unique(open_page):
    for path in CHAPTERS[:5]:
        page = open_page(path)
        for drawing in page.evaluate(SHOWN):
            assert drawing["kind"] == "drawing"
            assert len(drawing["label"]) > 40
        ids = page.eval_on_selector_all(
            "[id]", "(all) => all.map((x) => x.id)"
        )
        twice = {name for name in ids if ids.count(name) > 1}
        assert twice == set(), path


def test_the_code_of_a_figure_opens_from_a_small_link(open_page):
    page = open_page(PAGE)
    figure = page.locator("figure.figure:has(details.code):visible").first
    code = figure.locator(".cell_input")
    assert not code.is_visible()
    link = figure.locator("summary")
    assert link.inner_text() == "code"
    link.focus()
    page.keyboard.press("Enter")
    assert code.is_visible()
    caption = figure.locator("figcaption").bounding_box()
    inside = code.bounding_box()
    assert inside["y"] >= link.bounding_box()["y"] + 10
    assert inside["width"] >= caption["width"] - 10
