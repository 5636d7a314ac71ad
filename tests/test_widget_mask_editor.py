"""MaskEditor in Python: what it accepts, what it sends, what it computes."""

import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from vitedu import mask_formats, masks
from vitedu.attention import attention_weights
from vitedu.widgets import MaskEditor
from vitedu.widgets.mask_editor import (
    CONVENTIONS,
    FILL_VALUES,
    METHODS,
    PRESETS,
    TOKENS,
    preset,
    readings,
)

RNG = np.random.default_rng(0)
SIZE = 5
SCORES = RNG.uniform(-5, 5, (SIZE, SIZE)).astype(np.float32)
WORDS = ("<bos>", "one", "two", "<pad>", "<pad>")
DEAD_ROW = RNG.random((SIZE, SIZE)) < 0.5
DEAD_ROW[2] = False
MASKS = {name: preset(name, WORDS) for name in PRESETS} | {
    "dead row": DEAD_ROW,
    "nothing": np.zeros((SIZE, SIZE), bool),
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())


def make(mask=None, **view):
    return MaskEditor(SCORES, WORDS, mask=mask, **view)


def four_axes(array):
    return torch.tensor(array)[None, None]


def in_torch(mask, method, fill_value):
    """Masked scores and weights, with PyTorch's own operations."""
    scores, seen = torch.tensor(SCORES).double(), torch.tensor(mask)
    if method == "multiply before softmax":
        masked = scores * seen
        return masked, masked.softmax(-1)
    if method == "multiply after softmax":
        return scores, scores.softmax(-1) * seen
    if method == "multiply after and renormalise":
        weights = scores.softmax(-1) * seen
        return scores, weights / weights.sum(-1, keepdim=True)
    number = {"-inf": -torch.inf, "-1e9": -1e9}.get(
        fill_value, torch.finfo(torch.float32).min
    )
    masked = scores.masked_fill(~seen, number)
    weights = masked.softmax(-1)
    return masked, weights * seen if "clear" in fill_value else weights


@each_mask
@pytest.mark.parametrize(
    ("method", "fill_value"), list(itertools.product(METHODS, FILL_VALUES))
)
def test_every_way_to_mask_is_that_of_pytorch(mask, method, fill_value):
    shown = readings(make(mask, method=method, fill_value=fill_value))
    masked, weights = in_torch(mask, method, fill_value)
    np.testing.assert_allclose(shown["masked"], masked)
    np.testing.assert_allclose(shown["weights"], weights, atol=1e-12)
    np.testing.assert_allclose(shown["sums"], weights.sum(-1), atol=1e-12)
    leaks = (weights * torch.tensor(~mask)).sum(-1)
    np.testing.assert_allclose(shown["leaks"], leaks, atol=1e-12)


@each_mask
def test_the_first_way_is_that_of_the_library(mask):
    q = four_axes(SCORES.astype(np.float64))
    k = torch.eye(SIZE, dtype=torch.float64)[None, None]
    weights = attention_weights(q, k, four_axes(mask), scale=1.0)
    np.testing.assert_allclose(
        readings(make(mask))["weights"], weights[0, 0], atol=1e-12
    )


@pytest.mark.parametrize(
    ("method", "fill_value", "row"),
    [
        (METHODS[0], "finfo.min and clear", 0),
        (METHODS[0], "-inf", np.nan),
        (METHODS[0], "finfo.min", 1 / SIZE),
        (METHODS[0], "-1e9", 1 / SIZE),
        (METHODS[1], "-inf", 1 / SIZE),
        (METHODS[2], "-inf", 0),
        (METHODS[3], "-inf", np.nan),
    ],
)
def test_a_dead_row(method, fill_value, row):
    shown = readings(make(DEAD_ROW, method=method, fill_value=fill_value))
    np.testing.assert_allclose(shown["weights"][2], np.full(SIZE, row))


def test_a_hidden_score_of_zero_wins_over_minus_five():
    scores = np.full((3, 3), -5.0)
    explorer = MaskEditor(
        scores, ("a", "b", "c"), method="multiply before softmax"
    )
    np.testing.assert_allclose(
        readings(explorer)["weights"][0], [0.003, 0.498, 0.498], atol=5e-4
    )


def as_multihead_attention(attn_mask):
    """Weights of the real module, for scores that are given."""
    module = nn.MultiheadAttention(SIZE, 1, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(SIZE).repeat(3, 1))
    q, k = torch.tensor(SCORES)[None] * SIZE**0.5, torch.eye(SIZE)[None]
    return module(q, k, k, attn_mask=attn_mask)[1][0].detach()


def as_fused(attn_mask):
    q, k = torch.tensor(SCORES)[None], torch.eye(SIZE)[None]
    out = F.scaled_dot_product_attention(
        q, k, k, attn_mask=attn_mask, scale=1.0
    )
    return out[0]


def as_filling_where_zero(attn_mask):
    scores = torch.tensor(SCORES)
    return scores.masked_fill(attn_mask == 0, -1e9).softmax(-1)


@each_mask
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_a_mask_handed_over_does_what_it_does_in_the_real_library(
    mask, convention
):
    ours = four_axes(mask)
    expected = {
        "vitedu": lambda: as_multihead_attention(ours[0, 0]),
        "F.scaled_dot_product_attention": lambda: as_multihead_attention(
            mask_formats.to_fused(ours)[0, 0]
        ),
        "nn.MultiheadAttention": lambda: as_fused(
            mask_formats.to_multihead(ours, batch=1, num_heads=1, query=SIZE)
        ),
        "additive": lambda: as_filling_where_zero(
            mask_formats.to_additive(ours)[0, 0]
        ),
        "integers": lambda: as_fused(ours[0].float()),
    }[convention]()
    explorer = make(mask, convention=convention, handed_over=True)
    np.testing.assert_allclose(
        readings(explorer)["weights"], expected, atol=1e-6
    )


