"""The deletion test of the explorer that deletes patches, against `vitedu`."""

from functools import cache

import numpy as np
import pytest
import torch
from einops import reduce
from explorers import deleted, digit_model
from javascript import numbers, run

from vitedu.analysis.attention_maps import attention_rollout, capture_attention
from vitedu.analysis.attribution import deletion_test, gradient_saliency
from vitedu.data.digits import digits

DATA = digits()
ORDERS = ("ink", "rollout", "gradient", "random")
SCRIPTS = """matrices digit_picture follow_digit_maths digit_parts
delete_patches_maths"""
TESTED = """(() => {
  const reader = makeReader(
    new DataView(Uint8Array.from(Buffer.from(sent.weights, "base64")).buffer),
    sent.layout, sent.config);
  return ["white", "grey"].map((paint) => {
    const deletion = makeDeletion(reader, ink, paint);
    const scores = deletion.scoresOf(gradients, 3);
    const ranks = ORDERS.map((order) => ranked(scores[order]));
    while (deletion.askNext(ranks));
    const curves = ranks.map(deletion.curve);
    return { label: deletion.label, curves, areas: curves.map(lossArea),
      scores: ORDERS.map((order) => scores[order]) };
  });
})()"""


@cache
def in_page(sample: int) -> list[dict]:
    names = "weights", "layout", "config"
    return run(
        SCRIPTS,
        TESTED,
        sent={name: deleted()[name] for name in names},
        ink=deleted()["samples"][sample],
        gradients=deleted()["gradients"][sample],
    )


def image_of(sample: int) -> torch.Tensor:
    pixels = torch.tensor(deleted()["samples"][sample] / 16).float()
    return (pixels[None, None] - DATA.mean) / DATA.std


@pytest.mark.parametrize("sample", [0, 2])
def test_every_order_ranks_as_the_library_does(sample):
    model, image = digit_model(), image_of(sample)
    with torch.no_grad(), capture_attention(model) as maps:
        label = model(image).argmax(dim=-1)
    ink = reduce(image, "1 1 (y p) (x q) -> (y x)", "mean", p=2, q=2)
    expected = (
        16 * DATA.pixels(ink),
        attention_rollout(maps)[0, 0, 1:],
        gradient_saliency(model, image, label, patch_size=2)[0],
    )
    found = in_page(sample)[0]
    assert found["label"] == label.item()
    for scores, right in zip(found["scores"], expected, strict=False):
        np.testing.assert_allclose(scores, right, atol=1e-4)
    random = numbers(found["scores"][3], 16)
    assert ((random >= 0) & (random < 1)).all()
    assert len(set(random)) == 16


@pytest.mark.parametrize("sample", [0, 2])
@pytest.mark.parametrize("paint", ["white", "grey"])
def test_curves_and_areas_are_those_of_the_deletion_test(sample, paint):
    found = in_page(sample)[paint == "grey"]
    images = image_of(sample).expand(len(ORDERS), -1, -1, -1)
    scores = torch.tensor(found["scores"])
    tested = deletion_test(
        digit_model(),
        images,
        torch.full((len(ORDERS),), found["label"]),
        scores,
        patch_size=2,
        fill=DATA.empty if paint == "white" else "mean",
        draws=1,
    )
    np.testing.assert_allclose(found["curves"], tested.ranked, atol=1e-4)
    np.testing.assert_allclose(found["areas"], tested.area, atol=1e-4)
    # The orders and the paints differ enough to be told apart.
    assert np.ptp(found["areas"]) > 0.01
    others = in_page(sample)[paint != "grey"]["curves"]
    assert np.abs(np.subtract(found["curves"], others)).max() > 0.01
