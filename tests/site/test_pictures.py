"""The pictures of drawings are files: they look as before, and wait."""

import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser
from visits import PHONE, unfold
from vitedu_book.figures import inline
from vitedu_book.images import take_out

from vitedu.book import plots
from vitedu.book.figures import drawing
from vitedu.data.photographs import photograph

# The heaviest by their pictures: half a dozen figures of photographs each.
SHOWPIECES = ["chapters/11-patches.html", "chapters/20-real-vit.html"]
# Fails where a picture is not there, or is broken.
ARRIVED = """async (node) => {
  for (const image of node.querySelectorAll("img")) {
    if (image.checkVisibility()) await image.decode();
  }
}"""


def drawn() -> str:
    """Draw a photograph, one under lines, a fine map and a coarse one."""
    with plots.mpl.rc_context():
        plots.use_style()
        figure, [row] = plots.new_figure(4, wide=True)
        pixels = photograph("china").permute(1, 2, 0).numpy()
        values = np.random.default_rng(0).random((64, 64))
        row[0].imshow(pixels)
        row[1].imshow(pixels)
        row[1].vlines(range(0, 640, 80), 0, 426, colors="red")
        row[2].imshow(values, interpolation="none", alpha=0.8)
        row[3].imshow(values[:6, :9], interpolation="none", aspect="auto")
        for axes in row:
            axes.set_axis_off()
        return drawing(figure, phone=True)


def seen(
    browser: Browser, site: Path, file: Path, text: str, theme: str
) -> np.ndarray:
    """Return what a page from disk, in the site's styles, shows of it."""
    shown = inline(text, "d1", "Four pictures.", "a.svg")
    page = (site / SHOWPIECES[0]).read_text(encoding="utf-8")
    sheet = site / re.search(r'_static/joined/[^"]*', page)[0]
    file.write_text(
        f'<!doctype html><html data-theme="{theme}"><meta charset="utf-8">'
        f'<link rel="stylesheet" href="{sheet.as_uri()}">'
        f'<div class="bd-content"><div class="cell_output">{shown}',
        encoding="utf-8",
    )
    page = browser.new_page(viewport={"width": 1100, "height": 500})
    page.goto(file.as_uri())
    page.locator("body").evaluate(ARRIVED)
    png = page.locator("svg.drawing").screenshot()
    page.close()
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), float)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_drawing_looks_the_same_with_its_pictures_in_files(
    browser, site, tmp_path, theme
):
    text = drawn()
    file = tmp_path / "a.html"
    before = seen(browser, site.folder, file, text, theme)
    moved = take_out(text, tmp_path / "files", "files")
    after = seen(browser, site.folder, file, moved, theme)
    assert after.shape == before.shape
    difference = np.abs(after - before)
    assert difference.mean() < 2
    # A line that moves by a pixel would be off by two hundred.
    assert difference.max() < 60
    assert len(moved) < len(text) / 10
    kinds = {path.suffix for path in (tmp_path / "files").iterdir()}
    assert kinds == {".avif", ".webp"}


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "disk"])
@pytest.mark.parametrize("path", SHOWPIECES)
def test_pictures_arrive_when_a_reader_comes_near(open_page, path, from_disk):
    page = open_page(path, from_disk=from_disk, **PHONE)
    unfold(page)
    pictures = page.locator(".drawings img")
    waiting = pictures.evaluate_all(
        "images => images.filter((image) => !image.currentSrc).length"
    )
    assert waiting > 10
    for figure in page.locator(".drawings").all():
        figure.scroll_into_view_if_needed()
        figure.evaluate(ARRIVED)
    # Of the two drawings of a figure, one is for wider screens.
    hidden = page.locator(".drawings > svg.drawing img")
    assert hidden.evaluate_all(
        "images => images.some((image) => !image.currentSrc)"
    )


def test_on_paper_all_pictures_are_there(open_page):
    page = open_page(SHOWPIECES[0])
    unfold(page)
    page.pdf()
    for figure in page.locator(".drawings").all():
        figure.evaluate(ARRIVED)
