"""Cluttered digits: what lies where, and that (seed, index) decides it."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close, refuses
from PIL import Image
from torch.utils.data import DataLoader

from vitedu.data.canvases import Canvases
from vitedu.data.digits import digits

DATA = digits()
SOURCES = {
    "train": (DATA.pixels(DATA.train_images), DATA.train_labels),
    "test": (DATA.pixels(DATA.test_images), DATA.test_labels),
}
BOTH = pytest.mark.parametrize("part", ["train", "test"])


def enlarged(part, side):
    """Enlarge the digits of a part; Pillow agrees, see below."""
    images, labels = SOURCES[part]
    large = F.interpolate(
        images, size=(side, side), mode="bicubic", antialias=True
    )
    return large[:, 0].clamp(0, 1), labels


def windows(images, side):
    """Return (image, row, column, pixel): every square of the images."""
    return images.unfold(-2, side, 1).unfold(-2, side, 1).flatten(-2)


def distances(rows, others):
    # The default takes differences of large squares: too coarse.
    return torch.cdist(
        rows, others, compute_mode="donot_use_mm_for_euclid_dist"
    )


def whole_digits(image, part, side):
    """Find the digits of a part on an image: (label, row, column) each."""
    large, labels = enlarged(part, side)
    found = []
    squares = windows(image, side)
    for row, of_row in enumerate(squares):
        distance = distances(of_row, large.flatten(1))
        for column, source in (distance < 1e-3).nonzero().tolist():
            found.append((labels[source].item(), row, column))
    return found


def test_enlarging_is_what_pillow_does():
    pixels = SOURCES["train"][0][0, 0]
    expected = Image.fromarray(pixels.numpy()).resize((16, 16), Image.BICUBIC)
    # The digit lies alone on a canvas of its own size.
    options = {"side": 16, "num_fragments": 0}
    images, _ = Canvases(**options).batch(range(4000))
    target = torch.tensor(np.array(expected)).flatten().clamp(0, 1)
    assert (images.flatten(1) - target).abs().amax(1).min() < 1e-5


@BOTH
def test_one_whole_digit_of_the_part_is_on_each_canvas(part):
    images, labels = Canvases(part=part).batch(range(10))
    other = "test" if part == "train" else "train"
    for image, label in zip(images[:, 0], labels.tolist(), strict=True):
        assert {x for x, _, _ in whole_digits(image, part, 16)} == {label}
        assert whole_digits(image, other, 16) == []


def test_the_sample_in_the_docstring_is_true():
    image, label = Canvases()[0]
    assert label == 0
    # Rows 4 to 19 and columns 1 to 16.
    assert whole_digits(image[0], "train", 16) == [(0, 4, 1)]


@BOTH
def test_bits_come_from_other_classes_of_the_part_and_miss_the_digit(part):
    large, sources = enlarged(part, 16)
    squares = windows(large, 5)
    images, labels = Canvases(part=part, num_fragments=1).batch(range(40))
    alone, same = Canvases(part=part, num_fragments=0).batch(range(40))
    assert torch.equal(labels, same)
    seen = 0
    for image, bare, label in zip(images, alone, labels, strict=True):
        bit = (image - bare)[0]
        rows, columns = (bit > 0).nonzero(as_tuple=True)
        if len(rows) == 0:  # a bit of white paper
            continue
        cell = bit[
            rows.min() // 8 * 8 : rows.max() // 8 * 8 + 8,
            columns.min() // 8 * 8 : columns.max() // 8 * 8 + 8,
        ]
        assert cell.shape == (8, 8)
        assert not cell[0].any()
        assert not cell[:, 0].any()
        assert not cell[7].any()
        assert not cell[:, 7].any()
        places = windows(cell, 5)[1:3, 1:3].flatten(0, 1)
        others = squares[sources != label].flatten(0, 2)
        assert distances(places, others).min() < 1e-3
        seen += 1
    assert seen > 20


def test_bits_never_touch_the_digit_or_each_other():
    full = Canvases(num_fragments=7).batch(range(300))[0][:, 0]
    alone = Canvases(num_fragments=0).batch(range(300))[0][:, 0]
    bits = full - alone
    box = F.max_pool2d((alone > 0).float()[:, None], 3, 1, 1)[:, 0]
    assert (bits * box).sum() == 0
    # The borders of the cells are free.
    assert bits[:, ::8].sum() == 0
    assert bits[:, :, 7::8].sum() == 0
    # Seven bits on each canvas, but for those of white paper.
    cells = bits.unflatten(1, (4, 8)).unflatten(3, (4, 8)).sum((2, 4)) > 0
    counts = cells.sum((1, 2))
    assert counts.max() == 7
    assert counts.float().mean() > 6


def test_digits_and_places_are_drawn_evenly():
    canvases = Canvases(num_fragments=0)
    images, labels = canvases.batch(range(3400))
    shares = labels.bincount(minlength=10) / 3400
    expected = SOURCES["train"][1].bincount() / 1437
    assert (shares - expected).abs().max() < 0.02
    # The centre of the ink goes round the middle of the canvas.
    ink = images[:, 0] / images.sum((1, 2, 3))[:, None, None]
    axis = torch.arange(32.0)
    for weights in (ink.sum(2), ink.sum(1)):
        centre = (weights * axis).sum(1)
        assert abs(centre.mean() - 15.5) < 0.5
        # Evenly over 17 places: standard deviation 4.9, and the writing's.
        assert 4.6 < centre.std() < 5.2


def test_an_image_depends_on_seed_and_index_alone():
    canvases = Canvases()
    images, labels = canvases.batch([5, 123_456_789_012, 7])
    for position, index in enumerate([5, 123_456_789_012, 7]):
        alone, label = Canvases().batch([index])
        assert torch.equal(alone[0], images[position])
        assert label == labels[position]
    assert torch.equal(canvases[7][0], images[2])
    assert canvases[7][1] == labels[2]
    far = canvases.batch([5 + 2**32])[0][0]
    assert not torch.equal(far, images[0])
    # Neither the next seed nor the other part has the same places.
    assert not torch.equal(Canvases(seed=1).batch([5])[0][0], images[0])
    at = [
        [
            x[0, :, 16:].sum() > x[0, :, :16].sum()
            for x in c.batch(range(20))[0]
        ]
        for c in (canvases, Canvases(part="test"), Canvases(seed=1))
    ]
    assert at[0] != at[1]
    assert at[0] != at[2]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_workers_show_the_same_images(num_workers):
    canvases = Canvases(num_images=10)
    state = torch.get_rng_state()
    loader = DataLoader(
        canvases,
        batch_size=4,
        num_workers=num_workers,
        generator=torch.Generator(),
    )
    images, labels = (torch.cat(x) for x in zip(*loader, strict=True))
    expected = canvases.batch(range(10))
    assert_all_close((images, labels), expected, 0)
    assert torch.equal(torch.get_rng_state(), state)
    assert len(canvases) == 10


@pytest.mark.parametrize(
    ("side", "digit_side", "fragment_side", "num_fragments"),
    [(32, 16, 5, 7), (61, 23, 7, 11), (17, 8, 1, 1), (64, 8, 4, 0)],
)
def test_other_sizes(side, digit_side, fragment_side, num_fragments):
    canvases = Canvases(
        side=side,
        digit_side=digit_side,
        fragment_side=fragment_side,
        num_fragments=num_fragments,
    )
    images, labels = canvases.batch(range(3))
    assert images.shape == (3, 1, side, side)
    assert images.min() >= 0
    assert images.max() <= 1
    for image, label in zip(images[:, 0], labels.tolist(), strict=True):
        found = {x for x, _, _ in whole_digits(image, "train", digit_side)}
        assert found == {label}


def test_indices_are_checked():
    canvases = Canvases(num_images=3)
    with pytest.raises(IndexError, match="index must be below 3, got 3"):
        canvases[3]
    with refuses(ValueError, "index must be at least 0, got -1"):
        canvases[-1]
