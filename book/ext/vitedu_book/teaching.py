"""The instructor's guide, and the exercises of the book by kind.

`book/teach/chapters/NN-name.yml` holds what a teacher may say about
`chapters/NN-name`. Both lists are written as Markdown into the page that has
their mark, before it is parsed, so that headings and links are as elsewhere.
"""

import re
from pathlib import Path

import nbformat
import yaml
from docutils import nodes
from docutils.nodes import make_id
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

FOLDER = "book/teach/chapters"
CHAPTERS = "../../chapters"  # as the pages see it
# What a guide lists besides what to say -> its title, and how many it has.
LISTS = {
    "goals": ("Goals", range(3, 6)),
    "goes_wrong": ("What usually goes wrong", range(3, 8)),
    "discuss": ("To discuss", range(3, 6)),
}
KINDS = {
    "predict": "Say a number before you compute it. The check knows the "
    "thoughts that lead to wrong ones.",
    "write it": "Write a function. The check tries what it does, not how it "
    "is written.",
    "debug it": "The bug zoo. This code runs, its shapes are right, and it is "
    "wrong. Find out why, and mend it.",
    "explain the curve": "The failure gallery. Something went wrong here, and "
    "the picture shows it. Say what it was.",
}
# What other languages call a kind -> its name.
CALLED = {
    "预测": "predict",
    "写出来": "write it",
    "找错": "debug it",
    "解释曲线": "explain the curve",
}
# How the title of a section begins that can be left out, in each language.
DEEPER = ("Deeper: ", "选读：")
# A heading of an edition in another language -> the English one, of which it
# has the address (languages.py).
ENGLISH: dict[str, str] = {}
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
# How an exercise begins in a notebook; the group is its number.
NUMBERED = r"^\*\*(?:Exercise|练习) (\d+\.\d+)(?:: |：)"
EXERCISE = re.compile(
    rf"{NUMBERED}([^*]+?)(?:\.\*\* |\*\*。)(.+)$", re.MULTILINE
)
NAMED = re.compile(r"(?:Exercise|练习) (\d+)\.(\d+)(?:: |：)")


class BadGuide(SphinxError):
    """A guide to a chapter, or an exercise, that cannot be used."""

    category = "Guide for teachers"


def read_guide(path: Path) -> dict:
    """Read and check the guide to a chapter.

    Returns:
        The lists named in `LISTS`, and "say": heading -> what to say there.

    Raises:
        BadGuide: The file is no such guide; says which and why.
    """
    try:
        guide = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadGuide(f"{path.name}: {error}") from None
    if not isinstance(guide, dict) or set(guide) != {"say", *LISTS}:
        raise BadGuide(f"{path.name}: it needs say, {', '.join(LISTS)}")
    if not isinstance(guide["say"], dict):
        raise BadGuide(f"{path.name}: say has to name headings")
    for name, (_, allowed) in LISTS.items():
        if len(guide[name]) not in allowed:
            raise BadGuide(
                f"{path.name}: {name} must have {allowed[0]} to "
                f"{allowed[-1]} entries, got {len(guide[name])}"
            )
    lists = (guide[name] for name in LISTS)
    for text in (*guide["say"].values(), *(x for ys in lists for x in ys)):
        if not isinstance(text, str) or not text.strip():
            raise BadGuide(f"{path.name}: {text!r} is no sentence")
    return guide


def prose(path: Path) -> str:
    """Return the Markdown of a chapter, without its code."""
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")


def guide_to(path: Path, guide: dict) -> str:
    """Write the guide to the chapter at `path` as Markdown."""
    text, link = prose(path), f"{CHAPTERS}/{path.name}"
    title = text.partition("\n")[0].removeprefix("# ")
    name = title.partition(". ")[2]
    lines = [f"## {title}", ""]
    lines += [f"The chapter: [{name}]({link}).", ""]
    for key, (heading, _) in LISTS.items():
        lines += [heading, ":   " + _bullets(guide[key], "    "), ""]
    said = [
        f"**[{heading}]({link}#{slug(heading)})** {guide['say'][heading]}"
        for heading in HEADING.findall(text)
        if heading in guide["say"]
    ]
    lines += [
        ":::{admonition} What to say, section by section",
        ":class: dropdown",
        "",
        _bullets(said, ""),
        ":::",
    ]
    return "\n".join(lines)


