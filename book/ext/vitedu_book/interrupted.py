"""A build that was stopped leaves no half page; two at once do not mix."""

from pathlib import Path

from filelock import FileLock, Timeout
from sphinx.application import ENV_PICKLE_FILENAME, Sphinx
from sphinx.config import Config
from sphinx.errors import SphinxError


class BuildRunning(SphinxError):
    """Another build writes into the same folder."""

    category = "Two builds at once"


def setup(app: Sphinx) -> None:
    """Begin before all that the extension does, and end after it."""
    app.connect("config-inited", begin, priority=100)
    app.connect("build-finished", end, priority=1000)


def begin(app: Sphinx, config: Config) -> None:
    """Lock the folder; read all pages again if the last build did not end.

    Sphinx takes a page for written if its file is newer than its source. So
    half a page would stay.

    Raises:
        BuildRunning: Another build has locked it. A build that dies unlocks.
    """
    build = Path(app.outdir).parent
    build.mkdir(parents=True, exist_ok=True)
    app.vitedu_lock = FileLock(build / "build.lock")
    try:
        app.vitedu_lock.acquire(timeout=0)
    except Timeout:
        raise BuildRunning(
            f"another build is writing {app.outdir}; wait until it has ended"
        ) from None
    if _mark(app).exists():
        Path(app.doctreedir, ENV_PICKLE_FILENAME).unlink(missing_ok=True)
    _mark(app).touch()


def end(app: Sphinx, exception: Exception | None) -> None:
    """Unlock the folder; what failed is not marked as finished."""
    if exception is None:
        _mark(app).unlink(missing_ok=True)
    app.vitedu_lock.release()


def _mark(app: Sphinx) -> Path:
    return Path(app.outdir).parent / ".unfinished"
