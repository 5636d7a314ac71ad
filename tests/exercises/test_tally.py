"""Each check is tried with enough answers: right ones and wrong ones.

The other tests of this folder run once more in a process of their own, which
writes down every verdict.
"""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tools.editions import EXERCISE, chapters

# What a check says to an answer whose thought it does not know.
NO_THOUGHT = re.compile(
    r"write your prediction|returned NoneType|is not it\.$|"
    r"a number is off by|the shape is \("
)
NUMBERS = [
    number
    for notebook in chapters().values()
    for cell in notebook.cells
    for number in EXERCISE.findall(cell.source)
]


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Return what each check said: number -> (right, message, test)."""
    path = tmp_path_factory.mktemp("tally") / "verdicts"
    options = f"-q -n 0 -p no:cacheprovider --ignore {Path(__file__).name} ."
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options.split()],
        cwd=Path(__file__).parent,
        env=dict(os.environ, VITEDU_TALLY=str(path)),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    said = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        number, *verdict = json.loads(line)
        said[number].append(tuple(verdict))
    return said


def thoughts(said):
    """Return the wrong answers whose thought a check named, each once."""
    return {
        (message, test)
        for right, message, test in said
        if not right and not NO_THOUGHT.search(message)
    }


def test_two_ways_are_right_and_five_wrong_ones_are_understood(verdicts):
    few = {}
    for number in NUMBERS:
        said = verdicts[number]
        right = sum(verdict[0] for verdict in said)
        wrong = len(thoughts(said))
        if right < 2 or wrong < 5:
            few[number] = {"right": right, "wrong": wrong}
    assert few == {}


def test_two_hundred_wrong_answers_are_understood(verdicts):
    assert sum(len(thoughts(said)) for said in verdicts.values()) >= 200
