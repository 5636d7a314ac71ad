"""AttentionDistance in the browser: its dots, its squares, its motion."""

import re

import numpy as np
import pytest
import torch
from explorers import attention_distance as make
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

from vitedu.analysis import attention_maps
from vitedu.widgets import AttentionDistance

GRID = {"grid_size": (4, 3), "patch_size": 2}
LAYERS, HEADS = 3, 5
TOLERANCE = 1e-5


def distances(widget: AttentionDistance, step: int, image: int) -> np.ndarray:
    """Return what the library measures, (layer, head)."""
    maps = torch.from_numpy(widget.maps[step, image].astype(np.float64))
    prefix = widget.num_prefix_tokens
    return np.array(
        [
            attention_maps.attention_distance(
                layer, num_prefix_tokens=prefix, **GRID
            )
            for layer in maps
        ]
    )


def shown_distances(page: Page) -> np.ndarray:
    """Return what the dots stand for, (layer, head)."""
    found = page.locator(".dot").evaluate_all(
        "dots => dots.map(({dataset: d}) => [d.layer, d.head, d.distance])"
    )
    table = np.zeros((LAYERS, HEADS))
    for layer, head, distance in np.array(found, float):
        table[int(layer), int(head)] = distance
    return table


def dot(page: Page, layer: int, head: int) -> Locator:
    return page.locator(f'.dot[data-layer="{layer}"][data-head="{head}"]')


def patch(page: Page, row: int, column: int) -> Locator:
    return page.locator(f'.patch[data-row="{row}"][data-column="{column}"]')


def weights_of_patches(page: Page) -> list[float]:
    return page.locator(".patch").evaluate_all(
        "marks => marks.map((mark) => Number(mark.dataset.weight))"
    )


def go_to_step(page: Page, step: int) -> None:
    slider = page.get_by_label("Step", exact=True)
    slider.press("Home")
    for _ in range(step):
        slider.press("ArrowRight")
    expect_published(explorer_of(page), step=step)


def dots(page: Page) -> np.ndarray:
    """Return where the dots are, across and down."""
    return np.array(
        page.locator(".dot").evaluate_all(
            "dots => dots.map(({ style: { transform } }) => {"
            " const { e, f } = new DOMMatrix(transform);"
            " return [e, f]; })"
        )
    )


