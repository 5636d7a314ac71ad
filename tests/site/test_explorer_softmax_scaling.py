"""SoftmaxScaling in the browser: its numbers, its mouse, its keyboard."""

import pytest
from mounted import (
    EXPLORER,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    expect_readings,
    explorer_of,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import SoftmaxScaling
from vitedu.widgets.softmax_scaling import readings

CHAPTER = "chapters/03-scaled-dot-product-attention.html"
TOLERANCE = 1e-5


def head_dim_slider(page: Page) -> Locator:
    return page.get_by_label("head_dim", exact=True)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"head_dim": 1, "num_keys": 2, "scale": "none"},
        {"head_dim": 2, "num_keys": 256, "scale": "none", "seed": 3},
        {"head_dim": 31, "num_keys": 17, "scale": "1/sqrt(d_model)"},
        {"head_dim": 32, "num_keys": 3, "seed": 2**32 - 1},
        {
            "head_dim": 33,
            "num_keys": 197,
            "scale": "temperature",
            "temperature": 0.25,
        },
        {"head_dim": 1024, "num_keys": 256, "scale": "none", "seed": 7},
    ],
)
def test_the_page_shows_the_numbers_of_its_twin(show, settings):
    widget = SoftmaxScaling(**settings)
    page = show(widget)
    expect_readings(explorer_of(page), readings(widget))


def test_more_keys_and_fewer_have_the_numbers_of_their_twin(show):
    page = show(SoftmaxScaling(head_dim=45, num_keys=3))
    explorer = explorer_of(page)
    slider = page.get_by_label("number of keys")
    for key, num_keys in [("End", 256), ("PageDown", 128), ("PageUp", 256)]:
        slider.press(key)
        expect_published(explorer, num_keys=num_keys)
        widget = SoftmaxScaling(head_dim=45, num_keys=num_keys)
        expect_readings(explorer, readings(widget))


def test_keys_move_head_dim_by_one_and_by_doubling(show):
    page = show(SoftmaxScaling(scale="none"))
    explorer, slider = explorer_of(page), head_dim_slider(page)
    for key, head_dim in [
        ("ArrowRight", 65),
        ("ArrowUp", 66),
        ("ArrowLeft", 65),
        ("PageUp", 130),
        ("PageDown", 65),
        ("End", 1024),
        ("ArrowRight", 1024),
        ("Home", 1),
        ("ArrowDown", 1),
    ]:
        slider.press(key)
        expect_published(explorer, head_dim=head_dim)
        expect(slider).to_have_attribute("aria-valuetext", str(head_dim))
        widget = SoftmaxScaling(head_dim=head_dim, scale="none")
        expect_readings(explorer, readings(widget))


def test_dragging_moves_head_dim_all_the_way(show):
    page = show(SoftmaxScaling(num_keys=256, scale="none"))
    explorer = explorer_of(page)
    box = head_dim_slider(page).bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] + 20, middle, steps=20)
    expect_published(explorer, head_dim=1024)
    page.mouse.move(box["x"] + box["width"] / 2, middle, steps=20)
    expect_published(explorer, head_dim=32)
    page.mouse.up()
    expect_readings(
        explorer,
        readings(SoftmaxScaling(head_dim=32, num_keys=256, scale="none")),
    )


def test_temperature_counts_only_where_it_is_chosen(show):
    page = show(SoftmaxScaling())
    explorer = explorer_of(page)
    temperature = page.get_by_label("temperature")
    expect(temperature).to_be_disabled()
    page.get_by_label("scores are multiplied by").select_option("temperature")
    expect(temperature).to_be_enabled()
    expect_published(explorer, scale=0.125)
    temperature.press("ArrowRight")
    expect_published(explorer, scale=1 / 8.05)
    expect_readings(
        explorer,
        readings(SoftmaxScaling(scale="temperature", temperature=8.05)),
    )


def test_a_new_draw_is_the_next_seed(show):
    page = show(SoftmaxScaling(seed=2**32 - 1))
    page.get_by_role("button", name="New draw").click()
    expect_published(explorer_of(page), seed=0)
    expect_readings(explorer_of(page), readings(SoftmaxScaling(seed=0)))


def test_two_views_move_together(show):
    page = show(SoftmaxScaling(), views=2)
    page.get_by_label("number of keys").first.press("End")
    for view in page.locator(EXPLORER).all():
        expect_published(view, num_keys=256)
        expect(view.get_by_label("number of keys")).to_have_attribute(
            "aria-valuetext", "256"
        )


def sentence_start(head_dim: int) -> str:
    reading = readings(SoftmaxScaling(head_dim=head_dim, scale="none"))
    return (
        f"Largest weight {reading['weights'].max():.2f}. "
        f"Entropy {reading['entropy']:.3f} of at most 2.77. "
        f"Dead queries: {100 * reading['dead_share']:.0f} %."
    )


def test_the_reading_is_spoken_once_after_the_last_movement(show):
    page = show(SoftmaxScaling(scale="none"))
    spoken = page.locator("[aria-live=polite]")
    expect(spoken).to_contain_text(sentence_start(64))
    spoken.evaluate(
        "node => { window.said = []; new MutationObserver(() =>"
        " window.said.push(node.textContent)).observe(node,"
        " {childList: true}); }"
    )
    for _ in range(10):
        head_dim_slider(page).press("ArrowRight")
    expect(spoken).to_contain_text(sentence_start(74))
    # A slow machine may take a pause in the middle.
    assert 1 <= len(page.evaluate("window.said")) <= 5


@each_look
def test_accessible_and_inside_the_window(show, theme, width):
    page = show(SoftmaxScaling(scale="none"), theme=theme, width=width)
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [374, 414, 480, 704])
def test_nothing_jumps_while_a_slider_moves(show, width):
    page = show(SoftmaxScaling(), width=width)
    explorer = explorer_of(page)
    heights = set()
    for scale in ("1/sqrt(d_model)", "none"):
        page.get_by_label("scores are multiplied by").select_option(scale)
        for key, num_keys in [("End", 256), ("Home", 2)]:
            for label in ("head_dim", "number of keys"):
                page.get_by_label(label, exact=True).press(key)
            expect_published(explorer, num_keys=num_keys)
            heights.add(explorer.bounding_box()["height"])
    # A raised digit from another font makes its line a pixel higher.
    assert max(heights) - min(heights) <= 2


def test_it_lives_in_its_chapter(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    explorer = page.locator(".vitedu-softmax-scaling")
    expect(explorer).to_have_count(1)
    num_keys = published(explorer)["numKeys"]
    explorer.get_by_label("scores are multiplied by").select_option("none")
    expect_published(explorer, scale=1)
    explorer.get_by_label("head_dim", exact=True).press("End")
    expect_published(explorer, head_dim=1024)
    expect_readings(
        explorer,
        readings(
            SoftmaxScaling(head_dim=1024, num_keys=num_keys, scale="none")
        ),
    )
