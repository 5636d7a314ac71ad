"""What a reader has tried and solved; kept in a file only on request."""

import html
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vitedu import require
from vitedu.atomic_files import write_whole

# In the folder of the notebook, once a reader has asked for it.
FILE = "exercises-done.json"
_NUMBER = re.compile(r"(\d+)\.(\d+)")
_known: dict[str, str] = {}  # number -> name, of the chapters in use
_tried: dict[str, dict[str, Any]] = {}


@dataclass(frozen=True)
class Progress:
    """A table of exercises.

    Attributes:
        rows: Number, name, "right", "not yet" or "not tried", and how often
            it was tried.
        file: The file in which it is kept, if any.
    """

    rows: list[tuple[str, str, str, int]]
    file: Path | None

    def __repr__(self) -> str:
        lines = [
            f"{number:>5}  {name:24} {state:10} {tries:5}"
            for number, name, state, tries in self.rows
        ]
        return "\n".join([*lines, self._summary()])

    def _repr_html_(self) -> str:
        cells = "".join(
            f"<tr><td>{number}</td><td>{html.escape(name)}</td>"
            f"<td>{state}</td><td>{tries}</td></tr>"
            for number, name, state, tries in self.rows
        )
        head = "".join(
            f"<th>{title}</th>"
            for title in ("Exercise", "Name", "State", "Tries")
        )
        return (
            f"<table><thead><tr>{head}</tr></thead><tbody>{cells}</tbody>"
            f"</table><p>{html.escape(self._summary())}</p>"
        )

    def _summary(self) -> str:
        right = sum(state == "right" for _, _, state, _ in self.rows)
        where = (
            f"kept in {self.file}."
            if self.file
            else "kept until the kernel stops; "
            "progress(keep=True) writes a file."
        )
        return f"{right} of {len(self.rows)} right, {where}"


def progress(*, keep: bool = False) -> Progress:
    """Show what has been tried, here and in the file if there is one.

    Nothing leaves the machine. The table holds the exercises of the chapters
    in use and everything in the file.

    Args:
        keep: Whether to create a file in the current folder, to which every
            check then adds.

    Raises:
        TypeError: `keep` is not a bool.
        OSError: The file cannot be written.
        ValueError: The file exists but is damaged; it is not changed.
    """
    require.boolean("keep", keep)
    path = Path(FILE).absolute()
    kept = _read(path) | _tried
    if keep or path.exists():
        _write(path, kept)
    names = _known | {number: entry["name"] for number, entry in kept.items()}
    rows = [
        (
            number,
            names[number],
            _state(kept.get(number)),
            kept.get(number, {"tries": 0})["tries"],
        )
        for number in sorted(names, key=_place)
    ]
    return Progress(rows, path if path.exists() else None)


def register_exercise(number: str, name: str) -> None:
    """Enter an exercise, so that the table shows it before it is tried.

    Raises:
        ValueError: Another exercise has this number.
    """
    if _known.setdefault(number, name) != name:
        raise ValueError(
            f"number must be that of one exercise, got {number!r} for "
            f"{_known[number]!r} and {name!r}"
        )


def count_try(number: str, verdict: Any) -> None:
    """Count a try, in the file as well if there is one.

    If the file cannot be read or written, only a warning says so, because the
    verdict matters more.
    """
    with _warned():
        before = (_read(Path(FILE).absolute()) | _tried).get(number)
        tries = before["tries"] + 1 if before else 1
        right = bool(verdict) or bool(before and before["right"])
        name = _known.get(number, "")
        _remember(number, {"name": name, "right": right, "tries": tries})


@contextmanager
def _warned() -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        warnings.warn(f"your progress is not kept: {error}", stacklevel=5)


def _remember(number: str, entry: dict[str, Any]) -> None:
    path = Path(FILE).absolute()
    kept = _read(path)
    kept[number] = _tried[number] = entry
    if path.exists():
        _write(path, kept | _tried)


def _state(entry: dict[str, Any] | None) -> str:
    if entry is None:
        return "not tried"
    return "right" if entry["right"] else "not yet"


def _place(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.split(".")))


def _read(path: Path) -> dict[str, dict[str, Any]]:
    if not path.exists():
        return {}
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from None
    if not isinstance(entries, dict):
        raise _damaged(path, "it holds no table")
    for number, entry in entries.items():
        if not _NUMBER.fullmatch(number):
            raise _damaged(path, f"{number!r} is no exercise")
        kinds = {"name": str, "right": bool, "tries": int}
        if (
            not isinstance(entry, dict)
            or {key: type(value) for key, value in entry.items()} != kinds
        ):
            raise _damaged(path, f"the entry of {number} is {entry!r}")
    return entries


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(
        f"{path} is damaged: {why}. Mend it, or move it away to begin anew"
    )


def _write(path: Path, entries: dict[str, dict[str, Any]]) -> None:
    lines = ",\n".join(
        f" {json.dumps(number)}: {json.dumps(entries[number])}"
        for number in sorted(entries, key=_place)
    )
    write_whole(path, f"{{\n{lines}\n}}\n".encode())
