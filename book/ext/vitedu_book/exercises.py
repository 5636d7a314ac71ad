"""Exercises on the page: answers are checked there, code is laid out to read.

In a notebook an exercise is a cell to fill in, a cell with its hints, and a
folded one that runs the book's solution. A page runs no Python: where a number
or names are asked for, it has a form, which `exercises.js` checks as Python
would; where code is asked for, it shows what there is to start from, and asks
what is wrong with somebody else's attempt.

`book/attempts/NN-name.yml` holds these attempts, one for each exercise of the
chapter that asks for code: `code` with one mistake, what it `uses` as imports,
and four `options`. Each `says` a piece of what the check says about a mistake,
and `why` this code makes it or does not; one is `right`.
"""

import base64
import json
import re
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError
from sphinx.util import logging

from .written import CELL, OUTPUT, SOURCE, html, parts

if TYPE_CHECKING:
    from vitedu.book.grading import Exercise
    from vitedu.book.outputs import Say

ATTEMPTS = "attempts"
QUESTION = "What is wrong with this attempt?"
SCRIPT = "exercises.js"
FORM = "vitedu-answer"
_CHAPTER = re.compile(r"chapters/((\d\d)-.*)")
_ASKED = re.compile(r"^check\.(\w+)\((\w+)\)$", re.MULTILINE)
_HINTS = re.compile(r"^check\.(\w+)\.hints$")
_SOLVED = re.compile(r"^check\.\w+\.must_accept\(", re.MULTILINE)
_IMPORT = re.compile(
    r"^from vitedu\.book\.exercises import .*\n", re.MULTILINE
)
_ANSWER = re.compile(
    r"^my_answer = (None|\{.*?^\})\n", re.MULTILINE | re.DOTALL
)
_LOG = logging.getLogger(__name__)


class BadAttempt(SphinxError):
    """A file of attempts that cannot be used."""

    category = "Attempt"


class Attempt(NamedTuple):
    """An answer with one mistake, and what a reader may say of it.

    Attributes:
        code: It defines what the exercise asks for, under that name.
        uses: What the code needs besides, as imports.
        options: What the check says about a mistake -> why this is the one,
            or is not.
        right: The right one of them.
    """

    code: str
    uses: str
    options: dict[str, str]
    right: str


def read_attempts(
    path: Path, exercises: "dict[str, Exercise]"
) -> dict[str, Attempt]:
    """Read the attempts of a chapter, by the names of their exercises.

    Raises:
        BadAttempt: The file is not one of attempts at these exercises; says
            which and why.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
        return {
            name: _attempt(entry, exercises[name])
            for name, entry in entries.items()
        }
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        yaml.YAMLError,
    ) as error:
        raise BadAttempt(f"{path.name}: {error!r}") from None


def _attempt(entry: dict[str, Any], exercise: "Exercise") -> Attempt:
    known = [message for message, _ in exercise.mistakes()]
    options: dict[str, str] = {}
    right = []
    for option in entry["options"]:
        found = [message for message in known if option["says"] in message]
        if len(found) != 1:
            raise ValueError(
                f"{exercise.number}: {option['says']!r} must be a piece of "
                f"one message of the check, got {len(found)}"
            )
        options[found[0]] = option["why"]
        right += found * bool(option.get("right"))
    if len(right) != 1 or len(options) != 4:
        raise ValueError(f"{exercise.number}: one of four options is right")
    uses = entry.get("uses", "")
    return Attempt(entry["code"], uses, options, right[0])


def setup(app: Sphinx) -> None:
    """Work on each page before it is written."""
    app.connect("doctree-read", depend)
    # Before sections are folded.
    app.connect("doctree-resolved", lay_out, priority=300)
    app.connect("html-page-context", add_script)


def depend(app: Sphinx, doctree: nodes.document) -> None:
    """Write a chapter again when its attempts have changed."""
    chapter = _CHAPTER.match(app.env.docname)
    if chapter and (file := _file(app, chapter[1])).exists():
        app.env.note_dependency(str(file))


def _file(app: Sphinx, chapter: str) -> Path:
    return Path(app.srcdir, "book", ATTEMPTS, f"{chapter}.yml")


def lay_out(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Write the exercises of a chapter for those who read its page."""
    chapter = _CHAPTER.match(docname)
    if chapter is None or app.builder.format != "html":
        return
    check = import_module(f"vitedu.book.exercises.chapter_{chapter[2]}")
    say = _phrases(Path(app.srcdir, "book", "phrases"))
    file = _file(app, chapter[1])
    attempts = read_attempts(file, vars(check)) if file.exists() else {}
    for cell in [*parts(doctree, CELL)]:
        code = "\n".join(part.astext() for part in parts(cell, SOURCE))
        if asked := _ASKED.search(code):
            exercise = getattr(check, asked[1])
            _ask(cell, exercise, _ASKED.sub("", _IMPORT.sub("", code)), say)
        elif hinted := _HINTS.match(code):
            hints = [one for part in parts(cell, OUTPUT) for one in part]
            shown = [html('<div class="hints">'), *hints, html("</div>")]
            if attempt := attempts.get(hinted[1]):
                shown += _try(f"{chapter[1]}-{hinted[1]}", attempt, say)
            cell.parent.replace(cell, shown)
        elif _SOLVED.search(code):
            _solve(cell)
    for missed in getattr(say, "missed", ()):
        _LOG.warning("no phrase for %r", missed, location=docname)


