"""Pages of the built site as they stand on paper and in an e-book.

Nothing can be unfolded, chosen or moved there. So each of these finds a place:
hidden code is left out, folds that are no solutions stand open, an explorer
gives way to a picture of it, guesses and questions become lists, and a
number with a tick is a number. What would give an answer away comes at the end
of the chapter: the guesses, the hints, the solutions, the answers to the
questions.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag
from vitedu_book.deeper import unfold
from vitedu_book.teaching import NAMED

from tools.stills import VIEW, Still
from vitedu.book.outputs import Say

ROOT = Path(__file__).parent.parent
DROPPED = (
    "form.vitedu-answer",
    "details.attempt",
    "a.headerlink",
    "script:not([type$='widget-view+json'])",
    "details.above-input",
    "figcaption > details.code",
    "p:has(> a[download])",
    ".vitedu-folded",
    ".vitedu-show",
    ".tick-cards",
)


def contents() -> list[tuple[str, list[str]]]:
    """Return the parts of the book: their captions and pages, in order.

    The reference of the library is left out: one looks things up in it, and
    the site is the better place for that.
    """
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = [("", [toc["root"]])]
    for part in toc["parts"]:
        files = [entry["file"] for entry in part["chapters"]]
        pages = [file for file in files if not file.startswith("book/api/")]
        parts.append((part["caption"], pages))
    return parts


def name(page: str) -> str:
    """Return what no other page is called: `04-masking`, `teach-index`."""
    return (page.partition("/")[2] or page).replace("/", "-")


def read(
    site: Path, page: str, say: Say = str, stills: Sequence[Still] = ()
) -> Tag:
    """Return the section that is the whole text of a page, ready for paper.

    Args:
        site: The folder of the built site.
        page: A page as in `_toc.yml`, such as `chapters/04-masking`.
        say: Says what is added in the language of the site.
        stills: Of the explorers of the page, in its order.

    Raises:
        FileNotFoundError: The site has no such page.
        ValueError: There are not as many stills as explorers.
    """
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    section = BeautifulSoup(text, "html.parser").select_one("article section")
    write_out(section)
    for fold in section.select("details.below-input"):
        fold.summary.decompose()
        fold.unwrap()
    for fold in section.select("details.sd-dropdown"):
        title = _html("<p><strong></strong></p>")
        title.strong.string = fold.summary.get_text(strip=True)
        fold.summary.replace_with(title)
        fold.unwrap()
    for selector in DROPPED:
        for element in section.select(selector):
            element.decompose()
    for view, still in zip(section.select(VIEW), stills, strict=True):
        view.find_parent(class_="cell").replace_with(_figure(still, say))
    for grid in section.select(".sd-container-fluid"):
        grid.replace_with(*map(_flattened, grid.select(".sd-card")))
    for tick in section.select("button.tick"):
        tick.name = "span"
        del tick["type"], tick["popovertarget"]
    for caption in section.select("figcaption"):
        if not caption.get_text(strip=True):
            caption.decompose()
    for image in section.select("img"):
        del image["loading"]  # nobody scrolls to it
    _put_answers_last(section, say)
    return section


def write_out(section: Tag) -> None:
    """Show what is folded or waits, and put files in place of drawings.

    The colours of the files are those of a light page.
    """
    unfold(section)
    for after in section.select(".vitedu-after"):
        after.unwrap()
    for drawings in section.select(".drawings"):
        svg = drawings.svg
        image = _html("<img>")
        image.attrs = {
            "alt": svg["aria-label"],
            "src": svg["data-file"],
            "width": svg["width"],
            "height": svg["height"],
        }
        drawings.replace_with(image)


def link(
    section: Tag, page: str, address: Callable[[str, str], str | None]
) -> None:
    """Point the links within the book to where they lead now.

    Args:
        section: The text of a page; it is changed.
        page: Its name, as in `_toc.yml`.
        address: Given a page and the name of a place on it, maybe empty,
            returns the new address, or None: the words stay, the link goes.
    """
    here = Path("/", page).parent
    for anchor in section.select("a[href]"):
        path, _, place = anchor["href"].partition("#")
        if re.match(r"[a-z]+:", path):
            continue
        file = (here / path).resolve() if path else Path("/", page)
        if place.startswith("explorer-"):
            place = ""  # on paper there is nothing to set
        target = address(str(file.with_suffix(""))[1:], place)
        if target is None:
            anchor.unwrap()
        else:
            anchor["href"] = target


def title(section: Tag) -> str:
    """Return the heading of a page."""
    return section.h1.get_text()


def _html(text: str) -> Tag:
    return BeautifulSoup(text, "html.parser").find()


def _figure(still: Still, say: Say) -> Tag:
    figure = _html(
        '<figure class="explorer"><img><figcaption></figcaption></figure>'
    )
    figure.img["src"], figure.img["alt"] = str(still.path), still.label
    figure.figcaption.append(f"{say('Try it on the site:')} ")
    address = _html(f"<a>{still.address}</a>")
    if still.address.startswith("https:"):
        address["href"] = still.address
    else:
        address.name = "code"
    figure.figcaption.append(address)
    return figure


def _flattened(card: Tag) -> Tag:
    """Return a paragraph for a card, all of which is a link on the site."""
    cover = card.select_one("a.sd-stretched-link")
    heading = card.select_one(".sd-card-title").get_text().strip()
    text = card.select_one(".sd-card-text").decode_contents()
    flat = _html(f"<p><strong><a></a></strong> {text}</p>")
    flat.a["href"], flat.a.string = cover["href"], heading
    return flat


def _put_answers_last(section: Tag, say: Say) -> None:
    parts = {
        "Guesses": [*_asked(section, "predict", say)],
        **_taken_from_exercises(section, say),
        "Five questions": [*_asked(section, "quiz", say)],
    }
    if not any(parts.values()):
        return
    if introduction := section.select_one("#five-questions > p"):
        introduction.string = say(
            "The answers stand at the end of the chapter."
        )
    title = say("Answers")
    last = _html(f'<section id="answers"><h2>{title}</h2></section>')
    for name, entries in parts.items():
        if entries:
            last.append(_html(f"<h3>{say(name)}</h3>"))
            last.extend(entries)
    section.append(last)


def _asked(section: Tag, kind: str, say: Say) -> Iterator[Tag]:
    """Make lists of the boxes of a kind; yield the answers to each."""
    for number, box in enumerate(section.select(f".vitedu-{kind}"), 1):
        label = f"{kind}-{number}"
        name = f"{number}."
        if kind == "predict":
            name = say(f"Guess {number}.")
        box.legend.span.decompose()
        for words in box.select("label"):
            words.input.decompose()
        asked = _html(
            f'<div class="asked" id="{label}"><p><a href="#{label}-answer">'
            f"{name}</a></p>{_listed(box.select('label'))}</div>"
        )
        asked.p.extend([*box.legend.contents])
        yield _answered(box, label, name, say)
        box.replace_with(asked)


def _answered(box: Tag, label: str, name: str, say: Say) -> Tag:
    said = box.select(".vitedu-answers > p")
    right = box.select_one(".vitedu-answers [data-right]")
    for words in said:
        words.strong.decompose()
        # The same for all options: where to read again.
        if words is not right and words.a:
            words.a.decompose()
    letter = "abcdef"[said.index(right)]
    return _html(
        f'<div class="answer" id="{label}-answer">'
        f'<p><a href="#{label}">{name}</a> '
        f"{say(f'Option {letter} is right.')}</p>{_listed(said)}</div>"
    )


def _listed(entries: list[Tag]) -> str:
    lines = [
        f"<li>{entry.decode_contents().strip()}</li>" for entry in entries
    ]
    return f'<ol type="a">{"".join(lines)}</ol>'


def _taken_from_exercises(section: Tag, say: Say) -> dict[str, list[Tag]]:
    """Take hints and solutions out of a chapter, and leave links to them."""
    taken = {"Hints": [], "Solutions": []}
    number = ""
    for element in section.select("section#exercises > *"):
        if found := NAMED.match(element.get_text().strip()):
            number = ".".join(found.groups())
            element["id"] = f"exercise-{number}"
        kinds = element.get("class", [])
        if "hints" in kinds:
            hints = _html("<div><ol></ol></div>")
            hints.ol.extend([*element.select("details > p")])
            for hint in hints.select("ol > p"):
                hint.name = "li"
            taken["Hints"].append(_of_exercise(hints, number, "hints", say))
            element.replace_with(_links(number, say))
        elif "solution" in kinds:
            element.summary.decompose()
            element.name = "div"
            answer = _of_exercise(element.extract(), number, "solution", say)
            taken["Solutions"].append(answer)
    return taken


def _links(number: str, say: Say) -> Tag:
    said = say(
        f'<a href="#exercise-{number}-hints">Hints</a> and '
        f'<a href="#exercise-{number}-solution">solution</a> '
        "stand at the end of the chapter."
    )
    return _html(f"<p>{said}</p>")


def _of_exercise(element: Tag, number: str, what: str, say: Say) -> Tag:
    element["class"], element["id"] = "answer", f"exercise-{number}-{what}"
    back = f'<a href="#exercise-{number}">{say(f"Exercise {number}")}</a>'
    element.insert(0, _html(f"<p>{back}</p>"))
    return element
