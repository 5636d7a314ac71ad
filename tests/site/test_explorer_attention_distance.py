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


def test_every_dot_stands_at_the_distance_of_its_head(show):
    widget = make()
    page = show(widget, reduced_motion="reduce")
    for image, name in enumerate(["first", "second"]):
        page.get_by_label("Image", exact=True).select_option(name)
        expect_published(explorer_of(page), image=image)
        for step in range(3):
            go_to_step(page, step)
            expected = distances(widget, step, image)
            np.testing.assert_allclose(
                shown_distances(page), expected, atol=TOLERANCE
            )
    places = [
        dot(page, layer, head).evaluate(
            "node => new DOMMatrix(node.style.transform).f"
        )
        for layer in range(LAYERS)
        for head in range(HEADS)
    ]
    assert np.corrcoef(places, expected.ravel())[0, 1] == pytest.approx(-1)
    frame = page.locator(".plot").bounding_box()
    for ring in page.locator(".dot .ring").all():
        box = ring.bounding_box()
        assert frame["y"] <= box["y"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]
    uniform = attention_maps.uniform_distance(**GRID)
    expect(page.locator(".plot")).to_contain_text(f"{uniform:.2f} px")


def test_every_patch_has_its_weights_and_its_distance(show):
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


def test_a_click_on_a_dot_or_beside_it_chooses_its_head(show):
    widget = make()
    page = show(widget)
    box = dot(page, 2, 3).locator(".ring").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] + 4)
    expect(dot(page, 2, 3)).to_have_attribute("aria-checked", "true")
    dot(page, 1, 3).click()
    distance = distances(widget, 2, 0)[1, 3]
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"Over all patches of this image: {distance:.2f} px"
    )
    expect(page.get_by_text("Where layer 2, head 4 looks")).to_be_visible()
    name = f"layer 2, head 4: {distance:.2f} pixels"
    expect(page.get_by_role("radio", name=name)).to_have_count(1)
    # The mouse that still rests there does not take the head back.
    page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(300)
    expect_published(explorer_of(page), layer=0, head=3)


def test_arrow_keys_go_from_head_to_head(show):
    widget = make(layer=1, head=2)
    page = show(widget)
    order = list(np.argsort(distances(widget, 2, 0)[1]))
    expect(page.locator(".dot[tabindex='0']")).to_have_count(1)
    dot(page, 1, 2).focus()
    for key, layer in (("Right", 2), ("Right", 2), ("Left", 1)):
        page.keyboard.press(f"Arrow{key}")
        expect_published(explorer_of(page), layer=layer, head=2)
        expect(dot(page, layer, 2)).to_be_focused()
    for _ in range(HEADS):
        page.keyboard.press("ArrowDown")
    expect_published(explorer_of(page), layer=1, head=order[0])
    for head in order[1:]:
        page.keyboard.press("ArrowUp")
        expect_published(explorer_of(page), layer=1, head=head)
    expect(page.locator(".dot[tabindex='0']")).to_have_count(1)


@pytest.mark.parametrize("narrow", [True, False])
def test_the_axis_starts_at_zero_or_says_that_it_does_not(show, narrow):
    maps = make().maps.astype(np.float64)
    if narrow:
        maps = 0.95 / maps.shape[-1] + 0.05 * maps
    else:
        maps[:, :, 0, 0] = np.eye(maps.shape[-1])
    page = show(make(maps=maps))
    notes = page.locator(".vitedu-panel-note").all_inner_texts()
    assert any("does not start at 0" in note for note in notes) == narrow
    heights = page.locator(".dot").evaluate_all(
        "dots => dots.map((dot) => dot.getBoundingClientRect().y)"
    )
    # The dots use the height of the plot in both cases.
    height = page.locator(".plot").bounding_box()["height"]
    assert np.ptp(heights) > 0.25 * height