@each_mask
def test_each_convention_writes_the_mask_as_the_converter_does(mask):
    ours = four_axes(mask)
    expected = {
        "vitedu": ours,
        "F.scaled_dot_product_attention": mask_formats.to_fused(ours),
        "nn.MultiheadAttention": mask_formats.to_multihead(
            ours, batch=1, num_heads=1, query=SIZE
        ),
        "additive": mask_formats.to_additive(ours),
        "integers": ours.int(),
    }
    assert list(expected) == list(CONVENTIONS)
    for convention, form in expected.items():
        shown = readings(make(mask, convention=convention))["written"]
        np.testing.assert_array_equal(
            shown, form.reshape(SIZE, SIZE).double(), err_msg=convention
        )


def test_presets_are_the_masks_of_the_library():
    tokens = torch.tensor([[int(word != "<pad>") for word in WORDS]])
    padding = masks.padding_mask(tokens, pad_id=0).expand(1, 1, SIZE, SIZE)
    causal = masks.causal_mask(SIZE)
    expected = {
        "none": torch.ones(1, 1, SIZE, SIZE),
        "padding": padding,
        "causal": causal,
        "causal and padding": causal & padding,
    }
    assert sorted(expected) == sorted(PRESETS)
    for name, mask in expected.items():
        np.testing.assert_array_equal(preset(name, WORDS), mask[0, 0])


def test_it_opens_causal_without_the_padding_and_without_a_leak():
    explorer = MaskEditor()
    assert explorer.tokens == list(TOKENS)
    assert explorer.mask.dtype == bool
    np.testing.assert_array_equal(
        explorer.mask, preset("causal and padding", TOKENS)
    )
    shown = readings(explorer)
    np.testing.assert_allclose(shown["sums"], 1)
    np.testing.assert_array_equal(shown["leaks"], 0)


def test_what_the_page_sends_back_arrives():
    explorer = make()
    scores, mask = np.float32(SCORES / 2), ~explorer.mask
    explorer.set_state(
        {
            name: {
                "data": memoryview(array.tobytes()),
                "shape": list(array.shape),
                "dtype": array.dtype.name,
            }
            for name, array in {"scores": scores, "mask": mask}.items()
        }
    )
    np.testing.assert_array_equal(explorer.scores, scores)
    np.testing.assert_array_equal(explorer.mask, mask)
    assert explorer.mask.dtype == bool


SQUARE = np.zeros((SIZE, SIZE))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"tokens": "word"}, TypeError, "list of words, got 'word'"),
        ({"tokens": [1, 2]}, TypeError, "tokens must be words, got 1"),
        ({"tokens": ["a"]}, ValueError, "from 2 to 8 words, got 1"),
        ({"tokens": ["a"] * 9}, ValueError, "from 2 to 8 words, got 9"),
        ({"tokens": WORDS[1:]}, ValueError, r"shape \(4, 4\).*got \(5, 5\)"),
        ({"scores": SQUARE[1:]}, ValueError, r"scores .*\(5, 5\).*\(4, 5\)"),
        ({"scores": SQUARE[0]}, ValueError, "scores must have the axes"),
        ({"scores": None}, ValueError, r"scores .*\(5, 5\).*\(6, 6\)"),
        ({"scores": SQUARE + 5.1}, ValueError, r"must lie in \[-5, 5\]"),
        ({"scores": SQUARE - 5.1}, ValueError, r"must lie in \[-5, 5\]"),
        ({"scores": SQUARE * np.nan}, ValueError, "scores must be finite"),
        ({"scores": [[1.0]]}, TypeError, "numpy array, got list"),
        ({"mask": SQUARE}, TypeError, "convertible to bool, got float64"),
        ({"mask": SQUARE.astype(int)}, TypeError, "to bool, got int64"),
        ({"mask": DEAD_ROW[:, 1:]}, ValueError, r"mask .*\(5, 5\).*\(5, 4\)"),
        ({"method": "divide"}, ValueError, "method must be one of"),
        ({"fill_value": "0"}, ValueError, "fill_value must be one of"),
        ({"convention": "jax"}, ValueError, "convention must be one of"),
        ({"handed_over": 1}, TypeError, "handed_over must be True or False"),
        ({"query": 5}, ValueError, r"query must lie in \[0, 4\], got 5"),
        ({"key": 5}, ValueError, r"key must lie in \[0, 4\], got 5"),
        ({"key": -1}, ValueError, "key must lie in"),
        ({"rows": 1}, TypeError, "no argument 'rows'"),
    ],
)
def test_wrong_arguments_say_what_is_wrong(arguments, error, message):
    given = {"scores": SCORES, "tokens": WORDS} | arguments
    with pytest.raises(error, match=message):
        MaskEditor(**given)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scores": SQUARE[1:, 1:]}, r"scores must have the shape \(5, 5\)"),
        ({"mask": DEAD_ROW[1:, 1:]}, r"mask must have the shape \(5, 5\)"),
        ({"tokens": ["a"] * SIZE}, "tokens cannot change"),
        ({"key": 5}, r"key must lie in \[0, 4\]"),
    ],
)
def test_a_wrong_change_is_refused_and_leaves_no_trace(change, message):
    explorer = make()
    ((name, value),) = change.items()
    before = getattr(explorer, name)
    with pytest.raises(ValueError, match=message):
        setattr(explorer, name, value)
    assert np.array_equal(getattr(explorer, name), before)
