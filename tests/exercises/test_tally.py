"""The tally misses what is missing; `tally.py` says when a run fails."""

import tally

WRONG = [(False, f"that is {n}.", "a test") for n in range(tally.WRONG)]
ENOUGH = [*[(True, "yes", "a test")] * tally.RIGHT, *WRONG]


def test_an_exercise_that_is_tried_enough_is_not_named():
    numbers = [f"1.{n}" for n in range(40)]
    assert tally.too_few(numbers, dict.fromkeys(numbers, ENOUGH)) == []


def test_each_lack_is_named():
    unknown = [*ENOUGH[:-1], (False, "7 is not it.", "a test")]
    twice = [*ENOUGH[:-1], ENOUGH[-2]]
    said = {"1.1": ENOUGH, "1.2": ENOUGH[1:], "1.3": unknown, "1.4": twice}
    *lines, total = tally.too_few([*said, "1.5"], said)
    assert [line[:14] for line in lines] == [
        f"exercise {number}: " for number in ("1.2", "1.3", "1.4", "1.5")
    ]
    assert "1 right answers of 2" in lines[0]
    assert "4 wrong ones of 5" in lines[1]
    assert total == "18 wrong answers of 200 in the book"
