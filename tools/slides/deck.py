"""The deck of a chapter: its title, its sections, exercises, summary."""

import re
from dataclasses import dataclass, field
from functools import partial
from html import escape

from bs4 import Tag
from vitedu_book.teaching import NAMED, anchor_of

from tools.slides import parts as make
from tools.slides.chapter import (
    CROWDED,
    Beat,
    Slide,
    beats,
    line,
    of_beat,
    parts_of,
)
from tools.slides.parts import HEIGHT, Part
from tools.slides.prose import cleaned, for_notes, inner, opening, plain
from vitedu.book.outputs import Say

_CODE = re.compile("`([^`]+)`")
# What follows a question of the guide for teachers: the start of an answer.
_ANSWER = re.compile(" A good answer|好的回答")
END = "what-to-remember"  # the section that ends the deck


@dataclass
class Teacher:
    """What a teacher wants to say: `book/teach/chapters/NN-name.yml`.

    Attributes:
        say: English title of a section -> text.
        goals: What students can do at the end.
        goes_wrong: What students get wrong, and what to answer.
        discuss: Questions without one answer.
    """

    say: dict[str, str] = field(default_factory=dict)
    goals: list[str] = field(default_factory=list)
    goes_wrong: list[str] = field(default_factory=list)
    discuss: list[str] = field(default_factory=list)

    def says(self, anchor: str) -> str:
        """Return the note for a section, by its name in an address."""
        for title, text in self.say.items():
            if anchor_of(title) == anchor:
                return f"<p><strong>{marked(text)}</strong></p>"
        return ""


def marked(text: str) -> str:
    """Return plain text with `code` in backticks as HTML."""
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))


@dataclass
class Deck:
    """The slides of a chapter.

    Attributes:
        title: Plain words.
        stacks: Slides one below the other, by name; the stacks stand side by
            side.
    """

    title: str
    stacks: dict[str, list[Slide]]

    def html(self) -> str:
        """Return the slides for reveal.js."""
        return "".join(
            "<section>\n"
            + "".join(
                slide.html(f"{name}-{number}" if number else name)
                for number, slide in enumerate(stack)
            )
            + "</section>\n"
            for name, stack in self.stacks.items()
        )


def read(page: str, teacher: Teacher, say: Say = str) -> Deck:
    """Make the deck of a chapter from its page on the site.

    Args:
        page: The HTML of the page.
        teacher: Speaks the language of the page.
        say: Says what is added in this language.
    """
    chapter = cleaned(page)
    title = inner(chapter.h1)
    sections = {
        section["id"]: section
        for section in chapter.find_all("section", recursive=False)
    }
    ways = {
        "exercises": partial(exercises, say=say),
        "five-questions": questions,
    }
    stacks = {chapter["id"]: beginning(chapter, title, teacher, say)}
    summary = sections.pop(END, None)
    for name, section in sections.items():
        stacks[name] = ways.get(name, of_section)(section, teacher)
    if teacher.discuss:
        stacks["to-discuss"] = [discussion(teacher, say)]
    if summary is not None:
        stacks[END] = [of_summary(summary)]
    return Deck(plain(title), stacks)


def beginning(
    chapter: Tag, title: str, teacher: Teacher, say: Say
) -> list[Slide]:
    """Return the title, the goals and what stands before section one."""
    _, question, facts, *rest = chapter.find_all(True, recursive=False)
    wrong = "".join(f"<li>{marked(said)}</li>" for said in teacher.goes_wrong)
    if wrong:
        head = say("What usually goes wrong:")
        wrong = f"<p><strong>{head}</strong></p><ul>{wrong}</ul>"
    notes = for_notes(facts) + wrong
    slides = [Slide(title, 1, "", [inner(question)], [], notes, "title")]
    if teacher.goals:
        listed = make.items("ul", [marked(goal) for goal in teacher.goals])
        head = say("What you will be able to do")
        slides.append(Slide(head, 2, parts=[listed], notes=listed.html))
    blocks = [block for block in rest if block.name != "section"]
    return [*slides, *slides_of(blocks, title)]


