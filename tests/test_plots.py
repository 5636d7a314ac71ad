"""Figures hold the data they were given, in the book's colours."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex, to_rgb

from vitedu.book import plots

ROOT = Path(__file__).parent.parent

CONCEPTS = ["query", "key", "value", "mask", "position", "class token"]
PAPER = {"light": "#fffdf9", "dark": "#15171a"}
# In Oklab black and white are 1 apart; two shades that one can only tell
# apart side by side, about 0.02.
LEAST_DIFFERENCE = 0.05


@pytest.fixture
def axes():
    _, [[axes]] = plots.new_figure()
    return axes


def texts(axes):
    return [text.get_text() for text in axes.texts]


def contrast(color, paper="white"):
    """Return the contrast ratio of WCAG 2.2."""

    def luminance(name):
        parts = [
            c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
            for c in to_rgb(name)
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(color), luminance(paper)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


# What linear sRGB becomes without one of the three kinds of cones: Machado,
# Oliveira and Fernandes 2009, table 1, severity 1.
SIGHT = {
    "full": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# From linear sRGB to the cones of Oklab, and from their cube roots to its
# axes, in which distances follow what we see (Ottosson 2020).
CONES = [
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
]
OKLAB = [
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
]


def least_difference(colors, sight):
    """Return the smallest distance of two colours, and which two they are."""
    rgb = np.array([to_rgb(color) for color in colors.values()])
    linear = np.where(
        rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4
    )
    seen = (linear @ np.transpose(SIGHT[sight])).clip(0, 1)
    lab = np.cbrt(seen @ np.transpose(CONES)) @ np.transpose(OKLAB)
    points = zip(colors, lab, strict=True)
    return min(
        (np.linalg.norm(a - b), one, other)
        for (one, a), (other, b) in combinations(points, 2)
    )


def palette(theme):
    """Return the colours of the figures in the style sheet of the site."""
    css = (ROOT / "book/web/book.css").read_text(encoding="utf-8")
    blocks = dict(zip(("light", "dark"), css.split("{")[1:3], strict=True))
    found = dict(re.findall(r"--([a-z-]+): (#\w+);", blocks[theme]))
    found["wrong"] = found["bad"]
    return {
        name: found[name.replace(" ", "-")]
        for name in plots.COLORS
        if name != "baseline"
    }


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("theme", PAPER)
def test_every_eye_can_tell_the_concepts_apart(theme, sight):
    colors = palette(theme)
    concepts = {name: colors[name] for name in CONCEPTS}
    assert least_difference(concepts, sight) > (LEAST_DIFFERENCE,)


@pytest.mark.parametrize("theme", PAPER)
def test_colors_are_seen_on_the_paper(theme):
    for name, color in palette(theme).items():
        if name not in ("paper", "faint"):
            assert contrast(color, PAPER[theme]) >= 3, name
    for name in ("ink", "soft"):  # of words too
        assert contrast(palette(theme)[name], PAPER[theme]) >= 4.5, name


@pytest.mark.parametrize(("wide", "pixels"), [(False, 660), (True, 1000)])
def test_a_figure_has_the_width_of_the_text_or_is_wide(wide, pixels):
    figure, axes = plots.new_figure(3, 2, height=2.5, wide=wide)
    assert [*figure.get_size_inches() * 96] == [pixels, 240]
    assert axes.shape == (2, 3)


def test_lines_hold_the_data_and_their_names(axes):
    series = {"first": [1, 4, 9], "second": [2, 3, 5]}
    plots.lines(axes, [0, 1, 2], series, ["#156ea9", "#c2520a"])
    found = [line.get_xydata().T.tolist() for line in axes.lines]
    assert found == [[[0, 1, 2], data] for data in series.values()]
    colors = [line.get_color() for line in axes.lines]
    assert colors == [text.get_color() for text in axes.texts]
    assert colors == ["#156ea9", "#c2520a"]
    assert texts(axes) == ["first", "second"]
    assert [text.xy for text in axes.texts] == [(2, 9), (2, 5)]


def test_annotated_matrix_writes_each_number_into_its_cell(axes):
    matrix = [[0.0, 0.25, 1.0], [0.5, 0.125, 0.75]]
    plots.annotated_matrix(
        axes, matrix, rows=["r0", "r1"], columns=["a", "b", "c"], decimals=3
    )
    assert axes.images[0].get_array().tolist() == matrix
    found = {text.get_position(): text.get_text() for text in axes.texts}
    assert found[1, 0] == "0.250"
    assert found[2, 1] == "0.750"
    assert len(found) == 6
    labels = [x.get_text() for x in axes.get_xticklabels()]
    assert labels == ["a", "b", "c"]
    assert [y.get_text() for y in axes.get_yticklabels()] == ["r0", "r1"]


def test_image_row_shows_ink_black_on_white():
    images = np.random.default_rng(0).random((3, 4, 5))
    _, axes = plots.new_figure(3)
    plots.image_row(axes[0], images, ["a", "b", "c"])
    for one, image, title in zip(axes[0], images, "abc", strict=True):
        (artist,) = one.images
        assert np.array_equal(artist.get_array(), image)
        assert artist.get_clim() == (0, 1)
        assert to_hex(artist.cmap(1.0)) == "#000000"
        assert one.get_title(loc="center") == title
        assert not one.axison
