"""Figures become drawings whose colours a page can change."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from bs4 import BeautifulSoup
from vitedu_book.figures import inline

from tools import paper
from vitedu.book import plots
from vitedu.book.figures import PHONE_WIDTH, drawing, for_phone

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(autouse=True)
def style():
    with plots.mpl.rc_context():
        plots.use_style()
        yield


def make_figure(columns=3, wide=True, **options):
    figure, [row] = plots.new_figure(columns, height=2.5, wide=wide, **options)
    names = ["query", "key", "value"]
    for axes, name in zip(row, names[:columns], strict=False):
        color = plots.COLORS[name]
        plots.lines(axes, [1, 2, 3], {name: [1, 3, 2]}, [color])
        axes.scatter([1, 2], [2, 1], c=[color, plots.COLORS["wrong"]])
        axes.set(title=name, xlabel="x", ylabel="y")
    return figure


def parts(text):
    return [*ElementTree.fromstring(text).iter()]


def test_every_color_of_the_book_has_its_class_and_stays_for_a_file():
    root = parts(drawing(make_figure(), phone=True))
    seen = set()
    for part in root:
        classes = part.get("class", "").split()
        for attribute in ("fill", "stroke"):
            color = part.get(attribute)
            for name, usual in plots.COLORS.items():
                if color == usual and name != "baseline":
                    role = name.replace(" ", "-")
                    assert f"{attribute[0]}-{role}" in classes
                    seen.add((attribute, name))
    for name in ("query", "key", "value", "wrong"):
        assert {("fill", name), ("stroke", name)} <= seen
    assert ("fill", "ink") in seen


def test_nothing_needs_a_style_which_a_policy_may_forbid():
    root = parts(drawing(make_figure(), phone=True))
    assert not any("style" in part.attrib for part in root)
    assert not any(part.tag.endswith("}style") for part in root)


def test_a_drawing_is_the_same_each_time_and_leaves_the_figure_alone():
    figure = make_figure()
    first = drawing(figure, phone=True)
    assert drawing(figure, phone=True) == first
    assert drawing(make_figure(), phone=True) == first
    assert [*figure.get_size_inches() * 96] == [1000, 240]


@pytest.mark.parametrize(("wide", "width"), [(False, 660), (True, 1000)])
def test_a_drawing_is_as_wide_as_its_figure_and_its_words_are_text(
    wide, width
):
    root = ElementTree.fromstring(drawing(make_figure(wide=wide)))
    assert float(root.get("width")) == pytest.approx(width, abs=8)
    texts = [part.text for part in root.iter(f"{SVG}text")]
    assert {"query", "key", "x", "y"} <= {*texts}


def test_panels_stand_below_each_other_on_a_phone():
    narrow = for_phone(make_figure())
    assert narrow.get_size_inches()[0] == PHONE_WIDTH
    narrow.draw_without_rendering()
    boxes = [axes.get_position() for axes in narrow.axes]
    for above, below in pairwise(boxes):
        assert above.y0 > below.y1
        assert above.x0 == pytest.approx(below.x0)


def test_words_on_a_phone_are_large_enough():
    figure, [[axes]] = plots.new_figure()
    axes.text(0.5, 0.5, "tiny", fontsize=6)
    axes.tick_params(labelsize=7)
    text = drawing(figure, phone=True)
    phone = next(p for p in parts(text) if p.get("class") == "drawing-phone")
    sizes = [float(t.get("font-size")) for t in phone.iter(f"{SVG}text")]
    assert min(sizes) >= 10


def page_with(caption=""):
    """Return a cell of the site that shows a figure."""
    text = drawing(make_figure(), phone=True)
    shown = inline(text, "d1", "Three lines.", "../_images/a.svg")
    return (
        '<article><section id="s"><h1>A</h1>'
        '<div class="cell docutils container"><figure class="figure">'
        f'<div class="cell_output docutils container">{shown}</div>'
        f"<figcaption>{caption}"
        '<details class="code"><summary>code</summary>'
        '<div class="cell_input"><pre>figure</pre></div></details>'
        "</figcaption></figure></div></section></article>"
    )


def test_a_page_has_both_drawings_each_with_names_of_its_own():
    soup = BeautifulSoup(page_with(), "html.parser")
    usual, phone = soup.select(".drawings > svg")
    assert usual["class"] == ["drawing"]
    assert phone["class"] == ["drawing-phone"]
    assert "display" not in phone.attrs
    assert not usual.select("svg")
    for svg in (usual, phone):
        assert (svg["role"], svg["aria-label"]) == ("img", "Three lines.")
    ids = [part["id"] for part in soup.select("svg [id]")]
    assert ids
    assert len(ids) == len({*ids})
    assert all(name.startswith("d1") for name in ids)
    links = [part["href"] for part in soup.select("svg [href]")]
    assert {link[1:] for link in links} <= {*ids}


def test_paper_shows_the_file_and_the_caption_but_no_code(tmp_path):
    for caption, kept in (("<p>See.</p>", True), ("", False)):
        page = page_with(caption)
        (tmp_path / "a.html").write_text(page, encoding="utf-8")
        section = paper.read(tmp_path, "a")
        image = section.select_one("figure img")
        assert image.attrs == {
            "alt": "Three lines.",
            "src": "../_images/a.svg",
            "width": "1000",
            "height": image["height"],
        }
        assert int(image["height"]) > 200
        assert not section.select("svg, details, pre")
        assert bool(section.select("figcaption")) == kept
