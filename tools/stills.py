"""Still pictures of the explorers of the built site, for paper and e-books."""

import io
from pathlib import Path
from typing import NamedTuple

from bs4 import BeautifulSoup
from PIL import Image
from playwright.sync_api import Browser, expect

VIEW = 'script[type$="widget-view+json"]'
EXPLORER = ".vitedu-explorer"
# Wide enough for two panels side by side; on A4 it is printed at 73%.
WIDTH = 900
SHARPNESS = 1.5
COLOURS = 256
# The book is set smaller on paper, and an explorer would take its columns for
# wider than they are.
AS_ON_SCREEN = "html { font-size: 16px !important }"
# A page of a few explorers is photographed in a tenth of the time.
ALONE = """(explorers) => new Promise((done) => {
  document.body.replaceChildren(...explorers);
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""


class Still(NamedTuple):
    """A picture of an explorer as it opens.

    Attributes:
        path: Of a PNG.
        label: The name of the explorer.
        address: Where the site has it, a whole address where the site knows
            its own.
    """

    path: Path
    label: str
    address: str


def photograph(
    browser: Browser, site: Path, page: str, folder: Path
) -> list[Still]:
    """Return pictures of the explorers of a page, in its order.

    Args:
        browser: A running Chromium.
        site: The folder of the built site.
        page: A page as in `_toc.yml`, such as `chapters/04-masking`.
        folder: Where the pictures are written.
    """
    file = site / f"{page}.html"
    document = BeautifulSoup(file.read_text(encoding="utf-8"), "html.parser")
    views = document.select(VIEW)
    if not views:
        return []
    canonical = document.select_one("link[rel=canonical]")
    address = canonical["href"] if canonical else f"{page}.html"
    folder.mkdir(parents=True, exist_ok=True)
    tab = browser.new_page(
        viewport={"width": WIDTH, "height": 1000},
        device_scale_factor=SHARPNESS,
        color_scheme="light",
        reduced_motion="reduce",
    )
    tab.emulate_media(media="print")
    tab.goto(file.as_uri())
    tab.add_style_tag(content=AS_ON_SCREEN)
    tab.keyboard.press("Shift")  # starts those that are far away, too
    explorers = tab.locator(EXPLORER)
    expect(explorers).to_have_count(len(views))
    explorers.evaluate_all(ALONE)
    expect(tab.locator("[aria-busy=true]")).to_have_count(0, timeout=30_000)
    found = []
    for number, explorer in enumerate(explorers.all(), 1):
        path = folder / f"{page.replace('/', '-')}-{number}.png"
        path.write_bytes(reduced(explorer.screenshot()))
        place = explorer.get_attribute("id")
        label = explorer.get_attribute("aria-label")
        found.append(Still(path, label, f"{address}#{place}"))
    tab.close()
    return found


def reduced(png: bytes) -> bytes:
    """Return the picture in few colours, a third of the bytes.

    Colours that are rare stay as they are: a thin red frame means something.
    """
    image = Image.open(io.BytesIO(png)).convert("RGB")
    few = image.quantize(COLOURS, Image.Quantize.FASTOCTREE)
    written = io.BytesIO()
    few.save(written, "PNG", optimize=True)
    return written.getvalue()
