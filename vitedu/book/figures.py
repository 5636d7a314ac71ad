"""Figures as drawings whose colours a page can change.

A drawing is an SVG. Each colour of the book appears in it twice: as itself,
which is what a file shows, and as a class, to which a page gives the colour of
its theme (`book/web/book.css`). Words are text, in the page's letters. In a
build of the book the drawing holds a second drawing, not shown in a file: the
same figure with its panels below each other, for phones.
"""

import io
import math
import pickle
import re
import textwrap
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from vitedu.book import plots

SVG, XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
# Classes of the two drawings; a page shows one of them.
DRAWING, PHONE = "drawing", "drawing-phone"
# Inches. As wide as this, words of 10 points are 11 pixels high where a phone
# of 390 pixels has room for 350.
PHONE_WIDTH = 4.2
# Points.
LEAST_SIZE = 10
# How much narrower a panel may be on a phone before it gets a row of its own.
NARROWER = 0.75
# Inches of a row of panels for its title and labels.
LABELS = 0.6
NAMES = {
    color: name.replace(" ", "-")
    for name, color in plots.COLORS.items()
    if name != "baseline"
}
# What SVG knows as attributes too; a policy for a page may forbid styles.
USUAL = {
    *("font-family", "stroke-dashoffset: 0", "stroke-opacity: 1"),
    *("fill-opacity: 1", "opacity: 1", "text-anchor: start"),
}
NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
NO_TURN = re.compile(r"rotate\(-?0 [^)]*\)\s*")
_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def drawing(figure: Figure, *, phone: bool = False) -> str:
    """Return a figure as SVG, the same text on every run.

    Args:
        figure: A figure; it is not changed.
        phone: Whether to add a drawing for narrow screens.

    >>> figure, [[axes]] = plots.new_figure(height=2)
    >>> plots.baseline(axes, 0.5, "chance")
    >>> 's-soft' in drawing(figure), '"#6b675f"' in drawing(figure)
    (True, True)
    """
    ElementTree.register_namespace("", SVG)
    root = _drawn(figure, DRAWING, "a")
    if phone:
        narrow = _drawn(for_phone(figure), PHONE, "b")
        narrow.set("display", "none")
        root.append(narrow)
    return ElementTree.tostring(root, encoding="unicode")


def _drawn(figure: Figure, name: str, prefix: str) -> ElementTree.Element:
    """Return a drawing as wide as the figure, and as high as its content."""
    wide = figure.get_size_inches()[0]
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.draw_without_rendering()
        tight = figure.get_tightbbox()
        box = Bbox(
            [
                [min(0, tight.x0), tight.y0 - 0.03],
                [max(wide, tight.x1), tight.y1 + 0.03],
            ]
        )
        file = io.BytesIO()
        figure.savefig(file, format="svg", bbox_inches=box, metadata=_METADATA)
    root = ElementTree.fromstring(file.getvalue())
    _use_attributes(root)
    _name_again(root, prefix)
    _drop_groups(root)
    for part in list(root):
        if part.tag == f"{{{SVG}}}defs" and len(part) == 0:
            root.remove(part)
    root.attrib.pop("version", None)
    for side, length in (("width", box.width), ("height", box.height)):
        root.set(side, f"{length * 96:.0f}")
    root.set("class", name)
    root.set("font-family", "Inter, Helvetica, Arial, sans-serif")
    root.set("stroke-linejoin", "round")
    return root


def _use_attributes(root: ElementTree.Element) -> None:
    """Replace styles by attributes, and round numbers to visible precision."""
    for part in root.iter():
        for sheet in part.findall(f"{{{SVG}}}style"):
            part.remove(sheet)
        part.text = (part.text or "").strip("\n") if _is_text(part) else None
        part.tail = None
        href = part.attrib.pop(f"{{{XLINK}}}href", None)
        if href is not None:
            part.set("href", href)
        classes = []
        for rule in part.attrib.pop("style", "").split(";"):
            name, _, value = map(str.strip, rule.partition(":"))
            if not name or name in USUAL or f"{name}: {value}" in USUAL:
                continue
            if name in ("fill", "stroke") and value in NAMES:
                classes.append(f"{name[0]}-{NAMES[value]}")
            part.set(name, value.removesuffix("px"))
        if classes:
            part.set("class", " ".join(classes))
        turn = NO_TURN.sub("", part.get("transform", ""))
        if "transform" in part.attrib:
            part.set("transform", turn)
        if not part.get("transform", "-"):
            del part.attrib["transform"]
        for name in ("d", "x", "y", "width", "height", "points"):
            if name in part.attrib:
                part.set(name, _short(part.get(name, "")))


def _is_text(part: ElementTree.Element) -> bool:
    return part.tag in (f"{{{SVG}}}text", f"{{{SVG}}}tspan")


def _short(text: str) -> str:
    def rounded(found: re.Match[str]) -> str:
        return f"{round(float(found[0]), 2):g}"

    return " ".join(NUMBER.sub(rounded, text).split())


def _name_again(root: ElementTree.Element, prefix: str) -> None:
    """Number the names that something uses, and drop the others."""
    used: dict[str, str] = {}

    def again(found: re.Match[str]) -> str:
        return used.setdefault(found[0], f"{prefix}{len(used)}")

    for part in root.iter():
        for key, value in part.attrib.items():
            if key == "href" or value.startswith("url(#"):
                part.set(key, re.sub(r"(?<=#)[\w.-]+", again, value, count=1))
    for part in root.iter():
        name = part.attrib.pop("id", None)
        if name in used:
            part.set("id", used[name])


