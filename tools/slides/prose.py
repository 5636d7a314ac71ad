"""The words of a page, as a slide and its notes need them."""

import copy
import html
import re
from unicodedata import east_asian_width

from bs4 import BeautifulSoup, NavigableString, SoupStrainer, Tag

from tools.paper import write_out

# A sentence ends before a capital, a digit, a quotation or an element; in
# Chinese, before anything.
_END = re.compile(
    r"(?:(?<=[.?!])|(?<=[.?!][\"\u201d\u2019)]))(?<!e\.g\.)(?<!i\.e\.)"
    r"\s+(?=[A-Z\d\"(\u201c\u2018]|$)"
    r"|(?<=[。？\uff01])(?![。？\uff01\u201d\u2019）])\s*"
    r"|(?<=[。？\uff01][\u201d\u2019）])\s*"
)
_BOLD = re.compile(r"<strong>(?:(?!</strong>).)*</strong>。", re.DOTALL)
_SHORT = 30  # letters
_OF_A_PAGE = (
    "a.headerlink, .vitedu-folded, .vitedu-show, .tick-cards, "
    ".vitedu-quiz .vitedu-answers a"
)


def cleaned(page: str) -> Tag:
    """Return the chapter of a page, without what only a page can use.

    Links inside the book become plain words, since no other page comes along.
    """
    only = SoupStrainer("article")
    chapter = BeautifulSoup(page, "html.parser", parse_only=only).section
    write_out(chapter)
    for mark in chapter.select(_OF_A_PAGE):
        mark.decompose()
    for noted in chapter.select(".noted"):
        noted.unwrap()
    for figure in chapter.select("figure.figure"):
        figure.figcaption.decompose()
        figure.unwrap()
    for tag in chapter.find_all(True):
        if tag.name != "section":
            tag.attrs.pop("id", None)
        if "tick" in tag.get("class", []):
            tag.name, tag.attrs = "span", {"class": "tick"}
        elif tag.name == "a" and tag["href"].startswith("http"):
            tag["target"] = "_blank"
        elif tag.name == "a":
            tag.unwrap()
    return chapter


def inner(tag: Tag) -> str:
    """Return the HTML inside an element."""
    return tag.decode_contents(formatter="minimal").strip()


def sentences(paragraph: Tag) -> list[str]:
    """Split a paragraph into sentences, each as HTML.

    A bold beginning such as "Step 1: compare." goes with what follows it.
    """
    found = [""]
    for child in paragraph.children:
        if not isinstance(child, NavigableString):
            found[-1] += str(child)
            continue
        first, *others = _END.split(str(child))
        found[-1] += html.escape(first, quote=False)
        found += [html.escape(other, quote=False) for other in others]
    if len(found) > 1 and _BOLD.fullmatch(found[0]):
        found[:2] = ["".join(found[:2])]
    return [said.strip() for said in found if said.strip()]


def opening(paragraph: Tag) -> str:
    """Return the first sentence, and the second one if that is short."""
    first, *others = sentences(paragraph)
    if not others or width(plain(first)) >= _SHORT:
        return first
    space = " " if width(first[-1]) == 1 else ""
    return f"{first}{space}{others[0]}"


def plain(markup: str) -> str:
    """Return the words of a piece of HTML; formulas once, as one sees them."""
    soup = BeautifulSoup(markup, "html.parser")
    for unseen in soup.select(".katex-mathml"):
        unseen.decompose()
    return soup.get_text()


def width(words: str) -> int:
    """Return as how many letters wide words are; a Chinese sign is as two."""
    return len(words) + sum(east_asian_width(sign) in "WF" for sign in words)


def for_notes(tag: Tag) -> str:
    """Return an element for the notes.

    The window of the speaker has no style sheets of ours, so that formulas
    have to be MathML, which browsers know by themselves.
    """
    tag = copy.copy(tag)
    for formula in tag.select(".katex"):
        written = formula.math
        for source in written.select("annotation"):
            source.decompose()
        formula.replace_with(written)
    return str(tag)
