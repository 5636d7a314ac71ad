"""PatchCutter in the browser: its pictures, its marks, its words."""

import re

import numpy as np
import pytest
from explorers import make_image, sequence
from explorers import patch_cutter as make
from mounted import expect_published, explorer_of, published, stop_clock
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


def click_at(page: Page, name: str, down: float, right: float) -> None:
    point = point_of(page, name, down, right)
    page.mouse.click(*point)


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


@pytest.mark.parametrize("cut", ["patches", "swapped", "reshape"])
@pytest.mark.parametrize("order", ["c p1 p2", "p1 p2 c"])
def test_the_sheet_and_the_row_show_the_sequence(show, cut, order):
    page = show(make(cut=cut, order=order, patch=8, place=101))
    rows = sequence(make_image(), SIZE, order, cut)
    np.testing.assert_array_equal(canvas(page, "sheet")[..., 0], rows)
    origin = np.arange(3 * HEIGHT * WIDTH).reshape(HEIGHT, WIDTH, 3)
    channels = sequence(origin, SIZE, order, cut)[8] % 3
    own = np.eye(3)[channels]
    colours = rows[8][:, None] * (own + OTHERS * (1 - own))
    np.testing.assert_allclose(canvas(page, "strip")[0], colours, atol=0.51)
    np.testing.assert_array_equal(tiles(page)[:, 2], channels[96:108])
    expect_readings(page)


@pytest.mark.parametrize("order", ["c p1 p2", "p1 p2 c"])
@pytest.mark.parametrize("cut", ["patches", "swapped", "reshape"])
def test_the_enlarged_patch_is_what_the_row_is_taken_for(show, order, cut):
    page = show(make(order=order, cut=cut, patch=8))
    row = sequence(make_image(), SIZE, order, cut)[8]
    if order == "c p1 p2":
        expected = row.reshape(3, SIZE, SIZE).transpose(1, 2, 0)
    else:
        expected = row.reshape(SIZE, SIZE, 3)
    np.testing.assert_array_equal(canvas(page, "enlarged"), expected)
    if cut == "patches":
        np.testing.assert_array_equal(expected, make_image()[7:14, 21:28])


@pytest.mark.parametrize("order", ["c p1 p2", "p1 p2 c"])
@pytest.mark.parametrize("cut", ["swapped", "reshape"])
def test_pixels_of_a_scrambled_patch_are_marked(show, order, cut):
    page = show(make(order=order, cut=cut, patch=8))
    origin = np.arange(3 * HEIGHT * WIDTH).reshape(HEIGHT, WIDTH, 3)
    of_patch = np.isin(origin, sequence(origin, SIZE, order, cut)[8]).any(-1)
    shown = canvas(page, "photograph")
    marked = (shown == [255, 221, 0]).all(-1)
    np.testing.assert_array_equal(marked, of_patch)
    others = make_image()[~of_patch] * 0.6
    np.testing.assert_allclose(shown[~of_patch], others, atol=0.51)
    expect(page.locator(".of-photograph")).to_contain_text(
        f"Yellow: the {of_patch.sum()} pixels"
    )
    # The square it is taken for is where the patch should be.
    assert drawn(page, "outline", "x") == "21"
    assert drawn(page, "outline", "y") == "7"
    expect(page.locator(".photograph")).to_have_class(
        "layers photograph taken-for"
    )


def test_a_photograph_that_is_cut_well_shows_as_it_is(show):
    page = show(make(patch=8))
    np.testing.assert_array_equal(canvas(page, "photograph"), make_image())
    expect(page.locator(".photograph")).to_have_class("layers photograph")
    box = page.locator(".layers.photograph").bounding_box()
    outline = page.locator(".outline.over").bounding_box()
    assert outline["x"] - box["x"] == pytest.approx(
        box["width"] * 21 / WIDTH, abs=2
    )
    assert outline["width"] == pytest.approx(
        box["width"] * SIZE / WIDTH, abs=4
    )


def test_a_border_that_is_left_over_is_said_and_shown(show):
    page = show(make(patch_size=10))
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text(
        f"10 does not divide 21 {TIMES} 35: the last 1 of 21 pixel rows and "
        "the last 5 of 35 pixel columns are in no patch."
    )
    path = page.locator(".leftover").get_attribute("d")
    assert path == "M0 20H30V0H35V21H0z"
    page.get_by_label("Patch size").press("ArrowLeft")
    expect_published(explorer_of(page), patch_size=7)
    expect(reading).not_to_contain_text("does not divide")


def test_what_a_reshape_does_is_said(show):
    page = show(make(patch=8, cut="reshape"))
    enlarged, row = page.locator(".of-patch"), page.locator(".of-row")
    expect(enlarged).to_contain_text("The row's thirds, shown as red")
    expect(enlarged).not_to_contain_text("once for each colour")
    expect(row).to_contain_text(
        "Memory holds the photograph as (colour, line, pixel)"
    )
    expect(row).not_to_contain_text("cropped")
    # A size that does not divide needs a copy of the part that does.
    page.get_by_label("Patch size").press("ArrowRight")
    expect(row).to_contain_text(
        f"The photograph was first cropped to 20 {TIMES} 30 and copied"
    )
    expect(row).to_contain_text(
        "Memory holds the crop as (colour, line, pixel)"
    )
    order = page.get_by_label("Order inside a patch", exact=True)
    order.select_option("p1 p2 c")
    expect(enlarged).to_contain_text("each with its three colours")
    expect(row).to_contain_text(
        "Memory holds the crop as (line, pixel, colour)"
    )
    page.get_by_label("Cut", exact=True).select_option("patches")
    expect(row).not_to_contain_text("cropped")


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


