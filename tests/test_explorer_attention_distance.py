"""What the explorer AttentionDistance finds and draws, against `vitedu`."""

import re
from itertools import product

import numpy as np
import pytest
import torch
from explorers import attention_distance as make
from javascript import run

from vitedu.analysis import attention_maps
from vitedu.widgets import AttentionDistance

GRID = {"grid_size": (4, 3), "patch_size": 2}
SCRIPTS = """attention_distance_maths attention_distance_map
attention_distance_plot attention_distance"""
VIEWS = """(() => {
  const data = readData(modelOf(sent));
  const drawn = (drafts) => Object.fromEntries(drafts.map(
    ({ attributes }) => [attributes.class, attributes]));
  return views.map((view) => {
    const found = compute({ ...start, ...view }, data);
    const { places, behind } = plotOf(found, data);
    return {
      ...found, places, note: plotNote(data), said: say(found, data).reading,
      over: drawn(overImage(found, data)), behind: drawn(behind),
    };
  });
})()"""


def shown(widget: AttentionDistance, *views: dict) -> list[dict]:
    state = widget.get_state()
    start = {name: state[name] for name in widget.remembers}
    return run(SCRIPTS, VIEWS, sent=state, start=start, views=[*views])


def numbers_in(pattern: str, path: dict) -> np.ndarray:
    return np.array(re.findall(pattern, path["d"]), float)


def test_each_dot_is_at_its_distance_over_the_one_of_the_untrained_head():
    mean = np.random.default_rng(3).random((3, 3, 5)) * 5
    widget = make(mean_distance=mean, layer=1, head=3)
    uniform = attention_maps.uniform_distance(**GRID)
    images = list(product(range(3), range(2)))
    views = [{"step": s, "image": i, "dots": "image"} for s, i in images]
    found = iter(shown(widget, *views, *({"step": s} for s in range(3))))
    before = {}
    for (step, image), dots in zip(images, found, strict=False):
        maps = torch.from_numpy(widget.maps[step, image].astype(np.float64))
        now = torch.stack(
            [attention_maps.attention_distance(x, **GRID) for x in maps]
        )
        np.testing.assert_allclose(dots["now"], now.flatten(), atol=1e-5)
        assert dots["said"].endswith(
            f"image: {now[1, 3]:.2f} px; uniform attention {uniform:.2f} px."
        )
        x, y = np.transpose(dots["places"])
        assert np.corrcoef(y, dots["now"])[0, 1] == pytest.approx(-1)
        assert len(set(x)) == 15
        untrained = before.setdefault(image, dots["places"])
        stems, ghosts = (
            numbers_in(r"M(\S+) ([\d.]+)[Vh]([\d.]+)", dots["behind"][name])
            for name in ("stems", "ghosts")
        )
        np.testing.assert_allclose(stems, np.column_stack([untrained, y]))
        np.testing.assert_allclose(ghosts[:, :2], untrained)
    for dots, now in zip(found, mean, strict=True):
        np.testing.assert_allclose(dots["now"], now.ravel(), atol=1e-5)
        average = f"Average over many images: {now[1, 3]:.2f} px."
        assert dots["said"].endswith(average)


@pytest.mark.parametrize("prefix", [0, 1])
def test_a_query_has_its_weights_and_a_patch_its_distance(prefix):
    widget = make(prefix, layer=2, head=4, image=1)
    rows = widget.maps[-1, 1, 2, 4].astype(float)
    apart = attention_maps.patch_distances(**GRID).numpy()
    views = [
        {"row": row, "column": column} for row, column in [(0, 2), (3, 1)]
    ]
    *patches, by_class = shown(widget, *views, {"query": "class token"})
    for view, found in zip(views, patches, strict=True):
        query = 3 * view["row"] + view["column"]
        weights = rows[prefix + query, prefix:]
        np.testing.assert_array_equal(found["toPatches"], weights)
        # 6 pixels take 280; the centre of the query is that of both rings.
        x, y = (280 / 3 * (view[axis] + 0.5) for axis in ("column", "row"))
        reach = weights @ apart[query] / weights.sum()
        assert found["reach"] == pytest.approx(reach, abs=1e-5)
        for name, far in ("reach", reach), ("uniform", apart[query].mean()):
            ring = found["over"][name]
            assert [ring[part] for part in ("cx", "cy", "r")] == (
                pytest.approx([x, y, far * 280 / 6], abs=1e-3)
            )
        areas = numbers_in(r"h([\d.]+)v", found["over"]["squares"]) ** 2
        np.testing.assert_allclose(
            areas / areas.max(), weights / weights.max(), atol=1e-4
        )
    if prefix:
        most = rows[0, 1:].argmax()
        row, column = divmod(most, 3)
        assert by_class["published"]["most"] == most
        assert by_class["published"]["patchDistance"] == ""
        assert f"row {row + 1}, column {column + 1} (" in by_class["said"]
        assert "its distance is not defined" in by_class["said"]
        assert [*by_class["over"]] == ["squares"]


@pytest.mark.parametrize("narrow", [True, False])
def test_the_axis_starts_at_zero_or_says_that_it_does_not(narrow):
    maps = make().maps.astype(np.float64)
    if narrow:
        maps = 0.95 / maps.shape[-1] + 0.05 * maps
    else:
        maps[:, :, 0, 0] = np.eye(maps.shape[-1])
    (found,) = shown(make(maps=maps), {})
    assert ("does not start at 0" in found["note"]) == narrow
    # The dots use the height of the plot in both cases.
    assert np.ptp(found["places"], axis=0)[1] > 0.25 * 330
