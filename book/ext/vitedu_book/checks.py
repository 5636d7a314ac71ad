"""A build with a warning or without one of its pages is a failed build."""

from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import SphinxError


class IncompleteBook(SphinxError):
    """The site was written, but something in it is wrong."""

    category = "The book is not right"


def setup(app: Sphinx) -> None:
    """Check before other extensions tidy up after the build (500)."""
    app.connect("build-finished", check_build, priority=100)


def check_build(app: Sphinx, exception: Exception | None) -> None:
    """Raise on any warning and on any page that is not there.

    Sphinx forgets its environment when this raises. The next build then reads
    every page again, so a warning cannot hide behind an incremental build.
    """
    if exception is not None or app.builder.format != "html":
        return
    if app._warncount:
        raise IncompleteBook(f"{app._warncount} warning(s), see above")
    missing = [
        docname
        for docname in sorted(app.config.external_site_map)
        if not Path(app.builder.get_outfilename(docname)).is_file()
    ]
    if missing:
        raise IncompleteBook(f"pages not written: {', '.join(missing)}")
