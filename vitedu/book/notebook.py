"""What the chapters' cells call: set-up, source, claims, guesses."""

import html
import inspect
import json
import math
import os
import random
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import matplotlib_inline.backend_inline as inline
import numpy as np
import torch
from IPython import get_ipython
from IPython.core.formatters import DisplayFormatter
from IPython.display import Markdown, display
from matplotlib.figure import Figure

from vitedu import require
from vitedu.book import plots
from vitedu.book.choices import check_choices, choice_box
from vitedu.book.figures import drawing
from vitedu.book.numbers import number_text
from vitedu.book.outputs import shown_in
from vitedu.book.phrases import Phrases, phrases_of
from vitedu.training.devices import choose_device

_FOLDED = "What comes next unfolds when you have chosen."
_SHOW = "Show the answer"
# A claim that allows more than this could hardly fail: of what is expected,
# and beside zero.
_LOOSEST, _ROUNDING = 0.3, 1e-3


def set_up(seed: int = 0, device: str = "cpu", language: str = "en") -> None:
    """Make a chapter's numbers and figures the same on every run.

    This seeds Python, NumPy and PyTorch, and sets the book's look. PyTorch
    gets one thread, because two add in a different order, so sums change in
    the last digit, and on models as small as the book's they are slower.

    Args:
        seed: An integer from 0 to 2**32 - 1.
        device: Where tensors and models are made from now on: "cpu", "cuda",
            "mps", or "auto", see `vitedu.training.devices.choose_device`.
            Only on the CPU are the numbers those of the book.
        language: The language of guesses, claims, tables, figures, hints and
            checks: "en", or "zh" for Chinese.

    Raises:
        TypeError, ValueError: `seed` is no such integer; there is no such
            device or language.

    Deviates: Nothing in this book was run on a graphics card. Tests follow
        every tensor through the models, forward and backward, as if it were on
        one. Whole chapters were not tried: what a cell passes to NumPy needs a
        ``.cpu()`` there.
    """
    require.integer("seed", seed, at_least=0)
    if seed >= 2**32:
        raise ValueError(f"seed must be below 2**32, got {seed}")
    require.instance("language", language, str)
    say = None if language == "en" else phrases_of(language)
    chosen = choose_device(device)
    # None rather than the CPU: a default that is set costs time in each call.
    torch.set_default_device(None if chosen.type == "cpu" else chosen)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    plots.use_style()
    inline.set_matplotlib_formats("svg")
    if (shell := get_ipython()) is not None:
        formatters = shell.display_formatter.formatters
        formatters["image/svg+xml"].for_type(Figure, _shown)
        _speak(shell.display_formatter, say)


def _speak(formatter: DisplayFormatter, say: Phrases | None) -> None:
    """Show the words of the book's outputs in another language."""
    usual = type(formatter).format

    def format_(obj: Any, *args: Any, **options: Any) -> tuple[dict, dict]:
        data, about = usual(formatter, obj, *args, **options)
        ours = type(obj).__module__.startswith(__package__)
        if ours or isinstance(obj, Figure):
            data = shown_in(data, say)
        return data, about

    if say is None:
        vars(formatter).pop("format", None)
    else:
        formatter.format = format_


def is_live() -> bool:
    """Tell whether a person runs the notebook, not a build of the book."""
    return "VITEDU_BUILD" not in os.environ


def _shown(figure: Figure) -> tuple[str, dict[str, str]]:
    """Return a figure as a drawing; it is dark, without a background."""
    text = drawing(figure, phone=not is_live())
    return text, {"needs_background": "light"}


def source(obj: Any) -> Markdown:
    """Show the source of a class or function as it is running now.

    Args:
        obj: A class, function, method or module.

    Returns:
        A code block, with the name and the file of the object above it.

    >>> print(source(is_live).data.splitlines()[2])
    def is_live() -> bool:
    """
    module = inspect.getmodule(obj).__name__
    name = getattr(obj, "__qualname__", module)
    where = f"`{module}.{name}`" if name != module else f"`{module}`"
    code = inspect.cleandoc("\n" + inspect.getsource(obj)).strip()
    return Markdown(f"{where}\n```python\n{code}\n```")


