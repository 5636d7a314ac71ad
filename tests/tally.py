"""Count what the checks of the exercises say, over all processes of a run.

Each check has to be tried with enough answers: right ones and wrong ones.
A run of all tests of the exercises fails if one is tried with too few.
"""

import re
from collections import defaultdict
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "exercises"
# What a check says to an answer whose thought it does not know.
NO_THOUGHT = re.compile(
    r"write your prediction|returned NoneType|is not it\.$|"
    r"a number is off by|the shape is \("
)
RIGHT, WRONG, WRONG_IN_ALL = 2, 5, 200


class Tally:
    """A plugin of pytest: what each check said, and whether it is enough.

    Attributes:
        said: Number of an exercise -> (right, message, test), each verdict.
        few: What is missing, known when the tests have run.
    """

    def __init__(self) -> None:
        self.said: dict[str, list[tuple[bool, str, str]]] = defaultdict(list)
        self.few: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take over what `conftest.py` of the exercises has noted."""
        for name, value in report.user_properties:
            if name == "verdict" and report.when == "teardown":
                number, right, message = value
                self.said[number].append((right, message, report.nodeid))

    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> None:
        """Fail a run of all exercises if one was tried too little."""
        if exitstatus == 0 and _runs_all(session.config):
            self.few = too_few(_exercises(), self.said)
            if self.few:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Say what is missing."""
        for line in self.few:
            terminalreporter.write_line(f"FAILED {line}", red=True)


def too_few(
    numbers: list[str], said: dict[str, list[tuple[bool, str, str]]]
) -> list[str]:
    """Return a line for each exercise that is tried with too few answers."""
    lines, total = [], 0
    for number in numbers:
        right = sum(verdict[0] for verdict in said.get(number, []))
        wrong = len(_thoughts(said.get(number, [])))
        total += wrong
        if right < RIGHT or wrong < WRONG:
            lines.append(
                f"exercise {number}: {right} right answers of {RIGHT}, "
                f"{wrong} wrong ones of {WRONG} that the check understands"
            )
    if total < WRONG_IN_ALL:
        lines.append(f"{total} wrong answers of {WRONG_IN_ALL} in the book")
    return lines


def _thoughts(said: list[tuple[bool, str, str]]) -> set[tuple[str, str]]:
    """Return the wrong answers whose thought a check named, each once."""
    return {
        (message, test)
        for right, message, test in said
        if not right and not NO_THOUGHT.search(message)
    }


def _exercises() -> list[str]:
    from tools.editions import EXERCISE, chapters

    return [
        number
        for notebook in chapters().values()
        for cell in notebook.cells
        for number in EXERCISE.findall(cell.source)
    ]


def _runs_all(config: pytest.Config) -> bool:
    options = config.option
    if options.keyword or options.markexpr or options.collectonly:
        return False
    asked = (config.invocation_params.dir / arg for arg in config.args)
    return any(FOLDER.is_relative_to(path.resolve()) for path in asked)
