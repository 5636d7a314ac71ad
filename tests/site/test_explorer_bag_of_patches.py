"""BagOfPatches in the browser: shuffles, swaps, both networks, all orders."""

import json

import numpy as np
import pytest
import torch
from explorers import bag_model, digit_model, shuffled
from explorers import bag_of_patches as make
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

from vitedu.data.digits import digits
from vitedu.patches import patchify, unpatchify

DATA = digits()


@torch.no_grad()
def answer(ink: np.ndarray, order: list[int], positions: bool) -> np.ndarray:
    """Return what the library's network answers a picture of 0 to 16."""
    image = torch.tensor(ink / 16).float().view(1, 1, 8, 8)
    image = unpatchify(patchify(image, 2)[:, order], 2, (4, 4))
    model = digit_model() if positions else bag_model()
    logits = model((image - DATA.mean) / DATA.std)
    return logits.softmax(dim=-1)[0].numpy()


def ready(page: Page) -> Locator:
    explorer = explorer_of(page)
    expect(explorer).to_have_attribute("aria-busy", "false")
    return explorer


def expect_answer(page: Page, ink: np.ndarray, positions: bool) -> None:
    explorer = ready(page)
    shown = published(explorer)
    expected = answer(ink, shown["order"], positions)
    np.testing.assert_allclose(shown["chances"], expected, atol=1e-4)
    first = explorer.locator(".bars li.first .digit")
    expect(first).to_have_text(str(expected.argmax()))


def drawn_in(page: Page) -> np.ndarray:
    """Return the ink that the sixteen patches show, as a picture."""
    shades = page.locator(".patch .ink").evaluate_all(
        "all => all.map(one => one.getAttribute('fill-opacity'))"
    )
    squares = torch.tensor(np.array(shades, float) * 16).view(1, 16, 4)
    return unpatchify(squares, 2, (4, 4)).view(8, 8).numpy()


@pytest.mark.parametrize("positions", [False, True])
def test_each_network_reads_what_the_patches_show(show, positions):
    ink = shuffled()["samples"][0]
    page = show(make(seed=5, positions=not positions))
    name = f"with{'' if positions else 'out'} positions"
    page.get_by_role("button", name=name, exact=True).click()
    expect_published(ready(page), positions=str(positions).lower())
    expect_answer(page, ink, positions)
    order = published(explorer_of(page))["order"]
    picture = torch.tensor(ink).double().view(1, 1, 8, 8)
    expected = unpatchify(patchify(picture, 2)[:, order], 2, (4, 4))
    np.testing.assert_array_equal(drawn_in(page), expected.view(8, 8))


def test_without_positions_no_order_moves_the_answer(show):
    page = show(make())
    first = published(ready(page))
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("As written it answers the same")
    for seed in (2, 3):
        page.get_by_role("button", name="Shuffle", exact=True).click()
        expect_published(ready(page), seed=seed)
        now = published(explorer_of(page))
        assert now["order"] != first["order"]
        np.testing.assert_allclose(now["chances"], first["chances"], atol=1e-6)
    assert sorted(now["counts"])[-2:] == [0, 200]
    expect(page.locator(".of-orders")).to_contain_text("In all 200 it reads")


def test_with_positions_orders_are_told_apart(show):
    page = show(make(positions=True))
    first = published(ready(page))
    page.get_by_role("button", name="Put in order").click()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "All patches are where they were written"
    )
    expect(page.get_by_role("button", name="Put in order")).to_be_disabled()
    now = published(explorer_of(page))
    assert now["order"] == list(range(16))
    moves = np.abs(np.subtract(now["chances"], first["chances"]))
    assert moves.max() > 0.01
    assert sum(now["counts"]) == 200
    assert max(now["counts"]) < 200


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
    expect(patches.nth(1)).to_have_attribute("aria-label", "place 2: patch 15")
    expect(page.locator("[aria-pressed=true].patch")).to_have_count(0)
    expect(page.locator("output")).to_have_text("0, and by hand")
    expect_answer(page, shuffled()["samples"][0], True)
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
    expect(patches.nth(5)).to_have_attribute("aria-label", "place 6: patch 2")
    expect(patches.nth(1)).to_have_attribute("aria-label", "place 2: patch 6")
    stops = patches.evaluate_all("all => all.map(one => one.tabIndex)")
    assert stops.count(0) == 1


def test_what_one_draws_is_shuffled_and_read(show):
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
    ready(page)
    order = published(explorer_of(page))["order"]
    squares = patchify(torch.tensor(drawn_in(page)).view(1, 1, 8, 8), 2)
    ink = unpatchify(squares[:, np.argsort(order)], 2, (4, 4)).numpy()
    assert ink.max() > 8
    expect_answer(page, ink.ravel(), False)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Nothing is drawn."
    )
