"""A chapter as slides: what is on each, and what the speaker has to say."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bs4 import Tag

from tools.slides import parts as make
from tools.slides.parts import HEIGHT, Part
from tools.slides.prose import for_notes, opening, plain, width

LISTS = ("ul", "ol")
CROWDED = HEIGHT + 80  # as high as what is scaled down a little


@dataclass
class Beat:
    """Some paragraphs, what they lead to, and words among that."""

    prose: list[Tag] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    more: list[Tag] = field(default_factory=list)


@dataclass
class Slide:
    """A slide.

    Attributes:
        title: HTML of its heading; without one, the kicker is the heading.
        level: Of the heading.
        kicker: HTML of the small line above it, the section.
        words: HTML of lines below the heading.
        parts: What stands under them.
        notes: HTML of the notes.
        kind: Class of the slide. On the first of a "section" all but the
            title waits until the speaker goes on.
    """

    title: str = ""
    level: int = 3
    kicker: str = ""
    words: list[str] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    notes: str = ""
    kind: str = "plain"

    def height(self) -> int:
        """Return about how many pixels of the slide are taken."""
        lines = [said for said in (self.title, *self.words) if said]
        taken = sum(45 * math.ceil(width(plain(said)) / 75) for said in lines)
        return 40 + taken + sum(part.height + 16 for part in self.parts)

    def html(self, name: str) -> str:
        """Return the slide as an element of the deck called `name`."""
        title, kicker = self.title, self.kicker
        if title:
            head = f"<h{self.level}>{title}</h{self.level}>"
            head = f'<p class="kicker">{kicker}</p>{head}' if kicker else head
        else:
            head = f'<h3 class="kicker">{kicker}</h3>'
        words = "".join(f'<p class="lead">{said}</p>' for said in self.words)
        body = words + "".join(part.html for part in self.parts)
        if body and self.kind == "section":
            body = f'<div class="fragment">{body}</div>'
        notes = self.notes + "".join(part.notes for part in self.parts)
        return (
            f'<section id="{name}" class="{self.kind}"><div class="box">'
            f'<div class="fit">{head}{body}</div></div>'
            f'<aside class="notes">{notes}</aside></section>\n'
        )


def beats(blocks: Iterable[Tag]) -> Iterator[Beat]:
    """Group blocks of a page: a paragraph after a figure begins anew."""
    beat = Beat()
    for block in blocks:
        classes = block.get("class", [])
        is_prose = block.name == "p" or "admonition" in classes
        if is_prose and beat.parts and block.get_text()[:1].islower():
            # It goes on with the sentence of a formula.
            beat.parts.append(line(opening(block)))
            beat.more.append(block)
            continue
        if is_prose and beat.parts:
            yield beat
            beat = Beat()
        if is_prose:
            beat.prose.append(block)
        elif block.name in LISTS:
            words = [opening(li.p or li) for li in block.select(":scope > li")]
            beat.parts.append(make.items(block.name, words))
            beat.more.append(block)
        else:
            beat.parts += parts_of(block)
    if beat.prose or beat.parts:
        yield beat


def line(said: str) -> Part:
    """Return a sentence as a part of a slide."""
    return Part(f'<p class="lead">{said}</p>', 45)


def parts_of(block: Tag) -> list[Part]:
    """Return what a block of the page shows."""
    classes = block.get("class", [])
    if "cell" in classes:
        return make.cell(block)
    if "math" in classes:
        return [make.formula(block)]
    if "vitedu-quiz" in classes:
        return [make.question(block)]
    if "highlight-python" in classes:
        return make.code(block)
    return [make.table(block.table)] if block.table else []


def of_beat(beat: Beat, kicker: str) -> Iterator[Slide]:
    """Make the slides of a beat: a sentence of each paragraph, then parts."""
    notes = "".join(map(for_notes, beat.prose + beat.more))
    parts = beat.parts
    words = [opening(block) for block in map(_paragraph, beat.prose)]
    if "JavaScript" in notes:  # what follows is for paper
        words, parts = [], [part for part in parts if "<pre" not in part.html]
    if parts and len(words) > 2:
        yield Slide(words=words[:-1], kicker=kicker, notes=notes, kind="words")
        words = words[-1:]
    slide = Slide(kicker=kicker, notes=notes)
    if parts:
        slide.title, slide.words = "".join(words[:1]), words[1:]
    elif words:
        slide.words, slide.kind = words, "words"
    for part in parts:
        # A line more is better than a slide for it alone.
        squeezed = 140 if part.height < 110 else 0
        full = slide.height() + part.height > CROWDED + squeezed
        lonely = part.alone or any(other.alone for other in slide.parts)
        if slide.parts and (full or lonely):
            yield slide
            slide = Slide(kicker=kicker, notes=notes)
        slide.parts.append(part)
    if slide.parts or slide.words:
        yield slide


def _paragraph(block: Tag) -> Tag:
    return block if block.name == "p" else block.select("p")[-1]
