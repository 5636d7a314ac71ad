"""A map of the chapters: arcs lead to each from those that it needs.

Each chapter is a line of a list, so that its title wraps like any text. The
arcs stand left of the lines, each chapter's in a small drawing of its own.
"""

from .paths import Chapter

HEIGHT, WIDTH = 52, 96  # of the drawing beside a line, in units
TIP = 6  # length of an arrowhead


def arcs(number: int, chapters: dict[int, Chapter]) -> str:
    """Draw the arcs that end at a chapter.

    A chapter that is needed by way of another one gets no arc of its own.

    Args:
        number: The chapter, in a list of all.
        chapters: What each of them needs.
    """
    order = [*chapters]
    paths = ""
    for other in direct_needs(number, chapters):
        rows = order.index(number) - order.index(other)
        paths += _arc(rows)
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true" '
        f'focusable="false">{paths}</svg>'
    )


def direct_needs(number: int, chapters: dict[int, Chapter]) -> list[int]:
    """Return what a chapter needs, without what these need in turn."""
    needs = chapters[number].needs
    implied = {far for near in needs for far in all_needs(near, chapters)}
    return [other for other in needs if other not in implied]


def all_needs(number: int, chapters: dict[int, Chapter]) -> set[int]:
    """Return what a chapter needs, and what these need in turn."""
    needs = chapters[number].needs
    return {*needs}.union(*(all_needs(n, chapters) for n in needs))


def _arc(rows: int) -> str:
    """Draw an arc from so many lines above; it ends with an arrowhead."""
    start, end = HEIGHT / 2 - HEIGHT * rows + 7, HEIGHT / 2 - 7
    # The farther an arc leads, the farther it stands from the lines.
    left = WIDTH - min(WIDTH - 4, 8 + 8 * rows) * 4 / 3
    edge = WIDTH - TIP
    return (
        f'<path d="M{WIDTH} {start}C{left:.0f} {start} {left:.0f} {end} '
        f'{edge} {end}"/>'
        f'<path class="tip" d="M{WIDTH} {end}l-{TIP + 2} -4v8z"/>'
    )