def claim(
    name: str,
    statement: str,
    value: float,
    expected: float | None = None,
    *,
    tolerance: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    baseline: float | None = None,
    unit: str = "",
    seeds: int = 1,
    decimals: int | None = None,
) -> None:
    """State a number in a sentence, and stop the build if it is wrong.

    A notebook that a person runs does not stop: readers who change a cell, or
    draw new random numbers, are told what the result is instead.

    A number that is known has an expected value and a tolerance, at most 30%
    of it, or near zero no more than rounding, 1e-3. A number that changes with
    the seed has bounds, and a baseline outside them: what chance, an untrained
    model or the other method would give. The claim enters the ledger of the
    book. On the site a link ``[0.5](#claim-NAME)`` in the text of the page
    takes the place of the sentence.

    Args:
        name: A short name of a-z, 0-9 and hyphens, unique in the book.
        statement: The sentence, with ``{value}`` where the number goes.
        value: What this page computed.
        expected: What the book says it is.
        tolerance: Largest allowed distance between the two; 0 means equal.
        at_least: The lowest value allowed.
        at_most: The highest value allowed.
        baseline: A value outside the bounds or the tolerance.
        unit: Written after the number.
        seeds: Over how many seeds the number holds.
        decimals: Digits after the point; None means as many as `number_text`
            writes.

    Raises:
        AssertionError: In a build: `value` is outside what is allowed, or is
            not a number.
        ValueError: A bad name, no ``{value}``, a negative `tolerance` or one
            that is too loose, both or neither of `expected` and bounds; a
            claim that its `baseline` meets.

    >>> claim("a-half", "It is {value}.", 0.5004, 0.5, tolerance=0.001)
    Claim: It is 0.5004.
    >>> claim("a-half", "It is {value}.", 0.6, 0.5, tolerance=0.001)
    Traceback (most recent call last):
    AssertionError: claim 'a-half': 0.6 is not 0.5 within 0.001
    >>> claim("most", "{value}%.", 93, at_least=80, baseline=10, seeds=5)
    Claim: 93%.
    """
    require.anchor("name", name)
    for key, text in (("statement", statement), ("unit", unit)):
        require.instance(key, text, str)
    if "{value}" not in statement:
        raise ValueError(f"statement must hold '{{value}}', got {statement!r}")
    require.positive_int("seeds", seeds)
    if decimals is not None:
        require.integer("decimals", decimals, at_least=0)
    value = _number("value", value)
    allowed = _allowed(expected, tolerance, at_least, at_most, baseline)
    if not _meets(value, allowed):
        found = number_text(value, digits=6)
        apart = f"{found}{unit} is not {_allowed_text(allowed, unit)}"
        if not is_live():
            raise AssertionError(f"claim {name!r}: {apart}")
        print(f"The claim {name!r} does not hold in this run: {apart}.")
        return
    shown = (
        number_text(value) if decimals is None else f"{value:,.{decimals}f}"
    )
    shown += unit
    sentence = statement.replace("{value}", shown)
    entry = {
        "name": name,
        "statement": sentence,
        "shown": shown,
        "at": statement.index("{value}"),
        "value": value,
        **allowed,
        "unit": unit,
        "seeds": seeds,
    }
    display(_Entry("claim", sentence, entry))


def _allowed(
    expected: float | None,
    tolerance: float | None,
    at_least: float | None,
    at_most: float | None,
    baseline: float | None,
) -> dict[str, float]:
    """Return what was given, if it is a claim that can fail."""
    known = expected is not None
    bounded = at_least is not None or at_most is not None
    if known == bounded:
        raise ValueError(
            "a claim must have either expected, with a tolerance, or at_least "
            f"or at_most, got expected={expected!r}, at_least={at_least!r}, "
            f"at_most={at_most!r}"
        )
    if known:
        require.number("tolerance", tolerance, at_least=0)
        middle = abs(_number("expected", expected))
        loosest = _LOOSEST * middle or _ROUNDING
        if tolerance > loosest:
            raise ValueError(
                f"tolerance must be at most {_LOOSEST:.0%} of expected, or "
                f"a claim can hardly fail, got {tolerance} for {expected}; "
                "state bounds and the baseline that they rule out"
            )
    elif tolerance is not None:
        raise ValueError(f"tolerance needs expected, got {tolerance!r}")
    elif baseline is None:
        raise ValueError(
            "baseline must say what at_least and at_most rule out, got None"
        )
    given = {
        "expected": expected,
        "tolerance": tolerance,
        "at_least": at_least,
        "at_most": at_most,
        "baseline": baseline,
    }
    allowed = {
        key: _number(key, x) for key, x in given.items() if x is not None
    }
    if baseline is not None and _meets(allowed["baseline"], allowed):
        raise ValueError(
            "baseline must lie outside of what is allowed, "
            f"{_allowed_text(allowed)}, got {baseline}"
        )
    return allowed


