"""What stands on slides: code, outputs, figures, formulas, tables."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from bs4 import Tag

from tools.slides.prose import for_notes, inner, plain, width

WIDTH, HEIGHT = 1160, 620  # of what is on a slide, in its pixels
MOST_LINES = 24  # of code on one slide
# Calls that are left out where their result is shown.
VERDICTS = ("notebook.claim(", "notebook.rung(")
SHOWN = ("notebook.source(", "from vitedu.widgets import")
_LINE = 28
_TAGS = re.compile(r"<[^>]*>")


@dataclass(frozen=True)
class Part:
    """A piece of a slide.

    Attributes:
        html: What is shown.
        height: About how many pixels of the slide it takes.
        alone: Whether nothing else may stand on the slide.
        notes: What the speaker reads about it.
    """

    html: str
    height: int
    alone: bool = False
    notes: str = ""


def code(block: Tag, *, kind: str = "code", caption: str = "") -> list[Part]:
    """Return code or printed text, cut into what fits on a slide.

    Args:
        block: An element with one `pre` in it.
        kind: Class of what is shown, "code", "source" or "printed".
        caption: HTML of a line above the first piece.
    """
    lines = inner(block.pre).removeprefix("<span></span>").split("\n")
    if kind == "source":
        lines = [line for line in lines if not _is_docstring(line)]
    elif kind == "code":
        lines = list(_without_verdicts(lines))
    parts = []
    for piece in pieces(lines):
        markup = "\n".join(piece)
        shown = f'<div class="highlight {kind}"><pre>{markup}</pre></div>'
        height = _LINE * (len(piece) + 1) + (32 if caption else 0)
        parts.append(Part(caption + shown, height))
        caption = ""
    return parts


def _without_verdicts(lines: list[str]) -> Iterator[str]:
    """Leave out calls whose result stands below: claims and rungs."""
    inside = False
    for line in lines:
        bare = _bare(line)
        inside = inside or bare.startswith(VERDICTS)
        if not inside:
            yield line
        inside = inside and not (bare == ")" or bare.endswith("))"))


def _is_docstring(line: str) -> bool:
    return 'class="sd"' in line and not _bare(
        re.sub(r'<span class="sd">.*?</span>', "", line)
    )


def _bare(line: str) -> str:
    return _TAGS.sub("", line).rstrip()


def pieces(lines: list[str]) -> list[list[str]]:
    """Cut lines of code into pieces that fit, best between two functions."""
    found = []
    while len(lines) > MOST_LINES:
        bare = [_bare(line) for line in lines]
        want = math.ceil(len(lines) / math.ceil(len(lines) / MOST_LINES))

        def badness(at: int, bare=bare, want=want) -> tuple:
            indent = len(bare[at]) - len(bare[at].lstrip())
            return (bool(bare[at - 1]), indent, abs(at - want))

        at = min(range(MOST_LINES // 3, MOST_LINES + 1), key=badness)
        found.append(_trimmed(lines[:at]))
        lines = lines[at:]
    return [piece for piece in (*found, _trimmed(lines)) if piece]


def _trimmed(lines: list[str]) -> list[str]:
    while lines and not _bare(lines[-1]):
        lines = lines[:-1]
    while lines and not _bare(lines[0]):
        lines = lines[1:]
    return lines


def figure(image: Tag) -> Part:
    """Return a figure, as large as the slide allows."""
    width, height = float(image["width"]), float(image["height"])
    scale = min(WIDTH / width, 500 / height, 1.8)
    image["src"] = image["src"].removeprefix("../")
    del image["loading"]  # nobody scrolls to it
    image["width"] = round(width * scale)
    image["height"] = round(height * scale)
    seen = f"<blockquote>{image['alt']}</blockquote>"
    return Part(str(image), round(height * scale) + 24, notes=seen)


def formula(block: Tag) -> Part:
    """Return a formula on lines of its own."""
    rows = max(1, len(block.select("mtable > mtr")))
    return Part(str(block), 50 + 60 * rows)


def table(block: Tag) -> Part:
    """Return a table."""
    return Part(str(block), 40 * (len(block.select("tr")) + 1))


def verdict(line: Tag) -> Part:
    """Return what a proof, a claim or a check says."""
    height = 34 * math.ceil(width(line.get_text()) / 95) + 32
    return Part(str(line), height)


def items(name: str, words: list[str]) -> Part:
    """Return a list, "ul" or "ol", of some words."""
    rows = sum(math.ceil(width(plain(said)) / 85) for said in words)
    shown = "".join(f"<li>{said}</li>" for said in words)
    markup = f"<{name}>{shown}</{name}>"
    return Part(markup, 40 * rows + 12 * len(words))


def question(box: Tag) -> Part:
    """Return a question to the class; going on shows the right answer."""
    answers = box.select(".vitedu-answers > p")
    labels = box.select("label")
    said = "".join(
        f"<li>{inner_text(label)} → {inner(answer)}</li>"
        for label, answer in zip(labels, answers, strict=True)
    )
    marker = '<span class="fragment answer"></span>'
    return Part(f"{box}{marker}", HEIGHT, True, f"<ul>{said}</ul>")


def inner_text(label: Tag) -> str:
    """Return what an option says, without its button."""
    return inner(label).split("/>", 1)[-1].strip()


def explorer(script: Tag) -> Part:
    """Return an explorer, which the site's own host starts."""
    shown = f'<div class="explorer">{script}</div>'
    return Part(shown, HEIGHT, True)


def cell(block: Tag) -> list[Part]:
    """Return what a cell of the notebook shows on the page."""
    shown = block.select_one(":scope > .cell_input")
    # The call that shows a source or an explorer says nothing more.
    told = shown and not any(call in shown.get_text() for call in SHOWN)
    parts = code(shown) if told else []
    caption = ""
    for output in block.select(":scope > .cell_output > *"):
        found, caption = _output(output, caption)
        parts += found
    return parts


def _output(output: Tag, caption: str) -> tuple[list[Part], str]:
    """Return the parts of an output, and a caption for the next one."""
    classes = output.get("class", [])
    if output.name == "p":
        return [], f'<p class="caption">{inner(output)}</p>'
    if output.name == "img":
        return [figure(output)], ""
    if output.name == "script":
        return [explorer(output)], ""
    if "highlight-python" in classes:
        return code(output, kind="source", caption=caption), ""
    if box := output.select_one("fieldset"):
        return [question(box)], ""
    if output.table:
        return [table(output.table)], ""
    if "text_html" in classes:
        return [verdict(line) for line in output.select(":scope > p")], ""
    return code(output, kind="printed"), ""


def note_of(block: Tag) -> str:
    """Return what is in a box for the notes, words and code."""
    said = block.select("p, li, pre, div.math")
    return "".join(for_notes(tag) for tag in said)
