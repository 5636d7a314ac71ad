"""What a page costs on its first visit: bytes as sent, text after gzip -6."""

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
LIMITS = {
    "chapters/09-transformer.html": 700,
    "chapters/10-decoding.html": 700,
}


def rows(site: Path) -> Iterator[Row]:
    """Yield one row for each page of the table of contents."""
    with chromium() as browser:
        for path in PAGES:
            sizes = measure(browser, site / path)
            yield Row(
                what=path,
                ours=sum(sizes.values()) / 1000,
                peer="limit",
                theirs=LIMITS.get(path, LIMIT),
                unit="kB",
                note=", ".join(
                    f"{kind} {size / 1000:.0f}" for kind, size in sizes.items()
                ),
            )


def measure(browser: Browser, file: Path) -> dict[str, int]:
    """Return the bytes of each kind that a page asks for on a phone."""
    sizes = dict.fromkeys(KINDS, 0)
    page = browser.new_page(viewport={"width": 412, "height": 823})
    page.on("request", lambda asked: _add(sizes, asked))
    page.goto(file.as_uri())
    page.wait_for_timeout(500)
    page.close()
    return sizes


def _add(sizes: dict[str, int], asked) -> None:
    path = Path(urlsplit(asked.url).path)
    if asked.resource_type not in sizes or not path.is_file():
        return
    content = path.read_bytes()
    if path.suffix in COMPRESSED:
        content = gzip.compress(content, 6)
    sizes[asked.resource_type] += len(content)
