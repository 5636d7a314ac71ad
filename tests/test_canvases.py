"""Cluttered digits: what lies where, and that (seed, index) decides it."""

import pytest
import torch
import torch.nn.functional as F
from helpers import refuses

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


@BOTH
def test_one_whole_digit_of_the_part_is_on_each_canvas(part):
    images, labels = Canvases(part=part).batch(range(10))
    other = "test" if part == "train" else "train"
    for image, label in zip(images[:, 0], labels.tolist(), strict=True):
        assert {x for x, _, _ in whole_digits(image, part, 16)} == {label}
        assert whole_digits(image, other, 16) == []


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


def test_indices_are_checked():
    canvases = Canvases(num_images=3)
    with pytest.raises(IndexError, match="index must be below 3, got 3"):
        canvases[3]
    with refuses(ValueError, "index must be at least 0, got -1"):
        canvases[-1]
