"""What the explorer AttentionPlane computes and draws, against the library."""

import re

import numpy as np
import pytest
import torch
from javascript import run

from vitedu.attention import attention_weights, scaled_dot_product_attention

VIEWS = [
    {"angle": angle, "length": length, "playing": False}
    for angle, length in [(0, 2.5), (35.5, 4), (180, 0.3), (290, 0), (360, 1)]
]
FOUND = """views.map((view) => {
  const found = compute(view, given);
  return {
    ...found.published, ...say(found, given), bars: weightBars(found),
    look: lookPlane(found), out: outPlane(found),
  };
})"""
POINTS = np.random.default_rng(0).uniform(-3, 3, (2, 3, 2)).tolist()


def views_of(keys, values, names=()):
    given = {"keys": keys, "values": values, "names": names, "asking": ""}
    given["mean"] = np.mean(values, axis=0).tolist()
    scripts = "attention_plane attention_plane_pictures"
    return run(scripts, FOUND, views=VIEWS, given=given)


def of_class(drafts: list[dict], name: str) -> list[dict]:
    """Return the attributes of the drafts of a class."""
    found = [draft["attributes"] for draft in drafts]
    return [one for one in found if one["class"] == name]


def on_the_picture(points) -> np.ndarray:
    """320 wide from -4.4 to 4.4; down is the other way."""
    return 160 + np.array(points) * [1, -1] * 320 / 8.8


def numbers_in(text: str) -> list[float]:
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d+)?", text)]


def test_it_shows_attention_where_its_points_are():
    keys, values = POINTS
    for view, it in zip(VIEWS, views_of(keys, values), strict=True):
        angle, length = np.radians(view["angle"]), view["length"]
        query = length * np.array([np.cos(angle), np.sin(angle)])
        q, k, v = (
            torch.tensor(points, dtype=torch.float64).view(1, 1, -1, 2)
            for points in (query, keys, values)
        )
        weights = attention_weights(q, k).view(-1).numpy()
        output = scaled_dot_product_attention(q, k, v).view(2).numpy()
        for name, expected in {
            "query": query,
            "weights": weights,
            "output": output,
        }.items():
            np.testing.assert_allclose(it[name], expected, atol=1e-9)
        for plane, mark, points in [
            ("look", "key", keys),
            ("look", "tip", [query]),
            ("out", "value", values),
            ("out", "mean", [np.mean(values, axis=0)]),
            ("out", "output", [output]),
        ]:
            drawn = [
                numbers_in(one["transform"])[:2]
                for one in of_class(it[plane], mark)
            ]
            np.testing.assert_allclose(
                drawn, on_the_picture(points), atol=1e-9
            )
        for plane, kind, start, ends in [
            ("look", "key-line", query, keys),
            ("out", "value-line", output, values),
        ]:
            lines = of_class(it[plane], kind)
            wide = [line["stroke-width"] for line in lines]
            np.testing.assert_allclose(wide, 14 * weights)
            for line, end in zip(lines, ends, strict=True):
                np.testing.assert_allclose(
                    np.reshape(numbers_in(line["d"]), (2, 2)),
                    on_the_picture([start, end]),
                    atol=1e-6,
                )


@pytest.mark.parametrize(
    ("words", "second"), [((), "key 2"), (("in", "on", "at"), "“on”")]
)
def test_words_or_numbers_stand_for_the_keys(words, second):
    points = [[0, -3], [-3, 0], [0, 0.5]]
    shown = views_of(points, points, words)
    to_the_left, tie = shown[2], shown[3]
    assert to_the_left["reading"] == (
        f"Most weight: {second} ({to_the_left['weights'][1]:.2f}). "
        "Output: (−1.5, −0.64)."
    )
    assert tie["reading"] == (
        "All keys get the same weight (0.33). Output: (−1.0, −0.83)."
    )
    named = [*words] or [1, 2, 3]
    for drafts in (to_the_left["look"], to_the_left["out"]):
        assert [one["text"] for one in of_class(drafts, "name")] == named
    under = [bar["children"][-1] for bar in to_the_left["bars"]]
    assert [one["attributes"]["text"] for one in under] == named
