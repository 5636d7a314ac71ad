"""Decide when the chapters are executed again."""

import hashlib
import json
import os
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.config import Config

SOURCES = (
    "vitedu/**/*.py",
    "vitedu/**/*.js",
    "vitedu/**/*.css",
    "book/data/**/*",
    "constraints.txt",
)


def setup(app: Sphinx) -> None:
    """Key the cache, and tell kernels that a build started them."""
    os.environ["VITEDU_BUILD"] = "1"
    app.connect("config-inited", key_cache)


def key_cache(app: Sphinx, config: Config) -> None:
    """Point MyST-NB at the cache that belongs to this state of the library.

    MyST-NB looks only at the code of a chapter. A change in what the chapter
    imports or reads has to lead to another cache. Sphinx also reads all pages
    again then, because a value of its configuration has changed.
    """
    build = Path(app.outdir).parent
    cache = cache_path(Path(app.srcdir), build)
    drop_half_written(cache)
    config.nb_execution_cache_path = str(cache)


def drop_half_written(cache: Path) -> None:
    """Remove what a killed process left half written in a cache.

    jupyter-cache fails on it, in every build from then on.
    """
    for folder in cache.glob("executed/*"):
        try:
            json.loads((folder / "base.ipynb").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(folder)


def cache_path(root: Path, build: Path) -> Path:
    """Return the folder of the executed chapters for the sources in root."""
    digest = hashlib.sha256()
    files = {path for pattern in SOURCES for path in root.glob(pattern)}
    for path in sorted(path for path in files if path.is_file()):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(path.read_bytes())
    return build / ".jupyter_cache" / digest.hexdigest()[:16]
