"""Write a file whole or not at all, and read only whole files."""

import glob
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # Windows, where nobody can delete a file that is open.
    flock = None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all.

    It is written under a temporary name beside `path`, flushed to the disk and
    then renamed. So neither a killed process nor a power cut leaves half a
    file at `path`. A killed process may leave a hidden file that ends in
    ``.part``, which the next write to `path` removes; files of processes that
    are still writing remain. A link at `path` is replaced, not followed.

    Raises:
        ValueError: There is something at `path` that is not a file, such as a
            folder or a device.
        OSError: The folder does not exist, is read-only or full; an older file
            at `path` is then untouched.
    """
    if path.exists() and not path.is_file():
        raise ValueError(f"path must be a file or a free name, got {path}")
    _remove_leftovers(path)
    with _temporary(path) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        if flock is None:
            file.close()  # Windows renames no open file.
        Path(file.name).replace(path)
    _flush_folder(path.parent)


def check_free(name: str, path: Path) -> None:
    """Require a path at which `write_whole` can write, and write nothing.

    Args:
        name: Name of the argument, for the message.
        path: A file that would be replaced, or a path where nothing exists.

    Raises:
        ValueError: There is something at `path` that is not a file.
        FileNotFoundError: The folder does not exist.
        OSError: Nothing can be written into it.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{name} must lie in a folder that exists, got {path}"
        )
    try:
        if path.exists() and not path.is_file():
            raise ValueError(
                f"{name} must be a file or a free name, got {path}"
            )
        with _locked(path) as file:
            pass
        Path(file.name).unlink(missing_ok=True)
    except OSError as error:
        raise OSError(
            f"{name} must lie in a folder that can be written to, got {path}: "
            f"{error.strerror}"
        ) from error


@contextmanager
def damage_named(path: Path, kind: str) -> Iterator[None]:
    """Give one form to whatever readers raise for damaged bytes.

    zipfile, zlib, numpy and safetensors raise a dozen kinds of errors for
    them.

    Raises:
        ValueError: `path` is not a complete file of this kind.
    """
    try:
        yield
    except Exception as error:
        raise ValueError(
            f"path must be a whole {kind} file, got {path}: {error}"
        ) from error


@contextmanager
def _temporary(path: Path) -> Iterator[BinaryIO]:
    """Open a new file, locked while it is written, removed on an error."""
    file = _locked(path)
    try:
        with file:
            yield file
    except BaseException:
        Path(file.name).unlink(missing_ok=True)
        raise


def _locked(path: Path) -> BinaryIO:
    while True:
        name = f".{path.name}.{secrets.token_hex(4)}.part"
        file = path.with_name(name).open("xb")
        if flock is not None:
            with suppress(OSError):  # Some network disks know no locks.
                flock(file, LOCK_EX)
        # Another process may have taken it for a leftover before the lock.
        if os.fstat(file.fileno()).st_nlink:
            return file
        file.close()


def _remove_leftovers(path: Path) -> None:
    """Remove what processes killed while writing `path` have left behind.

    The system drops the locks of a dead process, so a file that is locked is
    being written.
    """
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*.part"):
        with suppress(OSError):
            if flock is None:
                leftover.unlink()
                continue
            with leftover.open("rb") as file:
                flock(file, LOCK_EX | LOCK_NB)
                leftover.unlink()


def _flush_folder(folder: Path) -> None:
    """Let the new name survive a power cut, where folders can be flushed."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
