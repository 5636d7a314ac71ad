"""Every check bears what an answer may do; the exercises are complete."""

import importlib
import inspect
import time

import pytest
import torch
from test_notebooks import CHAPTERS, read
from torch import nn

from tools.editions import EXERCISE
from vitedu import judging
from vitedu.checks import Verdict, exercise, judge_function, judge_letters

CHECKS = {
    path.stem[:2]: {
        check.__doc__.split()[2].rstrip(":"): check
        for _, check in inspect.getmembers(
            importlib.import_module(
                f"vitedu.exercises.chapter_{path.stem[:2]}"
            ),
            inspect.isfunction,
        )
        if (check.__doc__ or "").startswith("Check exercise")
    }
    for path in CHAPTERS
}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_has_at_least_two_exercises_each_with_a_check(path):
    text = "\n".join(cell.source for cell in read(path).cells)
    numbers = EXERCISE.findall(text)
    assert len(numbers) >= 2
    chapter = int(path.stem[:2])
    expected = [f"{chapter}.{i + 1}" for i in range(len(numbers))]
    assert numbers == expected
    assert sorted(CHECKS[path.stem[:2]]) == expected


def test_there_are_at_least_forty():
    assert sum(map(len, CHECKS.values())) >= 40


@pytest.mark.parametrize(
    "check",
    [c for checks in CHECKS.values() for c in checks.values()],
    ids=lambda check: f"{check.__module__[-2:]}.{check.__name__}",
)
def test_every_check_counts_the_try_and_bears_an_unfinished_answer(check):
    assert hasattr(check, "__wrapped__"), "it lacks @exercise"
    verdict = check(None)
    assert isinstance(verdict, Verdict)
    assert not verdict


@exercise("Once is too little.", "Add `x` to itself.")
def doubles(candidate):
    """Check exercise 99.1: ``candidate(x)`` doubles."""
    return judge_function(
        candidate,
        lambda x: 2 * x,
        {},
        {"one row": (torch.ones(1, 5),), "two": (torch.ones(2, 5),)},
    )


def in_short(answer):
    verdict = judge_letters(
        answer,
        {"A": "low", "B": "high"},
        lambda said, right: f"{said}, {right}!",
    )
    return verdict.right, verdict.message


def test_letters_are_judged_one_by_one():
    assert in_short({"B": "high", "A": "low"})[0]
    assert in_short({"A": "low"}) == (
        False,
        "no mistake so far; still to do: B.",
    )
    assert in_short({"A": "low", "B": "low"}) == (
        False,
        "B is not 'low': low, high!",
    )
    assert in_short({"A": "high", "B": "low"})[1] == (
        "A is not 'high': high, low! B is not 'low': low, high!"
    )


@pytest.mark.parametrize("answer", [None, "A", ["low"], {}, {"A": "..."}])
def test_letters_without_names_are_asked_for(answer):
    found = in_short(answer)
    assert found == (False, "write a name beside each letter first.")


@pytest.mark.parametrize("answer", [{"C": "low"}, {"A": "up"}, {"A": []}])
def test_what_is_no_letter_or_no_name_is_said(answer):
    right, message = in_short(answer)
    assert not right
    assert "is not one of the letters A, B with" in message
    assert "the names 'high', 'low'" in message


def test_an_endless_answer_is_stopped(monkeypatch):
    def endless(x):
        until = time.monotonic() + 60
        while time.monotonic() < until:
            x = x + 0
        return 2 * x

    monkeypatch.setattr(judging, "SECONDS", 0.3)
    start = time.perf_counter()
    verdict = doubles(endless)
    assert "Is there a loop that does not end" in verdict.message
    assert time.perf_counter() - start < 60
    assert doubles(lambda x: x + x)


def test_an_answer_that_ends_the_program_is_survived():
    def leaves(x):
        raise SystemExit

    assert "ends the whole program" in doubles(leaves).message
    assert "ends the whole program" in doubles(lambda x: exit()).message


def test_a_setting_that_an_answer_changes_is_named_and_put_back():
    def without_gradients(x):
        torch.set_grad_enabled(False)
        return 2 * x

    verdict = doubles(without_gradients)
    assert not verdict
    assert "changed whether gradients are recorded" in verdict.message
    assert torch.is_grad_enabled()


def test_draws_of_an_answer_are_forgotten():
    def draws(x):
        torch.manual_seed(9)
        return 2 * x + 0 * torch.rand(1)

    state = torch.get_rng_state()
    assert doubles(draws)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    "answer", [None, 3, "2 * x", lambda: 1, lambda x: 2, int, object()]
)
def test_what_is_no_function_of_a_tensor_gets_a_kind_word(answer):
    verdict = doubles(answer)
    assert not verdict
    assert verdict.message


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

    def judge(candidate):
        return judge_function(
            candidate, lambda m, x: m(x), {}, {"a layer": (module, x)}
        )

    assert judge(lambda module, x: module(x))
    assert "changed its input" in judge(change).message
    assert module.training
    assert torch.equal(module(x), before)


def test_a_check_says_which_exercise_it_is():
    def check(answer):
        """Check an answer."""

    with pytest.raises(ValueError, match=r"Check exercise N\.M"):
        exercise("a hint", "another")(check)


def test_hints_are_folded_away_each_in_the_one_before():
    assert tuple(doubles.hints) == (
        "Once is too little.",
        "Add `x` to itself.",
    )
    assert doubles.hints._repr_html_() == (
        "<details><summary>Show hint 1</summary><p>Once is too little.</p>"
        "<details><summary>Show hint 2</summary>"
        "<p>Add <code>x</code> to itself.</p></details></details>"
    )
    assert "hints[0]" in repr(doubles.hints)
    assert "Once" not in repr(doubles.hints)


def test_words_of_a_hint_are_no_markup():
    assert "<p>a &lt;pad&gt;</p>" in judging.Hints(["a <pad>"])._repr_html_()


@pytest.mark.parametrize(
    "hints", [(), ("one",), ("one", "two", "three", "four")]
)
def test_hints_are_two_or_three(hints):
    with pytest.raises(ValueError, match="hints must be two or three, got"):
        exercise(*hints)


def test_a_decorator_without_hints_is_refused():
    with pytest.raises(TypeError, match="hints must be a str, got function"):
        exercise(lambda answer: None)


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_hints_stand_in_the_chapter_between_answer_and_solution(path):
    sources = [c.source for c in read(path).cells if c.cell_type == "code"]
    for number, check in CHECKS[path.stem[:2]].items():
        name = check.__name__
        hints = sources.index(f"check.{name}.hints")
        tries, solutions = [], []
        for i, source in enumerate(sources):
            if f"check.{name}(" in source:
                is_try = "must_be_right()" not in source
                (tries if is_try else solutions).append(i)
        assert tries[-1] < hints < solutions[0], number
