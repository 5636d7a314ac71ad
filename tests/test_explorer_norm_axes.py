"""The numbers, cells and words of the explorer NormAxes."""

import re

import numpy as np
import pytest
import torch
from javascript import numbers, run
from torch import nn

SHAPE = 3, 5, 7
CELL = 1, 3, 2
BATCH = np.random.default_rng(0).normal(0.3, 2, SHAPE)
GROUPS = {
    "LayerNorm": np.s_[1, 3, :],
    "BatchNorm": np.s_[:, :, 2],
    "whole sample": np.s_[1, :, :],
}


def shown(*views: dict) -> list[dict]:
    """Return what is computed, said and drawn of a batch."""
    usual = dict(zip(("sample", "token", "feature"), CELL, strict=True))
    return run(
        "norm_axes norm_axes_maths norm_axes_grids",
        """views.map((view) => {
          const found = compute(view, readBatch({ data, shape }));
          const drawn = samplesDrawn(found);
          const grids = (kind, part) => drawn.flatMap(({ children }) =>
            children.filter((it) => it.attributes.class === `grid ${kind}`)
              .flatMap((it) => it.children[part].children)
              .map((it) => it.attributes)
              .filter((it) => it.class !== "ring"));
          const cells = ["inputs", "outputs"].map((kind) =>
            [grids(kind, 0), grids(kind, 1)]);
          return { ...found, said: say(found).reading, cells };
        })""",
        data=BATCH,
        shape=SHAPE,
        views=[usual | view for view in views],
    )


def same(found, expected) -> None:
    expected = np.asarray(expected, np.float64)
    np.testing.assert_allclose(
        numbers(found, *expected.shape), expected, rtol=1e-9, atol=1e-9
    )


def normed(norm: str, batch: np.ndarray) -> np.ndarray:
    """Return what PyTorch's own layer makes of a batch, in training."""
    x = torch.tensor(batch)
    features = x.shape[2]
    if norm == "LayerNorm":
        layer = nn.LayerNorm(features, elementwise_affine=False)
        return layer.double()(x).numpy()
    layer = {
        "BatchNorm": nn.BatchNorm1d(features, affine=False),
        "whole sample": nn.GroupNorm(1, features, affine=False),
    }[norm].double()
    return layer(x.transpose(1, 2)).transpose(1, 2).numpy()


def heights(triangles: list[dict]) -> np.ndarray:
    """Return how high triangles are, negative where they fall."""
    found = [re.findall(r"[-\d.e]+", it["d"]) for it in triangles]
    return np.reshape(
        [float(it[1]) - float(it[4]) if it else 0.0 for it in found], SHAPE
    )


@pytest.mark.parametrize(
    ("norm", "change"), [("LayerNorm", 0.0), *((it, -3.0) for it in GROUPS)]
)
def test_norms_and_what_a_change_changes(norm, change):
    [found] = shown({"norm": norm, "change": change})
    after = BATCH.copy()
    after[CELL] += change
    outputs = normed(norm, after)
    moves = outputs - normed(norm, BATCH)
    moved = np.abs(moves)
    lit = np.zeros(SHAPE, bool)
    lit[GROUPS[norm]] = True
    same(found["outputs"], outputs)
    same(found["edited"], after)
    assert found["changed"] == (moved > 1e-6).sum()
    expected = {"shared": lit.sum()}
    for when, batch in {"": after, "Before": BATCH}.items():
        expected[f"mean{when}"] = batch[lit].mean()
        expected[f"variance{when}"] = batch[lit].var()
    assert found["group"] == pytest.approx(expected, abs=1e-9)
    most = {
        "ownToken": moved[1, 3].max(),
        "otherTokens": np.delete(moved[1], 3, axis=0).max(),
        "otherSamples": np.delete(moved, 1, axis=0).max(),
    }
    assert found["most"] == pytest.approx(most, abs=1e-9)
    expect_drawn(found, lit, moves)


def expect_drawn(found: dict, lit: np.ndarray, moves: np.ndarray) -> None:
    for cells, _ in found["cells"]:
        shown = [cell["class"] == "number lit" for cell in cells]
        np.testing.assert_array_equal(np.reshape(shown, SHAPE), lit)
    (inputs, cause), (_, effects) = found["cells"]
    for kind, cells in zip(("edited", "outputs"), found["cells"], strict=True):
        same([cell["data-value"] for cell in cells[0]], found[kind])
    value = f"{found['edited'][52]:.3g}".replace("-", "\N{MINUS SIGN}")
    assert inputs[52]["aria-label"].startswith(
        f"sample 2, token 3, feature 4: {value}"
    )
    changes = lit if moves.any() else np.zeros(SHAPE, bool)
    risen = heights(effects)
    np.testing.assert_array_equal(np.sign(risen), np.sign(moves) * changes)
    # The area is the change, but for a smallest size that one can see.
    share = np.abs(moves) / max(np.abs(moves).max(), 1e-9)
    seen = share > 0.1
    area = (risen / max(np.abs(risen).max(), 1e-9)) ** 2
    np.testing.assert_allclose(area[seen], share[seen], atol=1e-4)
    assert (heights(cause)[CELL] < 0) == changes.any()
    assert (heights(cause) != 0).sum() == changes.any()


def test_a_cell_looked_at_shows_its_group_and_moves_nothing():
    view = {"norm": "LayerNorm", "change": 2.0}
    chosen, looked = shown(view, view | {"under": 35 * 2 + 7 * 4 + 6})
    assert (chosen["isQuiet"], looked["isQuiet"]) == (False, True)
    assert looked["moved"] == chosen["moved"]
    assert looked["published"]["mean"] == pytest.approx(BATCH[2, 4].mean())
    assert looked["published"]["variance"] == pytest.approx(BATCH[2, 4].var())
    lit = [cell["class"] == "number lit" for cell in looked["cells"][0][0]]
    assert np.reshape(lit, SHAPE)[2, 4].all()
    assert sum(lit) == 7
    assert "With LayerNorm, 7 of 105 outputs change" in chosen["said"]
    assert looked["said"].startswith("Sample 3, token 5, feature 7: ")
    assert looked["said"].endswith(", with 6 other numbers.")
