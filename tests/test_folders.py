"""A folder that is written anew stays until the new one is whole."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from tools import editions
from tools.folders import anew

CONTEXT = multiprocessing.get_context("fork")


@pytest.fixture
def folder(tmp_path):
    found = tmp_path / "decks"
    found.mkdir()
    (found / "old").touch()
    return found


def fill(path: Path, end) -> None:
    with anew(path) as part:
        (part / "new").touch()
        end()


def names(path: Path) -> list[str]:
    return sorted(found.name for found in path.iterdir())


def test_the_new_folder_takes_the_place_of_the_old_one(folder):
    fill(folder, lambda: None)
    assert names(folder) == ["new"]
    assert names(folder.parent) == ["decks"]


def test_a_kill_leaves_the_old_folder(folder):
    process = CONTEXT.Process(
        target=fill,
        args=(folder, lambda: os.kill(os.getpid(), signal.SIGKILL)),
    )
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert names(folder) == ["old"]
    fill(folder, lambda: None)
    assert names(folder) == ["new"]
    assert names(folder.parent) == ["decks"]


def test_an_edition_that_fails_leaves_the_last_one(folder, monkeypatch):
    monkeypatch.setattr(editions, "make", lambda *_: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        editions.write("student", folder)
    assert names(folder) == ["old"]
