"""The digits, their variation, their batches."""

import pytest
import torch
from helpers import assert_all_close, draw
from sklearn.datasets import load_digits

from vitedu.data.digits import Augment, batches, digits

RATES = ("degrees", "shift", "stretch", "shear", "ink")
STILL = dict.fromkeys(RATES, 0.0)
IMAGES = torch.arange(13.0).reshape(13, 1, 1, 1).expand(13, 1, 4, 4).clone()
LABELS = torch.arange(13)


@pytest.fixture(scope="module")
def all_digits():
    return digits()


def test_both_parts_together_are_all_digits(all_digits):
    bunch = load_digits()
    images = torch.cat([all_digits.train_images, all_digits.test_images])
    labels = torch.cat([all_digits.train_labels, all_digits.test_labels])
    found = (all_digits.pixels(images) * 16).round().int().flatten(1)
    rows = torch.cat([found, labels[:, None]], dim=1).tolist()
    expected = [
        [*pixels, label]
        for pixels, label in zip(
            bunch.data.astype(int).tolist(), bunch.target, strict=True
        )
    ]
    assert sorted(rows) == sorted(expected)


@pytest.mark.parametrize("test_size", [10, 97, 360, 1787])
def test_each_digit_keeps_its_share(test_size):
    data = digits(test_size=test_size)
    share = test_size / 1797
    for digit in range(10):
        train = (data.train_labels == digit).sum().item()
        test = (data.test_labels == digit).sum().item()
        assert train >= 1
        assert test >= 1
        assert abs(test - share * (train + test)) < 1


def vary(images, *, draws, **options):
    """Vary images with chosen draws instead of random ones.

    Seven numbers in [-1, 1]: turn, width, height, right, down, shear, ink.
    """
    chosen = (torch.tensor(draws)[:, None] + 1) / 2
    chosen = chosen.expand(7, len(images))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "rand", lambda *shape, generator: chosen)
        return Augment(**(STILL | options))(images, torch.Generator())


@pytest.mark.parametrize("shape", [(1, 1, 8, 8), (1, 2, 6, 9)])
@pytest.mark.parametrize("empty", [0.0, -0.81])
def test_a_shift_by_whole_pixels_moves_pixels(shape, empty):
    images = draw(*shape).float()
    found = vary(
        images, draws=[0.0, 0, 0, 1, -0.5, 0, 0], shift=2.0, empty=empty
    )
    expected = torch.full(shape, empty)
    # The window moves 2 to the right and 1 up, so the image 2 to the left.
    expected[..., 1:, :-2] = images[..., :-1, 2:]
    assert_all_close((found,), (expected,), 1e-5)


@pytest.mark.parametrize(("turn", "times"), [(1.0, 1), (-1.0, -1)])
def test_a_turn_by_90_degrees(turn, times):
    images = draw(2, 3, 7, 7).float()
    found = vary(images, draws=[turn, 0, 0, 0, 0, 0, 0], degrees=90.0)
    expected = torch.rot90(images, times, dims=(2, 3))
    assert_all_close((found,), (expected,), 1e-5)


def test_stretch_changes_width_and_height_apart():
    ramp = torch.arange(8.0).repeat(8, 1)[None, None]
    wider = vary(ramp, draws=[0.0, -1, 0, 0, 0, 0, 0], stretch=0.5)
    middle = wider[0, 0, 4, 1:7]
    assert_all_close((middle.diff(),), (torch.full((5,), 0.5),), 1e-5)
    assert_all_close(
        (vary(ramp, draws=[0.0, 0, -1, 0, 0, 0, 0], stretch=0.5),),
        (ramp,),
        1e-5,
    )


def test_shear_moves_rows_against_each_other():
    ramp = torch.arange(8.0).repeat(8, 1)[None, None]
    found = vary(ramp, draws=[0.0, 0, 0, 0, 0, 1, 0], shear=0.25)
    inner = found[0, 0, :, 3:5]
    step = torch.full((7, 2), 0.25)
    assert_all_close((inner.diff(dim=0),), (step,), 1e-5)


def test_each_image_varies_by_itself_and_the_seed_decides():
    images = draw(1, 1, 8, 8).float().expand(3, 1, 8, 8)
    first, again, other = (
        Augment()(images, torch.Generator().manual_seed(seed))
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first[0], first[1])


def make_loader(seed=0, augment=None, batch_size=4):
    return batches(
        IMAGES, LABELS, batch_size=batch_size, seed=seed, augment=augment
    )


def test_an_epoch_shows_each_image_at_most_once_beside_its_label():
    loader, epochs = make_loader(), []
    assert len(loader) == 3
    for _ in range(2):
        epochs.append([])
        for images, labels in loader:
            assert images.shape == (4, 1, 4, 4)
            assert torch.equal(images[:, 0, 0, 0], labels.float())
            epochs[-1] += labels.tolist()
    assert len(epochs[0]) == len(set(epochs[0])) == 12
    assert epochs[0] != epochs[1]


def take(loader, epochs):
    return [batch for _ in range(epochs) for batch in loader]


def assert_same_batches(first, second):
    for (a, m), (b, n) in zip(first, second, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(m, n)


def test_the_state_of_the_generator_brings_order_and_variation_back():
    loader = make_loader(augment=Augment())
    take(loader, 1)
    state = loader.generator.get_state()
    expected = take(loader, 2)
    other = make_loader(seed=5, augment=Augment())
    other.generator.set_state(state)
    assert_same_batches(take(other, 2), expected)


def test_a_turn_measures_in_pixels_also_where_sides_differ():
    images = torch.zeros(1, 1, 9, 15)
    images[0, 0, 2:7, 7] = 1.0  # an upright stroke through the middle
    found = vary(images, draws=[1.0, 0, 0, 0, 0, 0, 0], degrees=90.0)
    expected = torch.zeros(1, 1, 9, 15)
    expected[0, 0, 4, 5:10] = 1.0
    assert_all_close((found,), (expected,), 1e-5)
