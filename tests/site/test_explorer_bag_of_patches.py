"""BagOfPatches in the browser: shuffles, swaps, both networks, all orders."""

import json
import re

import numpy as np
import torch
from explorers import bag_of_patches as make
from explorers import shuffled
from mounted import expect_published, explorer_of, press, published, ready
from playwright.sync_api import Page, expect

from vitedu.patches import patchify, unpatchify


def drawn_in(page: Page) -> np.ndarray:
    """Return the ink that the sixteen patches show, as a picture."""
    shades = page.locator(".patch .ink").evaluate_all(
        "all => all.map(one => one.getAttribute('fill-opacity'))"
    )
    squares = torch.tensor(np.array(shades, float) * 16).view(1, 16, 4)
    return unpatchify(squares, 2, (4, 4)).view(8, 8).numpy()


def test_buttons_choose_the_network_and_the_order(show):
    page = show(make())
    first = published(ready(page))
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("As written, its prediction is the same")
    press(page, "Shuffle")
    expect_published(ready(page), seed=2)
    bag = published(explorer_of(page))
    assert bag["order"] != first["order"]
    np.testing.assert_allclose(bag["chances"], first["chances"], atol=1e-6)
    assert sorted(bag["counts"])[-2:] == [0, 200]
    expect(page.locator(".of-orders")).to_contain_text("In all 200 it reads")
    press(page, "with positions")
    expect_published(ready(page), positions="true")
    placed = published(ready(page))
    assert placed["order"] == bag["order"]
    assert sum(placed["counts"]) == 200
    assert max(placed["counts"]) < 200
    sort = page.get_by_role("button", name="Put in order")
    sort.click()
    expect(reading).to_contain_text("All patches are where they were written")
    expect(sort).to_be_disabled()
    now = published(ready(page))
    assert now["order"] == list(range(16))
    assert np.abs(np.subtract(now["chances"], placed["chances"])).max() > 0.01


# A page that always has something to do, as a slow machine's has: it keeps
# the promise that a time limit makes, and no other.
NEVER_IDLE = """
requestIdleCallback = (work, options) => setTimeout(
    () => work({ didTimeout: true, timeRemaining: () => 0 }),
    options?.timeout ?? 1e6)"""


def test_all_orders_are_counted_though_the_page_is_never_idle(show):
    page = show(make())
    page.add_init_script(NEVER_IDLE)
    page.reload()
    assert sum(published(ready(page))["counts"]) == 200


def test_two_taps_swap_two_patches(show):
    page = show(make(seed=0, positions=True), has_touch=True, width=390)
    ready(page)
    patches = page.locator(".patch")
    patches.nth(1).tap()
    expect(patches.nth(1)).to_have_attribute("aria-pressed", "true")
    patches.nth(14).tap()
    order = list(range(16))
    order[1], order[14] = 14, 1
    expect_published(
        explorer_of(page), order=json.dumps(order, separators=(",", ":"))
    )
    expect(patches.nth(1)).to_have_attribute(
        "aria-label", "position 2: patch 15"
    )
    expect(page.locator("[aria-pressed=true].patch")).to_have_count(0)
    expect(page.locator("output")).to_have_text("0, and by hand")
    picture = torch.tensor(shuffled()["samples"][0]).double().view(1, 1, 8, 8)
    swapped = unpatchify(patchify(picture, 2)[:, order], 2, (4, 4))
    np.testing.assert_array_equal(drawn_in(page), swapped.view(8, 8))
    # A patch that is tapped twice stays.
    patches.nth(3).tap()
    patches.nth(3).tap()
    assert published(explorer_of(page))["order"] == order


def test_keys_move_over_the_patches_and_swap_them(show):
    page = show(make(seed=0))
    ready(page)
    patches = page.locator(".patch")
    patches.nth(0).focus()
    for key in ("ArrowDown", "ArrowRight", "Space", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    expect(patches.nth(1)).to_be_focused()
    page.keyboard.press("Space")
    expect(patches.nth(5)).to_have_attribute(
        "aria-label", "position 6: patch 2"
    )
    expect(patches.nth(1)).to_have_attribute(
        "aria-label", "position 2: patch 6"
    )
    stops = patches.evaluate_all("all => all.map(one => one.tabIndex)")
    assert stops.count(0) == 1


def test_what_one_draws_is_read(show):
    page = show(make(seed=3))
    ready(page)
    box = page.locator(".field").bounding_box()
    for i, (x, y) in enumerate([(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]):
        page.mouse.move(
            box["x"] + x * box["width"],
            box["y"] + y * box["height"],
            steps=6,
        )
        if not i:
            page.mouse.down()
    page.mouse.up()
    expect_published(explorer_of(page), digit=-1)
    assert drawn_in(page).max() > 8
    expect(page.locator(".vitedu-reading")).to_contain_text(
        re.compile("^Without positions it reads")
    )
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Nothing is drawn."
    )
