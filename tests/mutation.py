"""Change copies of the library, and run tests against them, quickly.

`mutated` makes a change in the text of a module.
``python tests/mutation.py`` reads a JSON list of (folder, tests) and writes
one answer for each: null where the tests passed, else how the first that
failed did. What the tests of the first folder import is imported once; each
copy then has a process of its own.
Shapes are not checked in there: it is the numbers that have to tell.
"""

import ast
import contextlib
import importlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch


def mutated(code: str, old: str, new: str) -> str:
    """Return code in which one piece of the syntax tree is another.

    Args:
        code: A module.
        old: An expression, or statements that follow each other. Their
            layout does not matter.
        new: What stands there instead, of the same kind.

    Raises:
        ValueError: `old` is not there exactly once.
    """
    tree = ast.parse(code)
    wanted = _pieces(old)
    places = list(_places(tree, [ast.dump(piece) for piece in wanted]))
    if len(places) != 1:
        raise ValueError(
            f"old must be in the module once, got {len(places)} times: {old}"
        )
    parent, field, siblings, first = places[0]
    siblings[first : first + len(wanted)] = _pieces(new)
    if not isinstance(getattr(parent, field), list):
        (only,) = siblings
        setattr(parent, field, only)
    return ast.unparse(tree)


def _pieces(text: str) -> list[ast.AST]:
    """Return a list of the expression, or the statements."""
    body = ast.parse(text).body
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        return [body[0].value]
    return body


def _places(
    tree: ast.AST, wanted: list[str]
) -> Iterator[tuple[ast.AST, str, list, int]]:
    """Yield where these dumps follow each other: node, field, list, index."""
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            siblings = value if isinstance(value, list) else [value]
            dumps = [
                ast.dump(x) if isinstance(x, ast.AST) else None
                for x in siblings
            ]
            for first in range(len(dumps) - len(wanted) + 1):
                if dumps[first : first + len(wanted)] == wanted:
                    yield node, field, siblings, first


class Witness:
    """A pytest plugin that remembers the first failure."""

    failure: str | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the test and the message of the first failure."""
        if report.failed and self.failure is None:
            crash = getattr(report.longrepr, "reprcrash", None)
            message = crash.message if crash else str(report.longrepr)
            self.failure = f"{report.nodeid}: {message.splitlines()[0]}"

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep what kept a file from being read."""
        if report.failed:
            self.failure = f"{report.nodeid}: {str(report.longrepr)[-300:]}"


def warm_up(folder: str, tests: list[str]) -> None:
    """Import what the tests import, then forget what is in the folder."""
    sys.path[:0] = [folder, str(Path(folder) / "tests")]
    # What conftest.py does, which is left out here.
    augmentation = importlib.import_module("vitedu.data.augmentation")
    augmentation.let_torchvision_load()
    for test in tests:
        if test.endswith(".py"):
            importlib.import_module(Path(test).stem)
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(folder):
            del sys.modules[name]
    del sys.path[:2]


def answer(folder: str, tests: list[str]) -> str | None:
    """Run the tests of a folder in this process."""
    os.chdir(folder)
    sys.path[:0] = [folder, str(Path(folder) / "tests")]
    witness = Witness()
    options = ["-x", "-q", "--noconftest", "-p", "no:cacheprovider"]
    # Rewriting every assert of every copy would take longer than the tests.
    options += ["--assert=plain"]
    options += ["-c", os.devnull, "--rootdir", folder]
    code = pytest.main([*options, *tests], plugins=[witness])
    import vitedu

    if not vitedu.__file__.startswith(folder):
        return f"the tests imported {vitedu.__file__}"
    if code not in (0, 1):
        return f"pytest stopped with code {code}: {witness.failure}"
    return witness.failure


def in_a_process_of_its_own(folder: str, tests: list[str]) -> str | None:
    """Fork, run, and return what the child found."""
    path = Path(folder) / "answer.json"
    child = os.fork()
    if child == 0:
        # Whatever happens, the child must not go on as a second parent.
        try:
            with (
                (Path(folder) / "log.txt").open("w") as log,
                contextlib.redirect_stdout(log),
            ):
                path.write_text(json.dumps(answer(folder, tests)))
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return json.loads(path.read_text()) if path.is_file() else "it crashed"


if __name__ == "__main__":
    torch.set_num_threads(1)
    jobs = json.load(sys.stdin)
    warm_up(*jobs[0])
    found = [in_a_process_of_its_own(*job) for job in jobs]
    json.dump(found, sys.stdout)
