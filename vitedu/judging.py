"""Verdicts on answers: what is right passes, a wrong thought is named."""

import copy
import functools
import html
import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vitedu import progress, require
from vitedu.trials import SECONDS, OutOfTime, nothing_left_behind, time_limit

_EXERCISE = re.compile(r"Check exercise (\d+\.\d+): ")
_CODE = re.compile("`([^`]+)`")


@dataclass(frozen=True)
class Verdict:
    """What a check says about an answer.

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

    def must_be_right(self) -> "Verdict":
        """Return itself, or stop: for the solutions in the book.

        It does not count as a try of the reader's.
        """
        progress.take_back(self)
        if not self.right:
            raise AssertionError(self.message)
        return self


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


def exercise(
    *hints: str,
) -> Callable[[Callable[..., Verdict]], Callable[..., Verdict]]:
    """Make a check safe for whatever an answer does, and count the try.

    The docstring begins with "Check exercise 5.2: ". An answer has
    `trials.SECONDS` to run; one that stops the program, runs too long or
    leaves a setting changed gets a verdict that says so, and nothing is left
    for the next check. None is no answer yet, and no try.

    Args:
        hints: Two or three, each of which says more than the one before. The
            check carries them as its attribute ``hints``.

    Raises:
        TypeError: A hint is not a string.
        ValueError: There are fewer than two or more than three hints, or
            the docstring begins in another way.
    """
    for hint in hints:
        require.instance("hints", hint, str)
    if len(hints) not in (2, 3):
        raise ValueError(f"hints must be two or three, got {len(hints)}")

    def decorate(check: Callable[..., Verdict]) -> Callable[..., Verdict]:
        found = _EXERCISE.match(check.__doc__ or "")
        if found is None:
            raise ValueError(
                "check must have a docstring that begins with 'Check exercise "
                f"N.M: ', got {check.__name__} with {check.__doc__!r}"
            )
        number = found[1]
        progress.register_exercise(number, check.__name__.replace("_", " "))

        @functools.wraps(check)
        def judged(answer: object) -> Verdict:
            verdict = _judged(check, answer)
            if answer is not None:
                progress.count_try(number, verdict)
            return verdict

        judged.hints = Hints(hints)
        return judged

    return decorate


def _judged(check: Callable[..., Verdict], answer: object) -> Verdict:
    with nothing_left_behind() as changed:
        try:
            with time_limit(SECONDS):
                verdict = check(answer)
        except OutOfTime:
            verdict = Verdict(
                False,
                f"your answer ran for more than {SECONDS:.0f} seconds. Is "
                "there a loop that does not end?",
            )
        except SystemExit:
            verdict = Verdict(False, "your answer ends the whole program.")
    if verdict and changed:
        return Verdict(
            False,
            f"the result is right, but your answer changed {changed[0]} for "
            "all code that follows; it has been put back.",
        )
    return verdict


def judge_number(
    answer: object,
    right: float,
    why: str,
    wrong: dict[float, str],
    *,
    tolerance: float = 0.01,
) -> Verdict:
    """Judge a predicted number; name the thought behind a wrong one.

    Args:
        answer: What the reader says.
        right: The right number.
        why: What to say about it.
        wrong: Other numbers, and the thought that leads to each.
        tolerance: Relative distance that counts as equal; 0 for counts.

    >>> judge_number(4, right=16, why="4 * 4", wrong={4: "that is the root."})
    Not yet: that is the root.
    """
    if answer is None:
        return Verdict(False, "write your prediction into the cell first.")
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return Verdict(False, f"a number is asked for, not {answer!r}.")
    messages = {right: why, **wrong}
    nearest = min(messages, key=lambda value: abs(value - answer))
    if math.isclose(answer, nearest, rel_tol=tolerance):
        return Verdict(nearest == right, messages[nearest])
    return Verdict(False, f"{answer} is not it.")


def judge_function(
    candidate: Callable,
    right: Callable,
    wrong: dict[str, Callable],
    cases: dict[str, tuple],
) -> Verdict:
    """Judge a function by what it computes; name a wrong one's thought.

    Args:
        candidate: The reader's function. It gets copies of the inputs; what
            it raises is reported, and so is a change of an input.
        right: A right function.
        wrong: A message for each mistake that has been foreseen, and a
            function that makes it.
        cases: Name -> inputs.
    """
    answers = []
    for case, inputs in cases.items():
        copies = [_copy(x) for x in inputs]
        try:
            with torch.random.fork_rng(devices=[]):
                found = candidate(*copies)
        except Exception as error:
            return Verdict(
                False,
                f"{case}: your function stopped with "
                f"{type(error).__name__}: {error}",
            )
        expected = right(*inputs)
        if not isinstance(found, Tensor):
            return Verdict(
                False,
                f"{case}: your function returned "
                f"{type(found).__name__}, a tensor is asked for.",
            )
        if not all(map(_unchanged, copies, inputs)):
            return Verdict(False, f"{case}: your function changed its input.")
        answers.append((found, inputs))
        if _close(found, expected):
            continue
        # Two mistakes may look alike in one case: all so far have to fit.
        for message, mistake in wrong.items():
            if all(_close(f, mistake(*given)) for f, given in answers):
                return Verdict(False, f"{case}: {message}")
        return Verdict(False, f"{case}: {_difference(found, expected)}")
    return Verdict(True, f"it passes all of {', '.join(cases)}.")


def judge_letters(
    answer: object,
    right: dict[str, str],
    why_not: Callable[[str, str], str],
) -> Verdict:
    """Judge which name belongs to which letter of a figure.

    Args:
        answer: What the reader says, from letters to names.
        right: The name of each letter.
        why_not: What to say about a wrong name, given it and the right one.
    """
    given = answer.items() if isinstance(answer, dict) else ()
    given = {key: said for key, said in given if said not in (None, "...")}
    if not given:
        return Verdict(False, "write a name beside each letter first.")
    names = ", ".join(repr(name) for name in sorted({*right.values()}))
    wrong = []
    for letter, said in given.items():
        if letter not in right or said not in right.values():
            return Verdict(
                False,
                f"{letter!r}: {said!r} is not one of the letters "
                f"{', '.join(right)} with one of the names {names}.",
            )
        if said != right[letter]:
            reason = why_not(said, right[letter])
            wrong.append(f"{letter} is not {said!r}: {reason}")
    if wrong:
        return Verdict(False, " ".join(wrong))
    missing = ", ".join(sorted(right.keys() - given.keys()))
    if missing:
        return Verdict(False, f"no mistake so far; still to do: {missing}.")
    return Verdict(True, "each letter has its name.")


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


def _close(found: Tensor, expected: Tensor) -> bool:
    return found.shape == expected.shape and torch.allclose(
        found.to(expected), expected, atol=1e-6
    )


def _difference(found: Tensor, expected: Tensor) -> str:
    if found.shape != expected.shape:
        return (
            f"the shape is {tuple(found.shape)}, "
            f"it should be {tuple(expected.shape)}."
        )
    if not found.isfinite().all():
        return "some numbers are not finite. Which row could cause that?"
    worst = (found.to(expected) - expected).abs().max().item()
    return f"the shape is right, but a number is off by {worst:.3g}."
