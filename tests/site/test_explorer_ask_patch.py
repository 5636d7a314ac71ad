"""AskPatch in the browser: what is lit, what asks, what is loaded."""

import io
import zlib

import numpy as np
from explorers import GRID, HEADS, LAYERS, MAP, asked, asked_answers
from explorers import ask_patch as make
from mounted import expect_published, published, ready
from PIL import Image
from playwright.sync_api import Page, expect

SCALE = 4
GLOW = np.array(
    [
        [14, 10, 34],
        [74, 20, 108],
        [166, 44, 96],
        [232, 98, 44],
        [252, 180, 46],
        [252, 250, 190],
    ],
    float,
)


def between(name: str, second: str) -> np.ndarray:
    """Return the cosines of another photograph's squares."""
    data = zlib.decompress(asked()["data"][f"trained {name} {second}"])
    steps = np.frombuffer(data, "i1").reshape(LAYERS, 64, MAP**2)
    return np.cumsum(steps, 0, dtype=int) / 20


def glow(values: np.ndarray) -> np.ndarray:
    at = np.clip(values, 0, 1) * (len(GLOW) - 1)
    places = np.arange(len(GLOW))
    return np.stack([np.interp(at, places, c) for c in GLOW.T], -1)


def lit(name: str, values: np.ndarray) -> np.ndarray:
    """Return the photograph with a value for each cell of its grid."""
    file = io.BytesIO(asked()["data"][name])
    photo = np.asarray(Image.open(file), float)
    side = int(len(values) ** 0.5)
    cell = np.ones((len(photo) // side,) * 2)
    raised = np.kron(values.clip(0).reshape(side, side) ** 0.75, cell)
    grey = 0.3 * (1 - raised) * (photo @ [0.3, 0.59, 0.11])
    raised = raised[..., None]
    light = 0.75 * photo + 0.5 * glow(raised[..., 0])
    return np.clip(grey[..., None] + raised * light, 0, 255)


def canvas(page: Page, name: str) -> np.ndarray:
    width, data = page.locator(f"{name} canvas").evaluate(
        """canvas => [canvas.width, Array.from(canvas.getContext("2d")
          .getImageData(0, 0, canvas.width, canvas.height).data)]"""
    )
    return np.reshape(data, (-1, width, 4))[..., :3]


def expect_lit(page: Page, name: str, expected: np.ndarray) -> None:
    # Browsers and Pillow decode a JPEG file with other roundings.
    off = np.abs(canvas(page, name) - expected)
    assert off.mean() < 2
    assert np.quantile(off, 0.99) < 8


def outline_of(page: Page, name: str) -> float:
    """Return how long the line around the best cells is, in cells."""
    path = page.locator(f"{name} .match.over").get_attribute("d")
    return path.count("h1") + path.count("v1")


def around(places: list[int], side: int) -> int:
    cells = np.zeros((side + 2, side + 2), int)
    cells[1:-1, 1:-1].flat[places] = 1
    return sum(np.abs(np.diff(cells, axis=axis)).sum() for axis in (0, 1))


def test_photographs_and_the_maps_of_all_heads_are_lit(show):
    page = show(make(query=40, layer=2, second="astronaut"))
    explorer = ready(page)
    all_cosines, shares, _ = asked_answers("cat")
    expect_lit(page, ".photograph", lit("cat", all_cosines[2, 40]))
    places = published(explorer)["likePlaces"]
    assert outline_of(page, ".photograph") == around(places, GRID)
    cosines = between("cat", "astronaut")[2, 40]
    best = cosines.max()
    expect_lit(page, ".beside", lit("astronaut", cosines / best))
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"In the astronaut, the best is among the outlined: cosine {best:.2f}."
    )
    cells = canvas(page, ".maps")[SCALE // 2 :: SCALE, SCALE // 2 :: SCALE]
    for layer, head in np.ndindex(LAYERS, HEADS):
        top, left = (MAP + 1) * head, (MAP + 1) * layer
        found = cells[top : top + MAP, left : left + MAP]
        values = np.sqrt(shares[layer, head, 40]).reshape(MAP, MAP)
        np.testing.assert_allclose(found, glow(values), atol=0.51)
    # A head that is chosen is enlarged, and takes its layer along.
    page.locator(".head").nth(1 * HEADS + 2).click()
    expect_published(explorer, layer=1, head=2, second="")
    expect_lit(page, ".beside", lit("cat", np.sqrt(shares[1, 2, 40])))
    places = published(explorer)["mostPlaces"]
    assert outline_of(page, ".beside") == around(places, MAP)
    expect(page.get_by_label("Layer", exact=True)).to_have_value("2")
    expect(page.locator(".of-second")).to_contain_text("Head 3 of layer 2")


def point_of(page: Page, down: float, right: float) -> tuple[float, float]:
    """Return where a row and a column of patches are."""
    picture = page.locator(".lit.photograph")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    return (
        box["x"] + (right + 0.5) * box["width"] / GRID,
        box["y"] + (down + 0.5) * box["height"] / GRID,
    )


def test_a_mouse_asks_while_it_is_there_and_a_click_stays(show):
    page = show(make(query=40))
    explorer = ready(page)
    first = asked()["photographs"][0]
    row, column = 6 + first["row"] % 3, 15 + first["column"] % 3
    spoken = page.locator("[aria-live=polite]").text_content()
    # The patches around it are its own: the pointer snaps to it.
    for down, right in ((0, 0), (1, -1), (-1, 1)):
        page.mouse.move(*point_of(page, row + down, column + right))
        expect_published(explorer, under=21, query=40)
    shown = published(explorer)
    assert (shown["row"], shown["column"]) == (row, column)
    expect_lit(page, ".photograph", lit("cat", asked_answers("cat")[0][2, 21]))
    page.wait_for_timeout(400)
    assert page.locator("[aria-live=polite]").text_content() == spoken
    page.mouse.move(2, 2)
    expect_published(explorer, under="", query=40)
    page.mouse.click(*point_of(page, row, column))
    page.mouse.move(2, 2)
    expect_published(explorer, under="", query=21)
    # At the edges as well.
    page.mouse.move(*point_of(page, 0, 0))
    expect_published(explorer, under=0)
    page.mouse.move(*point_of(page, GRID - 1, GRID - 1))
    expect_published(explorer, under=63)


def test_a_finger_and_the_arrow_keys_ask(show):
    page = show(make(), width=390, has_touch=True)
    explorer = ready(page)
    page.touchscreen.tap(*point_of(page, 2, 2))
    expect_published(explorer, query=0)
    ways = {"ArrowLeft": 0, "ArrowUp": 0, "ArrowRight": 1, "ArrowDown": 9}
    for key, query in ways.items():
        page.keyboard.press(key)
        expect_published(explorer, query=query, under="")
        focused = page.locator(".patch").nth(query)
        expect(focused).to_be_focused()
        expect(focused).to_have_attribute("aria-checked", "true")
    expect(page.locator(".patch[tabindex='0']")).to_have_count(1)


def test_another_photograph_begins_with_its_own_patch(show):
    page = show(make(query=63, second="astronaut"))
    explorer = ready(page)
    page.get_by_role("button", name="astronaut").click()
    # It is not beside itself.
    expect_published(explorer, photograph="astronaut", query=11, second="")
    expect(page.locator("option[value=astronaut]")).to_be_disabled()
    expect(page.locator(".credit")).to_have_text(
        "Photograph: NASA, public domain, cut to a square"
    )
    expect(page.locator("[aria-pressed=true].thumbnail")).to_have_attribute(
        "aria-label", "astronaut"
    )


def test_bytes_that_are_broken_are_told_and_the_rest_goes_on(show):
    data = asked()["data"] | {"drawn cat": b"no bytes"}
    page = show(make(data=data))
    explorer = ready(page)
    before = published(explorer)
    page.get_by_label("Weights").select_option("random")
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("This could not be loaded: ")
    expect(explorer).to_have_attribute("aria-busy", "false")
    page.get_by_label("Weights").select_option("trained")
    expect(reading).to_contain_text("most like it")
    assert published(explorer) == before
