"""PatchCutter in the browser: its pixels, its pointers, its marks."""

import re

import numpy as np
from explorers import make_image, sequence
from explorers import patch_cutter as make
from mounted import expect_published, explorer_of, published, stop_clock
from playwright.sync_api import Page, expect

HEIGHT, WIDTH, SIZE = 21, 35, 7
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


def drawn(page: Page, name: str, attribute: str) -> str:
    return page.locator(f".{name}.over").first.get_attribute(attribute)


def point_of(page: Page, name: str, down: float, right: float):
    """Return where shares of the height and width of a picture are."""
    layers = page.locator(f".layers.{name}")
    layers.scroll_into_view_if_needed()
    box = layers.bounding_box()
    return box["x"] + right * box["width"], box["y"] + down * box["height"]


def test_pixels_show_the_numbers_however_they_are_cut(show):
    page = show(make(patch=8))
    image = make_image()
    origin = np.arange(3 * HEIGHT * WIDTH).reshape(HEIGHT, WIDTH, 3)
    # All six are compared in Node; these have every kind of picture.
    for order, cut in (("c p1 p2", "swapped"), ("p1 p2 c", "patches")):
        page.get_by_label("Cut", exact=True).select_option(cut)
        page.get_by_label("Order inside a patch").select_option(order)
        expect_published(explorer_of(page), order=order, cut=cut)
        rows = sequence(image, SIZE, order, cut)
        row, places = rows[8], sequence(origin, SIZE, order, cut)[8]
        np.testing.assert_array_equal(canvas(page, "sheet")[..., 0], rows)
        own = np.eye(3)[places % 3]
        colours = row[:, None] * (own + OTHERS * (1 - own))
        strip = canvas(page, "strip")[0]
        np.testing.assert_allclose(strip, colours, atol=0.51)
        # What the row is taken for, and where its pixels are.
        taken = row.reshape(SIZE, SIZE, 3)
        if order == "c p1 p2":
            taken = row.reshape(3, SIZE, SIZE).transpose(1, 2, 0)
        np.testing.assert_array_equal(canvas(page, "enlarged"), taken)
        of_patch = np.isin(origin, places).any(-1)[..., None]
        expected = np.where(of_patch, [255, 221, 0], image * 0.6)
        if cut == "patches":
            expected = image
        photograph = canvas(page, "photograph")
        np.testing.assert_allclose(photograph, expected, atol=0.51)
        expect(page.locator(".photograph.taken-for")).to_have_count(
            int(cut != "patches")
        )
        places = [drawn(page, "outline", name) for name in ("x", "y", "width")]
        assert places == ["21", "7", "7"]
    page.get_by_label("Patch size").press("End")
    expect_published(explorer_of(page), patch_size=10)
    expect(page.locator(".leftover")).to_have_attribute(
        "d", "M0 20H30V0H35V21H0z"
    )


def test_a_tap_chooses_a_patch_and_a_pixel(show):
    page = show(make(), width=390, has_touch=True)
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


def test_a_pixel_points_into_the_row_and_a_number_to_its_pixel(show):
    page = show(make(order="p1 p2 c", patch=8, place=5))
    spoken = page.locator("[aria-live=polite]").text_content()
    page.mouse.move(*point_of(page, "enlarged", 4.5 / 7, 2.5 / 7))
    expect_published(explorer_of(page), under=90, place=5)
    shown = published(explorer_of(page))
    assert (shown["pixelRow"], shown["pixelColumn"]) == (11, 23)
    ticks = page.locator(".tick.over").evaluate_all(
        "ticks => ticks.map((tick) => tick.getAttribute('d'))"
    )
    assert ticks == ["M90.5 0V1", "M91.5 0V1", "M92.5 0V1"]
    expect(page.locator(".tick.over.looked")).to_have_count(1)
    expect(page.locator(".numbers .looked .place")).to_have_text("90")
    page.wait_for_timeout(400)
    assert page.locator("[aria-live=polite]").text_content() == spoken
    page.mouse.move(1, 1)
    expect_published(explorer_of(page), under="", place=5)
    point = point_of(page, "strip", 0.5, 100.5 / 147)
    page.mouse.move(*point)
    expect_published(explorer_of(page), under=100, place=5)
    assert [drawn(page, "pixel", name) for name in "yx"] == ["4", "5"]
    page.mouse.click(*point)
    expect_published(explorer_of(page), place=100)
    # The way to the pixel goes along the rows above it.
    way = drawn(page, "way", "d")
    assert [way.count(letter) for letter in "ML"] == [1, 4]
    assert way.endswith("H5.5")


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
    explorer = explorer_of(page)
    start = published(explorer)["patch"]
    for key, size in (("End", 56), ("ArrowLeft", 28), ("ArrowLeft", 16)):
        page.get_by_label("Patch size").press(key)
        expect_published(explorer, patch_size=size)
    expect_published(explorer, patch=start)
