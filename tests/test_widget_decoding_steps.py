"""DecodingSteps in Python: what it accepts, and what it sends."""

import pytest

from vitedu.config import TransformerConfig
from vitedu.numerals import numeral_vocabularies
from vitedu.page_weights import page_weights, rounded_to_half
from vitedu.transformer import Transformer
from vitedu.widgets import DecodingSteps

SRC, TGT = numeral_vocabularies()


def make(**changes):
    config = TransformerConfig(
        src_vocab_size=len(SRC),
        tgt_vocab_size=len(TGT),
        d_model=6,
        d_ff=5,
        num_heads=2,
        num_layers=1,
        tie_source=False,
    )
    words = {"src_words": SRC.words, "tgt_words": TGT.words}
    model = rounded_to_half(Transformer(config))
    return DecodingSteps(**page_weights(model) | words | changes)


def test_it_opens_with_greedy_search_at_the_first_step():
    widget = make()
    assert (widget.method, widget.step, widget.number) == ("greedy", 0, 12005)


def test_what_it_shows_can_be_chosen_and_changed():
    widget = make(method="beam", beam_size=5, length_penalty=0, step=3)
    widget.length_penalty = 2
    widget.method = "sample"
    state = widget.get_state()
    assert state["length_penalty"] == 2
    assert state["method"] == "sample"
    assert state["beam_size"] == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "best"}, "method must be one of"),
        ({"beam_size": 6}, r"beam_size must lie in \[1, 5\], got 6"),
        ({"length_penalty": 2.1}, r"length_penalty must lie in \[0, 2\]"),
        ({"temperature": 0}, r"temperature must lie in \[0.1, 3\], got 0"),
        ({"seed": -1}, "seed must lie in"),
        ({"step": -1}, "step must lie in"),
    ],
)
def test_a_setting_outside_its_range_is_named(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"beam_size": 2.0}, "beam_size must be an integer"),
        ({"length_penalty": "1"}, "length_penalty must be a number"),
        ({"top_k": 3}, "no argument 'top_k'"),
    ],
)
def test_wrong_types_are_named(changes, message):
    with pytest.raises(TypeError, match=message):
        make(**changes)
