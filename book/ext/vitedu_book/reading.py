"""How long a chapter takes to read, from the number of its words.

Most adults read 175 to 300 words of English a minute (Brysbaert 2019). More
than half of the time with a chapter goes to what stands between the words:
formulas, code, figures, explorers. So we take 80; the page "How to use this
book" says so. What is folded does not count: hints and solutions. Sections
that go deeper fold as a whole; their minutes are counted apart.
"""

import re
from dataclasses import dataclass

from nbformat import NotebookNode

from .teaching import DEEPER, EXERCISE, anchor_of

WORDS = 80  # a minute
SIGNS = 1.55  # of Chinese, in the place of a word of English
EXERCISES = "exercises"
# Minutes to solve one, by its kind in each language.
SOLVED = {
    **{"predict": 4, "预测": 4},
    **{"write it": 12, "写出来": 12},
    **{"debug it": 10, "找错": 10},
    **{"explain the curve": 8, "解释曲线": 8},
}
# The line of facts on the first screen: its times, which a program writes.
# What the chapter needs stands behind them.
FACTS = re.compile(r"^\*\d+ minutes?\*.*?\bruns in \d+ s\b", re.MULTILINE)
_HEADING = re.compile(r"^(?=## )", re.MULTILINE)
# No words of a text: blocks between fences, formulas, the line of facts,
# addresses, the names of roles, labels, tags.
_UNREAD = re.compile(
    r"^(`{3,}|:{3,}).*?^\1$|\$\$.+?\$\$|\$[^$]+\$|^\*\d+ (minute|分钟).*?$"
    r"|\]\([^)]*\)|\{[\w:]+\}(?=`)|^\(\S+\)=$|<[a-zA-Z/][^<>]*>",
    re.MULTILINE | re.DOTALL,
)
_SIGN = re.compile(r"[\u3400-\u9fff]")


@dataclass(frozen=True)
class Section:
    """A part of a chapter that has a heading.

    Attributes:
        title: The text of the heading, as Markdown.
        anchor: Its name in the address of the page.
        minutes: To read it; of "Exercises", to solve them.
    """

    title: str
    anchor: str
    minutes: float

    @property
    def deeper(self) -> bool:
        """Whether it folds, and can be left out."""
        return self.title.startswith(DEEPER)


def words(text: str) -> float:
    """Return how many words a reader of a text in Markdown reads."""
    text, signs = _SIGN.subn(" ", _UNREAD.sub(" ", text))
    return len(re.findall(r"\w[^\s|]*", text)) + signs / SIGNS


def sections(notebook: NotebookNode) -> list[Section]:
    """Return the sections of a chapter, in order.

    The first is what stands above the first `##`, under the chapter's title.
    """
    cells = (c.source for c in notebook.cells if c.cell_type == "markdown")
    return [_section(text) for text in _HEADING.split("\n\n".join(cells))]


def _section(text: str) -> Section:
    title = text.partition("\n")[0].lstrip("#").strip()
    anchor = anchor_of(title)
    minutes = words(text) / WORDS
    if anchor == EXERCISES:
        kinds = (kind for _, kind, _ in EXERCISE.findall(text))
        minutes = sum(SOLVED[kind] for kind in kinds)
    return Section(title, anchor, minutes)
