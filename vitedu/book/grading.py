"""Exercises: what is asked, what is right, and the thought behind a mistake.

An exercise is an object that is called with an answer and returns a verdict.
A chapter shows three of its cells: the answer with the call, the hints, and
the book's own solution, which `must_accept` has to accept.
"""

import copy
import html
import inspect
import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from types import ModuleType

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitedu import require
from vitedu.book import progress
from vitedu.book.properties import explained_error, named_sizes, what_broke

_NUMBER = re.compile(r"\d+\.\d+")
_CODE = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Verdict:
    """What an exercise says about an answer.

    Attributes:
        right: Whether the answer is right.
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
    """Hints for an exercise, each folded away inside the one before.

    `hints[0]` says least. Words between backticks are code.
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
    """An exercise with a judge of its own; most have one of those below.

    Whatever an answer does, the next cell finds PyTorch and the book as they
    were: settings and replaced functions are put back, and named.

    Attributes:
        number: Of the chapter and in it, as "5.2".
        task: What is asked for, in a few words.
        hints: Two or three, each of which says more than the one before.
        judge: Takes an answer that is not None, returns a verdict.
        wrong: What is said about each mistake that has been foreseen -> an
            answer that makes it.

    Raises:
        TypeError: A text is not a string.
        ValueError: Another number or name than the chapter's, too few or too
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
        """Judge an answer, and count the try; None is no answer yet."""
        verdict = self._safely(answer)
        if answer is not None:
            progress.count_try(self.number, verdict)
        return verdict

    def must_accept(self, answer: object) -> Verdict:
        """Judge the book's own solution, which is nobody's try.

        Raises:
            AssertionError: It is not right.
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
    """A number is predicted.

    Attributes:
        right: The number.
        why: What to say about it.
        wrong: Other numbers -> the thought that leads to each.
        tolerance: Relative distance that counts as equal; 0 for counts.
        decimals: To which an answer is rounded before it is compared.

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
            return Verdict(False, f"a number is asked for, not {answer!r}.")
        given = answer
        if self.decimals is not None:
            given = round(answer, self.decimals)
        messages = {self.right: self.why, **self.wrong}
        nearest = min(messages, key=lambda value: abs(value - given))
        if math.isclose(given, nearest, rel_tol=self.tolerance):
            return Verdict(nearest == self.right, messages[nearest])
        if math.isnan(given):
            return Verdict(False, "a number is asked for, not nan.")
        size = "large" if given > self.right else "small"
        return Verdict(False, f"{answer} is too {size}. {self.hints[0]}")


@dataclass(frozen=True, kw_only=True)
class FunctionExercise(Exercise):
    """A function is written, and judged by what it computes.

    It gets copies of the inputs; what it raises is reported, and so is a
    change of an input.

    Attributes:
        right: A right function.
        wrong: A message for each mistake that has been foreseen -> a
            function that makes it.
        cases: Name -> inputs.
        through: What is compared: it takes a function, the reader's as well
            as ours, and returns one that maps the inputs to a tensor.
        wanted: What a function is to return, for the message.
        why: What to say when all is right; None names the cases.
        also: Says more about a wrong function, "" for nothing.
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
    """Names are found for the letters of a figure.

    Attributes:
        right: The name of each letter.
        why_not: What to say about a wrong name, given it and the right one.
    """

    right: Mapping[str, str]
    why_not: Callable[[str, str], str]

    def mistakes(self) -> list[tuple[str, object]]:
        """Return each name at the letter of each other one."""
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
    """Judge a function by what it computes; name a wrong one's thought.

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
                f"{type(found).__name__}, {wanted} is asked for.",
            )
        if not all(map(_unchanged, copies, inputs)):
            return Verdict(False, f"{case}: your function changed its input.")
        answers.append((found, inputs))
        if _close(found, expected):
            continue
        # Two mistakes may look alike in one case: all so far have to fit.
        for message, mistake in wrong.items():
            made = compared(mistake)
            if all(_close(f, made(*given)) for f, given in answers):
                return Verdict(False, f"{case}: {message}")
        said = _described(
            found, expected, compared(candidate), compared(right), inputs
        )
        passed = ", ".join(list(cases)[: len(answers) - 1])
        also = f" It is right for {passed}." if passed else ""
        return Verdict(False, f"{case}: {said}{also}")
    return Verdict(True, f"it passes all of {', '.join(cases)}.")


@contextmanager
def nothing_left_behind() -> Iterator[list[str]]:
    """Put back what code can change for everybody who runs after it.

    Random states are put back without a word, since code may draw. Settings
    of PyTorch, and functions of PyTorch, einops and the book that were
    replaced, are put back, too, and named.

    Yields:
        A list, empty at first; afterwards it names what the code had changed.
    """
    draws = random.getstate(), np.random.get_state(), torch.get_rng_state()
    settings = {name: get() for name, (get, _) in _SETTINGS.items()}
    rooms = {room: dict(vars(room)) for room in _rooms()}
    changed: list[str] = []
    try:
        yield changed
    finally:
        for name, (get, put) in _SETTINGS.items():
            if get() != settings[name]:
                changed.append(name)
                put(settings[name])
        for room, before in rooms.items():
            changed += _put_back(room, before)
        random.setstate(draws[0])
        np.random.set_state(draws[1])
        torch.set_rng_state(draws[2])


def _rooms() -> Iterator[ModuleType | type]:
    """Yield the modules and classes whose functions a cell may replace."""
    yield from (torch, Tensor, nn, F, nn.Module, nn.Linear, nn.LayerNorm)
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in ("vitedu", "einops") or module is None:
            continue
        if module is progress:  # it remembers what the reader has tried
            continue
        yield module
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                yield value


def _put_back(
    room: ModuleType | type, before: dict[str, object]
) -> Iterator[str]:
    now = dict(vars(room))
    for name in before.keys() | now.keys():
        old, new = before.get(name), now.get(name)
        # A module that was imported meanwhile is no change.
        if old is new or not (callable(old) or callable(new)):
            continue
        if name in before:
            setattr(room, name, old)
        elif isinstance(room, type):
            delattr(room, name)
        else:
            continue
        yield f"`{room.__name__}.{name}`"


_SETTINGS = {
    "whether gradients are recorded": (
        torch.is_grad_enabled,
        torch.set_grad_enabled,
    ),
    "the default type of numbers": (
        torch.get_default_dtype,
        torch.set_default_dtype,
    ),
    "whether algorithms are deterministic": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    "the number of threads": (torch.get_num_threads, torch.set_num_threads),
}


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


def _close(
    found: Tensor, expected: Tensor, *, equal_nan: bool = False
) -> bool:
    # A result of whole numbers must not cut off what an answer has behind
    # the point.
    return found.shape == expected.shape and torch.allclose(
        found.double(), expected.double(), atol=1e-6, equal_nan=equal_nan
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
        random = not _close(once, again, equal_nan=True)
    except Exception:  # an answer that stops now and then is no less wrong
        random = False
    # A reader knows the names of the own function, if it has them all.
    names = _names(candidate, inputs) or _names(right, inputs)
    names = () if random else names
    said = what_broke(found, expected, candidate, right, inputs, names)
    return f"{said} Each call gives other numbers." if random else said


def _names(function: Callable, inputs: tuple) -> tuple[str, ...]:
    """Return the names of the inputs, () if the function has others."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # not every callable shows its own
        return ()
    one_each = (inspect.Parameter.POSITIONAL_ONLY, _USUAL)
    names = tuple(x.name for x in parameters if x.kind in one_each)
    return names[: len(inputs)] if len(names) >= len(inputs) else ()


_USUAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _seeded(function: Callable, seed: int, *inputs: object) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return function(*inputs)
