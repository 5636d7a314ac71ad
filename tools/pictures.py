"""Photograph the built site: python -m tools.pictures.

It writes the picture in the README, and the one that networks show beside a
link to the book. Run it after `make book` when the look has changed.
"""

from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tools import ensure_browser
from vitedu.atomic_files import write_whole

ROOT = Path(__file__).parent.parent
SITE = ROOT / "_build" / "html"
WEB = ROOT / "book" / "web"
CHAPTER = "chapters/03-scaled-dot-product-attention.html"
# File: page, what is at the top of the picture, width, height.
PICTURES = {
    "screenshot.png": (CHAPTER, "#explore-take-the-root-away", 1280, 900),
    "social-card.png": ("book/index.html", "html", 1200, 630),
}


def photograph(page: Page, path: str, top: str) -> bytes:
    """Return a PNG of what is seen once everything has been drawn."""
    page.goto((SITE / path).as_uri())
    # Not every system has Chinese letters.
    page.add_style_tag(content=".top-bar .language { visibility: hidden }")
    start = page.locator(top)
    start.evaluate("node => node.scrollIntoView({ behavior: 'instant' })")
    page.wait_for_timeout(3000)
    return page.screenshot(animations="disabled")


def main() -> None:
    """Take all pictures.

    Raises:
        SystemExit: There is no browser, or no site.
    """
    chromium = ensure_browser.find()
    if chromium is None or not (SITE / "index.html").exists():
        raise SystemExit("it needs Chromium, and the site: run `make book`")
    with sync_playwright() as playwright:
        browser = ensure_browser.launch(playwright, chromium)
        for name, (path, top, width, height) in PICTURES.items():
            page = browser.new_page(
                viewport={"width": width, "height": height},
                reduced_motion="reduce",
            )
            write_whole(WEB / name, photograph(page, path, top))
            print(f"book/web/{name}")


if __name__ == "__main__":
    main()
