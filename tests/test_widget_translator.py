"""Translator in Python: what it accepts, and what it sends."""

import gzip
import re

import numpy as np
import pytest

from vitedu.config import TransformerConfig
from vitedu.numerals import numeral_vocabularies
from vitedu.page_weights import page_weights, rounded_to_half
from vitedu.transformer import Transformer
from vitedu.widgets import Translator

SRC, TGT = numeral_vocabularies()


def arguments(**changes):
    config = TransformerConfig(
        **{
            "src_vocab_size": len(SRC),
            "tgt_vocab_size": len(TGT),
            "d_model": 6,
            "d_ff": 5,
            "num_heads": 2,
            "num_layers": 3,
            "tie_source": False,
        }
        | changes
    )
    return page_weights(rounded_to_half(Transformer(config)))


def make(**changes):
    words = {"src_words": SRC.words, "tgt_words": TGT.words}
    return Translator(**arguments() | words | changes)


def test_the_numbers_of_the_model_travel_in_half_precision():
    given = arguments()
    sent = make(**given).get_state()
    assert sent["weights"]["dtype"] == "float16"
    numbers = np.frombuffer(sent["weights"]["data"], "<f2")
    np.testing.assert_array_equal(numbers, given["weights"])
    assert sent["layout"] == given["layout"]
    assert sent["config"] == given["config"]
    assert sent["tgt_words"] == list(TGT.words)


def test_what_it_shows_can_be_chosen_and_changed():
    widget = make(number=7, attention="decoder", layer=2, head=-1, query=4)
    assert (widget.number, widget.layer, widget.head) == (7, 2, -1)
    widget.head = 1
    widget.attention = "encoder"
    assert widget.get_state()["head"] == 1


def test_a_joint_vocabulary_serves_both_sides():
    both, _ = numeral_vocabularies(joint=True)
    given = arguments(src_vocab_size=len(both), tgt_vocab_size=len(both))
    assert make(**given, src_words=both.words, tgt_words=both.words)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"number": 100_000_000}, r"number must lie in \[0, 99999999\]"),
        ({"layer": 3}, r"layer must lie in \[0, 2\], got 3"),
        ({"head": 2}, r"head must lie in \[0, 1\], got 2"),
        ({"head": -2}, "head must lie in"),
        ({"attention": "self"}, "attention must be one of"),
        ({"src_words": SRC.words[1:]}, "src_words must be the 15 words"),
        ({"tgt_words": ["a"]}, r"tgt_words must be the 32 words.* got 1"),
        ({"src_words": list("abcdefghijklmno")}, r"signs of .*'一'"),
        ({"weights": np.zeros(3, "f2")}, "layout must place 3 numbers"),
        ({"config": {}}, "config must hold src_vocab_size"),
        (
            {"config": arguments()["config"] | {"tgt_pad_id": 1}},
            "config must have tgt_pad_id = 0",
        ),
        (
            {"config": arguments()["config"] | {"max_len": 14}},
            "config must have a max_len of at least 15",
        ),
    ],
)
def test_what_does_not_fit_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layout": []}, "layout must be a dict.* got list"),
        ({"config": None}, "config must be a dict.* got NoneType"),
        ({"src_words": "零一"}, "src_words must be a list of strings"),
        ({"weights": [1.0]}, "weights must be a numpy array"),
        ({"number": 1.0}, "number must be an integer"),
        ({"colour": "red"}, "no argument 'colour'"),
    ],
)
def test_wrong_types_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    "name", ["weights", "layout", "config", "src_words", "tgt_words"]
)
def test_what_the_explorer_is_made_of_cannot_be_exchanged(name):
    widget, other = make(), make(**arguments())
    values = {
        "weights": other.weights[::-1],
        "layout": {},
        "config": {},
        "src_words": ["a"],
        "tgt_words": ["a"],
    }
    with pytest.raises(ValueError, match=f"{name} cannot change"):
        setattr(widget, name, values[name])


def test_the_script_is_small():
    plain = re.sub(r"(?m)^\s+", "", Translator._esm)
    assert len(gzip.compress(plain.encode())) < 15_000
