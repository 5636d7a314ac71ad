"""BagOfPatches in the browser: shuffles, swaps, both networks, all orders."""

from explorers import bag_of_patches as make
from mounted import (
    button,
    expect_published,
    explorer_of,
    press,
    published,
    ready,
)
from playwright.sync_api import expect


def test_buttons_choose_the_network_and_the_order(show):
    page = show(make())
    first = published(ready(page))
    press(page, "Shuffle")
    expect_published(ready(page), seed=2)
    bag = published(explorer_of(page))
    assert bag["order"] != first["order"]
    assert sorted(bag["counts"])[-2:] == [0, 200]
    expect(page.locator(".of-orders")).to_contain_text("In all 200 it reads")
    press(page, "with positions")
    expect_published(ready(page), positions="true")
    placed = published(ready(page))
    assert placed["order"] == bag["order"]
    assert sum(placed["counts"]) == 200 > max(placed["counts"])
    press(page, "Put in order")
    expect(button(page, "Put in order")).to_be_disabled()
    assert published(ready(page))["order"] == list(range(16))


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
    expect(patches.nth(1)).to_have_attribute(
        "aria-label", "position 2: patch 15"
    )
    assert published(explorer_of(page))["order"] == order
    expect(page.locator("[aria-pressed=true].patch")).to_have_count(0)
    expect(page.locator("output")).to_have_text("0, and by hand")
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
    stops = patches.evaluate_all("all => all.map(one => one.tabIndex)")
    assert stops.count(0) == 1


def test_what_one_draws_is_read(show):
    page = show(make(seed=3))
    ready(page)
    box = page.locator(".field").bounding_box()
    for i, (x, y) in enumerate([(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]):
        x, y = box["x"] + x * box["width"], box["y"] + y * box["height"]
        page.mouse.move(x, y, steps=6)
        if not i:
            page.mouse.down()
    page.mouse.up()
    expect_published(explorer_of(page), digit=-1)
    expect(page.locator(".vitedu-reading")).not_to_contain_text("Nothing")
    press(page, "Clear")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Nothing is drawn."
    )
