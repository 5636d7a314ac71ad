"""The rules of arguments: each message names argument, value and rule."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import refuses

from vitedu import require


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_positive_int_accepts(value):
    require.positive_int("size", value)


@pytest.mark.parametrize("value", [1.0, True, "3", None, np.float32(2)])
def test_positive_int_wants_an_integer(value):
    with refuses(TypeError, f"size must be an integer, got {value!r}"):
        require.positive_int("size", value)


@pytest.mark.parametrize("value", [0, -3])
def test_positive_int_wants_at_least_one(value):
    with refuses(ValueError, f"size must be at least 1, got {value}"):
        require.positive_int("size", value)


def test_integer_accepts_any_sign_and_refuses_a_bool():
    require.integer("pad_id", -100)
    with refuses(TypeError, "pad_id must be an integer, got False"):
        require.integer("pad_id", False)


def test_grid_accepts_a_pair():
    require.grid("grid_size", (3, 5))
    require.grid("grid_size", [3, 5])


@pytest.mark.parametrize("value", [4, (4,), (2, 3, 5), "33"])
def test_grid_wants_a_pair(value):
    with refuses(
        TypeError, f"grid_size must be (rows, columns), got {value!r}"
    ):
        require.grid("grid_size", value)


def test_grid_wants_positive_integers():
    with refuses(ValueError, "grid_size[0] must be at least 1, got -3"):
        require.grid("grid_size", (-3, -5))
    with refuses(TypeError, "grid_size[1] must be an integer, got 5.0"):
        require.grid("grid_size", (3, 5.0))


@pytest.mark.parametrize("value", [0, 0.5, -2, np.float32(1)])
def test_number_accepts(value):
    require.number("scale", value)


@pytest.mark.parametrize("value", ["1", None, True, torch.tensor(1.0)])
def test_number_wants_a_number(value):
    with refuses(TypeError, f"scale must be a number, got {value!r}"):
        require.number("scale", value)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_number_wants_a_finite_number(value):
    with refuses(ValueError, f"scale must be finite, got {value}"):
        require.number("scale", value)


@pytest.mark.parametrize(
    ("bounds", "value", "rule"),
    [
        ({"at_least": 0}, -0.1, "at least 0"),
        ({"above": 0}, 0, "above 0"),
        ({"below": 1}, 1, "below 1"),
    ],
)
def test_number_keeps_its_bounds(bounds, value, rule):
    with refuses(ValueError, f"scale must be {rule}, got {value}"):
        require.number("scale", value, **bounds)


def test_number_accepts_what_lies_on_a_closed_bound():
    require.number("scale", 0, at_least=0, below=1)
    require.number("scale", 1e-9, above=0)


def test_rate_is_at_least_zero_and_below_one():
    require.rate("dropout", 0)
    require.rate("dropout", 0.999)
    with refuses(ValueError, "dropout must be below 1, got 1.0"):
        require.rate("dropout", 1.0)
    with refuses(ValueError, "dropout must be at least 0, got -0.1"):
        require.rate("dropout", -0.1)


def test_choice():
    require.choice("pool", "mean", ("mean", "max"))
    with refuses(ValueError, "pool must be one of ('mean', 'max'), got 'sum'"):
        require.choice("pool", "sum", ("mean", "max"))


@pytest.mark.parametrize("value", [None, ["mean"], torch.ones(2)])
def test_choice_refuses_what_is_no_word(value):
    with refuses(ValueError, "pool must be one of ('mean', 'max'), got "):
        require.choice("pool", value, ("mean", "max"))


def test_instance():
    require.instance("model", 3, int)
    require.instance("model", None, int, optional=True)
    with refuses(TypeError, "model must be an int or str, got NoneType"):
        require.instance("model", None, int, str)
    with refuses(TypeError, "model must be a str, got int"):
        require.instance("model", 3, str, optional=True)


def test_function():
    require.function("record", print)
    require.function("record", None, optional=True)
    with refuses(TypeError, "record must be callable, got None"):
        require.function("record", None)
    with refuses(TypeError, "record must be callable, got 'x'"):
        require.function("record", "x", optional=True)


def test_path():
    assert require.path("path", "a/b") == Path("a/b")
    assert require.path("path", Path("a")) == Path("a")
    assert require.path("path", None, optional=True) is None
    with refuses(TypeError, "path must be a path, got b'a'"):
        require.path("path", b"a")


def test_device():
    for value in (None, "cpu", torch.device("cpu")):
        require.device("device", value)
    with refuses(ValueError, "device must be the name of a device, got 'x'"):
        require.device("device", "x")
    with refuses(TypeError, "device must be a str, got float"):
        require.device("device", 0.5)


def test_integers():
    require.integers("labels", torch.arange(3))
    for wrong in (torch.ones(2), torch.tensor(True), torch.tensor(1j)):
        with refuses(
            TypeError,
            "labels must hold integer ids of 32 or 64 bits, "
            f"got dtype {wrong.dtype}",
        ):
            require.integers("labels", wrong)
    with refuses(TypeError, "labels must be a tensor, got list"):
        require.integers("labels", [1])


def test_divisible():
    require.divisible("height", 12, "patch_size", 4)
    with refuses(
        ValueError,
        "height must be divisible by patch_size, "
        "got height=13 and patch_size=4",
    ):
        require.divisible("height", 13, "patch_size", 4)


def test_rank():
    require.rank("x", torch.zeros(2, 3), "batch key")
    with refuses(
        ValueError, "x must have the axes (batch key), got shape (2,)"
    ):
        require.rank("x", torch.zeros(2), "batch key")
    with refuses(TypeError, "x must be a tensor, got list"):
        require.rank("x", [[1.0]], "batch key")


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64]
)
def test_floating_accepts(dtype):
    require.floating("images", torch.zeros(2, dtype=dtype))


def test_floating_refuses():
    with refuses(
        TypeError,
        "images must hold floating-point numbers, got dtype torch.uint8",
    ):
        require.floating("images", torch.zeros(2, dtype=torch.uint8))
    with refuses(TypeError, "images must be a tensor, got ndarray"):
        require.floating("images", np.zeros(2))


def test_dtype_of_the_weights():
    layer = torch.nn.Linear(5, 7)
    require.dtype_of("x", torch.zeros(2), layer)
    with refuses(
        TypeError,
        "x must have the dtype of the weights, torch.float32, "
        "got torch.float64",
    ):
        require.dtype_of("x", torch.zeros(2, dtype=torch.float64), layer)


def test_dtype_of_the_weights_does_not_matter_under_autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        require.dtype_of(
            "x", torch.zeros(2, dtype=torch.bfloat16), torch.nn.Linear(5, 7)
        )


def test_a_number_that_no_float_holds_is_not_finite():
    with refuses(ValueError, "eps must be finite, got 1000"):
        require.number("eps", 10**400)


def test_tokens():
    layer = torch.nn.Linear(5, 7)
    require.tokens("x", torch.zeros(2, 3, 5), 5, layer)
    with refuses(ValueError, "x must have d_model = 5 features, got 7"):
        require.tokens("x", torch.zeros(2, 3, 7), 5, layer)
    with refuses(
        ValueError,
        "x must have the axes (batch length d_model), got shape (3, 5)",
    ):
        require.tokens("x", torch.zeros(3, 5), 5, layer)
    with refuses(TypeError, "x must hold floating-point numbers"):
        require.tokens("x", torch.zeros(2, 3, 5, dtype=torch.int64), 5, layer)
