"""The deletion test of the explorer that deletes patches, against `vitedu`."""

from functools import cache

import numpy as np
import pytest
import torch
from einops import reduce
from explorers import delete_patches, digit_model
from javascript import numbers, run, state_of

from vitedu.analysis.attention_maps import attention_rollout, capture_attention
from vitedu.analysis.attribution import deletion_test, gradient_saliency
from vitedu.data.digits import digits

DATA = digits()
ORDERS = ("ink", "rollout", "gradient", "random")
SCRIPTS = """matrices digit_picture follow_digit_maths digit_parts
delete_patches_maths delete_patches_pictures delete_patches"""
# In every order, what is found once all points of the curves are.
FOUND = """(async () => {
  const given = await givenBy(read, sent);
  return ORDERS.map((order) => {
    const settings = { ...view, order };
    let found = compute(settings, given);
    while (found.isBusy) {
      found.deletion.askNext(Object.values(found.ranks));
      found = compute(settings, given);
    }
    const { scores, away, chances, whole, deletion: { label }, published }
      = found;
    const drawn = pictureWithout(found).map((it) => it.attributes);
    return { scores, away, chances, whole, label, published,
      shades: drawn.filter((it) => it.class === "ink")
        .map((it) => it["fill-opacity"]),
      holes: drawn.filter((it) => it.class === "hole").length };
  });
})()"""


@cache
def in_page(digit: int, paint: str = "white", **changes) -> list[dict]:
    view = {"digit": digit, "paint": paint, "gone": 3, "seed": 3} | changes
    return run(SCRIPTS, FOUND, sent=state_of(delete_patches()), view=view)


def image_of(ink) -> torch.Tensor:
    pixels = torch.tensor(np.array(ink, float) / 16).float()
    return (pixels.view(1, 1, 8, 8) - DATA.mean) / DATA.std


def sample(digit: int) -> np.ndarray:
    return delete_patches().samples[digit].astype(float)


@pytest.mark.parametrize("digit", [0, 2])
def test_every_order_ranks_as_the_library_does(digit):
    model, image = digit_model(), image_of(sample(digit))
    with torch.no_grad(), capture_attention(model) as maps:
        label = model(image).argmax(dim=-1)
    ink = reduce(image, "1 1 (y p) (x q) -> (y x)", "mean", p=2, q=2)
    expected = (
        16 * DATA.pixels(ink),
        attention_rollout(maps)[0, 0, 1:],
        gradient_saliency(model, image, label, patch_size=2)[0],
    )
    found = in_page(digit)
    for one, right in zip(found, expected, strict=False):
        assert one["label"] == label.item()
        np.testing.assert_allclose(one["scores"], right, atol=1e-4)
    for one in found:
        highest = np.argsort(-np.array(one["scores"]), kind="stable")[:3]
        assert one["away"] == highest.tolist()
    assert len(set(found[3]["scores"])) == 16


each_paint = pytest.mark.parametrize(
    ("digit", "paint"), [(0, "white"), (2, "grey")]
)


@each_paint
@torch.no_grad()
def test_what_is_left_is_drawn_and_read(digit, paint):
    for one in in_page(digit, paint):
        left = sample(digit)
        fill = left.mean() if paint == "grey" else 0
        for patch in one["away"]:
            row, column = 2 * (patch // 4), 2 * (patch % 4)
            left[row : row + 2, column : column + 2] = fill
        shades = 16 * numbers(one["shades"], 8, 8)
        np.testing.assert_allclose(shades, left, atol=1e-6)
        assert one["holes"] == 3
        answer = digit_model()(image_of(left)).softmax(dim=-1)[0]
        np.testing.assert_allclose(one["chances"], answer, atol=1e-4)
        curve = one["published"]["curve"]
        assert curve[0] == one["whole"][one["label"]]
        assert curve[3] == one["chances"][one["label"]]


@each_paint
def test_curves_and_areas_are_those_of_the_deletion_test(digit, paint):
    found = in_page(digit, paint)
    tested = deletion_test(
        digit_model(),
        image_of(sample(digit)).expand(len(ORDERS), -1, -1, -1),
        torch.full((len(ORDERS),), found[0]["label"]),
        torch.tensor([one["scores"] for one in found]),
        patch_size=2,
        fill=DATA.empty if paint == "white" else "mean",
        draws=1,
    )
    curves = [one["published"]["curve"] for one in found]
    areas = found[0]["published"]["areas"]
    np.testing.assert_allclose(curves, tested.ranked, atol=1e-4)
    np.testing.assert_allclose(areas, tested.area, atol=1e-4)
    # The orders and the paints differ enough to be told apart.
    assert np.ptp(areas) > 0.01
    other = in_page(digit, {"white": "grey", "grey": "white"}[paint])
    others = [one["published"]["curve"] for one in other]
    assert np.abs(np.subtract(curves, others)).max() > 0.01


def test_another_seed_moves_the_random_order_alone():
    found, other = in_page(0), in_page(0, seed=4)
    moved = [a["away"] != b["away"] for a, b in zip(found, other, strict=True)]
    assert moved == [False, False, False, True]
