"""What a page costs on its first visit: python -m benchmarks.page_weight SITE.

Bytes as sent, text compressed with gzip -6. Prints a table, and writes it to
benchmarks/page_weight.md.
"""

import gzip
import sys
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

from tools import ensure_browser
from tools.serve import COMPRESSED

ROOT = Path(__file__).parent.parent
KINDS = ("document", "script", "stylesheet", "font", "image")


def measure(site: Path, pages: list[str]) -> list[dict[str, int]]:
    """Return the bytes of each kind for each page."""
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=ensure_browser.find(), args=["--no-sandbox"]
        )
        for path in pages:
            row = dict.fromkeys(KINDS, 0)
            page = browser.new_page(viewport={"width": 412, "height": 823})
            page.on("request", lambda asked, row=row: _add(row, asked))
            page.goto((site / path).as_uri())
            page.wait_for_timeout(500)
            page.close()
            rows.append(row)
        browser.close()
    return rows


def _add(row: dict[str, int], asked) -> None:
    path = Path(urlsplit(asked.url).path)
    if asked.resource_type not in row or not path.is_file():
        return
    content = path.read_bytes()
    if path.suffix in COMPRESSED:
        content = gzip.compress(content, 6)
    row[asked.resource_type] += len(content)


def table(pages: list[str], rows: list[dict[str, int]]) -> str:
    """Return the measurements as a Markdown table, in kB."""
    lines = [
        "| page | " + " | ".join(KINDS) + " | all |",
        "|---" * (len(KINDS) + 2) + "|",
    ]
    for path, row in zip(pages, rows, strict=True):
        numbers = [*row.values(), sum(row.values())]
        cells = " | ".join(f"{number / 1000:.0f}" for number in numbers)
        lines.append(f"| {path} | {cells} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure every page of the table of contents."""
    sys.path.insert(0, str(ROOT / "tests" / "site"))
    from pages import PAGES

    site = Path(sys.argv[1]).resolve()
    text = table(PAGES, measure(site, PAGES))
    print(text)
    report = "# Page weight, first visit, kB after gzip\n\n" + text
    (ROOT / "benchmarks" / "page_weight.md").write_text(report)


if __name__ == "__main__":
    main()
