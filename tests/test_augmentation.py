"""Pictures and batches varied at random: how much, and that labels follow."""

import pickle

import pytest
import torch
from helpers import assert_all_close

from vitedu.data.augmentation import augmentation, mixing_collate
from vitedu.data.normalisation import IMAGENET, Normalisation

RAW = Normalisation((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_a_random_part_has_its_shares():
    """A slope tells what was cut out: its own slope is flatter."""
    height, width, size = 120, 160, 40
    pixels = torch.zeros(3, height, width)
    pixels[0] = torch.linspace(0, 1, width)
    pixels[1] = torch.linspace(0, 1, height)[:, None]
    vary = augmentation(size, normalisation=RAW)
    torch.manual_seed(0)
    areas, ratios, mirrored, edges = [], [], [], []
    for _ in range(300):
        part = vary(pixels)
        assert part.shape == (3, size, size)
        across = (part[0, 20, 30] - part[0, 20, 10]).item() / 20 * size
        down = (part[1, 30, 20] - part[1, 10, 20]).item() / 20 * size
        areas.append(abs(across) * down)
        if 0.3 < abs(across) < 0.98 and 0.3 < down < 0.98:
            ratios.append(abs(across) * width / (down * height))
        mirrored.append(across < 0)
        edges.append(part[0].min().item())
    assert 0.06 < min(areas) < 0.12
    assert 0.9 < max(areas) < 1.02
    assert 0.7 < min(ratios) < 0.8
    assert 1.25 < max(ratios) < 1.4
    assert 120 < sum(mirrored) < 180
    assert min(edges) < 0.01
    assert max(edges) > 0.3


def test_light_leaves_a_flat_colour_as_it_was_and_strong_does_not():
    colour = torch.tensor([51.0, 102.0, 204.0]) / 255
    pixels = colour[:, None, None].expand(3, 30, 20)
    light = augmentation(16, normalisation=IMAGENET)
    expected = IMAGENET.apply(pixels[:, :16, :16])
    for _ in range(3):
        assert_all_close((light(pixels),), (expected,), 1e-6)
    strong = augmentation(16, "strong", normalisation=RAW)
    torch.manual_seed(0)
    found = [strong(pixels) for _ in range(20)]
    changed = [(image - pixels[:, :16, :16]).abs().max() for image in found]
    assert sum(change > 0.1 for change in changed) > 5
    assert all(0 <= image.min() <= image.max() <= 1 for image in found)


def test_images_and_labels_are_mixed_in_one_share():
    values, labels = torch.tensor([0.0, 1.0, 5.0]), [2, 0, 3]
    samples = [
        (torch.full((3, 2, 2), v), n)
        for v, n in zip(values, labels, strict=True)
    ]
    collate = pickle.loads(pickle.dumps(mixing_collate(4)))
    torch.manual_seed(0)
    shares = []
    for _ in range(200):
        images, targets = collate(samples)
        assert targets.shape == (3, 4)
        share = targets[0, 2].item()
        for i in range(3):
            wanted = share * values[i] + (1 - share) * values[i - 1]
            torch.testing.assert_close(
                images[i], torch.full((3, 2, 2), wanted.item())
            )
            mixed = torch.zeros(4)
            mixed[labels[i]] += share
            mixed[labels[i - 1]] += 1 - share
            torch.testing.assert_close(targets[i], mixed)
        shares.append(share)
    shares = torch.tensor(shares)
    # Beta(0.2, 0.2) has the variance 1 / 4 / (2 * 0.2 + 1).
    assert shares.mean().item() == pytest.approx(0.5, abs=0.1)
    assert shares.var().item() == pytest.approx(0.179, abs=0.03)
