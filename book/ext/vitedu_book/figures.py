"""Figures stand in the page, so that they have the colours of its theme.

A drawing of `vitedu.book.figures` comes as a picture in a file, which a page
cannot colour. It is put into the text of the page, and keeps the address of
its file for what is made of the site: e-book, paper and slides. What the cell
has in its metadata as `caption` stands below it, and the cell's code behind a
small link.
"""

import re
from itertools import count
from pathlib import Path
from typing import Any

from docutils import nodes
from markdown_it import MarkdownIt
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from .images import take_out
from .written import CELL, OUTPUT, change_text, html, parts, picture_file

# The classes that `vitedu.book.figures` gives its drawings. The extension is
# loaded before the library of its book is known, so it must not import it.
DRAWING, PHONE = "drawing", "drawing-phone"
IMAGE = re.compile(
    r'<img [^>]*\bsrc="(?P<src>[^"]*_images/(?P<name>[^"/]+\.svg))"[^>]*>'
)
ALT = re.compile(r'\balt="([^"]*)"')
NESTED = re.compile(rf'<svg (?=[^>]*class="{PHONE}").*?</svg>', re.DOTALL)
# Pixels between the two widths; labels may stand out a little.
WIDER = 830
NAMED = re.compile(r'(\bid="|url\(#|href="#)')


def setup(app: Sphinx) -> None:
    """Caption the figures, then put them into the page."""
    app.add_post_transform(Captions)
    change_text(app, put_in)


class Captions(SphinxPostTransform):
    """Put a cell that shows a figure, and hides its code, into a figure."""

    # After MyST-NB has chosen what to show (4), before it folds code (199).
    default_priority = 190
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Work on the cells of a page."""
        for cell in [*parts(self.document, CELL)]:
            caption = cell.get("cell_metadata", {}).get("caption", "")
            hides = cell.get("hide_mode") == "input"
            if len(cell) == 2 and (caption or hides):
                _caption(cell, caption, hides)


def _caption(cell: nodes.container, caption: str, hides: bool) -> None:
    code, output = cell
    pictures = [*output.findall(nodes.image)]
    if not pictures:
        return
    picture = pictures[-1]
    while picture.parent is not output:
        picture = picture.parent
    place = output.index(picture)
    before, after = output[:place], output[place + 1 :]
    words = MarkdownIt("commonmark").renderInline(caption)
    start = [html('<figure class="figure">')]
    end = [html(f"<figcaption><p>{words}</p>" if words else "<figcaption>")]
    if hides:
        del cell["hide_mode"]
        end.append(html('<details class="code"><summary>code</summary>'))
        end += [code, html("</details>")]
    else:
        start.insert(0, code)
    end.append(html("</figcaption></figure>"))
    cell.children = []
    cell += [*_outputs(before), *start, *_outputs([picture]), *end]
    cell += _outputs(after)


def _outputs(parts: list[nodes.Node]) -> list[nodes.Node]:
    if not parts:
        return []
    box = nodes.container(nb_element=OUTPUT, classes=["cell_output"])
    box += parts
    return [box]


def put_in(app: Sphinx, body: str) -> str:
    """Put the drawings of a page into its text."""
    number = count(1)

    def drawing(found: re.Match[str]) -> str:
        text = picture_file(app, found["name"]).read_text(encoding="utf-8")
        if f'class="{DRAWING}"' not in text:
            return found[0]
        alt = ALT.search(found[0])
        folder = found["src"].rpartition("/")[0]
        text = take_out(text, Path(app.outdir, app.builder.imagedir), folder)
        return inline(
            text, f"d{next(number)}", alt[1] if alt else "", found["src"]
        )

    return IMAGE.sub(drawing, body)


def inline(text: str, name: str, alt: str, file: str) -> str:
    """Return a drawing as part of a page.

    Args:
        text: The SVG.
        name: Unique on the page; names within the drawing begin with it.
        alt: What it shows, escaped for HTML.
        file: The address of the SVG.
    """
    text = NAMED.sub(rf"\g<1>{name}", text[text.index("<svg") :])
    phone = ""
    if nested := NESTED.search(text):
        phone = nested[0].replace(' display="none"', "")
        text = text.replace(nested[0], "")
    label = f'role="img" aria-label="{alt}"'
    width = int(re.search(r'width="(\d+)"', text)[1])
    wide = " drawing-wide" if width > WIDER else ""
    return (
        f'<div class="drawings{wide}">'
        + text.replace("<svg ", f'<svg {label} data-file="{file}" ', 1)
        + phone.replace("<svg ", f"<svg {label} ", 1)
        + "</div>"
    )
