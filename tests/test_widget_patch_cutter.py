"""PatchCutter in Python: what it accepts, and the numbers that it shows."""

import base64
import gzip

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from vitedu.patches import patchify
from vitedu.photographs import ORIGINAL_VIT, model_input, photograph
from vitedu.widgets import PatchCutter
from vitedu.widgets.patch_cutter import readings, sequence

HEIGHT, WIDTH = 21, 35
SIZES = (5, 7)


def make_image(height=HEIGHT, width=WIDTH):
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (height, width, 3), dtype="uint8")


def make(**changes):
    arguments = {"image": make_image(), "patch_sizes": SIZES, "patch_size": 7}
    return PatchCutter(**arguments | changes)


def batch_of(image):
    return torch.tensor(image).permute(2, 0, 1)[None].double()


@pytest.mark.parametrize("size", [1, 3, 7])
def test_the_sequence_is_that_of_patchify(size):
    image = make_image(21, 42)
    expected = patchify(batch_of(image), size)[0]
    found = sequence(image, size)
    assert_close(torch.tensor(found).double(), expected)
    pixels = expected.view(len(expected), 3, size * size)
    by_pixel = pixels.transpose(1, 2).flatten(1)
    found = sequence(image, size, "p1 p2 c")
    assert_close(torch.tensor(found).double(), by_pixel)


def test_a_border_is_left_out():
    image = make_image()
    expected = patchify(batch_of(image[:20, :30]), 10)[0]
    assert_close(torch.tensor(sequence(image, 10)).double(), expected)
    widget = make(patch_sizes=[10], patch_size=10)
    shown = readings(widget)
    assert (shown["down"], shown["right"]) == (1, 5)
    assert (shown["patches"], shown["values"]) == (6, 300)


def test_swapped_axes_take_every_third_row_and_fifth_column():
    image = make_image()
    found = sequence(image, 7, cut="swapped")
    assert found.shape == (15, 147)
    for patch in range(15):
        row, column = divmod(patch, 5)
        pixels = image[row::3, column::5].transpose(2, 0, 1)
        np.testing.assert_array_equal(found[patch], pixels.ravel())


def test_a_naive_reshape_is_that_of_pytorch():
    image = make_image()
    found = sequence(image, 7, "c p1 p2", "reshape")
    expected = batch_of(image).contiguous().reshape(1, 15, 147)[0]
    assert_close(torch.tensor(found).double(), expected)
    found = sequence(image, 7, "p1 p2 c", "reshape")
    np.testing.assert_array_equal(found, image.reshape(15, 147))


@pytest.mark.parametrize("cut", ["patches", "swapped", "reshape"])
@pytest.mark.parametrize("order", ["c p1 p2", "p1 p2 c"])
def test_readings_say_where_a_number_comes_from(cut, order):
    widget = make(cut=cut, order=order, patch=8, place=101)
    shown = readings(widget)
    place = (shown["pixel_row"], shown["pixel_column"], shown["channel"])
    assert shown["value"] == widget.image[place]
    assert shown["value"] == sequence(widget.image, 7, order, cut)[8, 101]
    assert (shown["row"], shown["column"]) == (1, 3)
    if cut == "patches":
        # 101 = (2 * 7 + 0) * 7 + 3 = (4 * 7 + 5) * 3 + 2.
        inside = {"c p1 p2": (0, 3), "p1 p2 c": (4, 5)}[order]
        assert place == (7 + inside[0], 21 + inside[1], 2)


def test_it_opens_with_the_patch_in_the_middle():
    widget = make()
    assert (widget.order, widget.cut) == ("c p1 p2", "patches")
    assert (widget.patch, widget.place) == (7, 0)


@pytest.mark.parametrize(
    ("side", "sizes", "first"),
    [
        (224, [7, 8, 14, 16, 20, 28, 32, 48, 56, 112], 16),
        (15, [4, 7, 8, 14], 8),
        (3, [3], 3),
    ],
)
def test_the_usual_sizes_are_those_that_fit(side, sizes, first):
    widget = PatchCutter(make_image(side, side))
    assert widget.patch_sizes == sizes
    assert widget.patch_size == first


