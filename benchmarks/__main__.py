"""Measure, and write benchmarks/RESULTS.md and RESULTS.json.

    python -m benchmarks [PART ...] [--quick] [--site SITE] [--device cpu]

Without a part, all of them; each replaces its own rows of the results. On a
graphics card only `models` is measured, into files with the card's name.
"""

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from benchmarks import (
    decoding,
    explorers,
    models,
    page_weight,
    table,
)

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
Part = Callable[[argparse.Namespace], Iterator[table.Row]]
PARTS: dict[str, tuple[str, Part]] = {
    "models": (
        "Models: median time",
        lambda options: models.rows(options.device, options.quick),
    ),
    "decoding": (
        "Decoding: processor time with a cache",
        lambda options: decoding.rows(),
    ),
    "weight": (
        "Pages: first visit, after gzip",
        lambda options: page_weight.rows(options.site),
    ),
    "explorers": (
        "Explorers: from a move to its frame, 95th percentile",
        lambda options: explorers.rows(options.site),
    ),
}


def main() -> None:
    """Measure the parts that are named."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=str([*PARTS]))
    parser.add_argument("--quick", action="store_true", help="fewer cases")
    parser.add_argument(
        "--site", type=Path, default=ROOT / "_build" / "html", help="built"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"PART must be one of {[*PARTS]}, got {unknown}")
    options.site = options.site.resolve()
    on, name = table.machine(options.device), "RESULTS"
    if options.device != "cpu":
        card = torch.cuda.get_device_name(options.device)
        options.parts = ["models"]
        name += "-" + re.sub(r"\W+", "-", card.lower())
    for part in options.parts or PARTS:
        measure(part, options, FOLDER / f"{name}.json", on)


def measure(
    part: str, options: argparse.Namespace, file: Path, on: str
) -> None:
    """Print the rows of a part as they come, then keep them."""
    title, rows = PARTS[part]
    print(f"\n{title}", flush=True)
    found = []
    for row in rows(options):
        print(row, flush=True)
        found.append(row)
    table.keep(file, title, found, on + ", quick" * options.quick)


if __name__ == "__main__":
    main()
