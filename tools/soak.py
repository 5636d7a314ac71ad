"""Run the tests that take long, and write the result into a page.

python -m tools.soak
"""

import datetime
import re
import subprocess
import sys
from pathlib import Path

from vitedu.atomic_files import write_whole

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "book" / "reproducible.md"
LINE = re.compile(r"(?<=^% soak\n).*$", re.MULTILINE)


def main() -> int:
    """Return what pytest returned."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "soak or mutants",
        "tests",
    ]
    tests = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    last = ""
    for last in tests.stdout:
        print(last, end="")
    result = last.strip(" =\n")
    today = datetime.date.today().isoformat()
    text = LINE.sub(f"{today}: {result}.", PAGE.read_text(encoding="utf-8"))
    write_whole(PAGE, text.encode())
    return tests.wait()


if __name__ == "__main__":
    sys.exit(main())
