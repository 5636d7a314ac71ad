"""What the chapters' cells call: set-up, source, claims, guesses."""

import html
import inspect
import json
import math
import os
import random
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import matplotlib_inline.backend_inline as inline
import numpy as np
import torch
from IPython.display import Markdown, display

from vitedu import plots, require
from vitedu.choices import check_choices, choice_box
from vitedu.devices import choose_device
from vitedu.replay import replay_draws

_FOLDED = "What comes next unfolds when you have chosen."


def set_up(seed: int = 0, device: str = "cpu") -> None:
    """Make a chapter's numbers and figures the same on every run.

    Seeds Python, NumPy and PyTorch, and sets the book's look. A cell that
    runs again draws what it drew the first time. PyTorch gets one thread: two
    add in another order, so sums change in the last digit, and on models as
    small as the book's they are slower.

    Args:
        seed: An integer from 0 to 2**32 - 1.
        device: Where tensors and models are made from now on: "cpu", "cuda",
            "mps", or "auto", see `vitedu.devices.choose_device`. Only on the
            CPU are the numbers those of the book.

    Raises:
        TypeError, ValueError: `seed` is no such integer; there is no such
            device.

    Deviates: Nothing in this book was run on a graphics card. Tests follow
        every tensor through the models, forward and backward, as if it lay on
        one. Whole chapters were not tried: what a cell hands to NumPy needs a
        ``.cpu()`` there.
    """
    require.integer("seed", seed, at_least=0)
    if seed >= 2**32:
        raise ValueError(f"seed must be below 2**32, got {seed}")
    chosen = choose_device(device)
    # None rather than the CPU: a default that is set costs time in each call.
    torch.set_default_device(None if chosen.type == "cpu" else chosen)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    plots.use_style()
    inline.set_matplotlib_formats("svg")
    replay_draws(seed)


def is_live() -> bool:
    """Tell whether a person runs the notebook, not a build of the book."""
    return "VITEDU_BUILD" not in os.environ


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
    expected: float,
    *,
    tolerance: float,
    unit: str = "",
    seeds: int = 1,
    decimals: int | None = None,
) -> None:
    """State a number in a sentence, and stop the build if it is wrong.

    The claim enters the ledger of the book, where every number stands beside
    what it was measured against.

    Args:
        name: A short name of a-z, 0-9 and hyphens, unique in the book.
        statement: The sentence, with ``{value}`` where the number goes.
        value: What this page has computed.
        expected: What the book says it is.
        tolerance: Largest allowed distance between the two; 0 means equal.
        unit: Written behind the number.
        seeds: Over how many seeds the number holds.
        decimals: Digits behind the point; None means four significant ones.

    Raises:
        ValueError: Another name, no ``{value}``, or a negative `tolerance`.
        AssertionError: `value` is further from `expected` than `tolerance`,
            or no number.

    >>> claim("a-half", "It is {value}.", 0.5004, 0.5, tolerance=0.001)
    Claim: It is 0.5004.
    >>> claim("a-half", "It is {value}.", 0.6, 0.5, tolerance=0.001)
    Traceback (most recent call last):
    AssertionError: claim 'a-half': 0.6 is not 0.5 within 0.001
    """
    require.anchor("name", name)
    for key, text in (("statement", statement), ("unit", unit)):
        require.instance(key, text, str)
    if "{value}" not in statement:
        raise ValueError(f"statement must hold '{{value}}', got {statement!r}")
    require.number("tolerance", tolerance, at_least=0)
    require.positive_int("seeds", seeds)
    if decimals is not None:
        require.integer("decimals", decimals, at_least=0)
    value, expected = _number("value", value), _number("expected", expected)
    distance = abs(value - expected)
    if not (math.isfinite(value) and distance <= tolerance):
        raise AssertionError(
            f"claim {name!r}: {value:.6g}{unit} is not {expected:.6g}{unit} "
            f"within {tolerance:.3g}"
        )
    shown = (
        f"{value:,.{decimals}f}" if decimals is not None else f"{value:.4g}"
    )
    sentence = statement.replace("{value}", f"{shown}{unit}")
    entry = {
        "name": name,
        "statement": sentence,
        "value": value,
        "expected": expected,
        "tolerance": tolerance,
        "unit": unit,
        "seeds": seeds,
    }
    display(_Entry("claim", sentence, entry))


def rung(
    name: str,
    lower: str,
    upper: str,
    difference: float,
    *,
    tolerance: float,
) -> None:
    """State that two ways to compute a thing agree: a rung of the ladder.

    The rung enters the page with the ladder of equalities.

    Args:
        name: A short name of a-z, 0-9 and hyphens, unique in the book.
        lower: What the rung stands on, such as "attention in loops".
        upper: What it leads to, such as "attention as matrix products".
        difference: The largest difference that this page has measured.
        tolerance: Largest difference allowed; 0 means equal.

    Raises:
        ValueError: A name of other signs, or a negative `tolerance`.
        AssertionError: `difference` is larger than `tolerance`, or no number.

    >>> rung("halves", "a half", "two quarters", 0.0, tolerance=0)
    Rung: a half = two quarters (largest difference 0)
    >>> rung("halves", "a half", "a third", 0.17, tolerance=1e-12)
    Traceback (most recent call last):
    AssertionError: rung 'halves': a difference of 0.17, more than 1e-12
    """
    require.anchor("name", name)
    for key, text in (("lower", lower), ("upper", upper)):
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
        "lower": lower,
        "upper": upper,
        "difference": difference,
        "tolerance": tolerance,
    }
    sentence = f"{lower} = {upper} (largest difference {difference:.2g})"
    display(_Entry("rung", sentence, entry))


def _number(name: str, value: float) -> float:
    """Return a number, a tensor or an array of one among them, as a float."""
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


def predict(
    question: str,
    options: Mapping[str | int, str],
    *,
    right: str | int,
) -> "_Prediction":
    """Ask for a guess before the next outputs unfold.

    The outputs of the code cells that directly follow, at most three, stay
    folded until the reader has chosen, on the site with the paragraph after
    them. Each choice is told why it is right or wrong. A style sheet alone
    does this, without scripts; a browser that cannot shows everything.

    Args:
        question: What to predict, plain text.
        options: From 2 to 6 answers -> what to say to those who choose it.
        right: The right one of them, computed by the page if it is a number.

    Raises:
        TypeError: A question or an explanation that is no text.
        ValueError: Too few or too many options, or none of them right.

    >>> predict("1 + 1?", {2: "Count.", 11: "Those are digits."}, right=1 + 1)
    Guess first: 1 + 1? (2, 11)
    """
    check_choices(question, options, right)
    return _Prediction(question, options, right)


class _Prediction:
    """A question with options, each of which unfolds what is said to it."""

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
        )
        return f"{self._style()}{box}"

    @staticmethod
    def _style() -> str:
        """Return the style sheet, which the site has of its own."""
        if not is_live():
            return ""
        text = files("vitedu").joinpath("predict.css").read_text("utf-8")
        return f"<style>{text}</style>"
