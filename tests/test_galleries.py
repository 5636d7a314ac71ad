"""Verdicts on pairs of curves and causes."""

import pytest

from vitedu.galleries import judge_pairs

RIGHT = {"A": "up", "B": "down"}
MAKES = {"down": "it falls.", "up": "it rises.", "flat": "it stays."}
SEEN = {"down": "This one falls.", "up": "This one rises."}


def judge(answer):
    return judge_pairs(answer, RIGHT, "yes.", MAKES, SEEN)


def test_right_pairs_in_any_order_are_right():
    assert judge({"B": "down", "A": "up"}).right
    assert judge(dict(RIGHT)).message == "yes."


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "write your prediction into the cell first."),
        ("up", "a dictionary is asked for, not 'up'."),
        ({}, "A has no name yet."),
        ({"A": "up"}, "B has no name yet."),
        ({"A": "up", "B": "Down"}, "B: 'Down' is not in the list."),
        ({"A": ["up"], "B": "down"}, "A: ['up'] is not in the list."),
        ({"A": "up", "B": "up"}, "'up' is there twice."),
        (
            {"A": "up", "B": "flat"},
            "B cannot be 'flat': it stays. This one falls.",
        ),
    ],
)
def test_what_is_wrong_is_named(answer, message):
    verdict = judge(answer)
    assert not verdict
    assert verdict.message == message


def test_one_wrong_pair_is_named_at_a_time():
    message = judge({"A": "down", "B": "up"}).message
    assert message == "A cannot be 'down': it falls. This one rises."
