"""The server that draws formulas: waited for, however long it needs."""

import struct
import sys

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
