"""DeletePatches in the browser: orders, paints, seeds, and what is left."""

import numpy as np
import torch
from explorers import delete_patches as make
from explorers import deleted, digit_model
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

from vitedu.data.digits import digits

DATA = digits()


def ready(page: Page) -> Locator:
    explorer = explorer_of(page)
    expect(explorer).to_have_attribute("aria-busy", "false")
    return explorer


@torch.no_grad()
def answer(ink: np.ndarray) -> np.ndarray:
    image = torch.tensor(ink / 16).float().view(1, 1, 8, 8)
    logits = digit_model()((image - DATA.mean) / DATA.std)
    return logits.softmax(dim=-1)[0].numpy()


def painted(sample: int, removed: list[int], paint: str) -> np.ndarray:
    ink = deleted()["samples"][sample].astype(float)
    fill = ink.mean() if paint == "grey" else 0
    for patch in removed:
        row, column = 2 * (patch // 4), 2 * (patch % 4)
        ink[row : row + 2, column : column + 2] = fill
    return ink


def picture_of(page: Page) -> np.ndarray:
    shades = page.locator(".left .ink").evaluate_all(
        "all => all.map(one => one.getAttribute('fill-opacity'))"
    )
    return 16 * np.array(shades, float).reshape(8, 8)


def test_patches_go_in_the_order_that_is_chosen(show):
    page = show(make(digit=2))
    explorer = ready(page)
    first = published(explorer)
    assert first["removed"] == []
    slider = page.get_by_role("slider", name="Patches gone")
    for _ in range(3):
        slider.press("ArrowRight")
    seen = {}
    for name in ("ink", "rollout", "gradient", "random"):
        page.locator(".order").get_by_text(name, exact=True).click()
        expect_published(explorer, order=name, gone=3)
        ready(page)
        shown = published(explorer)
        seen[name] = shown["removed"]
        assert len(set(seen[name])) == 3
        ink = painted(2, seen[name], "white")
        np.testing.assert_allclose(picture_of(page), ink, atol=1e-6)
        np.testing.assert_allclose(shown["chances"], answer(ink), atol=1e-4)
        expect(page.locator(".hole")).to_have_count(3)
        label = np.argmax(first["chances"])
        curve = shown["curve"]
        assert curve[0] == first["chances"][label]
        assert curve[3] == shown["chances"][label]
    means = deleted()["samples"][2].reshape(4, 2, 4, 2).mean((1, 3)).ravel()
    darkest = np.argsort(-means, kind="stable")[:3].tolist()
    assert seen["ink"] == darkest
    assert len({tuple(order) for order in seen.values()}) > 1


def test_another_paint_gives_other_areas_and_the_buttons_say_them(show):
    page = show(make(gone=4))
    explorer = ready(page)
    white = published(explorer)
    page.get_by_role("combobox", name="Painted").select_option("grey")
    expect_published(explorer, paint="grey")
    ready(page)
    grey = published(explorer)
    assert grey["areas"] != white["areas"]
    assert grey["removed"] == white["removed"]
    ink = painted(0, grey["removed"], "grey")
    np.testing.assert_allclose(picture_of(page), ink, atol=1e-6)
    np.testing.assert_allclose(grey["chances"], answer(ink), atol=1e-4)
    shown = page.locator(".order .area").all_text_contents()
    assert shown == [f"area {area:.2f}" for area in grey["areas"]]
    reading = page.locator(".vitedu-reading").text_content()
    assert "With 4 of 16 patches gone" in reading
    assert f"ink {grey['areas'][0]:.2f}, rollout" in reading


def test_another_seed_moves_the_random_order_alone(show):
    page = show(make(order="random", gone=5))
    explorer = ready(page)
    first = published(explorer)
    page.get_by_role("slider", name="Random order").press("ArrowRight")
    expect_published(explorer, seed=2)
    ready(page)
    second = published(explorer)
    assert second["removed"] != first["removed"]
    assert second["areas"][:3] == first["areas"][:3]


def test_with_all_patches_gone_every_order_says_the_same(show):
    page = show(make(gone=16))
    explorer = ready(page)
    blank = answer(np.zeros((8, 8)))
    for name in ("ink", "random"):
        page.locator(".order").get_by_text(name, exact=True).click()
        expect_published(explorer, order=name)
        shown = published(explorer)["chances"]
        np.testing.assert_allclose(shown, blank, atol=1e-4)
