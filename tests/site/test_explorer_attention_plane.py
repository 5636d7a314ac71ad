"""AttentionPlane in the browser: its numbers, its motion, its controls."""

import numpy as np
import torch
from mounted import (
    each_look,
    expect_accessible_and_inside,
    explorer_of,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu.attention import scaled_dot_product_attention
from vitedu.widgets import AttentionPlane
from vitedu.widgets.attention_plane import readings

FRONT_PAGE = "book/index.html"
TOLERANCE = 1e-5


def still(**traits) -> AttentionPlane:
    return AttentionPlane(playing=False, **traits)


def expect_attention(explorer: Locator, widget: AttentionPlane) -> dict:
    """Compare the weights and the output with the library's attention."""
    shown = published(explorer)
    q, k, v = (
        torch.tensor(points, dtype=torch.float64).view(1, 1, -1, 2)
        for points in (
            shown["query"],
            widget.key_points,
            widget.value_points,
        )
    )
    out = scaled_dot_product_attention(q, k, v).view(2)
    np.testing.assert_allclose(shown["output"], out, atol=TOLERANCE)
    twin = AttentionPlane(
        key_points=widget.key_points,
        value_points=widget.value_points,
        angle=shown["angle"],
        length=shown["length"],
    )
    for name, value in readings(twin).items():
        np.testing.assert_allclose(
            shown[name], value, atol=TOLERANCE, err_msg=name
        )
    return shown


def expect_moving(page: Page, explorer: Locator) -> None:
    before = published(explorer)["angle"]
    page.wait_for_function(
        "([node, before]) => Number(node.dataset.angle) !== before",
        arg=[explorer.element_handle(), before],
    )


def test_it_moves_at_once_and_shows_attention_all_the_time(show):
    widget = AttentionPlane()
    page = show(widget)
    outputs = []
    for _ in range(3):
        expect_moving(page, explorer_of(page))
        outputs.append(expect_attention(explorer_of(page), widget)["output"])
    assert outputs[0] != outputs[2]


def test_a_full_turn_starts_again_at_zero(show):
    page = show(AttentionPlane(angle=350.0))
    page.wait_for_function(
        "node => Number(node.dataset.angle) < 100",
        arg=explorer_of(page).element_handle(),
    )
    assert 0 <= published(explorer_of(page))["angle"] < 100


def test_pause_stops_it_where_it_is(show):
    page = show(AttentionPlane())
    expect_moving(page, explorer_of(page))
    page.get_by_role("button", name="Pause").click()
    expect(explorer_of(page)).to_have_attribute("data-playing", "false")
    angle = published(explorer_of(page))["angle"]
    page.wait_for_timeout(200)
    assert published(explorer_of(page))["angle"] == angle
    assert angle > 35
    page.get_by_role("button", name="Play").click()
    expect_moving(page, explorer_of(page))


def test_the_live_line_is_silent_until_the_reader_acts(show):
    page = show(AttentionPlane())
    spoken = page.locator("[aria-live=polite]")
    first = spoken.text_content()
    assert first.startswith("Most weight: key 1 (")
    visible = page.locator(".vitedu-reading")
    # Frames so slow that each of them has the time to be spoken.
    page.evaluate(
        "window.requestAnimationFrame = (draw) =>"
        " setTimeout(() => draw(performance.now()), 400);"
        "window.cancelAnimationFrame = clearTimeout"
    )
    page.wait_for_timeout(1500)
    expect(visible).not_to_have_text(first)
    assert spoken.text_content() == first
    page.get_by_role("button", name="Pause").click()
    expect(spoken).not_to_have_text(first)
    assert spoken.text_content() == visible.text_content()


def test_reduced_motion_gets_a_still_picture_that_can_be_played(show):
    page = show(AttentionPlane(), reduced_motion="reduce")
    page.wait_for_timeout(200)
    assert published(explorer_of(page))["angle"] == 35
    page.get_by_role("button", name="Play").click()
    expect_moving(page, explorer_of(page))


def test_the_sliders_turn_and_lengthen_the_query(show):
    widget = still(angle=90.0, length=1.0)
    page = show(widget)
    explorer = explorer_of(page)
    page.get_by_label("direction of the query").press("ArrowRight")
    expect(explorer).to_have_attribute("data-angle", "91")
    page.get_by_label("length of the query").press("ArrowRight")
    expect(explorer).to_have_attribute("data-length", "1.05")
    shown = expect_attention(explorer, widget)
    angle = np.radians(91)
    np.testing.assert_allclose(
        shown["query"], [1.05 * np.cos(angle), 1.05 * np.sin(angle)]
    )


def test_a_query_of_length_zero_treats_all_keys_alike(show):
    widget = still()
    page = show(widget)
    page.get_by_label("length of the query").press("Home")
    expect(explorer_of(page)).to_have_attribute("data-length", "0")
    shown = expect_attention(explorer_of(page), widget)
    np.testing.assert_allclose(shown["weights"], np.full(7, 1 / 7))
    np.testing.assert_allclose(
        shown["output"], widget.value_points.mean(0), atol=TOLERANCE
    )


def test_a_slider_stands_still_when_it_is_reached(show):
    page = show(AttentionPlane())
    expect_moving(page, explorer_of(page))
    angle = published(explorer_of(page))["angle"]
    page.get_by_label("direction of the query").focus()
    expect(explorer_of(page)).to_have_attribute("data-playing", "false")
    assert published(explorer_of(page))["angle"] >= angle


def test_the_query_follows_the_mouse(show):
    widget = AttentionPlane()
    page = show(widget)
    plane = page.locator(".plane").first.bounding_box()
    handle = page.locator(".handle").bounding_box()
    unit = plane["width"] / 8.8
    page.mouse.move(
        handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2
    )
    page.mouse.down()
    page.mouse.move(
        plane["x"] + plane["width"] / 2 - 2 * unit,
        plane["y"] + plane["height"] / 2 + 1 * unit,
        steps=5,
    )
    page.mouse.up()
    expect(explorer_of(page)).to_have_attribute("data-playing", "false")
    shown = expect_attention(explorer_of(page), widget)
    np.testing.assert_allclose(shown["query"], [-2, -1], atol=0.02)
    # The longest query lies on the outermost ring.
    page.mouse.down()
    page.mouse.move(plane["x"] + plane["width"] / 2, plane["y"] - 50)
    page.mouse.up()
    expect(explorer_of(page)).to_have_attribute("data-length", "4")


def test_points_of_ones_own(show):
    rng = np.random.default_rng(0)
    widget = still(
        key_points=rng.uniform(-3, 3, (3, 2)),
        value_points=rng.uniform(-3, 3, (3, 2)),
    )
    page = show(widget)
    assert len(expect_attention(explorer_of(page), widget)["weights"]) == 3
    expect(page.locator(".bar")).to_have_count(3)


def test_bars_have_the_height_of_the_weights(show):
    widget = still(angle=200.0)
    page = show(widget)
    heights = page.locator(".bar-level").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().height"
        " / bar.parentElement.clientHeight)"
    )
    np.testing.assert_allclose(heights, readings(widget)["weights"], atol=1e-3)


@each_look
def test_accessible_and_inside_the_window(show, theme, width):
    page = show(AttentionPlane(), theme=theme, width=width)
    expect_accessible_and_inside(page)


def test_it_moves_on_the_front_page(open_page):
    page = open_page(FRONT_PAGE)
    start_explorers(page)
    explorer = page.locator(".vitedu-attention-plane")
    expect(explorer).to_have_count(1)
    expect_moving(page, explorer)
    explorer.get_by_role("button", name="Pause").click()
    expect(explorer).to_have_attribute("data-playing", "false")
    expect_attention(explorer, AttentionPlane())
