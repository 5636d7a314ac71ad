"""ReverseTrainer in Python: what it accepts and what it weighs."""

import gzip
import math

import pytest

from vitedu.widgets import ReverseTrainer


def test_it_opens_with_what_the_chapter_describes():
    widget = ReverseTrainer()
    assert widget.positions is True
    assert widget.scaled is True
    assert (widget.num_heads, widget.learning_rate) == (1, 1e-3)
    assert widget.seed == 0


def test_every_setting_reaches_the_page():
    settings = {
        "positions": False,
        "scaled": False,
        "num_heads": 4,
        "learning_rate": 0.02,
        "seed": 2**32 - 1,
    }
    state = ReverseTrainer(**settings).get_state()
    assert {name: state[name] for name in settings} == settings


@pytest.mark.parametrize("num_heads", [1, 2, 4])
def test_heads_that_share_the_width_are_accepted(num_heads):
    widget = ReverseTrainer()
    widget.num_heads = num_heads
    assert widget.num_heads == num_heads


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"num_heads": 3}, ValueError, r"one of \(1, 2, 4\), got 3"),
        ({"num_heads": 8}, ValueError, r"num_heads must .* got 8"),
        ({"num_heads": 2.0}, TypeError, "num_heads must be an integer"),
        ({"positions": 1}, TypeError, "positions must be True or False"),
        ({"scaled": "no"}, TypeError, "scaled must be True or False"),
        ({"learning_rate": 0.0}, ValueError, r"learning_rate must lie in"),
        ({"learning_rate": 0.2}, ValueError, r"learning_rate must lie in"),
        ({"learning_rate": math.nan}, ValueError, "got nan"),
        ({"learning_rate": "1"}, TypeError, "must be a number, got '1'"),
        ({"seed": -1}, ValueError, r"seed must lie in \[0, 4294967295\]"),
        ({"seed": 2**32}, ValueError, "seed must lie in"),
        ({"heads": 2}, TypeError, "no argument 'heads'"),
    ],
)
def test_wrong_settings_are_named(settings, error, message):
    with pytest.raises(error, match=message):
        ReverseTrainer(**settings)


def test_a_wrong_change_leaves_the_run_alone():
    widget = ReverseTrainer(num_heads=2)
    with pytest.raises(ValueError, match="num_heads must be one of"):
        widget.num_heads = 3
    assert widget.num_heads == 2


def test_it_is_small():
    text = ReverseTrainer._esm + ReverseTrainer._css
    assert len(gzip.compress(text.encode())) < 18_000
