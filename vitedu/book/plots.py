"""One look for every figure: arrays in, a matplotlib Figure out.

A colour stands for one concept in the whole book. Lines carry their labels;
a baseline is drawn dashed and grey.
"""

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from vitedu import require

# On a light page; in the dark, `book/web/book.css` has others.
COLORS = {
    "query": "#156ea9",
    "key": "#c2520a",
    "value": "#00926f",
    "position": "#7658d4",
    "class token": "#ac3c8d",
    "mask": "#6b665c",
    "wrong": "#b3261e",
    "ink": "#1d1c1a",
    "soft": "#6b675f",
    "baseline": "#6b675f",
    "faint": "#cfc9bc",
    "paper": "#fffdf9",
}
HEAD_COLORS = tuple(
    COLORS[name] for name in ("query", "key", "value", "position")
)
SEQUENTIAL = "cividis"
# An inch is 96 pixels of a page: its text is 660 wide, a wide figure 1,000.
TEXT_WIDTH, WIDE = 660 / 96, 1000 / 96
_STYLE = {
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "figure.dpi": 96,
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": COLORS["ink"],
    "axes.labelcolor": COLORS["ink"],
    "text.color": COLORS["ink"],
    "xtick.color": COLORS["ink"],
    "ytick.color": COLORS["ink"],
    "lines.linewidth": 2.0,
    "image.cmap": SEQUENTIAL,
}


def use_style() -> None:
    """Set the book's look for every figure that follows."""
    mpl.rcParams.update(_STYLE)


def new_figure(
    columns: int = 1,
    rows: int = 1,
    *,
    height: float = 3.4,
    wide: bool = False,
    **options,
) -> tuple[Figure, np.ndarray]:
    """Make a figure with a grid of axes.

    Args:
        columns: Axes side by side.
        rows: Axes below each other.
        height: Height of the whole figure in inches of 96 pixels.
        wide: Whether it is wider than the text: 1,000 pixels, not 660.
        options: Passed on to ``Figure.subplots``.

    Returns:
        The figure and an array of axes of shape (rows, columns).

    >>> figure, axes = new_figure(columns=3, rows=2)
    >>> axes.shape
    (2, 3)
    """
    require.positive_int("columns", columns)
    require.positive_int("rows", rows)
    require.number("height", height, above=0)
    require.boolean("wide", wide)
    width = WIDE if wide else TEXT_WIDTH
    figure = Figure(figsize=(width, height), layout="compressed")
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, axes


def label_line(axes: Axes, text: str, color: str, *, at: int = -1) -> None:
    """Write `text` beside the line drawn last, at its point number `at`."""
    line = axes.lines[-1]
    x, y = line.get_xdata()[at], line.get_ydata()[at]
    axes.annotate(
        text,
        (x, y),
        xytext=(6, 0),
        textcoords="offset points",
        color=color,
        va="center",
    )


def baseline(axes: Axes, height: float, text: str) -> None:
    """Draw a dashed grey line to compare with, and name it."""
    grey = COLORS["baseline"]
    axes.axhline(height, color=grey, linestyle="--", linewidth=1.2)
    axes.annotate(
        text,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 4),
        textcoords="offset points",
        color=grey,
        ha="right",
        va="bottom",
    )


def lines(
    axes: Axes,
    x: ArrayLike,
    series: Mapping[str, ArrayLike],
    colors: Sequence[str],
) -> None:
    """Draw one labelled line per entry of `series`.

    Raises:
        ValueError: There are more lines than colours.

    >>> figure, axes = new_figure()
    >>> series = {"q": [0, 1], "k": [1, 0]}
    >>> lines(axes[0, 0], [1, 2], series, [COLORS["query"], COLORS["key"]])
    >>> [text.get_text() for text in axes[0, 0].texts]
    ['q', 'k']
    """
    if len(series) > len(colors):
        raise ValueError(
            f"colors must hold one per line, {len(series)}, got {len(colors)}"
        )
    for (name, y), color in zip(series.items(), colors, strict=False):
        axes.plot(x, y, color=color)
        label_line(axes, name, color)
    axes.margins(x=0.02)


def annotated_matrix(
    axes: Axes,
    matrix: ArrayLike,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    decimals: int = 2,
) -> None:
    """Draw a small matrix as coloured cells with its numbers in them.

    Raises:
        ValueError: The names do not fit the matrix.

    >>> figure, axes = new_figure()
    >>> weights = [[1.0, 0.0], [0.25, 0.75]]
    >>> annotated_matrix(axes[0, 0], weights, rows="ab", columns="ab")
    >>> [text.get_text() for text in axes[0, 0].texts]
    ['1.00', '0.00', '0.25', '0.75']
    """
    matrix = np.asarray(matrix)
    if matrix.shape != (len(rows), len(columns)):
        raise ValueError(
            f"rows and columns must name a matrix of shape {matrix.shape}, "
            f"got {len(rows)} and {len(columns)} names"
        )
    image = axes.imshow(matrix, cmap=SEQUENTIAL)
    dark = image.norm(matrix) < 0.5
    for (row, column), value in np.ndenumerate(matrix):
        axes.text(
            column,
            row,
            f"{value:.{decimals}f}",
            ha="center",
            va="center",
            color="white" if dark[row, column] else "black",
        )
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)


def image_row(
    axes_row: Sequence[Axes],
    images: ArrayLike,
    titles: Sequence[str],
) -> None:
    """Show grey images side by side, ink black on white, without axes."""
    for axes, image, title in zip(axes_row, images, titles, strict=True):
        axes.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        axes.set_title(title, loc="center", fontsize=10)
        axes.set_axis_off()