@pytest.mark.parametrize("order", ["c p1 p2", "p1 p2 c"])
def test_a_pixel_points_into_the_row(show, order):
    page = show(make(order=order, patch=8, place=5))
    spoken = page.locator("[aria-live=polite]").text_content()
    page.mouse.move(*point_of(page, "enlarged", 4.5 / 7, 2.5 / 7))
    inside = {"c p1 p2": 30, "p1 p2 c": 90}[order]
    expect_published(explorer_of(page), under=inside, place=5)
    shown = expect_readings(page)
    image = make_image()
    assert shown["value"] == image[7 + 4, 21 + 2, 0]
    assert (shown["pixelRow"], shown["pixelColumn"]) == (11, 23)
    ticks = page.locator(".tick.over").evaluate_all(
        "ticks => ticks.map((tick) => tick.getAttribute('d'))"
    )
    steps = {"c p1 p2": (30, 79, 128), "p1 p2 c": (90, 91, 92)}[order]
    assert ticks == [f"M{step + 0.5} 0V1" for step in steps]
    expect(page.locator(".tick.over.looked")).to_have_count(1)
    expect(page.locator(".numbers .looked .place")).to_have_text(str(inside))
    page.wait_for_timeout(400)
    assert page.locator("[aria-live=polite]").text_content() == spoken
    page.mouse.move(1, 1)
    expect_published(explorer_of(page), under="", place=5)


@pytest.mark.parametrize(
    ("order", "pixel"), [("c p1 p2", (0, 2)), ("p1 p2 c", (4, 5))]
)
def test_a_number_of_the_row_points_to_its_pixel(show, order, pixel):
    page = show(make(order=order, patch=8))
    place = {"c p1 p2": 100, "p1 p2 c": 100}[order]
    page.mouse.move(*point_of(page, "strip", 0.5, (place + 0.5) / 147))
    expect_published(explorer_of(page), under=place, place=0)
    assert drawn(page, "pixel", "y") == str(pixel[0])
    assert drawn(page, "pixel", "x") == str(pixel[1])
    expect_readings(page)
    click_at(page, "strip", 0.5, (place + 0.5) / 147)
    expect_published(explorer_of(page), place=place)
    # The way to the pixel goes along the rows above it.
    way = page.locator(".way.over").get_attribute("d")
    assert way.count("M") == 1
    assert way.count("L") == pixel[0]
    assert way.endswith(f"H{pixel[1] + 0.5}")


def test_the_line_says_what_is_there(show):
    page = show(make(patch=8, place=101))
    value = make_image()[7, 24, 2]
    reading = page.locator(".vitedu-reading")
    expect(reading).to_have_text(
        f"3 {TIMES} 5 = 15 patches of 7 {TIMES} 7 {TIMES} 3 = 147 numbers. "
        "Patch 8 is row 1, column 3. Its number 101 is blue of its pixel in "
        f"row 0, column 3: {value}."
    )
    page.get_by_label("Cut", exact=True).select_option("swapped")
    value = make_image()[0 * 3 + 1, 3 * 5 + 3, 2]
    expect(reading).to_contain_text(
        "Patch 8 is taken for row 1, column 3, its number 101 for blue of "
        "the pixel there in row 0, column 3. It is blue of the photograph's "
        f"pixel in row 1, column 18: {value}."
    )
    expect(page.locator("[aria-live=polite]")).to_have_text(
        reading.text_content()
    )


def test_many_numbers_that_share_a_column_are_averaged(show):
    image = make_image(40, 20)
    page = show(make(image=image, patch_size=20, patch_sizes=[20]))
    rows = sequence(image, 20, "c p1 p2", "patches")
    columns = np.arange(1200) * 1024 // 1200
    counts = np.bincount(columns)
    expected = [np.bincount(columns, row) / counts for row in rows]
    shown = canvas(page, "sheet")
    assert shown.shape == (2, 1024, 3)
    for channel in range(3):
        np.testing.assert_allclose(shown[..., channel], expected, atol=0.51)


def test_the_marks_wait_until_the_slider_rests(show):
    image = make_image(64, 64)
    page = show(make(image=image, patch_sizes=[2, 16], patch_size=16, patch=9))
    stop_clock(page)
    page.get_by_label("Patch size").press("Home")
    page.clock.run_for(250)
    expect_published(explorer_of(page), patch_size=2)
    expect(page.locator(".patch")).to_have_count(0)
    page.clock.run_for(300)
    expect(page.locator(".patch")).to_have_count(32 * 32)
    chosen = page.locator('.patch[aria-checked="true"]')
    expect(chosen).to_have_attribute("tabindex", "0")
    row, column = (published(explorer_of(page))[k] for k in ("row", "column"))
    expect(chosen).to_have_attribute(
        "aria-label", re.compile(f"row {row}, column {column}$")
    )


def test_the_choice_does_not_wander_while_sizes_change(show):
    image = make_image(224, 224)
    page = show(make(image=image, patch_sizes=[16, 28, 56], patch_size=16))
    start = published(explorer_of(page))["patch"]
    slider = page.get_by_label("Patch size")
    for key, size in [
        ("ArrowRight", 28),
        ("ArrowRight", 56),
        ("ArrowLeft", 28),
        ("ArrowLeft", 16),
    ]:
        slider.press(key)
        expect_published(explorer_of(page), patch_size=size)
    assert published(explorer_of(page))["patch"] == start