def _bullets(texts: list[str], indent: str) -> str:
    return f"\n{indent}".join(f"- {' '.join(text.split())}" for text in texts)


def anchor_of(heading: str) -> str:
    """Return the name of a heading in the address of its page."""
    english = ENGLISH.get(heading, heading)
    return make_id(re.sub(r"[`*$]", "", english))


def slug(heading: str) -> str:
    """Return the name of a heading in links of MyST."""
    english = ENGLISH.get(heading, heading)
    return re.sub(r"[^\w\- ]", "", english.lower().replace(" ", "-"))


def exercises_by_kind(paths: list[Path]) -> str:
    """Write the exercises of chapters as Markdown, kind after kind.

    Raises:
        BadGuide: An exercise is of a kind that is not in `KINDS`.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in paths:
        text = prose(path)
        title = text.partition("\n")[0].partition(". ")[2]
        for number, called, ask in EXERCISE.findall(text):
            kind = CALLED.get(called, called)
            if kind not in found:
                raise BadGuide(f"{path.name}: exercise {number} is {kind!r}")
            anchor = number.replace(".", "-")
            found[kind].append(
                f"[Exercise {number}](#exercise-{anchor}) *{title}* "
                f"{_asked(ask)}"
            )
    return "\n\n".join(
        f"## {kind.capitalize()}\n\n{KINDS[kind]}\n\n{_bullets(texts, '')}"
        for kind, texts in found.items()
        if texts
    )


def _asked(text: str) -> str:
    """Return the sentence that asks, or the first one."""
    sentences = re.split(r"(?<=[.?]) |(?<=[。？])", text)
    asking = (s for s in sentences if re.match(r".+[?？]$|Write [`a]|请写", s))
    return next(asking, sentences[0])


def guides(paths: list[Path]) -> str:
    """Write the guides to chapters as Markdown, one after the other."""
    return "\n\n".join(
        guide_to(path, read_guide(guide_file(path))) for path in paths
    )


def guide_file(path: Path) -> Path:
    """Return where the guide to the chapter at `path` is."""
    return path.parents[1] / FOLDER / f"{path.stem}.yml"


# The mark on a page, a comment in Markdown -> what is written there.
WRITERS = {
    "% guide to the chapters": guides,
    "% exercises by kind": exercises_by_kind,
}


def setup(app: Sphinx) -> None:
    """Write the lists on reading, and give each exercise an address."""
    app.connect("source-read", fill)
    app.connect("doctree-read", name_exercises, priority=400)


def fill(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write the lists where a page has their marks."""
    paths = sorted(Path(app.srcdir).glob("chapters/[0-9]*.ipynb"))
    paths = [p for p in paths if f"chapters/{p.stem}" in app.env.found_docs]
    for mark, write in WRITERS.items():
        if mark not in source[0]:
            continue
        for path in (*paths, *map(guide_file, paths)):
            app.env.note_dependency(str(path))
        source[0] = source[0].replace(mark, write(paths))


def name_exercises(app: Sphinx, doctree: nodes.document) -> None:
    """Make `#exercise-5-2` the address of exercise 5.2."""
    standard = app.env.get_domain("std")
    for strong in doctree.findall(nodes.strong):
        found = NAMED.match(strong.astext())
        if found and isinstance(strong.parent, nodes.paragraph):
            name = f"exercise-{found[1]}-{found[2]}"
            strong.parent["ids"].append(name)
            title = f"Exercise {found[1]}.{found[2]}"
            standard.note_hyperlink_target(name, app.env.docname, name, title)
