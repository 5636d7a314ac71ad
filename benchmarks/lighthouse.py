"""Lighthouse of every page: python -m benchmarks.lighthouse SITE [PAGE ...].

Needs npm: Lighthouse is fetched by npx. Mobile, with its simulated slow
network. Prints a table, and writes it to benchmarks/lighthouse.md.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from tools import ensure_browser
from tools.serve import make_server

ROOT = Path(__file__).parent.parent
LIGHTHOUSE = "lighthouse@12.8.2"
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
TIMES = {
    "FCP s": ("first-contentful-paint", 1000),
    "LCP s": ("largest-contentful-paint", 1000),
    "TBT ms": ("total-blocking-time", 1),
    "CLS": ("cumulative-layout-shift", 1),
}


def audit(url: str) -> dict:
    """Run Lighthouse once and return its report."""
    flags = "--headless=new --no-sandbox --disable-gpu"
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        subprocess.run(
            [
                "npx",
                "--yes",
                LIGHTHOUSE,
                url,
                "--quiet",
                "--output=json",
                f"--output-path={report}",
                f"--chrome-flags={flags}",
                f"--only-categories={','.join(CATEGORIES)}",
            ],
            check=True,
            env={**os.environ, "CHROME_PATH": ensure_browser.find() or ""},
        )
        return json.loads(report.read_text())


def cells(report: dict) -> list[str]:
    """Return the scores and times of a report."""
    scores = [report["categories"][name]["score"] for name in CATEGORIES]
    times = [
        f"{report['audits'][audit]['numericValue'] / unit:.3g}"
        for audit, unit in TIMES.values()
    ]
    return [f"{100 * score:.0f}" for score in scores] + times


def failed(report: dict) -> list[str]:
    """Return what keeps a category other than speed below 100."""
    wanted = {
        item["id"]
        for name in CATEGORIES[1:]
        for item in report["categories"][name]["auditRefs"]
        if item["weight"]
    }
    return [
        name
        for name, audit in report["audits"].items()
        if name in wanted and audit["score"] not in (1, None)
    ]


def main() -> None:
    """Audit the pages that are named, or all of them."""
    sys.path.insert(0, str(ROOT / "tests" / "site"))
    from pages import PAGES

    site = Path(sys.argv[1]).resolve()
    pages = sys.argv[2:] or ["index.html", *PAGES]
    header = ["page", *CATEGORIES, *TIMES]
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    print("\n".join(lines))
    with make_server(site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for path in pages:
            report = audit(f"http://127.0.0.1:{server.server_port}/{path}")
            lines.append("| " + " | ".join([path, *cells(report)]) + " |")
            print(lines[-1], *failed(report), flush=True)
        server.shutdown()
    text = f"# {LIGHTHOUSE}, mobile, one run each\n\n" + "\n".join(lines)
    (ROOT / "benchmarks" / "lighthouse.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
