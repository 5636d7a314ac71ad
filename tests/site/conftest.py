"""The built site, a server for it, and pages that watch themselves.

`VITEDU_SITE=folder` tests another site than that of `make book`.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from mounted import mounted
from networks import SLOW, small_network
from playwright.sync_api import (
    Browser,
    Page,
    Playwright,
    expect,
    sync_playwright,
)
from vitedu_book.networks import write_network

from tools import ensure_browser
from tools.serve import make_server
from vitedu.book.page_network import pack_network
from vitedu.widgets.base import Explorer

# A busy machine may draw nothing for seconds; a test that is right waits no
# longer than the page.
expect.set_options(timeout=30_000)

# What the policy of the site (book/hosting) forbids a page is an error of it.
REPORT_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => console.error(
    `policy: ${event.effectiveDirective} forbids ${event.blockedURI}`))
"""


@dataclass(frozen=True)
class Site:
    """A built site and the address where it is served."""

    folder: Path
    address: str

    def url(self, page: str) -> str:
        """Return the address of a page on the server."""
        return f"{self.address}/{page}"

    def file_url(self, page: str) -> str:
        """Return the address of a page on disk."""
        path, _, rest = page.partition("#")
        return (self.folder / path).as_uri() + (f"#{rest}" if rest else "")


@pytest.fixture(scope="session")
def site(root: Path) -> Iterator[Site]:
    """Serve the site, built with `make book`, on this machine only."""
    folder = Path(os.environ.get("VITEDU_SITE", root / "_build" / "html"))
    if not (folder / "index.html").is_file():
        pytest.fail(f"there is no site in {folder}: run `make book`")
    with make_server(folder.resolve()) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield Site(folder.resolve(), address)
        server.shutdown()


@pytest.fixture(scope="session")
def browser(chromium_path: str, playwright: Playwright) -> Iterator[Browser]:
    """Start the browser once."""
    browser = ensure_browser.launch(playwright, chromium_path)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    """Start Playwright once."""
    with sync_playwright() as playwright:
        yield playwright


@pytest.fixture(scope="session")
def chromium_path() -> str:
    """Find the browser; its absence fails in CI and skips elsewhere."""
    path = ensure_browser.find()
    if path is None:
        message = "no Chromium: run `make test`, or install one"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture
def open_page(browser: Browser, site: Site) -> Iterator[Callable[..., Page]]:
    """Open pages of the site; each has to stay at home and be quiet.

    The page has `requests_outside` and `console_errors`, both lists. They
    have to be empty when the test ends; a test that provokes an error on
    purpose clears them.
    """
    pages: list[Page] = []

    def open_one(
        path: str,
        width: int = 1280,
        height: int = 900,
        color_scheme: str = "light",
        from_disk: bool = False,
        wait_until: str = "load",
        reduced_motion: str = "no-preference",
        has_touch: bool = False,
    ) -> Page:
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme=color_scheme,
            reduced_motion=reduced_motion,
            has_touch=has_touch,
        )
        home = site.folder.as_uri() if from_disk else site.address
        watch(page, home)
        pages.append(page)
        url = site.file_url(path) if from_disk else site.url(path)
        page.goto(url, wait_until=wait_until)
        return page

    yield open_one
    for page in pages:
        page.close()
    assert [ask for page in pages for ask in page.requests_outside] == []
    assert [error for page in pages for error in page.console_errors] == []


@pytest.fixture
def show(
    browser: Browser, root: Path, tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    """Open explorers, each on a page of its own, as `mounted` does."""
    with ExitStack() as stack:

        def open_one(*widgets: Explorer, **how) -> Page:
            page = mounted(browser, root, tmp_path / "a.html", *widgets, **how)
            return stack.enter_context(page)

        yield open_one


@pytest.fixture(scope="module")
def networks(tmp_path_factory) -> Path:
    """Write a small network as a build does, and a slow one."""
    folder = tmp_path_factory.mktemp("site")
    for name, changes in (("small", {}), ("slow", SLOW)):
        packed = pack_network(small_network(**changes))
        write_network(folder / "_static/networks", name, packed)
    return folder


def watch(page: Page, home: str) -> None:
    """Collect what a page asks from elsewhere and what it complains of."""
    page.requests_outside = []
    page.console_errors = []

    def on_request(request) -> None:
        if not request.url.startswith((home, "data:", "blob:")):
            page.requests_outside.append(request.url)

    def on_console(message) -> None:
        if message.type in ("error", "warning"):
            page.console_errors.append(message.text)

    def on_failure(request) -> None:
        # A page that leads on to another drops what it has not loaded yet.
        if request.failure != "net::ERR_ABORTED":
            page.console_errors.append(f"{request.failure}: {request.url}")

    page.add_init_script(REPORT_VIOLATIONS)
    page.on("request", on_request)
    page.on("console", on_console)
    page.on("pageerror", lambda error: page.console_errors.append(str(error)))
    page.on("requestfailed", on_failure)
