"""Rows of measurements: their ratios and verdicts, as Markdown and JSON."""

import json
import math
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch

from vitedu.atomic_files import write_whole

# Two runs on a quiet machine differ by about this much.
NOISE = 0.02


@dataclass(frozen=True, kw_only=True)
class Row:
    """Something measured, beside a peer or a limit.

    Attributes:
        what: The case.
        ours: What was measured for ours.
        peer: Whose value `theirs` is: a library's name, or "limit".
        theirs: What was measured for the peer, or the limit; above 0.
        unit: Of both.
        at_least: More is better, as for a score.
        note: Words for the last column.
    """

    what: str
    ours: float
    peer: str
    theirs: float
    unit: str
    at_least: bool = False
    note: str = ""

    @property
    def ratio(self) -> float:
        """Ours divided by theirs."""
        return self.ours / self.theirs

    @property
    def verdict(self) -> str:
        """Say "good", "equal" within the noise of a peer, or "missed"."""
        worse = 1 / self.ratio if self.at_least else self.ratio
        if worse <= 1:
            return "good"
        noise = 0 if self.peer == "limit" else NOISE
        return "equal" if worse <= 1 + noise else "missed"

    def __str__(self) -> str:
        limit = "≥" if self.at_least else "≤"
        cells = (
            self.what,
            f"{self.ours:.3g} {self.unit}",
            f"{limit if self.peer == 'limit' else self.peer} "
            f"{self.theirs:.3g} {self.unit}",
            f"{self.ratio:.2f}",
            self.verdict,
            self.note,
        )
        return f"| {' | '.join(map(str.strip, cells))} |"


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not exceeded by `share` of them.

    Raises:
        ValueError: There are no values, or `share` is not in (0, 1].
    """
    if not values or not 0 < share <= 1:
        raise ValueError(
            "values must not be empty and share must lie in (0, 1], "
            f"got {len(values)} values and {share}"
        )
    return sorted(values)[math.ceil(share * len(values)) - 1]


def machine(device: str) -> str:
    """Say what the numbers were measured on, without the machine's name."""
    version = torch.__version__.split("+")[0]
    facts = [f"{os.cpu_count()} cores", _processor(), f"PyTorch {version}"]
    if device != "cpu":
        facts.insert(0, torch.cuda.get_device_name(device))
    return ", ".join(facts)


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    names = [line.split(":")[1] for line in lines if "model name" in line]
    return names[0].strip() if names else platform.machine()


def keep(file: Path, part: str, rows: Sequence[Row], on: str) -> None:
    """Replace a part of the results; the other parts stay as they were.

    Args:
        file: `RESULTS.json`; the table is written beside it as Markdown.
        part: The heading of these rows.
        rows: What was measured.
        on: The machine, and how it was used.
    """
    parts = json.loads(file.read_text("utf-8")) if file.exists() else {}
    parts[part] = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": on,
        "rows": [
            {**asdict(row), "ratio": row.ratio, "verdict": row.verdict}
            for row in rows
        ],
    }
    text = json.dumps(parts, indent=1, ensure_ascii=False)
    write_whole(file, (text + "\n").encode())
    write_whole(file.with_suffix(".md"), markdown(parts).encode())


def markdown(parts: dict[str, dict]) -> str:
    """Return all parts of the results as one page."""
    lines = [
        "# Speed and weight",
        "",
        "`make bench` writes this page, `python -m benchmarks PART` a part",
        "of it. The ratio is ours divided by the peer's or by the limit.",
        "Times of different parts, days or machines are not comparable.",
    ]
    for name, part in parts.items():
        lines += [
            "",
            f"## {name}",
            "",
            f"{part['date']}, {part['machine']}.",
            "",
            "| what | ours | peer or limit | ratio | verdict | note |",
            "|---|---|---|---|---|---|",
        ]
        lines += [str(_row(**row)) for row in part["rows"]]
    return "\n".join(lines) + "\n"


def _row(ratio: float, verdict: str, **fields) -> Row:
    """Read a row again; what follows from the others is not taken over."""
    return Row(**fields)
