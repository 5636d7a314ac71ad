"""AttentionPlane in the browser: its motion, its sliders, its mouse."""

import numpy as np
import pytest
import torch
from mounted import explorer_of, published
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
    # Nor does a slider move by itself once it is reached.
    page.get_by_label("direction of the query").focus()
    expect(explorer_of(page)).to_have_attribute("data-playing", "false")
    assert published(explorer_of(page))["angle"] >= angle


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


def test_words_stand_for_the_keys(show):
    words = ["river", "money", "the"]
    points = np.array([[3, 0], [-3, 0], [0, 0.5]], "f4")
    widget = AttentionPlane(
        key_points=points, value_points=points, names=words, angle=180.0
    )
    page = show(widget)
    page.get_by_role("button", name="Pause").click()
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("Most weight: “money” (")
    for marks in (".plane >> nth=0", ".plane >> nth=1"):
        expect(page.locator(f"{marks} >> .name")).to_have_text(words)
    expect(page.locator(".bar-name")).to_have_text(words)


def test_its_length_stops_it_and_no_length_is_a_tie(show):
    page = show(AttentionPlane())
    expect_moving(page, explorer_of(page))
    page.get_by_label("length of the query").press("Home")
    expect(explorer_of(page)).to_have_attribute("data-playing", "false")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "All keys get the same weight (0.14)."
    )


def test_names_must_fit_the_keys():
    with pytest.raises(ValueError, match="names must have 7 entries"):
        AttentionPlane(names=["one"])


def test_points_are_drawn_where_they_are(show):
    rng = np.random.default_rng(0)
    keys, values = rng.uniform(-3, 3, (2, 3, 2))
    widget = AttentionPlane(
        key_points=keys, value_points=values, playing=False
    )
    page = show(widget)
    assert len(expect_attention(explorer_of(page), widget)["weights"]) == 3
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


def test_the_arrow_bears_the_word_that_asks(show):
    page = show(AttentionPlane(asking="bank", playing=False, angle=90.0))
    word = page.locator(".asker")
    expect(word).to_have_text("bank")
    arrow = page.locator("path.query").bounding_box()
    beside = word.bounding_box()
    middle = beside["y"] + beside["height"] / 2
    assert arrow["y"] < middle < arrow["y"] + arrow["height"]
    assert 0 < arrow["x"] - beside["x"] - beside["width"] < 20
