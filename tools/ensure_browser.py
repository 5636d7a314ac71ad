"""Find a Chromium for the tests of the site and for what is printed."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

# The shell draws as the browser does, and opens a page for half the work.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "chrome",
)


def find() -> str | None:
    """Return the path of a Chromium, Playwright's own included."""
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    return _playwright_browser()


def _playwright_browser() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = Path(playwright.chromium.executable_path)
    return str(path) if path.exists() else None


def launch(playwright: "Playwright", path: str) -> "Browser":
    """Start the Chromium at a path."""
    # Its sandbox does not start for root in a container.
    return playwright.chromium.launch(
        executable_path=path, args=["--no-sandbox"]
    )


@contextmanager
def started() -> Iterator["Browser"]:
    """Start a Chromium, and close it at the end.

    Raises:
        SystemExit: There is none.
    """
    from playwright.sync_api import sync_playwright

    path = find()
    if path is None:
        sys.exit("No Chromium was found: python -m tools.ensure_browser")
    with sync_playwright() as playwright:
        browser = launch(playwright, path)
        yield browser
        browser.close()


def install() -> None:
    """Try Debian's packages where that is allowed, then Playwright's own."""
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    if is_root and shutil.which("apt-get"):
        _run("apt-get", "update", "-qq")
        apt = ("apt-get", "install", "-y", "-qq")
        if any(_run(*apt, package) for package in NAMES[:2]):
            return
    if find() is None:
        _run(sys.executable, "-m", "playwright", "install", "chromium")


def _run(*command: str) -> bool:
    return subprocess.run(command, check=False).returncode == 0


def main() -> int:
    """Print where the browser is; fail under CI when there is none."""
    if shutil.which(NAMES[0]) is None:
        install()
    path = find()
    if path is None:
        print(
            "No Chromium was found and none could be installed: the tests in "
            "tests/site will not run.",
            file=sys.stderr,
        )
        return 1 if os.environ.get("CI") == "true" else 0
    print(f"Browser for the tests of the site: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
