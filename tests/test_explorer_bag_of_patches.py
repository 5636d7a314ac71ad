"""What the explorer of shuffled patches computes, against `vitedu`."""

from functools import cache

import numpy as np
import pytest
import torch
from explorers import bag_model, bag_of_patches, digit_model
from helpers import refuses
from javascript import numbers, run, state_of

from experiments.digit_bag import WEIGHTS
from vitedu.book.followed_digits import digits_to_shuffle
from vitedu.book.page_weights import rounded_to_half
from vitedu.config import ViTConfig
from vitedu.data.digits import digits
from vitedu.patches import patchify, unpatchify
from vitedu.pretrained.models import config_of, load_vit
from vitedu.training.loop import accuracy
from vitedu.vit import VisionTransformer

SCRIPTS = """matrices digit_picture follow_digit_maths digit_parts
bag_of_patches_maths bag_of_patches"""
# What is computed, with the ink that each patch shows.
VIEWED = """(async () => {
  const given = await givenBy(read, sent);
  const { get } = modelOf(sent);
  const arrays = { picture: get("picture"), swapped: get("swapped") };
  return views.map((view) => {
    const found = compute({ ...arrays, ...view }, given);
    const shown = found.order.map((patch) => patchSquares(found.ink, patch, 2)
      .map((square) => 16 * square.attributes["fill-opacity"]));
    return { ...found.published, shown, whole: found.whole };
  });
})()"""
DATA = digits()
# What the explorer calls them, and whether their answers hang on the order.
NETWORKS = ("with", "without")


@cache
def kept() -> dict[str, VisionTransformer]:
    return dict(
        zip(
            NETWORKS,
            (load_vit(path, config_of(path)) for path in WEIGHTS.values()),
            strict=True,
        )
    )


def reordered(images: torch.Tensor, order: list[int]) -> torch.Tensor:
    return unpatchify(patchify(images, 2)[:, order], 2, (4, 4))


@torch.no_grad()
def test_each_network_reads_what_the_patches_show():
    views = [
        {"digit": digit, "seed": seed, "positions": positions}
        for digit in (-1, 0)
        for seed in (0, 5)
        for positions in (False, True)
    ]
    drawn = np.arange(64, dtype="u1").reshape(8, 8) % 17
    widget = bag_of_patches(picture=drawn)
    all_found = run(SCRIPTS, VIEWED, sent=state_of(widget), views=views)
    for view, found in zip(views, all_found, strict=True):
        ink = drawn if view["digit"] < 0 else widget.samples[0]
        picture = torch.tensor(ink / 16).float().view(1, 1, 8, 8)
        image = (picture - DATA.mean) / DATA.std
        order = found["order"]
        assert (order == [*range(16)]) == (view["seed"] == 0)
        patches = 16 * patchify(picture, 2)[0, order]
        np.testing.assert_allclose(numbers(found["shown"], 16, 4), patches)
        model = digit_model() if view["positions"] else bag_model()
        expected, written = (
            model(reordered(image, one)).softmax(dim=-1)[0]
            for one in (order, [*range(16)])
        )
        np.testing.assert_allclose(found["chances"], expected, atol=1e-4)
        # In order there is nothing to compare with.
        if view["seed"]:
            np.testing.assert_allclose(found["whole"], written, atol=1e-4)
        else:
            assert found["whole"] is None


def test_swaps_by_hand_come_after_the_shuffle():
    swapped = np.arange(16, dtype="u1")
    swapped[[2, 11]] = 11, 2
    order, shuffle, twice = run(
        SCRIPTS,
        "[orderOf(7, swapped), shuffleOf(7), orderOf(7, swapped.fill(3))]",
        swapped=swapped,
    )
    assert order == [shuffle[place] for place in swapped]
    # An address that names a patch twice swaps nothing.
    assert twice == shuffle


TALLY = """(() => {
  const read = makeReaders(
    new DataView(Uint8Array.from(Buffer.from(sent.weights, "base64")).buffer),
    sent.networks);
  const tally = makeTally(read[network], ink);
  while (!tally.isDone()) tally.step();
  return [tally, Array.from({ length: BAG.orders }, (_, i) =>
    shuffleOf(i + 1))];
})()"""


@pytest.mark.parametrize("network", NETWORKS)
@torch.no_grad()
def test_what_it_answers_in_many_orders(network):
    image = DATA.test_images[DATA.test_labels == 3][:1]
    sent = digits_to_shuffle(*kept().values())
    tally, orders = run(
        SCRIPTS,
        TALLY,
        sent={name: sent[name] for name in ("weights", "networks")},
        network=network,
        ink=(DATA.pixels(image) * 16).flatten().tolist(),
    )
    model = kept()[network]
    images = torch.cat([reordered(image, order) for order in orders])
    chances = model(images).softmax(dim=-1)
    counts = torch.bincount(chances.argmax(dim=-1), minlength=10)
    most = (chances - model(image).softmax(dim=-1)).abs().max()
    assert tally["read"] == len(orders) == 200
    assert tally["counts"] == counts.tolist()
    assert tally["most"] == pytest.approx(most.item(), abs=1e-6)
    if network == "without":
        assert counts.max() == 200
        assert tally["most"] < 1e-6


def test_the_kept_networks_read_as_the_chapter_says():
    placed, bag = (
        accuracy(model, DATA.test_images, DATA.test_labels)
        for model in kept().values()
    )
    assert placed > 0.95
    assert 0.69 < bag < 0.76


def test_the_samples_show_every_digit_and_what_the_bag_misreads():
    found = digits_to_shuffle(*kept().values())
    labels, read = (np.array(found[name]) for name in ("labels", "bag_reads"))
    assert labels[read == labels].tolist() == list(range(10))
    assert (read != labels).sum() == 4
    images = torch.tensor(found["samples"] / 16).float()[:, None]
    said = {
        name: model((images - DATA.mean) / DATA.std).argmax(dim=-1).tolist()
        for name, model in kept().items()
    }
    assert said == {"with": labels.tolist(), "without": read.tolist()}


def test_networks_that_the_page_cannot_run_are_refused():
    placed, bag = digit_model(), bag_model()
    other = VisionTransformer(ViTConfig.digits(num_registers=1))
    for pair, error, message in (
        ((placed, placed), ValueError, "others in positions"),
        ((bag, bag), ValueError, "others in positions"),
        ((None, bag), TypeError, "placed must be"),
        ((rounded_to_half(other), bag), ValueError, "others in num_registers"),
    ):
        with refuses(error, message):
            digits_to_shuffle(*pair)
