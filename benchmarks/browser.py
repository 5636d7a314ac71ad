"""The pages of the site, and a browser to open them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tools import ensure_browser

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "site"))

from pages import PAGES, read, start_explorers

__all__ = ["PAGES", "chromium", "read", "start_explorers"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser of the tests."""
    with sync_playwright() as playwright:
        browser = ensure_browser.launch(playwright, ensure_browser.find())
        yield browser
        browser.close()
