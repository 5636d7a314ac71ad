"""Result files of the scripts that train many networks."""

import json
from pathlib import Path

import torch

from vitedu.atomic_files import damage_named, write_whole


def read_runs(path: Path) -> list[dict]:
    """Return the runs of a result file; none if there is no file yet.

    Raises:
        ValueError: The file is damaged; it stays as it is.
    """
    if not path.exists():
        return []
    with damage_named(path, "result"):
        return json.loads(path.read_text(encoding="utf-8"))["runs"]


def write_runs(path: Path, runs: list[dict], **facts: object) -> None:
    """Write one run a line, so that a change shows as a line.

    Args:
        path: Replaced only when the new file is whole.
        runs: What was measured, in the order of the file.
        facts: The script, and what all runs have in common.
    """
    script, *others = facts.items()
    version = torch.__version__.split("+")[0]
    head = json.dumps(dict([script, ("torch", version), *others]), indent=1)
    lines = ",\n".join(f"  {json.dumps(run)}" for run in runs)
    text = f'{head[:-2]},\n "runs": [\n{lines}\n ]\n}}\n'
    write_whole(path, text.encode())
