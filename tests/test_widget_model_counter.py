"""ModelCounter in Python: what it accepts, and what it opens with."""

import gzip

import pytest

from vitedu.config import ViTConfig
from vitedu.widgets import ModelCounter
from vitedu.widgets.model_counter import (
    MAX_GRID,
    MAX_HEAD_DIM,
    MAX_HEADS,
    MAX_PATCH,
)

SIZES = (
    "d_model",
    "num_layers",
    "num_heads",
    "patch_size",
    "image_size",
    "num_classes",
)


def test_it_opens_with_the_defaults_of_the_config():
    widget, config = ModelCounter(), ViTConfig()
    for name in SIZES:
        assert getattr(widget, name) == getattr(config, name), name
    assert widget.mlp_ratio * config.d_model == config.d_ff
    assert widget.batch_size == 1
    assert widget.fused is False


def test_every_size_can_be_given():
    sizes = {
        "d_model": 35,
        "num_layers": 3,
        "num_heads": 5,
        "mlp_ratio": 2,
        "patch_size": 7,
        "image_size": 91,
        "num_classes": 0,
        "batch_size": 11,
        "fused": True,
    }
    widget = ModelCounter(**sizes)
    state = widget.get_state()
    assert {name: state[name] for name in sizes} == sizes


def test_the_ends_of_every_range_are_accepted():
    smallest = dict.fromkeys(SIZES, 1) | {"num_classes": 0}
    largest = ModelCounter(
        d_model=MAX_HEADS * MAX_HEAD_DIM,
        num_layers=64,
        num_heads=MAX_HEADS,
        mlp_ratio=8,
        patch_size=MAX_PATCH,
        image_size=MAX_GRID * MAX_PATCH,
        num_classes=100_000,
        batch_size=4096,
    )
    assert ModelCounter(**smallest).d_model == 1
    assert largest.image_size == 6144


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"num_heads": 7}, "d_model must be divisible by num_heads=7"),
        ({"d_model": 770}, "by num_heads=12, got 770"),
        ({"patch_size": 15}, "image_size must be divisible by patch_size=15"),
        ({"image_size": 225}, "by patch_size=16, got 225"),
        ({"d_model": 16_385}, r"d_model must lie in \[1, 16384\]"),
        ({"num_layers": 65}, r"num_layers must lie in \[1, 64\], got 65"),
        ({"num_heads": 0}, r"num_heads must lie in \[1, 64\], got 0"),
        ({"mlp_ratio": 9}, r"mlp_ratio must lie in \[1, 8\]"),
        ({"patch_size": 65}, r"patch_size must lie in \[1, 64\]"),
        ({"image_size": 6145}, r"image_size must lie in \[1, 6144\]"),
        ({"num_classes": -1}, r"num_classes must lie in \[0, 100000\]"),
        ({"batch_size": 4097}, r"batch_size must lie in \[1, 4096\]"),
    ],
)
def test_sizes_that_cannot_be_are_named(sizes, message):
    with pytest.raises(ValueError, match=message):
        ModelCounter(**sizes)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"d_model": 768.0}, "d_model must be an integer"),
        ({"mlp_ratio": True}, "mlp_ratio must be an integer"),
        ({"image_size": (224, 224)}, "image_size must be an integer"),
        ({"fused": 1}, "fused must be True or False"),
        ({"depth": 12}, "no argument 'depth'"),
    ],
)
def test_wrong_types_are_named(sizes, message):
    with pytest.raises(TypeError, match=message):
        ModelCounter(**sizes)


def test_a_reader_may_pass_sizes_that_do_not_fit():
    widget = ModelCounter()
    widget.num_heads = 7
    widget.d_model = 7 * 64
    assert (widget.d_model, widget.num_heads) == (448, 7)


def test_the_script_is_small():
    assert len(gzip.compress(ModelCounter._esm.encode())) < 12_000
