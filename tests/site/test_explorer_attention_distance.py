"""AttentionDistance in the browser: its marks and its motion."""

import numpy as np
import pytest
from explorers import attention_distance as make
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

LAYERS, HEADS = 3, 5


def dot(page: Page, layer: int, head: int) -> Locator:
    return page.locator(f'.dot[data-layer="{layer}"][data-head="{head}"]')


def test_a_head_is_chosen_by_clicks_near_its_dot_and_by_keys(show):
    page = show(make())
    explorer = explorer_of(page)
    box = dot(page, 2, 3).locator(".ring").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] + 4)
    expect_published(explorer, layer=2, head=3)
    dot(page, 1, 2).click()
    name = f"layer 2, head 3: {published(explorer)['distance']:.2f} pixels"
    expect(page.get_by_role("radio", name=name)).to_have_count(1)
    # The mouse that still rests there does not take the head back.
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    for key, layer in (("Right", 2), ("Left", 1)):
        page.keyboard.press(f"Arrow{key}")
        expect_published(explorer, layer=layer, head=2)
        expect(dot(page, layer, 2)).to_be_focused()
    far = "all => all.map((dot) => Number(dot.dataset.distance))"
    dots = page.locator('.dot[data-layer="1"]')
    order = np.argsort(dots.evaluate_all(far))
    for _ in range(HEADS):
        page.keyboard.press("ArrowDown")
    for head in order:
        expect_published(explorer, layer=1, head=head)
        page.keyboard.press("ArrowUp")
    expect(page.locator(".dot[tabindex='0']")).to_have_count(1)


def test_the_class_token_is_chosen_where_there_is_one(show):
    page = show(make())
    explorer = explorer_of(page)
    page.locator(".tile").click()
    expect_published(explorer, query="class token")
    expect(page.locator(".patch[aria-checked=true]")).to_have_count(0)
    page.locator(".patch").first.press(" ")
    expect_published(explorer, query="patch", row=0, column=0)
    expect(show(make(0)).locator(".tile")).to_have_count(0)


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
    const frames = target.getAnimations()
      .flatMap(({ effect }) => effect.getKeyframes());
    for (const { transform } of frames.filter((one) => one.transform)) {
      const { a, b, c, d } = new DOMMatrix(transform);
      scales.push([a, b, c, d]);
    }
  });
}"""


def test_nothing_is_scaled_while_it_moves(show):
    # The browser keeps a picture of what moves, as large as the scale says:
    # with long lines made of short ones it stopped drawing for a minute.
    page = show(make())
    page.evaluate(SCALES)
    page.get_by_label("Step", exact=True).press("Home")
    page.wait_for_function(f"scales.length >= {2 * LAYERS * HEADS}")
    assert set(map(tuple, page.evaluate("scales"))) == {(1, 0, 0, 1)}