def slides_of(blocks: list[Tag], kicker: str) -> list[Slide]:
    """Return the slides of blocks; the last words join what they end."""
    slides = []
    grouped = list(beats(blocks))
    for beat, after in zip(grouped, [*grouped[1:], Beat()], strict=False):
        if not beat.prose:
            beat.more += after.prose
        made = list(of_beat(beat, kicker))
        if slides and made and not beat.parts:
            _end(slides[-1], made[0])
        else:
            slides += made
    return slides


def _end(last: Slide, words: Slide) -> None:
    """Add the last words of a section to its last slide."""
    last.notes += words.notes
    if not last.title and not last.words:
        last.title, *last.words = words.words
    elif last.height() + words.height() < CROWDED:
        last.parts += map(line, words.words)


def of_section(section: Tag, teacher: Teacher) -> list[Slide]:
    """Return the slides of a section; the first asks its question."""
    title = inner(section.h2)
    says = teacher.says(section["id"])
    own = section.find_all(True, recursive=False)
    blocks = [b for b in own if b.name not in ("h2", "section")]
    slides = slides_of(blocks, title)
    for inside in section.find_all("section", recursive=False):
        own = inside.find_all(True, recursive=False)
        slides += slides_of(own[1:], inner(own[0]))
    head = Slide(title, 2, notes=says, kind="question")
    if slides and slides[0].height() < HEIGHT:
        first = slides.pop(0)
        head.words = [said for said in (first.title, *first.words) if said]
        head.parts, head.kind = first.parts, "section"
        head.notes += first.notes
    return [head, *slides]


def exercises(section: Tag, teacher: Teacher, say: Say) -> list[Slide]:
    """Return a slide for each exercise; hints and solutions are notes."""
    title = inner(section.h2)
    head = Slide(title, 2, notes=teacher.says(section["id"]), kind="question")
    slides = [head]
    for block in section.find_all(True, recursive=False)[1:]:
        bold = block.strong if block.name == "p" else None
        if bold and NAMED.match(bold.get_text()):
            name = bold.extract().get_text().rstrip(".")
            asked = inner(block).removeprefix("。")
            slides.append(Slide(name, 3, title, [asked]))
            head.words.append(name)
        elif len(slides) > 1:
            _add_to_exercise(slides[-1], block, say)
        else:
            head.notes += for_notes(block)
    return slides


def _add_to_exercise(slide: Slide, block: Tag, say: Say) -> None:
    classes = block.get("class", [])
    written = block.select_one(":scope > .cell_input")
    source = written.get_text() if written else ""
    if "solution" in classes:
        title = block.summary.extract().get_text()
        slide.notes += f"<p><strong>{title}</strong></p>{make.note_of(block)}"
    elif "hints" in classes:
        hints = block.select("p")
        said = "".join(f"<li>{inner(hint)}</li>" for hint in hints)
        head = f"<p><strong>{say('Hints')}</strong></p>"
        slide.notes += f"{head}<ol>{said}</ol>"
    elif block.name == "p":
        slide.words.append(inner(block))
    elif source and not re.search(r"^(def|class) ", source, re.MULTILINE):
        slide.parts += [p for p in parts_of(block) if "<img" in p.html]
    else:
        slide.parts += parts_of(block)


def questions(section: Tag, teacher: Teacher) -> list[Slide]:
    """Return a slide for each of the questions at the end."""
    title = inner(section.h2)
    boxes = map(make.question, section.select("fieldset"))
    return [Slide(kicker=title, parts=[box]) for box in boxes]


def discussion(teacher: Teacher, say: Say) -> Slide:
    """Return questions that have no one answer; the notes say a good one."""
    asked = [_ANSWER.split(said)[0] for said in teacher.discuss]
    listed = "".join(f"<li>{marked(said)}</li>" for said in asked)
    whole = "".join(f"<li>{marked(said)}</li>" for said in teacher.discuss)
    part = Part(f"<ul>{listed}</ul>", HEIGHT, notes=f"<ul>{whole}</ul>")
    return Slide(say("To discuss"), 2, parts=[part])


def of_summary(section: Tag) -> Slide:
    """Return the summary, the first sentence of each result."""
    words = [opening(li.p or li) for li in section.select("li")]
    listed = make.items("ul", words)
    notes = for_notes(section.ul)
    title = inner(section.h2)
    return Slide(title, 2, parts=[listed], notes=notes, kind="summary")
