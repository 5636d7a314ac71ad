"""AttentionDistance in Python: what it accepts and what it sends."""

import numpy as np
import pytest

from vitedu.widgets import AttentionDistance

STEPS, IMAGES, LAYERS, HEADS, ROWS, COLUMNS, PATCH = 2, 3, 5, 7, 2, 4, 3


def make_maps(num_prefix_tokens=1, dtype=np.float64):
    tokens = num_prefix_tokens + ROWS * COLUMNS
    shape = (STEPS, IMAGES, LAYERS, HEADS, tokens)
    return (
        np.random.default_rng(0)
        .dirichlet(np.full(tokens, 0.5), shape)
        .astype(dtype)
    )


def make(**changes):
    images = np.random.default_rng(1).random(
        (IMAGES, ROWS * PATCH, COLUMNS * PATCH)
    )
    arguments = {
        "maps": make_maps(),
        "images": images,
        "patch_size": PATCH,
        "steps": [0, 400],
    }
    return AttentionDistance(**arguments | changes)


def sent(widget, name):
    """Read an array as the page does."""
    state = widget.get_state()[name]
    dtype = np.dtype(state["dtype"]).newbyteorder("<")
    return np.frombuffer(state["data"], dtype).reshape(state["shape"])


def test_arrays_arrive_unchanged_but_for_rounding():
    maps = make_maps()
    images = np.random.default_rng(1).random((IMAGES, 6, 12))
    mean = np.random.default_rng(2).random((STEPS, LAYERS, HEADS))
    widget = make(maps=maps, images=images, mean_distance=mean)
    np.testing.assert_array_equal(sent(widget, "maps"), np.float16(maps))
    np.testing.assert_array_equal(widget.maps, np.float16(maps))
    np.testing.assert_array_equal(sent(widget, "images"), np.float32(images))
    np.testing.assert_array_equal(
        sent(widget, "mean_distance"), np.float32(mean)
    )
    np.testing.assert_array_equal(sent(widget, "steps"), [0, 400])


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_maps_of_every_precision_are_accepted(dtype):
    maps = make_maps(dtype=dtype)
    np.testing.assert_array_equal(make(maps=maps).maps, np.float16(maps))


@pytest.mark.parametrize("prefix", [0, 1, 2])
def test_any_number_of_tokens_stands_in_front_of_the_patches(prefix):
    widget = make(maps=make_maps(prefix), num_prefix_tokens=prefix)
    assert widget.num_prefix_tokens == prefix


def test_it_opens_at_the_last_step_and_the_patch_in_the_middle():
    widget = make()
    assert (widget.step, widget.dots) == (1, "image")
    assert (widget.row, widget.column) == (1, 2)
    assert widget.image_names == ["1", "2", "3"]


def test_a_given_average_is_what_the_dots_show_first():
    mean = np.ones((STEPS, LAYERS, HEADS))
    assert make(mean_distance=mean).dots == "average"
    assert make(mean_distance=mean, dots="image").dots == "image"


def test_the_opening_view_can_be_chosen():
    view = {"step": 0, "image": 2, "layer": 4, "head": 6}
    view |= {"row": 1, "column": 3, "query": "class token"}
    widget = make(**view)
    assert {name: getattr(widget, name) for name in view} == view


def one_row_changed(change):
    maps = make_maps()
    maps[1, 2, 4, 6, 8] = change(maps[1, 2, 4, 6, 8])
    return maps


