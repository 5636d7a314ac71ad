"""The server that draws formulas: waited for, however long it needs."""

import struct
import subprocess
import sys
from unittest.mock import MagicMock

import pytest
from sphinxcontrib import katex
from vitedu_book import formulas

# Its socket is there before it listens: what makes the usual way fail.
LATE = """
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
time.sleep(0.5)
server.listen()
talk, _ = server.accept()
talk.sendall(talk.recv(4))
"""
DEAF = "import time\ntime.sleep(60)"


@pytest.fixture
def start(tmp_path, monkeypatch):
    def started(program: str, seconds: float):
        def command(socket):
            return [sys.executable, "-c", program, str(socket)]

        monkeypatch.setattr(katex.KaTeXServer, "build_command", command)
        return formulas.start(tmp_path, seconds)

    return started


def test_a_server_that_listens_late_is_waited_for(start):
    process, connection = start(LATE, 30)
    with process, connection:
        connection.sendall(struct.pack("<i", 7))
        assert connection.recv(4) == struct.pack("<i", 7)


def test_a_server_that_never_listens_is_ended(start, monkeypatch):
    kill = MagicMock(wraps=subprocess.Popen.kill)
    monkeypatch.setattr(subprocess.Popen, "kill", lambda self: kill(self))
    with pytest.raises(katex.KaTeXError, match=r"0\.2"):
        start(DEAF, 0.2)
    (process,) = kill.call_args.args
    assert process.wait(10) < 0
