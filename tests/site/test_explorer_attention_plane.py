"""AttentionPlane in the browser: its motion, its sliders, its mouse."""

import numpy as np
import torch
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

from vitedu.attention import attention_weights, scaled_dot_product_attention
from vitedu.widgets import AttentionPlane

TOLERANCE = 1e-5


def expect_attention(explorer: Locator, widget: AttentionPlane) -> dict:
    """Compare the weights and the output with the library's attention."""
    shown = published(explorer)
    angle, length = np.radians(shown["angle"]), shown["length"]
    query = length * np.array([np.cos(angle), np.sin(angle)])
    np.testing.assert_allclose(shown["query"], query, atol=TOLERANCE)
    q, k, v = (
        torch.tensor(points, dtype=torch.float64).view(1, 1, -1, 2)
        for points in (query, widget.key_points, widget.value_points)
    )
    np.testing.assert_allclose(
        shown["weights"], attention_weights(q, k).view(-1), atol=TOLERANCE
    )
    out = scaled_dot_product_attention(q, k, v).view(2)
    np.testing.assert_allclose(shown["output"], out, atol=TOLERANCE)
    return shown


def expect_moving(page: Page, explorer: Locator) -> None:
    before = published(explorer)["angle"]
    page.wait_for_function(
        "([node, before]) => Number(node.dataset.angle) !== before",
        arg=[explorer.element_handle(), before],
    )


def test_it_moves_at_once_until_it_is_paused(show):
    widget = AttentionPlane(angle=350.0)
    page = show(widget)
    explorer = explorer_of(page)
    outputs = []
    for _ in range(2):
        expect_moving(page, explorer)
        outputs.append(expect_attention(explorer, widget)["output"])
    assert outputs[0] != outputs[1]
    # A full turn starts again at zero.
    page.wait_for_function(
        "node => Number(node.dataset.angle) < 100",
        arg=explorer.element_handle(),
    )
    assert 0 <= published(explorer)["angle"] < 100
    page.get_by_role("button", name="Pause").click()
    expect(explorer).to_have_attribute("data-playing", "false")
    angle = published(explorer)["angle"]
    page.wait_for_timeout(200)
    assert published(explorer)["angle"] == angle
    page.get_by_role("button", name="Play").click()
    expect_moving(page, explorer)
    # No slider moves by itself once it is reached; no length is a tie.
    page.get_by_label("direction of the query").focus()
    expect(explorer).to_have_attribute("data-playing", "false")
    page.get_by_label("length of the query").press("Home")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "All keys get the same weight (0.14)."
    )


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
    page.get_by_role("button", name="Start again").click()
    expect_published(explorer_of(page), angle=35, playing="false")


def test_the_query_follows_the_mouse_and_the_bars_its_weights(show):
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
    heights = page.locator(".bar-level").evaluate_all(
        "bars => bars.map((bar) => bar.getBoundingClientRect().height"
        " / bar.parentElement.clientHeight)"
    )
    np.testing.assert_allclose(heights, shown["weights"], atol=1e-3)
    # The longest query lies on the outermost ring.
    page.mouse.down()
    page.mouse.move(plane["x"] + plane["width"] / 2, plane["y"] - 50)
    page.mouse.up()
    expect(explorer_of(page)).to_have_attribute("data-length", "4")


def test_points_are_drawn_where_they_are_and_have_words(show):
    rng = np.random.default_rng(0)
    keys, values = rng.uniform(-3, 3, (2, 3, 2))
    words = ["river", "money", "the"]
    widget = AttentionPlane(
        key_points=keys, value_points=values, playing=False, names=words
    )
    page = show(widget)
    weights = expect_attention(explorer_of(page), widget)["weights"]
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"Most weight: “{words[np.argmax(weights)]}” ("
    )
    for marks in (".plane >> nth=0", ".plane >> nth=1"):
        expect(page.locator(f"{marks} >> .name")).to_have_text(words)
    expect(page.locator(".bar-name")).to_have_text(words)
    places = "nodes => nodes.map((node) => [{}].map(({{ value }}) => value))"
    centres = "node.cx.baseVal, node.cy.baseVal"
    corners = "node.x.baseVal, node.y.baseVal"
    for marks, where, points, shift in (
        (".plane .key", centres, keys, 0),
        (".plane .value", corners, values, 6),
    ):
        drawn = page.locator(marks).evaluate_all(places.format(where))
        # 320 wide from -4.4 to 4.4; down is the other way.
        expected = 160 + points * [1, -1] * 320 / 8.8
        np.testing.assert_allclose(np.add(drawn, shift), expected, atol=0.01)
