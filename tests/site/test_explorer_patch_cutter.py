"""PatchCutter in the browser: its pictures, its marks, its words."""

import numpy as np
import pytest
from explorers import make_image, sequence
from explorers import patch_cutter as make
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

HEIGHT, WIDTH, SIZE = 21, 35, 7
TILES = 12
TIMES = "\N{MULTIPLICATION SIGN}"
# How much a number lightens the colours that it is not.
OTHERS = 0.35


def canvas(page: Page, name: str) -> np.ndarray:
    """Return the colours of a picture, (row, column, 3)."""
    width, height, data = page.locator(f".layers.{name} canvas").evaluate(
        """canvas => {
            const {width, height} = canvas;
            const context = canvas.getContext("2d");
            const {data} = context.getImageData(0, 0, width, height);
            return [width, height, Array.from(data)];
        }"""
    )
    return np.reshape(data, (height, width, 4))[..., :3]


def tiles(page: Page) -> np.ndarray:
    """Return (place, number, channel) of the numbers that stand there."""
    texts = page.locator(".numbers li").evaluate_all(
        """tiles => tiles.map((tile) =>
            ["place", "number", "channel"].map((name) =>
                tile.querySelector("." + name).textContent))"""
    )
    return np.array([[int(a), int(b), "RGB".index(c)] for a, b, c in texts])


def patch(page: Page, index: int) -> Locator:
    return page.locator(".patch").nth(index)


def drawn(page: Page, name: str, attribute: str) -> str:
    return page.locator(f".{name}.over").first.get_attribute(attribute)


def point_of(page: Page, name: str, down: float, right: float):
    """Return where shares of the height and width of a picture are."""
    layers = page.locator(f".layers.{name}")
    layers.scroll_into_view_if_needed()
    box = layers.bounding_box()
    return box["x"] + right * box["width"], box["y"] + down * box["height"]


def expect_readings(page: Page) -> dict:
    """Compare the number chosen and its neighbours with the library."""
    shown = published(explorer_of(page))
    view = shown["patchSize"], shown["order"], shown["cut"]
    row = sequence(make_image(), *view)[shown["patch"]]
    place = shown["place"] if shown["under"] == "" else shown["under"]
    origin = tuple(
        shown[name] for name in ("pixelRow", "pixelColumn", "channel")
    )
    assert shown["value"] == row[place] == make_image()[origin]
    number = tiles(page)
    first = place - place % TILES
    np.testing.assert_array_equal(number[:, 1], row[first : first + TILES])
    assert number[0, 0] == first
    return shown


@pytest.mark.parametrize(
    ("cut", "order"),
    [
        ("patches", "c p1 p2"),
        ("patches", "p1 p2 c"),
        ("swapped", "c p1 p2"),
        ("reshape", "p1 p2 c"),
    ],
)
def test_sheet_row_and_enlarged_patch_show_the_sequence(show, cut, order):
    page = show(make(cut=cut, order=order, patch=8, place=101))
    rows = sequence(make_image(), SIZE, order, cut)
    np.testing.assert_array_equal(canvas(page, "sheet")[..., 0], rows)
    origin = np.arange(3 * HEIGHT * WIDTH).reshape(HEIGHT, WIDTH, 3)
    places = sequence(origin, SIZE, order, cut)[8]
    own = np.eye(3)[places % 3]
    colours = rows[8][:, None] * (own + OTHERS * (1 - own))
    np.testing.assert_allclose(canvas(page, "strip")[0], colours, atol=0.51)
    np.testing.assert_array_equal(tiles(page)[:, 2], places[96:108] % 3)
    expect_readings(page)
    # Enlarged is what the row is taken for.
    if order == "c p1 p2":
        expected = rows[8].reshape(3, SIZE, SIZE).transpose(1, 2, 0)
    else:
        expected = rows[8].reshape(SIZE, SIZE, 3)
    np.testing.assert_array_equal(canvas(page, "enlarged"), expected)
    shown = canvas(page, "photograph")
    # The square it is taken for is where the patch should be.
    assert drawn(page, "outline", "x") == "21"
    assert drawn(page, "outline", "y") == "7"
    kind = "" if cut == "patches" else " taken-for"
    picture = page.locator(".layers.photograph")
    expect(picture).to_have_class(f"layers photograph{kind}")
    box = picture.bounding_box()
    outline = page.locator(".outline.over").first.bounding_box()
    side = box["width"] * 21 / WIDTH
    assert outline["x"] - box["x"] == pytest.approx(side, abs=2)
    if cut == "patches":
        np.testing.assert_array_equal(expected, make_image()[7:14, 21:28])
        np.testing.assert_array_equal(shown, make_image())
        return
    # Pixels of a scrambled patch are marked.
    of_patch = np.isin(origin, places).any(-1)
    marked = (shown == [255, 221, 0]).all(-1)
    np.testing.assert_array_equal(marked, of_patch)
    others = make_image()[~of_patch] * 0.6
    np.testing.assert_allclose(shown[~of_patch], others, atol=0.51)
    expect(page.locator(".of-photograph")).to_contain_text(
        f"Yellow: the {of_patch.sum()} pixels"
    )


