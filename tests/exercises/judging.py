"""What the tests of all exercises expect of a check."""

from collections.abc import Callable

from helpers import draw

from vitedu.checks import Verdict


def expect_thought(verdict: Verdict, thought: str) -> None:
    """Expect a refusal that names this thought."""
    assert not verdict
    assert thought in verdict.message


def expect_unfinished(number: Callable, function: Callable) -> None:
    """Expect a kind word from both checks of a chapter for no answer."""
    expect_thought(number(None), "write your prediction")
    expect_thought(function(lambda *inputs: None), "returned NoneType")
    assert not function(lambda *inputs: draw(2, 3))
