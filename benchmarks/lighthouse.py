"""Lighthouse of the site's pages, on a phone with its simulated slow network.

Needs npm: Lighthouse is fetched by npx.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from benchmarks.browser import PAGES
from benchmarks.table import Row
from tools import ensure_browser
from tools.serve import make_server

LIGHTHOUSE = "lighthouse@12.8.2"
# The lowest score that is good enough.
LOWEST = {
    "performance": 98,
    "accessibility": 100,
    "best-practices": 100,
    "seo": 100,
}
TIMES = {
    "FCP": ("first-contentful-paint", "{:.0f} ms"),
    "LCP": ("largest-contentful-paint", "{:.0f} ms"),
    "TBT": ("total-blocking-time", "{:.0f} ms"),
    "CLS": ("cumulative-layout-shift", "{:.3f}"),
}
QUICK = 10
# Now and then it loses its recording, and asks to be run again.
TRIES = 3


def rows(site: Path, quick: bool) -> Iterator[Row]:
    """Yield the speed of each page, then the lowest of the other scores.

    Args:
        site: The folder of the built site.
        quick: Take every fifth page or so.
    """
    pages = ["index.html", *PAGES]
    pages = pages[:: len(pages) // QUICK] if quick else pages
    scores: dict[str, dict[str, float]] = {name: {} for name in LOWEST}
    with make_server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for path in pages:
            report = audit(f"http://127.0.0.1:{server.server_port}/{path}")
            for name, found in scores.items():
                found[path] = 100 * report["categories"][name]["score"]
            speed = scores["performance"][path]
            yield row("performance", path, speed, times(report))
            print(*failed(report), sep="\n", file=sys.stderr, end="")
        server.shutdown()
    for name, found in scores.items():
        worst = min(found, key=found.get)
        note = f"of {len(found)} pages, the first at {worst}"
        yield row(f"lowest {name}", "", found[worst], note)


def row(name: str, path: str, score: float, note: str) -> Row:
    """Return a score beside the lowest one that is good enough."""
    return Row(
        what=path or name,
        ours=score,
        peer="limit",
        theirs=LOWEST[name.removeprefix("lowest ")],
        unit="",
        at_least=True,
        note=note,
    )


def audit(url: str) -> dict:
    """Run Lighthouse once, or again if it fails, and return its report.

    Raises:
        RuntimeError: It has failed each time.
    """
    flags = "--headless=new --no-sandbox --disable-gpu"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [
            "npx",
            "--yes",
            LIGHTHOUSE,
            url,
            "--quiet",
            "--output=json",
            f"--output-path={report}",
            f"--chrome-flags={flags}",
            f"--only-categories={','.join(LOWEST)}",
        ]
        chrome = {"CHROME_PATH": ensure_browser.find() or ""}
        for _ in range(TRIES):
            done = subprocess.run(command, env=os.environ | chrome)
            if done.returncode == 0:
                return json.loads(report.read_text("utf-8"))
    raise RuntimeError(f"Lighthouse has failed {TRIES} times on {url}")


def times(report: dict) -> str:
    """Return in words how long the page took."""
    return ", ".join(
        f"{name} {words.format(report['audits'][audit]['numericValue'])}"
        for name, (audit, words) in TIMES.items()
    )


def failed(report: dict) -> list[str]:
    """Return what keeps a category other than speed below 100."""
    wanted = {
        item["id"]
        for name in LOWEST
        if name != "performance"
        for item in report["categories"][name]["auditRefs"]
        if item["weight"]
    }
    return [
        name
        for name, audit in report["audits"].items()
        if name in wanted and audit["score"] not in (1, None)
    ]
