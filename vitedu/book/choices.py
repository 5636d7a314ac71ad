"""A question with options, each of which unfolds an explanation.

A style sheet unfolds it, without scripts; where a browser cannot do this,
everything is shown. The guesses of the chapters and the quizzes use it.
"""

import hashlib
import html
import re
from collections.abc import Iterable, Mapping

from vitedu import require

MOST_OPTIONS = 6  # as many as the style sheet has rules for


def choice_box(
    kind: str,
    title: str,
    question: str,
    options: Mapping[str | int, str],
    right: str | int,
    note: str = "",
    show: str = "",
    place: tuple[str, str] | None = None,
    name: str = "",
) -> str:
    """Return a question as HTML.

    Args:
        kind: Class of the element, "vitedu-predict" or "vitedu-quiz".
        title: What is shown before the question.
        question: Plain text; `code` in backticks.
        options: From 2 to 6 answers -> what to say to those who choose it.
        right: The correct one of them.
        note: What is shown until the reader has chosen.
        show: Name of a last button for readers who do not want to choose.
        place: Address and name of where the answer is explained; a link to it
            follows each explanation.
        name: Under which a browser keeps the answer, the same in every
            language; without it, one is made from the words.

    Raises:
        TypeError: A question or an explanation that is not text.
        ValueError: Too few or too many options, or none of them correct.
    """
    check_choices(question, options, right)
    key = repr((question, [*options], right)).encode()
    name = name or hashlib.sha256(key).hexdigest()[:8]
    # Without the attribute JupyterLab takes the arrow keys away.
    alone = "data-lm-suppress-shortcuts"
    button = f'<input type="radio" name="guess-{name}" {alone}>'
    labels = "".join(
        f"<label{_mark(option, right)}>{button} {_inline(str(option))}</label>"
        for option in options
    )
    if show:
        labels += f'<label class="vitedu-show">{button} {show}</label>'
    return (
        f'<fieldset class="{kind}"><legend><span>{html.escape(title)}</span> '
        f"{_inline(question)}</legend>"
        f'<div class="vitedu-choices">{labels}</div>'
        + (f'<p class="vitedu-folded">{note}</p>' if note else "")
        + '<div class="vitedu-answers" role="status">'
        + "".join(_answers(options, right, place))
        + "</div></fieldset>"
    )


def check_choices(
    question: str, options: Mapping[str | int, str], right: str | int
) -> None:
    """Refuse a question that cannot be asked.

    Raises:
        TypeError: A question or an explanation that is not text.
        ValueError: Too few or too many options, or none of them correct.
    """
    require.instance("question", question, str)
    require.instance("options", options, Mapping)
    if not 2 <= len(options) <= MOST_OPTIONS:
        raise ValueError(
            f"options must hold 2 to {MOST_OPTIONS} answers, "
            f"got {len(options)}"
        )
    for option, why in options.items():
        require.instance(f"options[{option!r}]", why, str)
    if right not in options:
        raise ValueError(
            f"right must be one of the options {list(options)}, got {right!r}"
        )


def _answers(
    options: Mapping[str | int, str],
    right: str | int,
    place: tuple[str, str] | None,
) -> Iterable[str]:
    link = ""
    if place is not None:
        address, name = map(html.escape, place)
        link = f' <a href="{address}">{name}</a>'
    for option, why in options.items():
        mark = _mark(option, right)
        word = "Right." if mark else "No."
        yield f"<p{mark}><strong>{word}</strong> {_inline(why)}{link}</p>"


def _mark(option: str | int, right: str | int) -> str:
    return " data-right" if option == right else ""


def _inline(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
