"""Every exercise bears what an answer may do; the exercises are complete."""

import importlib
import math

import einops
import pytest
import torch
from chapter_files import CHAPTERS, read
from torch import nn

from tools.editions import EXERCISE, exercises_of
from vitedu import attention
from vitedu.book import grading
from vitedu.book.grading import (
    Exercise,
    FunctionExercise,
    LettersExercise,
    NumberExercise,
    Verdict,
)

EXERCISES = {
    path.stem[:2]: {
        name: value
        for name, value in vars(exercises_of(path.stem)).items()
        if isinstance(value, Exercise)
    }
    for path in CHAPTERS
}
ALL = [x for chapter in EXERCISES.values() for x in chapter.values()]
each = pytest.mark.parametrize("exercise", ALL, ids=lambda x: x.number)
each_chapter = pytest.mark.parametrize(
    "path", CHAPTERS, ids=lambda path: path.stem
)


@pytest.fixture(autouse=True)
def own_numbers(monkeypatch):
    """Let each test make exercises of its own."""
    monkeypatch.setattr(grading.progress, "_known", {})


@each_chapter
def test_exercises_stand_in_the_chapter_answer_hints_solution(path):
    cells = read(path).cells
    numbers = EXERCISE.findall("\n".join(cell.source for cell in cells))
    exercises = EXERCISES[path.stem[:2]]
    chapter = int(path.stem[:2])
    assert len(numbers) >= 2
    assert numbers == [f"{chapter}.{i + 1}" for i in range(len(numbers))]
    assert sorted(x.number for x in exercises.values()) == sorted(numbers)
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    for name in exercises:
        asked = [i for i, x in enumerate(code) if f"check.{name}(" in x]
        solved = [
            i for i, x in enumerate(code) if f"check.{name}.must_accept(" in x
        ]
        assert asked[-1] < code.index(f"check.{name}.hints") < solved[0], name


@each
def test_no_answer_is_no_try(exercise, monkeypatch):
    counted = []
    monkeypatch.setattr(
        grading.progress, "count_try", lambda *try_: counted.append(try_)
    )
    assert exercise(None).message == "write your answer into the cell first."
    assert counted == []


@each
def test_each_mistake_is_told_by_its_own_words(exercise):
    mistakes = exercise.mistakes()
    assert len({message for message, _ in mistakes}) >= 4
    for message, answer in mistakes:
        verdict = exercise(answer)
        assert not verdict
        assert message in verdict.message, message


@pytest.mark.parametrize(
    "exercise",
    [x for x in ALL if isinstance(x, FunctionExercise) or x.judge],
    ids=lambda x: x.number,
)
def test_another_solution_is_accepted(exercise):
    chapter = exercise.number.split(".")[0].zfill(2)
    solutions = importlib.import_module(f"solutions.chapter_{chapter}")
    verdict = exercise(solutions.SOLUTIONS[exercise.number])
    assert verdict, verdict.message


def number(**changes):
    return NumberExercise(
        "99.1",
        "a root",
        hints=("Once is too little.", "Add `x` to itself."),
        right=40,
        why="the root.",
        wrong={1600: "the variance.", 39.7: "the neighbour."},
        **changes,
    )


@pytest.mark.parametrize(
    ("answer", "right", "message"),
    [
        (40, True, "the root."),
        (40.3, True, "the root."),
        (1600, False, "the variance."),
        (41, False, "41 is too large. Once is too little."),
        (-2, False, "-2 is too small. Once is too little."),
        ("40", False, "the answer should be a number, not '40'."),
        (True, False, "the answer should be a number, not True."),
        (math.nan, False, "the answer should be a number, not nan."),
        (39.8, False, "the neighbour."),
    ],
)
def test_a_number_is_judged(answer, right, message):
    assert number()(answer) == Verdict(right, message)


X = torch.linspace(-1, 1, 15, dtype=torch.float64).reshape(3, 5)
CASES = {"small": (X, 2), "large": (X.repeat(4, 2) + 1, 3)}


def function(**changes):
    parts = {
        "right": lambda x, n: x * n,
        "wrong": {"you added.": lambda x, n: x + n},
        "cases": CASES,
    }
    return FunctionExercise(
        "99.2", "a product", hints=("One.", "Two."), **(parts | changes)
    )


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (lambda x, n: x + n, "small: you added."),
        (
            lambda x, n: x * 2,
            "large: every number is 0.6667 times what it should be. The first "
            "that differs is at [0, 1]: 0.2857 instead of 0.4286. It is "
            "right for small.",
        ),
        (lambda x, n: x.T * n, "small: the shape is (5, 3), but it should be"),
        (lambda x, n: 2, "small: your function returned int, not a tensor"),
        (
            lambda x, n: x / 0,
            "small: no number is finite. Infinity comes from a division",
        ),
        (lambda x, n: n[0], "small: your function stopped with TypeError:"),
        (lambda x, n: x.mul_(n), "small: your function changed its input."),
        (3, "small: your function stopped with TypeError:"),
        (object(), "small: your function stopped with TypeError:"),
    ],
)
def test_a_function_is_told_what_is_wrong(candidate, message):
    verdict = function()(candidate)
    assert not verdict
    assert verdict.message.startswith(message)