def _meets(value: float, allowed: dict[str, float]) -> bool:
    if not math.isfinite(value):
        return False
    if "expected" in allowed:
        return abs(value - allowed["expected"]) <= allowed["tolerance"]
    least = allowed.get("at_least", -math.inf)
    return least <= value <= allowed.get("at_most", math.inf)


def _allowed_text(allowed: dict[str, float], unit: str = "") -> str:
    if "expected" in allowed:
        return (
            f"{number_text(allowed['expected'], digits=6)}{unit} within "
            f"{number_text(allowed['tolerance'], digits=3)}"
        )
    return " and ".join(
        f"{words} {number_text(allowed[key], digits=6)}{unit}"
        for key, words in (("at_least", "at least"), ("at_most", "at most"))
        if key in allowed
    )


def rung(
    name: str,
    lower: str,
    upper: str,
    difference: float,
    *,
    tolerance: float,
    compares: str = "outputs",
) -> None:
    """State that two ways to compute something agree: a rung of the ladder.

    The rung enters the page with the ladder of equalities.

    Args:
        name: A short name of a-z, 0-9 and hyphens, unique in the book.
        lower: What the rung stands on, such as "attention in loops".
        upper: What it leads to, such as "attention as matrix products".
        difference: The largest difference that this page measured.
        tolerance: Largest difference allowed; 0 means equal.
        compares: What was compared, such as "outputs and gradients" or
            "counts".

    Raises:
        ValueError: A name with other characters, or a negative `tolerance`.
        AssertionError: `difference` is larger than `tolerance`, or is not a
            number.

    >>> rung("halves", "a half", "two quarters", 0.0, tolerance=0)
    Rung: a half = two quarters (largest difference 0)
    >>> rung("halves", "a half", "a third", 0.17, tolerance=1e-12)
    Traceback (most recent call last):
    AssertionError: rung 'halves': a difference of 0.17, more than 1e-12
    """
    require.anchor("name", name)
    texts = {"lower": lower, "upper": upper, "compares": compares}
    for key, text in texts.items():
        require.instance(key, text, str)
    require.number("tolerance", tolerance, at_least=0)
    difference = _number("difference", difference)
    if not 0 <= difference <= tolerance:
        raise AssertionError(
            f"rung {name!r}: a difference of {difference:.3g}, "
            f"more than {tolerance:.3g}"
        )
    entry = {
        "name": name,
        **texts,
        "difference": difference,
        "tolerance": tolerance,
    }
    sentence = f"{lower} = {upper} (largest difference {difference:.2g})"
    display(_Entry("rung", sentence, entry))


