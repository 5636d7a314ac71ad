"""Files are whole or not there: full disks, closed folders, dead writers."""

import os
import resource
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from vitedu.atomic_files import write_whole

OLD, NEW = b"old", b"new" * 100_000


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "state"
    found.write_bytes(OLD)
    return found


def in_a_child(action: Callable[[], None]) -> int:
    """Run it in a fork; return 0 or what killed it or its OSError's number."""
    child = os.fork()
    if child == 0:
        code = 255
        try:
            action()
            code = 0
        except OSError as error:
            code = error.errno
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_full_disk_leaves_the_old_file(path):
    """The system refuses byte 100,001, as a full disk does."""

    def write():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        write_whole(path, NEW)

    assert in_a_child(write) > 0
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


def test_a_folder_that_is_closed_leaves_the_old_file(path):
    path.parent.chmod(0o555)

    def write():
        os.chdir(path.parent)
        if os.geteuid() == 0:
            os.setuid(65534)  # The administrator may write everywhere.
        write_whole(Path(path.name), NEW)

    try:
        assert in_a_child(write) > 0
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == OLD
    assert list(path.parent.iterdir()) == [path]


def killed_in_a_write(path: Path) -> None:
    """Let a process die when its temporary file is there."""

    def die(handle: int) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def write():
        os.fsync = die
        write_whole(path, NEW)

    assert in_a_child(write) == -signal.SIGKILL


def test_what_dead_writers_leave_is_removed_by_the_next(path):
    for _ in range(3):
        killed_in_a_write(path)
    assert path.read_bytes() == OLD
    assert len(list(path.parent.glob(".state.*.part"))) == 1
    write_whole(path, NEW)
    assert path.read_bytes() == NEW
    assert list(path.parent.iterdir()) == [path]


def test_a_writer_that_lives_is_left_alone(path, monkeypatch):
    """Another process writes the same file in the middle of a write."""
    fsync, seen = os.fsync, []

    def interrupt(handle):
        monkeypatch.setattr(os, "fsync", fsync)
        seen.append(in_a_child(lambda: write_whole(path, b"another")))
        seen.append(path.read_bytes())
        fsync(handle)

    monkeypatch.setattr(os, "fsync", interrupt)
    write_whole(path, NEW)
    assert seen == [0, b"another"]
    assert path.read_bytes() == NEW
    assert list(path.parent.iterdir()) == [path]
