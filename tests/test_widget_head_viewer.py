"""HeadViewer in Python: what it accepts, what it sends, what it reads."""

import numpy as np
import pytest
import torch

from vitedu.widgets import HeadViewer
from vitedu.widgets.head_viewer import readings

LAYERS, HEADS, TOKENS, KEYS = 2, 5, 7, 3


def make_weights(*shape):
    shape = shape or (LAYERS, HEADS, TOKENS, TOKENS)
    return np.random.default_rng(0).dirichlet(
        np.full(shape[-1], 0.5), shape[:-1]
    )


def make(**changes):
    arguments = {"weights": make_weights(), "tokens": list("abcdefg")}
    return HeadViewer(**arguments | changes)


def sent(widget, name):
    """Read an array as the page does."""
    state = widget.get_state()[name]
    dtype = np.dtype(state["dtype"]).newbyteorder("<")
    return np.frombuffer(state["data"], dtype).reshape(state["shape"])


def test_weights_arrive_unchanged_but_for_rounding():
    weights = make_weights()
    widget = make(weights=weights)
    np.testing.assert_array_equal(sent(widget, "weights"), np.float32(weights))


def test_the_layer_may_be_left_out():
    weights = make_weights(HEADS, TOKENS, TOKENS)
    widget = make(weights=weights)
    np.testing.assert_array_equal(widget.weights, np.float32(weights)[None])


def test_it_opens_at_the_token_in_the_middle_with_four_heads():
    widget = make()
    assert (widget.layer, widget.query) == (0, 3)
    assert widget.heads == [0, 1, 2, 3]
    two = make(weights=make_weights(2, TOKENS, TOKENS))
    assert two.heads == [0, 1]


def test_what_it_shows_can_be_chosen_and_changed():
    widget = make(layer=1, query=6, heads=[4, 0])
    assert (widget.layer, widget.query, widget.heads) == (1, 6, [0, 4])
    widget.heads = []
    assert widget.get_state()["heads"] == []


def test_queries_and_keys_may_come_from_two_sequences():
    widget = make(
        weights=make_weights(HEADS, TOKENS, KEYS),
        tokens=("x", "y", "z"),
        targets=list("abcdefg"),
        query=6,
    )
    assert widget.tokens == ["x", "y", "z"]
    assert readings(widget)["entropy"].max() <= np.log(KEYS)


def test_the_largest_size_is_accepted():
    widget = make(
        weights=make_weights(8, 24, 24), tokens=[str(n) for n in range(24)]
    )
    assert widget.weights.shape == (1, 8, 24, 24)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision_are_accepted(dtype):
    weights = torch.tensor(make_weights()).to(dtype).float().numpy()
    assert make(weights=weights).weights.dtype == np.float32


def test_readings_are_those_of_the_row():
    weights = make_weights()
    widget = make(weights=weights, layer=1, query=2)
    row = torch.tensor(weights[1, :, 2])
    shown = readings(widget)
    assert list(shown) == ["most", "largest", "entropy", "offset"]
    offset = row @ (torch.arange(TOKENS, dtype=row.dtype) - 2)
    expected = {
        "most": row.argmax(-1),
        "largest": row.max(-1).values,
        "entropy": torch.distributions.Categorical(row).entropy(),
        "offset": offset,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(shown[name], value, atol=1e-6, err_msg=name)


def test_readings_of_heads_that_one_knows():
    uniform, itself, before = np.zeros((3, TOKENS, TOKENS))
    uniform[:] = 1 / TOKENS
    itself[:] = np.eye(TOKENS)
    before[:] = np.eye(TOKENS, k=-1)
    before[0, 0] = 1
    widget = make(weights=np.stack([uniform, itself, before]), query=4)
    shown = readings(widget)
    np.testing.assert_allclose(
        shown["entropy"], [np.log(TOKENS), 0, 0], atol=1e-6
    )
    np.testing.assert_allclose(shown["offset"], [-1, 0, -1], atol=1e-6)
    np.testing.assert_array_equal(shown["most"][1:], [4, 3])


def one_row_changed(change):
    weights = make_weights()
    weights[1, 4, 6] = change(weights[1, 4, 6])
    return weights


BAD_ARRAYS = [
    ({"weights": make_weights()[0, 0]}, "weights must have the axes"),
    (
        {"weights": make_weights(9, TOKENS, TOKENS)},
        r"weights must have at most 8 heads .* got shape \(1, 9, 7, 7\)",
    ),
    (
        {"weights": make_weights(1, 25, 25), "tokens": ["a"] * 25},
        "weights must have at most .* 24 tokens",
    ),
    (
        {"weights": one_row_changed(lambda row: row * 1.01)},
        "weights must have rows .* that sum to 1, got .* 1.0",
    ),
    (
        {"weights": one_row_changed(lambda row: row - 0.5)},
        "weights must be at least 0, got -0",
    ),
    (
        {"weights": one_row_changed(lambda row: row * np.nan)},
        "weights must be finite",
    ),
    ({"tokens": list("abc")}, "tokens must have 7 entries.* got 3"),
    ({"tokens": [*"abcdef", " "]}, "tokens must not be blank, got ' '"),
    ({"targets": list("ab")}, "targets must have 7 entries.* got 2"),
    (
        {"weights": make_weights(2, TOKENS, KEYS), "tokens": list("xyz")},
        "as many queries as keys unless targets",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_ARRAYS)
def test_arrays_that_do_not_fit_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": [[1.0]]}, "weights must be a numpy array, got list"),
        ({"tokens": "abcdefg"}, "tokens must be a list of strings, got 'abc"),
        ({"tokens": 7}, "tokens must be a list of strings, got 7"),
        ({"tokens": range(7)}, "tokens must be strings, got 0"),
        ({"targets": [1] * 7}, "targets must be strings, got 1"),
        ({"heads": [0.0]}, "heads must be integers, got 0.0"),
        ({"heads": [True]}, "heads must be integers, got True"),
        ({"query": 1.0}, "query must be an integer, got 1.0"),
        ({"colour": "red"}, "no argument 'colour'"),
    ],
)
def test_wrong_types_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("layer", 2, r"layer must lie in \[0, 1\], got 2"),
        ("query", 7, r"query must lie in \[0, 6\], got 7"),
        ("query", -1, "query must lie in"),
        ("heads", [5], r"heads must be different numbers in \[0, 4\]"),
        ("heads", [-1], "heads must be different numbers"),
        ("heads", [1, 1], r"heads must be different .* got \[1, 1\]"),
    ],
)
def test_a_view_that_does_not_exist_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        make(**{name: value})
    widget = make()
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=message):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("weights", make_weights()[::-1]), ("tokens", list("gfedcba"))],
)
def test_what_the_figure_is_made_of_cannot_be_exchanged(name, value):
    widget = make()
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        setattr(widget, name, value)
