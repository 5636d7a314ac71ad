"""What a page costs on its first visit: bytes as sent, text after gzip -6.

Pictures and explorers come when the reader is near them: the note says what
all of the page costs who reads it to its end.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser

from benchmarks.browser import PAGES, chromium
from benchmarks.table import Row
from tools.serve import COMPRESSED

KINDS = ("document", "script", "stylesheet", "font", "image")
# A translator brings its weights; those pages may weigh more.
LIMIT = 400
STEP = 700  # pixels, less than a window
LIMITS = {
    "chapters/09-transformer.html": 700,
    "chapters/10-decoding.html": 700,
}


def rows(site: Path) -> Iterator[Row]:
    """Yield one row for each page of the table of contents."""
    with chromium() as browser:
        for path in PAGES:
            sizes, whole = measure(browser, site / path)
            kinds = [f"{kind} {n / 1000:.0f}" for kind, n in sizes.items()]
            yield Row(
                what=path,
                ours=sum(sizes.values()) / 1000,
                peer="limit",
                theirs=LIMITS.get(path, LIMIT),
                unit="kB",
                note=f"{', '.join(kinds)}; to the end {whole / 1000:.0f}",
            )


def measure(browser: Browser, file: Path) -> tuple[dict[str, int], int]:
    """Return the bytes that a phone asks for, and how many to the end.

    Returns:
        Those of each kind before the reader scrolls, and all of all kinds.
    """
    sizes = dict.fromkeys(KINDS, 0)
    page = browser.new_page(viewport={"width": 412, "height": 823})
    page.on("request", lambda asked: _add(sizes, asked))
    page.goto(file.as_uri())
    page.wait_for_timeout(500)
    first = sizes.copy()
    while page.evaluate(
        "scrollY + innerHeight + 1 < document.documentElement.scrollHeight"
    ):
        page.mouse.wheel(0, STEP)
        page.wait_for_timeout(50)
    page.wait_for_timeout(500)
    page.close()
    return first, sum(sizes.values())


def _add(sizes: dict[str, int], asked) -> None:
    path = Path(urlsplit(asked.url).path)
    if asked.resource_type not in sizes or not path.is_file():
        return
    content = path.read_bytes()
    if path.suffix in COMPRESSED:
        content = gzip.compress(content, 6)
    sizes[asked.resource_type] += len(content)