def test_borders_and_reshapes_are_said(show):
    page = show(make(patch=8, cut="reshape"))
    enlarged, row = page.locator(".of-patch"), page.locator(".of-row")
    expect(enlarged).to_contain_text("The row's thirds, shown as red")
    expect(row).to_contain_text(
        "Memory holds the photograph as (colour, line, pixel)"
    )
    expect(row).not_to_contain_text("cropped")
    # A size that does not divide needs a copy of the part that does.
    page.get_by_label("Patch size").press("ArrowRight")
    expect(row).to_contain_text(
        f"The photograph was first cropped to 20 {TIMES} 30 and copied"
    )
    order = page.get_by_label("Order inside a patch", exact=True)
    order.select_option("p1 p2 c")
    expect(enlarged).to_contain_text("each with its three colours")
    expect(row).to_contain_text(
        "Memory holds the crop as (line, pixel, colour)"
    )
    page.get_by_label("Cut", exact=True).select_option("patches")
    expect(row).not_to_contain_text("cropped")
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text(
        f"10 does not divide 21 {TIMES} 35: the last 1 of 21 pixel rows and "
        "the last 5 of 35 pixel columns are in no patch."
    )
    path = page.locator(".leftover").get_attribute("d")
    assert path == "M0 20H30V0H35V21H0z"


def test_a_tap_chooses_a_patch_and_a_pixel(show):
    page = show(make(), width=390, has_touch=True)
    patch(page, 12).tap()
    expect_published(explorer_of(page), patch=12)
    page.touchscreen.tap(*point_of(page, "enlarged", 4.5 / 7, 2.5 / 7))
    expect_published(explorer_of(page), place=4 * 7 + 2, under="")
    page.touchscreen.tap(*point_of(page, "strip", 0.5, 100.5 / 147))
    expect_published(explorer_of(page), place=100, under="")
    # A finger that scrolls over the row looks at nothing.
    x, y = point_of(page, "strip", 0.5, 0.2)
    page.locator(".layers.strip").dispatch_event(
        "pointermove", {"pointerType": "touch", "clientX": x, "clientY": y}
    )
    page.wait_for_timeout(100)
    expect_published(explorer_of(page), place=100, under="")
    page.touchscreen.tap(*point_of(page, "sheet", 3.5 / 15, 0.5))
    expect_published(explorer_of(page), patch=3)
    expect_readings(page)


def test_a_pixel_points_into_the_row_and_the_row_to_its_pixel(show):
    page = show(make(order="p1 p2 c", patch=8, place=5))
    spoken = page.locator("[aria-live=polite]").text_content()
    page.mouse.move(*point_of(page, "enlarged", 4.5 / 7, 2.5 / 7))
    expect_published(explorer_of(page), under=90, place=5)
    shown = expect_readings(page)
    assert shown["value"] == make_image()[7 + 4, 21 + 2, 0]
    assert (shown["pixelRow"], shown["pixelColumn"]) == (11, 23)
    ticks = page.locator(".tick.over").evaluate_all(
        "ticks => ticks.map((tick) => tick.getAttribute('d'))"
    )
    assert ticks == [f"M{step + 0.5} 0V1" for step in (90, 91, 92)]
    expect(page.locator(".numbers .looked .place")).to_have_text("90")
    page.wait_for_timeout(400)
    assert page.locator("[aria-live=polite]").text_content() == spoken
    page.mouse.move(1, 1)
    expect_published(explorer_of(page), under="", place=5)
    page.mouse.click(*point_of(page, "strip", 0.5, 100.5 / 147))
    expect_published(explorer_of(page), place=100)
    assert drawn(page, "pixel", "y") == "4"
    assert drawn(page, "pixel", "x") == "5"
