"""Five questions at the end of each chapter, and the same as files.

`book/quizzes/NN-name.yml` holds the questions of `chapters/NN-name`. On the
page they need no script. An explanation may link into an explorer of its
chapter, `[words](#explorer-...)`; see explorer_links.py. For learning
platforms the build writes them into `quizzes/` as GIFT, which Moodle and
others read, and as CSV.
"""

import csv
import html as escaping
import io
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import SphinxError

from . import explorer_links
from .written import html

FOLDER = "quizzes"
TITLE = "Five questions"
INTRODUCTION = (
    "Choose an answer, and the box says what is behind it. If it is wrong, "
    "you have a second try before the right one is marked."
)
# Sphinx sets curly quotes into headings; a notebook has straight ones.
_MARKS = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"", "`$*")
_LINK = re.compile(r"\[([^\]]+)\]\(#([^\s)]+)\)")
_SPECIAL = re.compile(r"([~=#{}:\\])")


class BadQuiz(SphinxError):
    """A file of questions that cannot be used."""

    category = "Quiz"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A question, and where the chapter answers it.

    Attributes:
        ask: Plain text; `code` in backticks.
        where: A heading of the chapter.
        options: Answer -> what to say to those who choose it.
        right: The right one of them.
    """

    ask: str
    where: str
    options: dict[str, str]
    right: str


def read_quiz(path: Path) -> list[Question]:
    """Read and check the questions of a chapter.

    Raises:
        BadQuiz: The file is no list of such questions; says which and why.
    """
    try:
        entries = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadQuiz(f"{path.name}: {error}") from None
    if not isinstance(entries, list):
        raise BadQuiz(f"{path.name}: it has to be a list of questions")
    questions = []
    for number, entry in enumerate(entries, start=1):
        try:
            questions.append(_question(entry))
        except (KeyError, TypeError, ValueError) as error:
            message = f"{path.name}, question {number}: {error!r}"
            raise BadQuiz(message) from None
    return questions


def _question(entry: dict) -> Question:
    # Later than the rest: the book says which library it is about.
    from vitedu.book.choices import check_choices

    if set(entry) != {"ask", "where", "options"}:
        raise ValueError(f"it has {sorted(entry)}, not ask, where, options")
    for option in entry["options"]:
        if not {"text", "why"} <= set(option) <= {"text", "why", "right"}:
            raise ValueError(f"an option has {sorted(option)}")
    options = {str(o["text"]): o["why"] for o in entry["options"]}
    right = [str(o["text"]) for o in entry["options"] if o.get("right")]
    if len(right) != 1 or len(options) != len(entry["options"]):
        raise ValueError("one option is right, and no two are alike")
    check_choices(entry["ask"], options, right[0])
    return Question(
        ask=entry["ask"],
        where=entry["where"],
        options=options,
        right=right[0],
    )


def gift(chapter: str, questions: list[Question]) -> str:
    """Write questions in the GIFT format, with what is said to each answer."""
    blocks = []
    for number, question in enumerate(questions, start=1):
        answers = "\n".join(
            f"{'=' if text == question.right else '~'}"
            f"{_escaped(text)}#{_escaped(why)}"
            for text, why in question.options.items()
        )
        blocks.append(
            f"::{_escaped(chapter)} {number}::[plain]"
            f"{_escaped(question.ask)} {{\n{answers}\n}}\n"
        )
    return "\n".join(blocks)


def table(chapter: str, questions: list[Question]) -> str:
    """Write questions as CSV, one a line."""
    most = max(len(question.options) for question in questions)
    columns = ["chapter", "question", "ask", "right"]
    for number in range(1, most + 1):
        columns += [f"option {number}", f"feedback {number}"]
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(columns)
    for number, question in enumerate(questions, start=1):
        right = [*question.options].index(question.right) + 1
        row = [chapter, number, question.ask, right]
        for pair in question.options.items():
            row += map(plain, pair)
        writer.writerow(row + [""] * (len(columns) - len(row)))
    return file.getvalue()


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(plain(text).split()))


def plain(text: str) -> str:
    """Return a text without its links: platforms have no explorers."""
    return _LINK.sub(r"\1", text)


def setup(app: Sphinx) -> None:
    """Append the questions on reading, write the files at the end."""
    # Before the table of contents of the page is made.
    app.connect("doctree-read", append, priority=400)
    app.connect("build-finished", export)


def append(app: Sphinx, doctree: nodes.document) -> None:
    """Put the questions of a chapter at its end."""
    chapter = app.env.docname.removeprefix("chapters/")
    path = _folder(app) / f"{chapter}.yml"
    if chapter == app.env.docname or not path.exists():
        return
    from vitedu.book.choices import choice_box

    app.env.note_dependency(str(path))
    boxes = [
        choice_box(
            "vitedu-quiz",
            f"{number}.",
            question.ask,
            question.options,
            question.right,
            place=(f"#{_place(doctree, question, path)}", question.where),
            name=f"{chapter}-{number}",
        )
        for number, question in enumerate(read_quiz(path), start=1)
    ]
    files = ", ".join(
        f'<a href="../{FOLDER}/{chapter}.{suffix}" download>{name}</a>'
        for suffix, name in (("gift", "GIFT"), ("csv", "CSV"))
    )
    section = nodes.section(ids=["five-questions"], names=["five questions"])
    section += nodes.title(text=TITLE)
    section += nodes.paragraph(text=INTRODUCTION)
    ending = f"<p>For learning platforms: {files}.</p>"
    section += html(_linked(app, "".join([*boxes, ending])))
    next(iter(doctree.findall(nodes.section))).append(section)


def _linked(app: Sphinx, text: str) -> str:
    """Make the links of a quiz, in HTML, lead into explorers of the page."""

    def link(found: re.Match) -> str:
        target, here = escaping.unescape(found[2]), app.env.docname
        _, fragment = explorer_links.resolve(app.env, here, target, here)
        return f'<a href="#{escaping.escape(fragment)}">{found[1]}</a>'

    return _LINK.sub(link, text)


def is_heading(title: str, written: str) -> bool:
    """Tell whether a title on the site is this heading of a notebook."""
    return title.translate(_MARKS) == written.translate(_MARKS)


def _place(doctree: nodes.document, question: Question, path: Path) -> str:
    for section in doctree.findall(nodes.section):
        title = section.next_node(nodes.title).astext()
        if is_heading(title, question.where):
            return section["ids"][0]
    raise BadQuiz(f"{path.name}: no heading {question.where!r}")


def export(app: Sphinx, exception: Exception | None) -> None:
    """Write the questions for learning platforms."""
    if exception is not None or app.builder.format != "html":
        return
    target = Path(app.outdir) / FOLDER
    target.mkdir(exist_ok=True)
    for path in sorted(_folder(app).glob("*.yml")):
        questions = read_quiz(path)
        for suffix, write in (("gift", gift), ("csv", table)):
            file = target / f"{path.stem}.{suffix}"
            file.write_text(write(path.stem, questions), encoding="utf-8")


def _folder(app: Sphinx) -> Path:
    return Path(app.srcdir) / "book" / FOLDER
