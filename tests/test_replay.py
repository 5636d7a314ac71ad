"""A cell that runs again draws what it drew the first time."""

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from vitedu import replay

FIRST = "from vitedu import notebook; notebook.set_up()"
DRAWS = {
    "python": "import random; found = random.random()",
    "numpy": "import numpy; found = numpy.random.rand()",
    "pytorch": "import torch; found = torch.rand(()).item()",
    "own": "found = torch.rand((), generator=own).item()",
}


@pytest.fixture
def shell(monkeypatch):
    """Return a notebook's interpreter that has run the first cell."""
    quiet = Config({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell(config=quiet)
    monkeypatch.setattr(replay, "get_ipython", lambda: shell)
    monkeypatch.setattr(replay, "_first", {})
    run(shell, FIRST)
    run(shell, "import torch; own = torch.Generator().manual_seed(5)")
    return shell


def run(shell, code, cell_id=None):
    shell.run_cell(code, cell_id=cell_id).raise_error()
    return shell.user_ns.get("found")


@pytest.mark.parametrize("code", DRAWS.values(), ids=DRAWS)
def test_a_cell_draws_the_same_again_and_so_does_the_next(shell, code):
    following = f"{code}  # another cell"
    undisturbed = run(shell, code), run(shell, following)
    assert undisturbed[0] != undisturbed[1]
    assert [run(shell, code) for _ in range(3)] == [undisturbed[0]] * 3
    assert run(shell, following) == undisturbed[1]
    assert run(shell, following) == undisturbed[1]


@pytest.mark.parametrize("code", DRAWS.values(), ids=DRAWS)
def test_an_interrupted_cell_starts_from_the_beginning(shell, code):
    cell = f"{code}\nif stop: raise KeyboardInterrupt\n{code}"
    shell.user_ns["stop"] = False
    once = run(shell, f"{cell}\n", "a cell")
    shell.user_ns["stop"] = True
    with pytest.raises(KeyboardInterrupt):
        run(shell, f"{cell}\n", "a cell")
    shell.user_ns["stop"] = False
    assert run(shell, f"{cell}\n", "a cell") == once


def test_a_cell_with_a_name_may_change(shell):
    code = DRAWS["pytorch"]
    first = run(shell, code, "a cell")
    assert run(shell, f"{code}  # changed", "a cell") == first
    assert run(shell, code, "another cell") != first


def test_the_first_cell_again_changes_nothing(shell):
    first = run(shell, DRAWS["pytorch"])
    run(shell, FIRST)
    assert run(shell, DRAWS["pytorch"]) == first


def test_another_seed_begins_anew(shell):
    first = run(shell, DRAWS["pytorch"])
    run(shell, FIRST.replace("()", "(1)"))
    assert run(shell, DRAWS["pytorch"]) != first


def test_an_undisturbed_run_draws_as_without(shell):
    run(shell, DRAWS["pytorch"])
    second = run(shell, f"{DRAWS['pytorch']}  # the second")
    shell.events.unregister("pre_run_cell", replay._begin)
    run(shell, "torch.manual_seed(0); torch.rand(())")
    assert run(shell, DRAWS["pytorch"]) == second
