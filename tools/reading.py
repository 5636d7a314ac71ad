"""How long a chapter takes to read, by one stated model.

The rules are the table `ALLOWANCES`, in seconds; "How to use this book" shows
it. Prose is read at 175 words a minute: Brysbaert (2019) finds 238 for
English non-fiction, and most adults between 175 and 300. Technical text is
slow, so we take the lower end. The other allowances are our estimates.

What is folded does not count: hidden code, hints and solutions. Nor do the
five questions that the site appends. Sections whose titles begin with
"Deeper:" fold as a whole; their minutes are counted, apart from the others.
"""

import re
from collections import Counter
from dataclasses import dataclass

from nbformat import NotebookNode
from vitedu_book.teaching import DEEPER, anchor_of

# What is counted -> seconds for one of it.
ALLOWANCES = {
    "word of prose": 60 / 175,
    "formula in a sentence": 2,
    "formula on a line of its own": 20,
    "line of code": 3,
    "source of the library": 60,
    "figure": 40,
    "checked statement": 7,
    "guess": 40,
    "explorer": 240,
    "exercise: predict": 240,
    "exercise: write it": 720,
    "exercise: debug it": 600,
    "exercise: explain the curve": 480,
}
EXERCISES = "exercises"
# The line of facts on the first screen: its times, which a program writes.
# What the chapter needs stands behind them.
FACTS = re.compile(r"^\*\d+ minutes?\*.*?\bruns in \d+ s\b", re.MULTILINE)
_EXERCISE = re.compile(r"^\*\*Exercise \d+\.\d+: (.+?)\.?\*\*", re.MULTILINE)
_ANOTHER = "exercise: write it"  # what any other kind counts as
_HEADING = re.compile(r"^(?=## )", re.MULTILINE)
_FENCE = re.compile(r"^(`{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
_DISPLAY = re.compile(r"\$\$.+?\$\$", re.DOTALL)
_INLINE = re.compile(r"\$[^$]+\$")
# Links and roles show their text; labels, fences, options and HTML nothing.
# The line of facts is left out, or it would count itself.
_UNSEEN = re.compile(
    r"^\(\S+\)=$|^`{3,}.*$|^:\w+:.*$|<[a-zA-Z/][^<>]*>|\{[\w:]+\}(?=`)|\]\([^)]*\)"
    rf"|{FACTS.pattern}.*",
    re.MULTILINE,
)
_UNREAD_CODE = {"hide-input", "remove-input", "hide-cell", "remove-cell"}
_UNSEEN_CELL = {"hide-cell", "remove-cell"}
_IN_CODE = {
    "source of the library": re.compile(r"\bnotebook\.source\("),
    "checked statement": re.compile(r"\bnotebook\.(?:claim|rung)\("),
    "guess": re.compile(r"\bnotebook\.predict\("),
    "explorer": re.compile(r"\bfrom vitedu\.widgets import"),
}


@dataclass(frozen=True)
class Section:
    """A part of a chapter that has a heading.

    Attributes:
        title: The text of the heading, as Markdown.
        anchor: Its name in the address of the page.
        minutes: To read it; of "Exercises", to solve them.
        deeper: Whether it folds, and can be left out.
    """

    title: str
    anchor: str
    minutes: float
    deeper: bool = False


def sections(notebook: NotebookNode) -> list[Section]:
    """Return the sections of a chapter, in order.

    The first is what stands above the first `##`, under the chapter's title.

    Args:
        notebook: A chapter, as `nbformat.read` returns it.

    Raises:
        ValueError: The notebook does not begin with a title.
    """
    start = notebook.cells[0] if notebook.cells else None
    if start is None or not start.source.startswith("# "):
        raise ValueError("notebook must begin with a title, '# ...'")
    parts: list[tuple[str, Counter]] = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            parts[-1][1].update(_counts_of_code(cell))
            continue
        for piece in filter(None, _HEADING.split(cell.source)):
            if piece.startswith(("# ", "## ")):
                title = piece.partition("\n")[0].lstrip("#").strip()
                parts.append((title, Counter()))
            parts[-1][1].update(_counts_of_prose(piece))
    return [_section(title, counts) for title, counts in parts]


def is_exercises(section: Section) -> bool:
    """Tell whether a section holds exercises, whose minutes are apart."""
    return section.anchor == EXERCISES


def _section(title: str, counts: Counter) -> Section:
    anchor = anchor_of(title)
    seconds = sum(
        ALLOWANCES[kind] * number
        for kind, number in counts.items()
        if kind.startswith("exercise: ") == (anchor == EXERCISES)
    )
    return Section(title, anchor, seconds / 60, title.startswith(DEEPER))


def _counts_of_code(cell: NotebookNode) -> dict[str, int]:
    tags = set(cell.metadata.get("tags", []))
    if tags & _UNSEEN_CELL:
        return {}
    counts = {
        kind: len(pattern.findall(cell.source))
        for kind, pattern in _IN_CODE.items()
    }
    counts["figure"] = int("image" in cell.metadata.get("mystnb", {}))
    if not tags & _UNREAD_CODE:
        # Lines that only close a bracket are not read.
        counts["line of code"] = len(re.findall(r"^.*\w", cell.source, re.M))
    return counts


def _counts_of_prose(text: str) -> dict[str, int]:
    kinds = (f"exercise: {kind}" for kind in _EXERCISE.findall(text))
    counts = Counter(k if k in ALLOWANCES else _ANOTHER for k in kinds)
    text = _FENCE.sub(_without_dropdown, text)
    text, display = _DISPLAY.subn(" ", text)
    text, inline = _INLINE.subn(" ", text)
    words = re.findall(r"\w[^\s|]*", _UNSEEN.sub(" ", text))
    return counts | {
        "formula on a line of its own": display,
        "formula in a sentence": inline,
        "word of prose": len(words),
    }


def _without_dropdown(found: re.Match[str]) -> str:
    return "" if "dropdown" in found[0] else found[0]