def _drop_groups(part: ElementTree.Element) -> None:
    """Remove groups that have no effect, and paths that are not seen."""
    group, path = f"{{{SVG}}}g", f"{{{SVG}}}path"
    kept = []
    for child in part:
        _drop_groups(child)
        unseen = (
            child.tag == path
            and child.get("fill") == "none"
            and child.get("stroke", "none") == "none"
            and "id" not in child.attrib
        )
        if child.tag == group and not child.attrib:
            kept += list(child)
        elif not unseen:
            kept.append(child)
    part[:] = kept


def for_phone(figure: Figure) -> Figure:
    """Return a narrow copy of a figure, its panels below each other.

    Panels that remain nearly as large side by side stay side by side.
    """
    figure.draw_without_rendering()
    narrow = pickle.loads(pickle.dumps(figure))
    for text in narrow.findobj(Text):
        text.set_fontsize(max(LEAST_SIZE, text.get_fontsize()))
    wide, high = figure.get_size_inches()
    panels = [axes for axes in narrow.axes if axes.get_subplotspec()]
    drawn = [axes for axes in figure.axes if axes.get_subplotspec()]
    if not panels:
        narrow.set_size_inches(PHONE_WIDTH, high)
        return narrow
    grid = panels[0].get_subplotspec().get_gridspec()
    specs = [axes.get_subplotspec() for axes in panels]
    simple = len(narrow.axes) == len(panels) and all(
        spec.get_gridspec() is grid and spec.num1 == spec.num2
        for spec in specs
    )
    columns = grid.ncols if simple else 1
    usual = max(_width(axes, wide / columns) for axes in drawn)
    beside = max(1, int(PHONE_WIDTH / (usual * NARROWER)))
    beside = min(columns, beside)
    # As even as they can be: 4 and 4, not 5 and 3.
    lines = math.ceil(columns / beside)
    beside = math.ceil(columns / lines)
    if not simple or columns == 1:
        factor = _shrinks(drawn, PHONE_WIDTH / wide)
        narrow.set_size_inches(PHONE_WIDTH, _height(high, grid.nrows, factor))
        _wrap_titles(panels, PHONE_WIDTH / columns)
        return narrow
    ratios = np.array(grid.get_height_ratios() or [1] * grid.nrows, float)
    rows = high * ratios / ratios.sum()
    heights = []
    for row in range(grid.nrows):
        inside = [
            axes
            for axes, spec in zip(drawn, specs, strict=True)
            if spec.rowspan.start == row
        ]
        factor = _shrinks(inside, PHONE_WIDTH / beside / (wide / columns))
        heights += [_height(rows[row], 1, factor)] * lines
    narrow.set_size_inches(PHONE_WIDTH, sum(heights))
    again = GridSpec(
        len(heights), beside, figure=narrow, height_ratios=heights
    )
    for axes, spec in zip(panels, specs, strict=True):
        row, column = spec.rowspan.start, spec.colspan.start
        line, place = divmod(column, beside)
        axes.set_subplotspec(again[row * lines + line, place])
    _label_again(panels, specs, beside, lines)
    _wrap_titles(panels, PHONE_WIDTH / beside)
    return narrow


def _width(axes: Axes, room: float) -> float:
    """Return how many inches a panel needs: an image no more than it has."""
    if axes.get_aspect() == "auto":
        return room
    return min(room, axes.get_tightbbox().width / axes.get_figure().dpi)


def _wrap_titles(panels: list[Axes], room: float) -> None:
    """Give long titles a second line."""
    for axes in panels:
        for text in (axes.title, axes._left_title, axes._right_title):
            title = text.get_text()
            # A letter is about half as wide as high; y labels take a part.
            letters = 0.85 * room / (0.52 * text.get_fontsize() / 72)
            if "\n" not in title:
                text.set_text("\n".join(textwrap.wrap(title, int(letters))))


def _shrinks(drawn: list[Axes], factor: float) -> float:
    """Return how much lower panels become when they are `factor` as wide."""
    if all(axes.get_aspect() == "auto" for axes in drawn):
        return 1.0
    # Pictures may have had room at their sides.
    room = [
        axes.get_position(original=True).width / axes.get_position().width
        for axes in drawn
        if axes.get_aspect() != "auto"
    ]
    return min(1.0, factor * max(1.0, min(room)))


def _height(high: float, rows: int, factor: float) -> float:
    fixed = min(high, LABELS * rows)
    return fixed + (high - fixed) * factor


def _label_again(
    panels: list[Axes], specs: list, beside: int, lines: int
) -> None:
    """Label the panels that have lost the neighbour with the labels."""
    if lines == 1:
        return
    first = {
        spec.rowspan.start: axes
        for axes, spec in zip(panels, specs, strict=True)
        if spec.colspan.start == 0
    }
    for axes, spec in zip(panels, specs, strict=True):
        if not axes.axison:
            continue
        column, leader = spec.colspan.start, first.get(spec.rowspan.start)
        shares = leader in axes.get_shared_y_axes().get_siblings(axes)
        if column and column % beside == 0 and leader and shares:
            axes.tick_params(labelleft=True)
            axes.set_ylabel(axes.get_ylabel() or leader.get_ylabel())