BAD_ARRAYS = [
    ({"maps": make_maps()[0]}, "maps must have the axes"),
    ({"maps": make_maps(2)}, "maps must be over 9 x 9 tokens"),
    ({"maps": make_maps()[..., :-1, :]}, "maps must be over 9 x 9 tokens"),
    (
        {"maps": one_row_changed(lambda row: row * 1.01)},
        "maps must have rows .* that sum to 1, got .* 1.0",
    ),
    (
        {"maps": one_row_changed(lambda row: row - 0.5)},
        "maps must be at least 0, got -0",
    ),
    (
        {"maps": one_row_changed(lambda row: row * np.nan)},
        "maps must be finite",
    ),
    ({"images": np.zeros((3, 6))}, "images must have the axes"),
    ({"images": np.zeros((2, 6, 12))}, "images must have 3 entries.* got 2"),
    ({"images": np.full((3, 6, 12), 1.5)}, r"images must lie in \[0, 1\]"),
    ({"images": np.full((3, 6, 12), -0.5)}, r"images must lie in \[0, 1\]"),
    (
        {"images": np.zeros((3, 6, 13))},
        "images must have .* divisible by patch_size, got .*13",
    ),
    ({"patch_size": 5}, "images must have .* divisible by patch_size"),
    ({"patch_size": 0}, "patch_size must lie in"),
    ({"num_prefix_tokens": 2}, "maps must be over 10 x 10 tokens"),
    ({"num_prefix_tokens": -1}, "num_prefix_tokens must lie in"),
    ({"steps": [0]}, "steps must have 2 entries.* got 1"),
    ({"steps": [0, 10, 20]}, "steps must have 2 entries.* got 3"),
    ({"steps": 5}, "steps must have the axes"),
    ({"steps": [400, 0]}, r"steps must increase, got \[400, 0\]"),
    ({"steps": [7, 7]}, "steps must increase"),
    ({"image_names": ["a"]}, "image_names must have 3 entries.* got 1"),
    (
        {"mean_distance": np.ones((STEPS, HEADS, LAYERS))},
        r"mean_distance must have shape \(2, 5, 7\)",
    ),
    (
        {"mean_distance": np.full((STEPS, LAYERS, HEADS), -1.0)},
        "mean_distance must be at least 0",
    ),
]


@pytest.mark.parametrize(("changes", "message"), BAD_ARRAYS)
def test_arrays_that_do_not_fit_are_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"maps": [[1.0]]}, "maps must be a numpy array, got list"),
        ({"steps": [0.5, 1.5]}, "steps must be convertible to int32"),
        ({"patch_size": 3.0}, "patch_size must be an integer, got 3.0"),
        ({"image_names": [1, 2, 3]}, "image_names must be strings, got 1"),
        ({"colour": "red"}, "no argument 'colour'"),
    ],
)
def test_wrong_types_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)


BAD_VIEWS = [
    ("step", 2, r"step must lie in \[0, 1\], got 2"),
    ("image", 3, r"image must lie in \[0, 2\], got 3"),
    ("layer", 5, r"layer must lie in \[0, 4\], got 5"),
    ("head", 7, r"head must lie in \[0, 6\], got 7"),
    ("row", 2, r"row must lie in \[0, 1\], got 2"),
    ("column", 4, r"column must lie in \[0, 3\], got 4"),
    ("head", -1, "head must lie in"),
    ("query", "token", "query must be one of"),
    ("dots", "average", "dots must be 'image' without mean_distance"),
]


@pytest.mark.parametrize(("name", "value", "message"), BAD_VIEWS)
def test_a_view_that_does_not_exist_is_named(name, value, message):
    with pytest.raises(ValueError, match=message):
        make(**{name: value})
    widget = make()
    before = getattr(widget, name)
    with pytest.raises(ValueError, match=message):
        setattr(widget, name, value)
    assert getattr(widget, name) == before


def test_without_a_class_token_it_cannot_be_the_query():
    with pytest.raises(ValueError, match="query must be 'patch'"):
        make(maps=make_maps(0), num_prefix_tokens=0, query="class token")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maps", make_maps()[::-1]),
        ("images", np.zeros((3, 6, 12))),
        ("steps", np.array([1, 2])),
        ("patch_size", 1),
        ("image_names", ["x", "y", "z"]),
    ],
)
def test_what_the_figure_is_made_of_cannot_be_exchanged(name, value):
    widget = make()
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        setattr(widget, name, value)
