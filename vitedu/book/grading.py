"""Exercises: the question, the right answer, the thought behind a mistake.

An exercise is an object that is called with an answer and returns a verdict.
In a chapter it has three cells: the answer with the call, the hints, and the
book's own solution, which `must_accept` has to accept.
"""

import copy
import html
import inspect
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass

import torch
from torch import Tensor, nn

from vitedu import require
from vitedu.book import progress
from vitedu.book.comparing import equal_results, named_sizes
from vitedu.book.left_behind import nothing_left_behind
from vitedu.book.properties import explained_error, what_broke

_NUMBER = re.compile(r"\d+\.\d+")
_CODE = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Verdict:
    """What an exercise says about an answer.

    Attributes:
        right: Whether the answer is correct.
        message: Why, in a sentence or two.
    """

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        return f"{'Right' if self.right else 'Not yet'}: {self.message}"

    def _repr_html_(self) -> str:
        # A paragraph wraps where plain text runs out of its box.
        start, message = repr(self).split(": ", 1)
        return f"<p><strong>{start}:</strong> {html.escape(message)}</p>"


class Hints(tuple[str, ...]):
    """Hints for an exercise, each folded inside the previous one.

    `hints[0]` gives away the least. Words between backticks are code.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{len(self)} hints, one at a time: hints[0], then hints[1] ..."

    def _repr_html_(self) -> str:
        inner = ""
        for number, hint in reversed(list(enumerate(self, 1))):
            text = _CODE.sub(r"<code>\1</code>", html.escape(hint))
            inner = (
                f"<details><summary>Show hint {number}</summary>"
                f"<p>{text}</p>{inner}</details>"
            )
        return inner


@dataclass(frozen=True)
class Exercise:
    """An exercise with a judge of its own; most use one of those below.

    Whatever an answer does, the next cell finds PyTorch and the book as they
    were: settings and replaced functions are restored, and reported.

    Attributes:
        number: The chapter and the number in it, as in "5.2".
        task: The task, in a few words.
        hints: Two or three, each of which gives away more than the one before.
        judge: Takes an answer that is not None, returns a verdict.
        wrong: What is said about each anticipated mistake -> an answer that
            makes it.

    Raises:
        TypeError: A text is not a string.
        ValueError: A number or name that is not the chapter's, too few or too
            many hints.
    """

    number: str
    task: str
    _: KW_ONLY
    hints: Hints
    judge: Callable[[object], Verdict] | None = None
    wrong: Mapping[str, object] | None = None

    def __post_init__(self) -> None:
        require.instance("task", self.task, str)
        if not _NUMBER.fullmatch(self.number):
            raise ValueError(f"number must be like '5.2', got {self.number!r}")
        for hint in self.hints:
            require.instance("hints", hint, str)
        if len(self.hints) not in (2, 3):
            raise ValueError(
                f"hints must be two or three, got {len(self.hints)}"
            )
        object.__setattr__(self, "hints", Hints(self.hints))
        progress.register_exercise(self.number, self.task)

    def __call__(self, answer: object) -> Verdict:
        """Judge an answer, and count the try; None is not an answer yet."""
        verdict = self._safely(answer)
        if answer is not None:
            progress.count_try(self.number, verdict)
        return verdict

    def must_accept(self, answer: object) -> Verdict:
        """Judge the book's own solution, which does not count as a try.

        Raises:
            AssertionError: The solution is not accepted.
        """
        verdict = self._safely(answer)
        if not verdict:
            raise AssertionError(verdict.message)
        return verdict

    def mistakes(self) -> list[tuple[str, object]]:
        """Return what is said about each mistake, and an answer with it."""
        return list((self.wrong or {}).items())

    def _safely(self, answer: object) -> Verdict:
        if answer is None:
            return Verdict(False, "write your answer into the cell first.")
        with nothing_left_behind() as changed:
            try:
                verdict = self._judge(answer)
            except SystemExit:
                verdict = Verdict(False, "your answer ends the whole program.")
        if verdict and changed:
            return Verdict(
                False,
                f"the result is right, but your answer changed {changed[0]} "
                "for all code that follows; it has been put back.",
            )
        return verdict

    def _judge(self, answer: object) -> Verdict:
        return self.judge(answer)


@dataclass(frozen=True, kw_only=True)
class NumberExercise(Exercise):
    """An exercise that asks for a number.

    Attributes:
        right: The number.
        why: What to say about the right number.
        wrong: Wrong numbers -> the thought that leads to each.
        tolerance: Relative distance that counts as equal; 0 for counts.
        decimals: Decimals to which an answer is rounded before it is compared.

    >>> root = NumberExercise(
    ...     "99.1",
    ...     "the square of 4",
    ...     hints=("Multiply.", "4 * 4."),
    ...     right=16,
    ...     why="4 * 4",
    ...     wrong={2: "that is the root."},
    ... )
    >>> root(2), root(16)
    (Not yet: that is the root., Right: 4 * 4)
    """

    right: float
    why: str
    wrong: Mapping[float, str]
    tolerance: float = 0.01
    decimals: int | None = None

    def mistakes(self) -> list[tuple[str, object]]:
        """Return what is said about each wrong number, and the number."""
        return [(message, number) for number, message in self.wrong.items()]

    def _judge(self, answer: object) -> Verdict:
        if isinstance(answer, bool) or not isinstance(answer, int | float):
            return Verdict(
                False, f"the answer should be a number, not {answer!r}."
            )
        given = answer
        if self.decimals is not None:
            given = round(answer, self.decimals)
        messages = {self.right: self.why, **self.wrong}
        nearest = min(messages, key=lambda value: abs(value - given))
        if math.isclose(given, nearest, rel_tol=self.tolerance):
            return Verdict(nearest == self.right, messages[nearest])
        if math.isnan(given):
            return Verdict(False, "the answer should be a number, not nan.")
        size = "large" if given > self.right else "small"
        return Verdict(False, f"{answer} is too {size}. {self.hints[0]}")


@dataclass(frozen=True, kw_only=True)
class FunctionExercise(Exercise):
    """An exercise that asks for a function, judged by what it computes.

    The function gets copies of the inputs; what it raises is reported, and so
    is a change of an input.

    Attributes:
        right: A correct function.
        wrong: A message for each anticipated mistake -> a function that makes
            it.
        cases: Name -> inputs.
        through: What is compared: `through` takes a function, the reader's as
            well as ours, and returns one that maps the inputs to a tensor.
        wanted: What a function should return, for the message.
        why: What to say when everything is correct; None lists the cases.
        also: Says more about a wrong function; "" if there is nothing to add.
    """

    right: Callable
    wrong: Mapping[str, Callable]
    cases: Mapping[str, tuple]
    through: Callable[[Callable], Callable] | None = None
    wanted: str = "a tensor"
    why: str | None = None
    also: Callable[[Callable], str] | None = None

    def _judge(self, answer: object) -> Verdict:
        verdict = judge_function(
            answer,
            self.right,
            self.wrong,
            self.cases,
            through=self.through,
            wanted=self.wanted,
        )
        if verdict:
            return Verdict(True, self.why or verdict.message)
        more = self.also(answer) if self.also and callable(answer) else ""
        return Verdict(False, verdict.message + more)


@dataclass(frozen=True, kw_only=True)
class LettersExercise(Exercise):
    """An exercise that asks for names of the letters of a figure.

    Attributes:
        right: The name of each letter.
        why_not: What to say about a wrong name, given it and the right one.
    """

    right: Mapping[str, str]
    why_not: Callable[[str, str], str]

    def mistakes(self) -> list[tuple[str, object]]:
        """Return each name placed at every other name's letter."""
        letter_of = {name: letter for letter, name in self.right.items()}
        return [
            (self.why_not(said, name), {letter: said})
            for name, letter in letter_of.items()
            for said in letter_of
            if said != name
        ]

    def _judge(self, answer: object) -> Verdict:
        given = answer.items() if isinstance(answer, dict) else ()
        given = {key: said for key, said in given if said not in (None, "...")}
        if not given:
            return Verdict(False, "write a name beside each letter first.")
        names = ", ".join(
            repr(name) for name in sorted({*self.right.values()})
        )
        wrong = []
        for letter, said in given.items():
            if letter not in self.right or said not in self.right.values():
                return Verdict(
                    False,
                    f"{letter!r}: {said!r} is not one of the letters "
                    f"{', '.join(self.right)} with one of the names {names}.",
                )
            if said != self.right[letter]:
                reason = self.why_not(said, self.right[letter])
                wrong.append(f"{letter} is not {said!r}: {reason}")
        if wrong:
            return Verdict(False, " ".join(wrong))
        missing = ", ".join(sorted(self.right.keys() - given.keys()))
        if missing:
            return Verdict(
                False, f"no mistake so far; still to do: {missing}."
            )
        return Verdict(True, "each letter has its name.")