def test_other_ways_and_single_precision_are_right():
    assert function()(lambda x, n: sum(x for _ in range(n))) == Verdict(
        True, "it passes all of small, large."
    )
    assert function(why="well.")(lambda x, n: (x * n).float()).message == (
        "well."
    )


def change_weights(module, x):
    with torch.no_grad():
        module.weight += 1
    return module(x)


def change_mode(module, x):
    module.eval()
    return module(x)


def add_a_weight(module, x):
    module.extra = nn.Parameter(torch.ones(1))
    return module(x)


@pytest.mark.parametrize("change", [change_weights, change_mode, add_a_weight])
def test_a_module_that_is_handed_in_has_to_stay_as_it_was(change):
    torch.manual_seed(0)
    module, x = nn.Linear(3, 3), torch.ones(2, 3)
    before = module(x)
    exercise = function(
        right=lambda m, x: m(x), wrong={}, cases={"a layer": (module, x)}
    )
    assert exercise(lambda module, x: module(x))
    assert "changed its input" in exercise(change).message
    assert module.training
    assert torch.equal(module(x), before)


def letters(answer):
    verdict = LettersExercise(
        "99.3",
        "two curves",
        hints=("One.", "Two."),
        right={"A": "low", "B": "high"},
        why_not=lambda said, right: f"{said}, {right}!",
        wrong={},
    )(answer)
    return verdict.right, verdict.message


def test_letters_are_judged_one_by_one():
    assert letters({"B": "high", "A": "low"})[0]
    assert letters({"A": "low"}) == (
        False,
        "no mistake so far; still to do: B.",
    )
    assert letters({"A": "low", "B": "low"}) == (
        False,
        "B is not 'low': low, high!",
    )
    assert letters({"A": "high", "B": "low"})[1] == (
        "A is not 'high': high, low! B is not 'low': low, high!"
    )


@pytest.mark.parametrize("answer", ["A", ["low"], {}, {"A": "..."}])
def test_letters_without_names_are_asked_for(answer):
    assert letters(answer) == (False, "write a name beside each letter first.")


def test_an_answer_that_ends_the_program_is_survived():
    def leaves(x, n):
        raise SystemExit

    assert "ends the whole program" in function()(leaves).message


def soften(self, dim):
    return self


@pytest.mark.parametrize(
    ("change", "get", "name"),
    [
        (
            lambda: torch.set_grad_enabled(False),
            torch.is_grad_enabled,
            "whether gradients are recorded",
        ),
        (
            lambda: torch.set_default_dtype(torch.float64),
            torch.get_default_dtype,
            "the default type of numbers",
        ),
        (
            lambda: torch.use_deterministic_algorithms(True),
            torch.are_deterministic_algorithms_enabled,
            "whether algorithms are deterministic",
        ),
        (
            lambda: torch.set_num_threads(torch.get_num_threads() + 1),
            torch.get_num_threads,
            "the number of threads",
        ),
        (
            lambda: setattr(torch.Tensor, "softmax", soften),
            lambda: torch.Tensor.softmax,
            "`Tensor.softmax`",
        ),
        (
            lambda: setattr(torch, "softmax", soften),
            lambda: torch.softmax,
            "`torch.softmax`",
        ),
        (
            lambda: setattr(einops, "rearrange", soften),
            lambda: einops.rearrange,
            "`einops.rearrange`",
        ),
        (
            lambda: setattr(attention, "scaled_dot_product_attention", soften),
            lambda: attention.scaled_dot_product_attention,
            "`vitedu.attention.scaled_dot_product_attention`",
        ),
        (
            lambda: setattr(attention.MultiHeadAttention, "forward", soften),
            lambda: attention.MultiHeadAttention.forward,
            "`MultiHeadAttention.forward`",
        ),
    ],
)
def test_what_an_answer_changes_for_others_is_named_and_put_back(
    change, get, name
):
    def changing(x, n):
        change()
        return x * n

    before = get()
    verdict = function()(changing)
    assert get() == before
    assert not verdict
    assert f"but your answer changed {name} for all" in verdict.message


def test_a_verdict_is_shown_as_a_paragraph():
    assert repr(Verdict(True, "well.")) == "Right: well."
    shown = Verdict(False, "a < b: look again.")._repr_html_()
    assert shown == "<p><strong>Not yet:</strong> a &lt; b: look again.</p>"


def test_hints_are_folded_away_each_in_the_one_before():
    hints = number().hints
    assert tuple(hints) == ("Once is too little.", "Add `x` to itself.")
    assert hints._repr_html_() == (
        "<details><summary>Show hint 1</summary><p>Once is too little.</p>"
        "<details><summary>Show hint 2</summary>"
        "<p>Add <code>x</code> to itself.</p></details></details>"
    )
    assert "hints[0]" in repr(hints)
    assert "Once" not in repr(hints)
    assert "<p>a &lt;pad&gt;</p>" in grading.Hints(["a <pad>"])._repr_html_()