def add_script(
    app: Sphinx, pagename: str, _: str, context: dict[str, Any], *rest: Any
) -> None:
    """Load the script on the pages that have exercises."""
    if f'class="{FORM}"' in context.get("body", ""):
        app.add_js_file(SCRIPT, loading_method="defer")


@cache
def _phrases(folder: Path) -> "Say":
    """Return what says phrases in the language of the edition."""
    # Later than the rest: the book says which library it is about.
    from vitedu.book.phrases import Phrases

    tables = sorted(folder.glob("**/*.json"))
    return Phrases.read(tables) if tables else str


def _ask(
    cell: nodes.container, exercise: "Exercise", code: str, say: "Say"
) -> None:
    """Show what there is to start from, and the form if there is one."""
    asked = form(exercise, say)
    if asked:
        code = _ANSWER.sub("", code)
    shown: list[nodes.Node] = []
    if code := code.strip("\n"):
        (source,) = parts(cell, SOURCE)
        block = source.next_node(nodes.literal_block)
        block.rawsource, block[:] = code, [nodes.Text(code)]
        shown.append(source)
    if asked:
        shown.append(html(asked))
    cell[:] = shown


def _try(name: str, attempt: Attempt, say: "Say") -> list[nodes.Node]:
    """Show an attempt, and ask what is wrong with it."""
    # Later than the rest: the book says which library it is about.
    from vitedu.book.choices import choice_box

    code = attempt.code.rstrip("\n")
    told = {
        sentence(say(message)): say(why)
        for message, why in attempt.options.items()
    }
    right = sentence(say(attempt.right))
    return [
        html(
            '<details class="attempt"><summary>Without Python: '
            "find the mistake</summary>"
        ),
        nodes.literal_block(code, code, language="python"),
        html(choice_box("vitedu-quiz", "", QUESTION, told, right, name=name)),
        html("</details>"),
    ]


def sentence(message: str) -> str:
    """Begin what a check says after a colon with a capital.

    >>> sentence("you left out w_o."), sentence("w_o is left out.")
    ('You left out w_o.', 'w_o is left out.')
    """
    # Not a name from code.
    if not re.match(r"[a-z]+\b(?![.(])", message):
        return message
    return message[:1].upper() + message[1:]


def form(exercise: "Exercise", say: "Say" = str) -> str:
    """Return the form for an exercise that asks for no code; else nothing.

    Args:
        exercise: One of a chapter.
        say: Says its phrases in the language of the page.
    """
    from vitedu.book.grading import LettersExercise, NumberExercise

    if isinstance(exercise, NumberExercise):
        facts, fields = _number(exercise, say), _NUMBER
    elif isinstance(exercise, LettersExercise):
        facts, fields = _letters(exercise, say), _names(exercise)
    else:
        return ""
    gap = " " if say is str else ""
    facts["starts"] = [say(start) + gap for start in ("Not yet:", "Right:")]
    # Nobody who looks at the page reads the answer by chance.
    text = base64.b64encode(json.dumps(facts).encode()).decode()
    return (
        f'<form class="{FORM}" aria-label="Exercise {exercise.number}" '
        f'data-number="{exercise.number}" data-facts="{text}" hidden>'
        f"{fields} <button>Check</button>"
        '<p role="status"></p></form>'
    )


_NUMBER = (
    '<label>Your answer <input autocomplete="off" spellcheck="false"></label>'
)


def _number(exercise: Any, say: "Say") -> dict[str, Any]:
    """Return what `NumberExercise` compares, and what it says."""
    told = {exercise.right: exercise.why, **exercise.wrong}
    hint = say(exercise.hints[0])
    other = {
        "none": "the answer should be a number, not {answer}.",
        "large": "{answer} is too large. {hint}",
        "small": "{answer} is too small. {hint}",
    }
    return {
        "told": [[number, say(message)] for number, message in told.items()],
        "tolerance": exercise.tolerance,
        "decimals": exercise.decimals,
        **{
            name: say(message).replace("{hint}", hint)
            for name, message in other.items()
        },
    }


def _names(exercise: Any) -> str:
    names = sorted({*exercise.right.values()})
    options = "".join(f"<option>{escape(name)}</option>" for name in names)
    return "".join(
        f'<label>{letter} <select name="{letter}"><option value="">…</option>'
        f"{options}</select></label> "
        for letter in exercise.right
    )


def _letters(exercise: Any, say: "Say") -> dict[str, Any]:
    """Return which name is right, and what is said to each other one."""

    def told(letter: str, said: str) -> str:
        reason = exercise.why_not(said, exercise.right[letter])
        return say(f"{letter} is not {said!r}: {reason}")

    names = {*exercise.right.values()}
    return {
        "right": dict(exercise.right),
        "wrong": {
            letter: {name: told(letter, name) for name in names - {right}}
            for letter, right in exercise.right.items()
        },
        "none": say("write a name beside each letter first."),
        "missing": say("no mistake so far; still to do: {missing}."),
        "all": say("each letter has its name."),
    }


def _solve(cell: nodes.container) -> None:
    """Fold the solution of an exercise, in words and in code, into one."""
    above = cell.parent[cell.parent.index(cell) - 1]
    if not isinstance(above, nodes.admonition):
        raise ValueError(f"no solution in words stands before {cell!r}")
    title, *words = above.children
    code = nodes.container(classes=["cell"])
    for element in (SOURCE, OUTPUT):
        code += [*parts(cell, element)]
    cell.parent.remove(cell)
    above.parent.replace(
        above,
        [
            html(
                '<details class="solution">'
                f"<summary>{escape(title.astext())}</summary>"
            ),
            *words,
            code,
            html("</details>"),
        ],
    )