def judge_function(
    candidate: Callable,
    right: Callable,
    wrong: Mapping[str, Callable],
    cases: Mapping[str, tuple],
    *,
    through: Callable[[Callable], Callable] | None = None,
    wanted: str = "a tensor",
) -> Verdict:
    """Judge a function by what it computes; name the thought if it is wrong.

    The arguments are those of `FunctionExercise`.
    """
    compared = through or (lambda function: function)
    answers = []
    for case, inputs in cases.items():
        copies = [_copy(x) for x in inputs]
        try:
            with torch.random.fork_rng(devices=[]):
                found = compared(candidate)(*copies)
        except Exception as error:
            names = _names(compared(candidate), inputs)
            sizes = named_sizes(inputs, names) if names else {}
            return Verdict(
                False,
                f"{case}: your function stopped with "
                f"{type(error).__name__}: {error}"
                f"{explained_error(str(error), sizes)}",
            )
        expected = compared(right)(*inputs)
        if not isinstance(found, Tensor):
            return Verdict(
                False,
                f"{case}: your function returned "
                f"{type(found).__name__}, not {wanted}.",
            )
        if not all(map(_unchanged, copies, inputs)):
            return Verdict(False, f"{case}: your function changed its input.")
        answers.append((found, inputs))
        if equal_results(found, expected):
            continue
        # Two mistakes may look alike in one case: all so far have to fit.
        for message, mistake in wrong.items():
            made = compared(mistake)
            if all(equal_results(f, made(*given)) for f, given in answers):
                return Verdict(False, f"{case}: {message}")
        said = _described(
            found, expected, compared(candidate), compared(right), inputs
        )
        passed = ", ".join(list(cases)[: len(answers) - 1])
        also = f" It is right for {passed}." if passed else ""
        return Verdict(False, f"{case}: {said}{also}")
    return Verdict(True, f"it passes all of {', '.join(cases)}.")