def test_the_class_token_has_weights_but_no_distance(show):
    widget = make(layer=1, head=1)
    page = show(widget)
    expect(page.locator(".reach")).to_be_visible()
    page.get_by_label("Query", exact=True).select_option("class token")
    expect_published(explorer_of(page), query="class token")
    weights = widget.maps[-1, 0, 1, 1, 0, 1:].astype(float)
    shown = published(explorer_of(page))
    assert (shown["patchDistance"], shown["most"]) == ("", weights.argmax())
    np.testing.assert_array_equal(weights_of_patches(page), weights)
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "its distance is not defined"
    )
    expect(page.locator(".reach")).to_be_hidden()
    expect(page.locator(".patch[aria-checked=true]")).to_have_count(0)
    patch(page, 0, 0).click()
    expect_published(explorer_of(page), query="patch", row=0, column=0)
    page.locator(".tile").click()
    expect_published(explorer_of(page), query="class token")
    patch(page, 0, 0).press(" ")
    expect_published(explorer_of(page), query="patch")


def test_without_a_class_token_nothing_offers_one(show):
    page = show(make(0))
    expect(page.get_by_label("Query", exact=True)).to_have_count(0)
    expect(page.locator(".tile")).to_have_count(0)


def test_the_dots_can_show_the_average_over_many_images(show):
    mean = np.random.default_rng(3).random((3, LAYERS, HEADS)) * 5
    page = show(make(mean_distance=mean, layer=2, head=1))
    for step in range(3):
        go_to_step(page, step)
        np.testing.assert_allclose(
            shown_distances(page), mean[step], atol=TOLERANCE
        )
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text(
        f"Average over many images: {mean[-1, 2, 1]:.2f} px."
    )
    page.get_by_label("Dots show", exact=True).select_option("image")
    expect(reading).not_to_contain_text("many images")
    np.testing.assert_allclose(
        shown_distances(page), distances(make(), 2, 0), atol=TOLERANCE
    )


def test_a_line_goes_from_each_head_untrained_to_the_same_head_now(show):
    page = show(make(), reduced_motion="reduce")

    def dots() -> np.ndarray:
        return np.array(
            page.locator(".dot").evaluate_all(
                "dots => dots.map(({ style: { transform } }) => {"
                " const { e, f } = new DOMMatrix(transform);"
                " return [e, f]; })"
            )
        )

    def numbers(kind: str) -> np.ndarray:
        path = page.locator(f".{kind}").get_attribute("d")
        found = re.findall(r"M(\S+) ([\d.]+)[Vh]([\d.]+)", path)
        return np.array(found, float)

    go_to_step(page, 0)
    untrained = dots()
    go_to_step(page, 2)
    now = dots()
    assert np.abs(now - untrained)[:, 1].min() > 0
    np.testing.assert_allclose(numbers("ghosts")[:, :2], untrained, rtol=1e-5)
    np.testing.assert_allclose(
        numbers("stems"), np.column_stack([untrained, now[:, 1]]), rtol=1e-5
    )


@pytest.mark.parametrize(
    ("motion", "duration"), [("reduce", "0s"), ("no-preference", "0.4s")]
)
def test_dots_glide_unless_less_motion_or_a_finger_asks(
    show, motion, duration
):
    # Without the book's own rule: JupyterLab does not have it.
    page = show(make(), book_css=False, reduced_motion=motion)
    expect(dot(page, 0, 0)).to_have_css("transition-duration", duration)
    page.get_by_label("Step", exact=True).hover()
    page.mouse.down()
    for moving in (dot(page, 0, 0), page.locator(".stems")):
        expect(moving).to_have_css("transition-duration", "0s")
    page.mouse.up()
    expect(dot(page, 0, 0)).to_have_css("transition-duration", duration)


SCALES = """() => {
  globalThis.scales = [];
  addEventListener("transitionrun", ({ target }) => {
    for (const animation of target.getAnimations()) {
      for (const { transform } of animation.effect.getKeyframes()) {
        if (!transform) continue;
        const { a, b, c, d } = new DOMMatrix(transform);
        scales.push([a, b, c, d]);
      }
    }
  });
}"""


def test_nothing_is_scaled_while_it_moves(show):
    # The browser keeps a picture of what moves, as large as the scale says:
    # with long lines made of short ones it stopped drawing for a minute.
    page = show(make())
    page.evaluate(SCALES)
    go_to_step(page, 1)
    page.wait_for_function(f"scales.length >= {2 * LAYERS * HEADS}")
    assert set(map(tuple, page.evaluate("scales"))) == {(1, 0, 0, 1)}
