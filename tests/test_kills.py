"""Training that is killed many times loses nothing, to the last bit."""

import multiprocessing
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path

import killed
import pytest
import torch

from vitedu.training.checkpoints import read_checkpoint

PATIENCE = 60.0
PLACES = ("at the start", "in a step", "in a write", "after a write")
CONTEXT = multiprocessing.get_context("forkserver")


@pytest.fixture(scope="module", autouse=True)
def server():
    """Start a process that has loaded PyTorch; its forks are there at once."""
    CONTEXT.set_forkserver_preload(["killed"])
    with pytest.MonkeyPatch.context() as patch:
        # Some versions of Python hand no search path to the server.
        patch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
        forkserver.ensure_running()


class Life:
    """One process of a run, and what can be seen of it from outside."""

    def __init__(self, path: Path, every: int | None) -> None:
        self.path, self.before = path, inode(path)
        self.leftovers = parts(path)
        self.steps = CONTEXT.RawValue("i", 0)
        self.process = CONTEXT.Process(
            target=killed.train, args=(path, self.steps, every)
        )
        self.process.start()

    def writes(self) -> bool:
        return not parts(self.path) <= self.leftovers

    def has_written(self) -> bool:
        return inode(self.path) != self.before

    def await_moment(self, reached: Callable[[], bool], delay: float) -> None:
        """Wait for an event and then a little, or for the end."""
        end = time.monotonic() + PATIENCE
        while not reached() and self.process.is_alive():
            assert time.monotonic() < end
            time.sleep(0.0005)
        time.sleep(delay)

    def kill(self) -> str:
        """Kill it with SIGKILL; return where it was, or "" at its end."""
        self.process.kill()
        self.process.join()
        if self.process.exitcode == 0:
            return ""
        if self.writes():
            return "in a write"
        if self.has_written():
            return "after a write"
        return "in a step" if self.steps.value else "at the start"


def parts(path: Path) -> set[Path]:
    """Return the temporary files of those who write, or died writing."""
    return set(path.parent.glob(".*.part"))


def inode(path: Path) -> int:
    return path.stat().st_ino if path.exists() else 0


def live(path: Path, aim: str, chance: random.Random) -> str:
    """Let a process live until about a place; say where it was."""
    life, step = Life(path, every=1), chance.randint(1, killed.STEPS)
    event, longest = {
        "at the start": (lambda: True, 0.05),
        "in a step": (lambda: life.steps.value >= step, 0.01),
        "in a write": (life.writes, 0.03),
        "after a write": (life.has_written, 0.01),
    }[aim]
    life.await_moment(event, chance.uniform(0, longest))
    return life.kill()


def progress(path: Path) -> tuple[int, int]:
    """Read a checkpoint, which must be whole; return its epochs and steps."""
    if not path.exists():
        return 0, 0
    facts = read_checkpoint(path)[1]
    return len(facts["history"]["loss"]), facts["steps"]


def finish(path: Path) -> tuple[dict[str, torch.Tensor], dict]:
    life = Life(path, every=None)
    life.process.join(PATIENCE)
    assert life.process.exitcode == 0
    return read_checkpoint(path)


def same(first: tuple, second: tuple) -> bool:
    """Compare weights, optimiser, generators, schedule and history."""
    return (
        first[1] == second[1]
        and first[0].keys() == second[0].keys()
        and all(torch.equal(first[0][k], second[0][k]) for k in first[0])
    )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    return finish(tmp_path_factory.mktemp("whole") / "state")


@pytest.mark.parametrize(
    "kills", [4, pytest.param(50, marks=pytest.mark.soak)]
)
def test_kills_lose_nothing(tmp_path, uninterrupted, kills):
    chance, places, within = random.Random(0), Counter(), 0
    path, done, runs = tmp_path / "0", (0, 0), 0
    while sum(places.values()) < kills:
        rarest = min(PLACES, key=lambda place: places[place])
        place = live(path, rarest, chance)
        assert progress(path) >= done
        done = progress(path)
        within += done[1] > 0
        assert len(parts(path)) <= 1
        if place:
            places[place] += 1
        else:
            assert same(read_checkpoint(path), uninterrupted)
            runs += 1
            path, done = tmp_path / str(runs), (0, 0)
    assert same(finish(path), uninterrupted)
    assert sorted(tmp_path.iterdir()) == [
        tmp_path / str(run) for run in range(runs + 1)
    ]
    assert min(places[place] for place in PLACES) >= kills // 10, places
    assert within > 0  # Some were killed in the middle of an epoch.