def _copy(value: object) -> object:
    if isinstance(value, Tensor):
        return value.clone()
    return copy.deepcopy(value) if isinstance(value, nn.Module) else value


def _unchanged(after: object, before: object) -> bool:
    if isinstance(before, Tensor):
        return torch.equal(after, before)
    if not isinstance(before, nn.Module):
        return True
    modes = [[part.training for part in m.modules()] for m in (after, before)]
    new, old = after.state_dict(), before.state_dict()
    return (
        modes[0] == modes[1]
        and new.keys() == old.keys()
        and all(torch.equal(new[name], old[name]) for name in old)
    )


def _described(
    found: Tensor,
    expected: Tensor,
    candidate: Callable,
    right: Callable,
    inputs: tuple,
) -> str:
    try:
        once, again = (
            _seeded(candidate, seed, *map(_copy, inputs)) for seed in (0, 1)
        )
        random = not equal_results(once, again, equal_nan=True)
    except Exception:  # an answer that stops now and then is no less wrong
        random = False
    # A reader knows the names of the own function, if it has them all.
    names = _names(candidate, inputs) or _names(right, inputs)
    names = () if random else names
    said = what_broke(found, expected, candidate, right, inputs, names)
    return f"{said} Each call gives different numbers." if random else said


def _names(function: Callable, inputs: tuple) -> tuple[str, ...]:
    """Return the names of the inputs, () if the function has others."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not every callable shows its own
        return ()
    names = tuple(
        parameter.name
        for parameter in parameters
        if parameter.kind
        in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    )
    return names[: len(inputs)] if len(names) >= len(inputs) else ()


def _seeded(function: Callable, seed: int, *inputs: object) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return function(*inputs)