def _number(name: str, value: float) -> float:
    """Return a number, or a tensor or array with one element, as a float."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} must be a number, got {value!r}") from error


class _Entry:
    """A sentence on the page that carries its entry in a ledger."""

    def __init__(self, kind: str, sentence: str, entry: dict) -> None:
        self.kind, self.sentence, self.entry = kind, sentence, entry

    def __repr__(self) -> str:
        return f"{self.kind.capitalize()}: {self.sentence}"

    def _repr_html_(self) -> str:
        data = html.escape(json.dumps(self.entry, sort_keys=True))
        name = html.escape(self.entry["name"])
        return (
            f'<p class="{self.kind}" id="{self.kind}-{name}" '
            f'data-{self.kind}="{data}">{html.escape(self.sentence)}</p>'
        )


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> "_Table":
    """Show rows as a table of the page.

    Columns of numbers are right-aligned. What a cell holds is plain text;
    floats are written as `number_text` does.

    Args:
        header: The names of the columns.
        rows: For each row, one entry per column: text, or a number.

    Raises:
        TypeError: A name that is not text.
        ValueError: No column, or a row whose length differs from the header's.

    >>> table(["rule", "steps"], [["greedy", 5], ["beam", 12]])
    rule    steps
    greedy      5
    beam       12
    """
    header, rows = [*header], [[*row] for row in rows]
    if not header:
        raise ValueError("header must name a column, got none")
    for name in header:
        require.instance("header", name, str)
    for row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"rows must have {len(header)} entries, as the header has, "
                f"got {row!r}"
            )
    return _Table(header, rows)


class _Table:
    """Rows below a header, as Markdown and as aligned text."""

    def __init__(self, header: list[str], rows: list[list[Any]]) -> None:
        self.cells = [header, *([_cell(x) for x in row] for row in rows)]
        columns = [*zip(*rows, strict=True)] or [()] * len(header)
        self.right = [all(map(_is_number, c)) and c != () for c in columns]

    def __repr__(self) -> str:
        columns = zip(*self.cells, strict=True)
        widths = [max(map(len, column)) for column in columns]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(
                    row, widths, self.right, strict=True
                )
            ).rstrip()
            for row in self.cells
        )

    def _repr_markdown_(self) -> str:
        rules = ["--:" if right else ":--" for right in self.right]
        cells = [[*map(_escaped, row)] for row in self.cells]
        rows = [cells[0], rules, *cells[1:]]
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _is_number(value: Any) -> bool:
    return not isinstance(value, str | bool) and (
        hasattr(value, "__float__") or hasattr(value, "__index__")
    )


def _cell(value: Any) -> str:
    if not _is_number(value):
        return str(value)
    number = value.item() if hasattr(value, "item") else value
    return number_text(number) if isinstance(number, float) else f"{number:,}"


def _escaped(text: str) -> str:
    """Return plain text as Markdown that reads the same, in one line."""
    text = re.sub(r"([\\`*_{}\[\]<>&$|~])", r"\\\1", text)
    return " ".join(text.split())


def predict(
    question: str,
    options: Mapping[str | int, str],
    *,
    right: str | int,
) -> "_Prediction":
    """Ask for a guess before what comes next unfolds.

    On the site, everything that follows, up to the next heading, stays folded
    until the reader has chosen or has asked for the answer; in a notebook,
    this holds for the outputs of the code cells that directly follow, at most
    three. Each choice comes with the reason why it is right or wrong, and the
    right one is marked. A style sheet does this, without scripts; a browser
    that cannot do it shows everything.

    Args:
        question: What to predict, plain text.
        options: From 2 to 6 answers -> what to say to those who choose it.
        right: The correct one of them, computed by the page if it is a number.

    Raises:
        TypeError: A question or an explanation that is not text.
        ValueError: Too few or too many options, or none of them correct.

    >>> predict("1 + 1?", {2: "Count.", 11: "Those are digits."}, right=1 + 1)
    Guess first: 1 + 1? (2, 11)
    """
    check_choices(question, options, right)
    return _Prediction(question, options, right)


class _Prediction:
    """A question with options, each of which unfolds an explanation."""

    def __init__(
        self, question: str, options: Mapping[str | int, str], right: str | int
    ) -> None:
        self.question, self.options, self.right = question, options, right

    def __repr__(self) -> str:
        options = ", ".join(map(str, self.options))
        return f"Guess first: {self.question} ({options})"

    def _repr_html_(self) -> str:
        box = choice_box(
            "vitedu-predict",
            "Guess first.",
            self.question,
            self.options,
            self.right,
            _FOLDED,
            _SHOW,
        )
        return f"{self._style()}{box}"

    @staticmethod
    def _style() -> str:
        """Return the style sheet; the site has its own."""
        if not is_live():
            return ""
        text = files("vitedu.book").joinpath("predict.css").read_text("utf-8")
        return f"<style>{text}</style>"
