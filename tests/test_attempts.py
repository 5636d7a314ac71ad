"""Each attempt makes the mistake that the page says is the right answer."""

import math
import re
from importlib import import_module

import pytest
import torch
import torch.nn.functional as F
from chapter_files import CHAPTERS, read
from einops import rearrange
from torch import nn
from vitedu_book.exercises import BadAttempt, read_attempts

from vitedu.book.grading import Exercise, LettersExercise, NumberExercise

FOLDER = CHAPTERS[0].parents[1] / "book/attempts"
OF_THE_PAGE = {
    "F": F,
    "math": math,
    "nn": nn,
    "rearrange": rearrange,
    "torch": torch,
}


def exercises_of(chapter: str) -> dict[str, Exercise]:
    """Return the exercises of a chapter, by name."""
    module = import_module(f"vitedu.book.exercises.chapter_{chapter[:2]}")
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, Exercise)
    }


ALL = [
    pytest.param(path, name, attempt, id=f"{path.stem[:2]}-{name}")
    for path in CHAPTERS
    for name, attempt in read_attempts(
        FOLDER / f"{path.stem}.yml", exercises_of(path.stem)
    ).items()
]


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_what_asks_for_code_has_an_attempt(path):
    asks = {
        name
        for name, exercise in exercises_of(path.stem).items()
        if not isinstance(exercise, NumberExercise | LettersExercise)
    }
    assert {one.values[1] for one in ALL if one.values[0] == path} == asks


@pytest.mark.parametrize(("path", "name", "attempt"), ALL)
def test_the_check_says_what_is_wrong(path, name, attempt):
    text = "\n".join(cell.source for cell in read(path).cells)
    (answer,) = {*re.findall(rf"check\.{name}\((\w+)\)", text)}
    room = dict(OF_THE_PAGE)
    exec(attempt.uses, room)
    exec(attempt.code, room)
    verdict = exercises_of(path.stem)[name](room[answer])
    assert not verdict
    assert attempt.right in verdict.message
    others = {*attempt.options} - {attempt.right}
    assert [said for said in others if said in verdict.message] == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("says: ", "says: nobody "), "a piece of one message"),
        (("right: true", "right: false"), "one of four options is right"),
        (("multi_head:", "single_head:"), "single_head"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path, change, reason):
    (known,) = FOLDER.glob("05-*.yml")
    file = tmp_path / known.name
    file.write_text(known.read_text("utf-8").replace(*change), "utf-8")
    with pytest.raises(BadAttempt, match=reason) as found:
        read_attempts(file, exercises_of("05"))
    assert known.name in str(found.value)
