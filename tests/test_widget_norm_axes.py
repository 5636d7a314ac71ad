"""NormAxes in Python: what it accepts, and the numbers that it shows."""

import numpy as np
import pytest
import torch
from torch import nn

from vitedu.widgets import NormAxes
from vitedu.widgets.norm_axes import NORMS, largest_change, readings

SAMPLES, TOKENS, FEATURES = 3, 5, 7


def make_batch(*shape):
    shape = shape or (SAMPLES, TOKENS, FEATURES)
    return np.random.default_rng(0).normal(0.3, 2, shape)


def make(**changes):
    return NormAxes(**{"batch": make_batch()} | changes)


def by_torch(norm, batch):
    """Return what PyTorch's own layer makes of the batch, in training."""
    x = torch.tensor(np.asarray(batch, np.float64))
    features = x.shape[2]
    if norm == "LayerNorm":
        layer = nn.LayerNorm(features, elementwise_affine=False)
        return layer.double()(x).numpy()
    if norm == "BatchNorm":
        layer = nn.BatchNorm1d(features, affine=False).double()
        return layer(x.transpose(1, 2)).transpose(1, 2).numpy()
    layer = nn.GroupNorm(1, features, affine=False).double()
    return layer(x.transpose(1, 2)).transpose(1, 2).numpy()


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("change", [0.0, -3.0])
def test_outputs_and_changes_are_those_of_pytorch(norm, change):
    widget = make(norm=norm, sample=1, token=3, feature=2, change=change)
    edited = widget.batch.astype(np.float64)
    before = by_torch(norm, edited)
    edited[1, 3, 2] += change
    after = by_torch(norm, edited)
    moved = abs(after - before)
    shown = readings(widget)
    np.testing.assert_allclose(shown["outputs"], after, atol=1e-9)
    others = np.delete(moved[1], 3, axis=0)
    expected = {
        "changed": (moved > 1e-6).sum(),
        "own_token": moved[1, 3].max(),
        "other_tokens": others.max(),
        "other_samples": np.delete(moved, 1, axis=0).max(),
    }
    for name, value in expected.items():
        assert shown[name] == pytest.approx(value, abs=1e-9), name
    assert bool(change) == bool(shown["changed"])


@pytest.mark.parametrize(
    ("norm", "group", "changed_places"),
    [
        ("LayerNorm", (1, 3, slice(None)), {"own_token"}),
        (
            "BatchNorm",
            (slice(None), slice(None), 2),
            {"own_token", "other_tokens", "other_samples"},
        ),
        (
            "whole sample",
            (1, slice(None), slice(None)),
            {"own_token", "other_tokens"},
        ),
    ],
)
def test_a_group_is_what_the_norm_averages(norm, group, changed_places):
    widget = make(norm=norm, sample=1, token=3, feature=2, change=1.5)
    shown = readings(widget)
    before = widget.batch.astype(np.float64)
    after = before.copy()
    after[1, 3, 2] += 1.5
    for name, numbers in (("", after[group]), ("_before", before[group])):
        assert shown["mean" + name] == pytest.approx(numbers.mean())
        assert shown["variance" + name] == pytest.approx(numbers.var())
    assert shown["shared"] == before[group].size == shown["changed"]
    places = {"own_token", "other_tokens", "other_samples"}
    assert {place for place in places if shown[place] > 0} == changed_places


def test_it_opens_with_a_change_in_the_middle():
    widget = make()
    assert (widget.sample, widget.token, widget.feature) == (0, 2, 3)
    batch = np.float32(make_batch())
    span = float(batch.max()) - float(batch.min())
    assert widget.change == pytest.approx(span / 2)
    assert widget.norm == "LayerNorm"


def test_a_constant_batch_can_be_changed():
    widget = make(batch=np.full((2, 2, 2), 3.0))
    assert largest_change(widget.batch) == 1
    assert readings(widget)["changed"] == 2


@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 6, 8)])
def test_the_smallest_and_the_largest_size_are_accepted(shape):
    batch = make_batch(*shape)
    widget = make(batch=batch)
    state = widget.get_state()["batch"]
    back = np.frombuffer(state["data"], "<f4").reshape(state["shape"])
    np.testing.assert_array_equal(back, np.float32(batch))


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (np.zeros((3, 5)), "batch must have the axes"),
        (np.zeros((1, 5, 7)), r"from \(2, 2, 2\) to \(4, 6, 8\), got \(1, 5"),
        (np.zeros((5, 5, 7)), r"got \(5, 5, 7\)"),
        (np.zeros((3, 7, 7)), r"got \(3, 7, 7\)"),
        (np.zeros((3, 5, 9)), r"got \(3, 5, 9\)"),
        (np.zeros((3, 5, 1)), r"got \(3, 5, 1\)"),
        (np.full((3, 5, 7), np.nan), "batch must be finite"),
        (np.full((3, 5, 7), -2e6), r"batch must lie in \[-1e6, 1e6\]"),
    ],
)
def test_a_batch_that_does_not_fit_is_named(batch, message):
    with pytest.raises(ValueError, match=message):
        make(batch=batch)
    with pytest.raises(ValueError, match=message):
        make(batch=batch, token=1, change=0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": [[[1.0]]]}, "batch must be a numpy array, got list"),
        ({"batch": np.zeros((3, 5, 7), complex)}, "got complex128"),
        ({"token": 1.0}, "token must be an integer"),
        ({"change": "1"}, "change must be a number"),
        ({"change": True}, "change must be a number"),
        ({"cell": 1}, "no argument 'cell'"),
    ],
)
def test_wrong_types_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("norm", "RMSNorm", "norm must be one of .* got 'RMSNorm'"),
        ("sample", 3, r"sample must lie in \[0, 2\], got 3"),
        ("token", 5, r"token must lie in \[0, 4\], got 5"),
        ("feature", 7, r"feature must lie in \[0, 6\], got 7"),
        ("feature", -1, "feature must lie in"),
        ("change", 50.0, r"change must lie in .* the range of batch, got 50"),
        ("change", -50.0, "change must lie in"),
        ("change", np.nan, "change must lie in"),
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


def test_the_batch_cannot_be_exchanged():
    widget = make()
    with pytest.raises(ValueError, match="batch cannot change"):
        widget.batch = make_batch()[::-1]