def test_every_dot_stands_at_the_distance_of_its_head(show):
    widget = make()
    page = show(widget, reduced_motion="reduce")
    for image, name in enumerate(["first", "second"]):
        page.get_by_label("Image", exact=True).select_option(name)
        expect_published(explorer_of(page), image=image)
        for step in (0, 2):
            go_to_step(page, step)
            expected = distances(widget, step, image)
            np.testing.assert_allclose(
                shown_distances(page), expected, atol=TOLERANCE
            )
            if not step:
                untrained = dots(page)
    now = dots(page)
    places = [
        dot(page, layer, head).evaluate(
            "node => new DOMMatrix(node.style.transform).f"
        )
        for layer, head in np.ndindex(LAYERS, HEADS)
    ]
    assert np.corrcoef(places, expected.ravel())[0, 1] == pytest.approx(-1)
    frame = page.locator(".plot").bounding_box()
    for ring in page.locator(".dot .ring").all():
        box = ring.bounding_box()
        assert frame["y"] <= box["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]
    uniform = attention_maps.uniform_distance(**GRID)
    expect(page.locator(".plot")).to_contain_text(f"{uniform:.2f} px")

    # A line goes from each head, untrained, to the same head now.
    def numbers(kind: str) -> np.ndarray:
        path = page.locator(f".{kind}").get_attribute("d")
        found = re.findall(r"M(\S+) ([\d.]+)[Vh]([\d.]+)", path)
        return np.array(found, float)

    np.testing.assert_allclose(numbers("ghosts")[:, :2], untrained, rtol=1e-5)
    np.testing.assert_allclose(
        numbers("stems"), np.column_stack([untrained, now[:, 1]]), rtol=1e-5
    )


def test_every_patch_has_its_weights_and_the_class_token_no_distance(show):
    widget = make(layer=2, head=4, image=1)
    page = show(widget)
    apart = attention_maps.patch_distances(**GRID).numpy()
    for row, column in [(0, 2), (3, 1)]:
        patch(page, row, column).click()
        expect_published(explorer_of(page), row=row, column=column)
        query = 3 * row + column
        weights = widget.maps[-1, 1, 2, 4, 1 + query, 1:].astype(float)
        np.testing.assert_array_equal(weights_of_patches(page), weights)
        expected = weights @ apart[query] / weights.sum()
        shown = published(explorer_of(page))["patchDistance"]
        assert shown == pytest.approx(expected, abs=TOLERANCE)
    path = page.locator(".squares").get_attribute("d")
    areas = np.square(np.array(re.findall(r"h([\d.]+)v", path), float))
    np.testing.assert_allclose(
        areas / areas.max(), weights / weights.max(), atol=1e-4
    )
    expect(page.locator(".reach")).to_be_visible()
    page.get_by_label("Query", exact=True).select_option("class token")
    expect_published(explorer_of(page), query="class token")
    weights = widget.maps[-1, 1, 2, 4, 0, 1:].astype(float)
    shown = published(explorer_of(page))
    assert (shown["patchDistance"], shown["most"]) == ("", weights.argmax())
    np.testing.assert_array_equal(weights_of_patches(page), weights)
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "its distance is not defined"
    )
    expect(page.locator(".reach")).to_be_hidden()
    expect(page.locator(".patch[aria-checked=true]")).to_have_count(0)
    patch(page, 0, 0).press(" ")
    expect_published(explorer_of(page), query="patch", row=0, column=0)
    page.locator(".tile").click()
    expect_published(explorer_of(page), query="class token")
    # Without a class token nothing offers one.
    page = show(make(0))
    expect(page.get_by_label("Query", exact=True)).to_have_count(0)
    expect(page.locator(".tile")).to_have_count(0)


def test_a_click_on_a_dot_or_beside_it_and_arrow_keys_choose_its_head(show):
    widget = make()
    page = show(widget)
    box = dot(page, 2, 3).locator(".ring").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] + 4)
    expect(dot(page, 2, 3)).to_have_attribute("aria-checked", "true")
    dot(page, 1, 3).click()
    found = distances(widget, 2, 0)[1]
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"Over all patches of this image: {found[3]:.2f} px"
    )
    expect(page.get_by_text("Where layer 2, head 4 looks")).to_be_visible()
    name = f"layer 2, head 4: {found[3]:.2f} pixels"
    expect(page.get_by_role("radio", name=name)).to_have_count(1)
    # The mouse that still rests there does not take the head back.
    for key, layer in (("Left", 0), ("Right", 1), ("Right", 2), ("Right", 2)):
        page.keyboard.press(f"Arrow{key}")
        expect_published(explorer_of(page), layer=layer, head=3)
        expect(dot(page, layer, 3)).to_be_focused()
    page.wait_for_timeout(300)
    page.keyboard.press("ArrowLeft")
    for _ in range(HEADS):
        page.keyboard.press("ArrowDown")
    order = list(np.argsort(found))
    expect_published(explorer_of(page), layer=1, head=order[0])
    page.keyboard.press("ArrowUp")
    expect_published(explorer_of(page), layer=1, head=order[1])
    expect(page.locator(".dot[tabindex='0']")).to_have_count(1)


def test_the_dots_can_show_the_average_over_many_images(show):
    mean = np.random.default_rng(3).random((3, LAYERS, HEADS)) * 5
    page = show(make(mean_distance=mean, layer=2, head=1))
    np.testing.assert_allclose(shown_distances(page), mean[2], atol=TOLERANCE)
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text(
        f"Average over many images: {mean[-1, 2, 1]:.2f} px."
    )
    page.get_by_label("Dots show", exact=True).select_option("image")
    expect(reading).not_to_contain_text("many images")
    np.testing.assert_allclose(
        shown_distances(page), distances(make(), 2, 0), atol=TOLERANCE
    )
