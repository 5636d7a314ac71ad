"""Write a folder anew, whole."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def anew(path: Path) -> Iterator[Path]:
    """Give an empty folder to fill; it then takes the place of `path`.

    If something goes wrong while it is filled, or the process is killed, what
    was at `path` stays. The next call removes what was filled by half.
    """
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    yield part
    shutil.rmtree(path, ignore_errors=True)
    part.rename(path)