def test_larger_patches_are_fewer():
    widget = make(patch_sizes=[3, 7, 20], patch_size=3, patch=76, place=26)
    widget.patch_size = 20
    assert (widget.patch, widget.place) == (0, 26)
    widget.place = 1199
    widget.patch_size = 7
    assert (widget.patch, widget.place) == (0, 146)


def test_the_image_travels_as_its_bytes():
    state = make().get_state()["image"]
    back = np.frombuffer(state["data"], state["dtype"])
    np.testing.assert_array_equal(back.reshape(state["shape"]), make_image())


def test_a_photograph_of_224_pixels_is_light():
    pixels = ORIGINAL_VIT.undo(model_input(photograph("china")))
    image = (255 * pixels).round().byte().permute(1, 2, 0).numpy()
    data = PatchCutter(image).get_state()["image"]["data"]
    assert len(gzip.compress(base64.b64encode(data))) < 120_000


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((3, 5), "uint8"), "image must have the axes"),
        (np.zeros((3, 5, 7), "uint8"), r"\(height width 3\).*\(3, 5, 7\)"),
        (np.zeros((0, 5, 3), "uint8"), "none empty"),
        (np.zeros((257, 9, 3), "uint8"), r"at most 256 .*\(257, 9, 3\)"),
        (np.zeros((90, 257, 3), "uint8"), "at most 256 pixels a side"),
    ],
)
def test_an_image_that_does_not_fit_is_named(image, message):
    with pytest.raises(ValueError, match=message):
        PatchCutter(image)
    with pytest.raises(ValueError, match=message):
        make(image=image, patch=1, place=2)
    # A size or a patch that does not exist is not blamed first.
    with pytest.raises(ValueError, match=message):
        PatchCutter(image, patch_size=9, patch_sizes=[5, 7])
    with pytest.raises(ValueError, match=message):
        PatchCutter(image, patch=9999)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"image": [[[1]]]}, "image must be a numpy array, got list"),
        ({"image": np.zeros((9, 9, 3))}, "uint8, got float64"),
        ({"patch_sizes": 7}, "patch_sizes must be a list of integers, got 7"),
        ({"patch_sizes": [5, 7.0]}, "patch_sizes must be integers, got 7.0"),
        ({"patch_sizes": [True, 7]}, "patch_sizes must be integers, got True"),
        ({"patch_size": 7.0}, "patch_size must be an integer, got 7.0"),
        ({"place": "1"}, "place must be an integer"),
        ({"size": 7}, "no argument 'size'"),
    ],
)
def test_wrong_types_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "at least one and increase"),
        ([7, 5], r"increase, got \[7, 5\]"),
        ([7, 7], "increase"),
        ([0, 7], "1 to 1024 patches, got 0"),
        ([7, 22], r"1 to 1024 patches, got 22 for an image of \(21, 35\)"),
    ],
)
def test_sizes_that_do_not_fit_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        make(patch_sizes=sizes)


def test_more_patches_than_can_be_drawn_are_refused():
    image = make_image(33, 32)
    with pytest.raises(ValueError, match="1 to 1024 patches, got 1 for"):
        PatchCutter(image, patch_sizes=[1, 2])
    assert PatchCutter(image[:32], patch_sizes=[1, 2]).patch_sizes == [1, 2]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("patch_size", 6, r"one of patch_sizes, \[5, 7\], got 6"),
        ("order", "p1 c p2", "order must be one of"),
        ("cut", "view", "cut must be one of"),
        ("patch", 15, r"patch must lie in \[0, 14\], got 15"),
        ("patch", -1, "patch must lie in"),
        ("place", 147, r"place must lie in \[0, 146\], got 147"),
    ],
)
def test_a_view_that_does_not_exist_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        make(**{name: value})
    widget = make()
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=message):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


@pytest.mark.parametrize(
    ("name", "value"), [("image", make_image()[::-1]), ("patch_sizes", [3])]
)
def test_what_is_fixed_cannot_be_exchanged(name, value):
    widget = make()
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        setattr(widget, name, value)
