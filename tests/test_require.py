"""The rules of arguments: each message names argument, value and rule."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import refuses

from vitedu import require

LAYER = torch.nn.Linear(5, 7)
WORDS = ("mean", "max")
ONE_OF = "x must be one of ('mean', 'max'), got "
IDS = "x must hold integer ids of 32 or 64 bits, got dtype "
FLOATS = "x must hold floating-point numbers, got dtype "


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ("positive_int", [1, 7, np.int64(3)]),
        ("integer", [-100]),
        ("grid", [(3, 5), [3, 5]]),
        ("number", [0, 0.5, -2, np.float32(1)]),
        ("rate", [0, 0.999]),
        ("function", [print]),
        ("device", [None, "cpu", torch.device("cpu")]),
        ("integers", [torch.arange(3)]),
        (
            "floating",
            [
                torch.zeros(2, dtype=dtype)
                for dtype in (
                    *(torch.float16, torch.bfloat16),
                    *(torch.float32, torch.float64),
                )
            ],
        ),
    ],
)
def test_accepts(rule, values):
    for value in values:
        getattr(require, rule)("x", value)


def test_accepts_what_more_arguments_allow():
    require.number("x", 0, at_least=0, below=1)
    require.number("x", 1e-9, above=0)
    require.choice("x", "mean", WORDS)
    require.instance("x", 3, int)
    require.instance("x", None, int, optional=True)
    require.function("x", None, optional=True)
    require.divisible("x", 12, "y", 4)
    require.rank("x", torch.zeros(2, 3), "batch key")
    require.dtype_of("x", torch.zeros(2), LAYER)
    require.tokens("x", torch.zeros(2, 3, 5), 5, LAYER)


def test_path():
    assert require.path("path", "a/b") == Path("a/b")
    assert require.path("path", Path("a")) == Path("a")
    assert require.path("path", None, optional=True) is None


def test_dtype_of_the_weights_does_not_matter_under_autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        require.dtype_of("x", torch.zeros(2, dtype=torch.bfloat16), LAYER)


def wrong(rule, value, message, *more, error=ValueError, **options):
    """Write a row: what a rule refuses, and how."""
    return pytest.param(rule, (value, *more), options, error, message)


def mistyped(*row, **options):
    """Write a row whose value has the wrong type."""
    return wrong(*row, error=TypeError, **options)


REFUSED = [
    *(
        mistyped("positive_int", value, f"x must be an integer, got {value!r}")
        for value in (1.0, True, "3", None, np.float32(2))
    ),
    wrong("positive_int", 0, "x must be at least 1, got 0"),
    wrong("positive_int", -3, "x must be at least 1, got -3"),
    mistyped("integer", False, "x must be an integer, got False"),
    *(
        mistyped("grid", value, f"x must be (rows, columns), got {value!r}")
        for value in (4, (4,), (2, 3, 5), "33")
    ),
    wrong("grid", (-3, -5), "x[0] must be at least 1, got -3"),
    mistyped("grid", (3, 5.0), "x[1] must be an integer, got 5.0"),
    *(
        mistyped("number", value, f"x must be a number, got {value!r}")
        for value in ("1", None, True, torch.tensor(1.0))
    ),
    *(
        wrong("number", value, f"x must be finite, got {value}")
        for value in (math.inf, -math.inf, math.nan, 10**400)
    ),
    wrong("number", -0.1, "x must be at least 0, got -0.1", at_least=0),
    wrong("number", 0, "x must be above 0, got 0", above=0),
    wrong("number", 1, "x must be below 1, got 1", below=1),
    wrong("rate", 1.0, "x must be below 1, got 1.0"),
    wrong("rate", -0.1, "x must be at least 0, got -0.1"),
    wrong("choice", "sum", ONE_OF + "'sum'", WORDS),
    wrong("choice", None, ONE_OF, WORDS),
    wrong("choice", ["mean"], ONE_OF, WORDS),
    wrong("choice", torch.ones(2), ONE_OF, WORDS),
    mistyped(
        "instance", None, "x must be an int or str, got NoneType", int, str
    ),
    mistyped("instance", 3, "x must be a str, got int", str, optional=True),
    mistyped("function", None, "x must be callable, got None"),
    mistyped("function", "x", "x must be callable, got 'x'", optional=True),
    mistyped("path", b"a", "x must be a path, got b'a'"),
    wrong("device", "x", "x must be the name of a device, got 'x'"),
    mistyped("device", 0.5, "x must be a str, got float"),
    *(
        mistyped("integers", value, f"{IDS}{value.dtype}")
        for value in (torch.ones(2), torch.tensor(True), torch.tensor(1j))
    ),
    mistyped("integers", [1], "x must be a tensor, got list"),
    wrong(
        "divisible", 13, "x must be divisible by y, got x=13 and y=4", "y", 4
    ),
    wrong(
        "rank",
        torch.zeros(2),
        "x must have the axes (batch key), got shape (2,)",
        "batch key",
    ),
    mistyped("rank", [[1.0]], "x must be a tensor, got list", "batch key"),
    mistyped("floating", torch.ones(2).byte(), FLOATS + "torch.uint8"),
    mistyped("floating", np.zeros(2), "x must be a tensor, got ndarray"),
    mistyped(
        "dtype_of",
        torch.zeros(2).double(),
        "x must have the dtype of the weights, torch.float32, "
        "got torch.float64",
        LAYER,
    ),
    wrong(
        "tokens",
        torch.zeros(2, 3, 7),
        "x must have d_model = 5 features, got 7",
        5,
        LAYER,
    ),
    wrong(
        "tokens",
        torch.zeros(3, 5),
        "x must have the axes (batch length d_model), got shape (3, 5)",
        5,
        LAYER,
    ),
    mistyped("tokens", torch.zeros(2, 3, 5).long(), FLOATS, 5, LAYER),
]


@pytest.mark.parametrize(
    ("rule", "values", "options", "error", "message"), REFUSED
)
def test_refuses(rule, values, options, error, message):
    with refuses(error, message):
        getattr(require, rule)("x", *values, **options)
