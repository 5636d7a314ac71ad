"""Write down every verdict of a check, if `test_tally` asks for it."""

import json
import os
from pathlib import Path

import pytest

from vitedu import progress


@pytest.fixture(autouse=True)
def verdicts_are_written(request, monkeypatch):
    """Append exercise, verdict and test to the file named in VITEDU_TALLY."""
    path = os.environ.get("VITEDU_TALLY")
    if path is None:
        return
    count_try = progress.count_try

    def write(number, verdict):
        count_try(number, verdict)
        entry = [number, verdict.right, verdict.message, request.node.nodeid]
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    monkeypatch.setattr(progress, "count_try", write)
