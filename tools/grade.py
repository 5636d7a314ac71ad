"""Grade the submissions of an assignment with otter-grader.

    python -m tools.grade _build/assignment-05

Every notebook in its folder `submissions` runs in a kernel of its own, which
is that of the book whatever the notebook names. The table is `grades.csv`: a
row per student, a column per exercise, and what the checks say; otter's
reports are in `results`. Needs `requirements-teach.txt`.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

from vitedu.atomic_files import write_whole

# How long one submission may run; the slowest chapter takes a quarter of it.
SECONDS = 600
# The kernel of the Python that grades.
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}


def grade(folder: Path) -> list[dict[str, str]]:
    """Grade all submissions; return a row for each.

    Args:
        folder: An assignment, with notebooks in its folder `submissions`.

    Raises:
        ValueError: `folder` is no assignment, or has no submissions.
    """
    files = sorted((folder / "submissions").glob("*.ipynb"))
    if not (folder / "tests").is_dir() or not files:
        raise ValueError(
            "folder must be an assignment with notebooks in its folder "
            f"submissions, got {folder}"
        )
    _otter(folder, "generate")
    return [
        {"student": file.stem, **_row(folder, file.stem)} for file in files
    ]


def _row(folder: Path, student: str) -> dict[str, str]:
    report = folder / "results" / student
    report.mkdir(parents=True, exist_ok=True)
    try:
        _in_our_kernel(
            folder / "submissions" / f"{student}.ipynb",
            report / f"{student}.ipynb",
        )
        report_of = f"results/{student}"
        _otter(folder, "run", f"{report_of}/{student}.ipynb", "-o", report_of)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        return {"points": "", "notes": f"could not be graded: {error}"}
    except subprocess.TimeoutExpired:
        return {"points": "", "notes": f"ran for more than {SECONDS} s"}
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip() or f"otter stopped with {error.returncode}"
        last = said.splitlines()[-1]
        return {"points": "", "notes": f"could not be graded: {last}"}
    try:
        text = (report / "results.json").read_text(encoding="utf-8")
        tests = [test for test in json.loads(text)["tests"] if "score" in test]
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = f"could not be graded: results.json: {error!r}"
        return {"points": "", "notes": said}
    notes = [_note(t) for t in tests if t["score"] < t["max_score"]]
    points = {test["name"]: f"{test['score']:g}" for test in tests}
    total = sum(test["score"] for test in tests)
    return {"points": f"{total:g}", "notes": " ".join(notes), **points}


def _in_our_kernel(notebook: Path, copy: Path) -> None:
    """Write a copy that names the kernel of the book.

    A student's own may name one that is not here, or another language.

    Raises:
        OSError, ValueError, TypeError, AttributeError: It is no notebook.
    """
    content = json.loads(notebook.read_text(encoding="utf-8"))
    metadata = content.setdefault("metadata", {})
    metadata["kernelspec"] = KERNEL
    metadata.pop("language_info", None)
    copy.write_text(json.dumps(content), encoding="utf-8")


def _note(test: dict[str, str]) -> str:
    said = test["output"].strip().splitlines()[-1].strip()
    return f"{test['name']}: {said.removeprefix('AssertionError: ')}"


def _otter(folder: Path, *command: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "otter", *command],
        cwd=folder,
        timeout=SECONDS,
        check=True,
        capture_output=True,
        text=True,
    )


def write(rows: list[dict[str, str]], path: Path) -> None:
    """Write the table; it appears whole or not at all."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    table = csv.DictWriter(text, columns, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    write_whole(path, text.getvalue().encode())


def main(folder: str) -> None:
    """Grade an assignment and say where the table is."""
    try:
        rows = grade(Path(folder))
    except ValueError as error:
        raise SystemExit(str(error)) from None
    write(rows, Path(folder) / "grades.csv")
    print(f"The grades are {Path(folder) / 'grades.csv'}")


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
