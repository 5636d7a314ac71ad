"""What the chapters' cells call: set-up, source by reference, claims."""

import html
import inspect
import json
import math
import os
import random
from typing import Any

import matplotlib_inline.backend_inline as inline
import numpy as np
import torch
from IPython.display import HTML, Markdown, display

from vitedu import plots, require

_THREADS = 2


def set_up(seed: int = 0) -> None:
    """Make a chapter's numbers and figures the same on every run.

    Seeds Python, NumPy and PyTorch, fixes the number of threads (another
    number adds in another order, and sums change in the last digit), and sets
    the book's look.

    Args:
        seed: An integer from 0 to 2**32 - 1.
    """
    require.integer("seed", seed, at_least=0)
    if seed >= 2**32:
        raise ValueError(f"seed must be below 2**32, got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.set_num_threads(_THREADS)
    plots.use_style()
    inline.set_matplotlib_formats("svg")


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
        name: A short name, unique in the book.
        statement: The sentence, with ``{value}`` where the number goes.
        value: What this page has computed.
        expected: What the book says it is.
        tolerance: Largest allowed distance between the two; 0 means equal.
        unit: Written behind the number.
        seeds: Over how many seeds the number holds.
        decimals: Digits behind the point; None means four significant ones.

    Raises:
        ValueError: `statement` lacks ``{value}``, or `tolerance` is negative.
        AssertionError: `value` is further from `expected` than `tolerance`,
            or no number.

    >>> claim("a-half", "It is {value}.", 0.5004, 0.5, tolerance=0.001)
    Claim: It is 0.5004.
    >>> claim("a-half", "It is {value}.", 0.6, 0.5, tolerance=0.001)
    Traceback (most recent call last):
    AssertionError: claim 'a-half': 0.6 is not 0.5 within 0.001
    """
    for key, text in (("name", name), ("statement", statement)):
        require.instance(key, text, str)
    require.instance("unit", unit, str)
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
        f"{value:,.{decimals}f}" if decimals is not None else (f"{value:.4g}")
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
    display(_Claim(sentence, entry))


def _number(name: str, value: float) -> float:
    """Return a number, a tensor or an array of one among them, as a float."""
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name} must be a number, got {value!r}") from error


class _Claim:
    """A sentence on the page that carries its ledger entry."""

    def __init__(self, sentence: str, entry: dict) -> None:
        self.sentence, self.entry = sentence, entry

    def __repr__(self) -> str:
        return f"Claim: {self.sentence}"

    def _repr_html_(self) -> str:
        data = html.escape(json.dumps(self.entry, sort_keys=True))
        return (
            f'<p class="claim" id="claim-{html.escape(self.entry["name"])}" '
            f'data-claim="{data}">{html.escape(self.sentence)}</p>'
        )


def reveal(question: str, answer: str) -> HTML:
    """Hide an answer until the reader has committed to a guess.

    Args:
        question: What to predict, plain text.
        answer: What unfolds, plain text.
    """
    require.instance("question", question, str)
    require.instance("answer", answer, str)
    return HTML(
        f'<details class="predict"><summary>{html.escape(question)}'
        f"</summary><p>{html.escape(answer)}</p></details>"
    )
