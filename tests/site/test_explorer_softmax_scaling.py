"""SoftmaxScaling in the browser: its sliders, its words."""

from mounted import (
    expect_published,
    explorer_of,
    press,
    published,
)
from playwright.sync_api import Locator, Page, expect

from vitedu.widgets import SoftmaxScaling


def head_dim_slider(page: Page) -> Locator:
    return page.get_by_label("head_dim", exact=True)


def test_keys_move_head_dim_by_one_and_by_doubling(show):
    page = show(SoftmaxScaling(scale="none"))
    explorer, slider = explorer_of(page), head_dim_slider(page)
    for key, head_dim in [
        ("ArrowRight", 65),
        ("ArrowLeft", 64),
        ("PageUp", 128),
        ("PageDown", 64),
    ]:
        slider.press(key)
        expect_published(explorer, head_dim=head_dim)
        expect(slider).to_have_attribute("aria-valuetext", str(head_dim))


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


def test_temperature_counts_only_where_it_is_chosen(show):
    page = show(SoftmaxScaling())
    explorer = explorer_of(page)
    temperature = page.get_by_label("temperature")
    expect(temperature).to_be_hidden()
    page.get_by_label("scores are multiplied by").select_option("temperature")
    expect(temperature).to_be_visible()
    expect_published(explorer, scale=0.125)
    temperature.press("ArrowRight")
    expect_published(explorer, scale=1 / 8.05)


def drawn(page: Page, kind: str) -> list[str]:
    return page.locator(f".vitedu-beside .{kind}").evaluate_all(
        "all => all.map((path) => path.getAttribute('d'))"
    )


def test_grey_is_what_the_root_would_give(show):
    page = show(SoftmaxScaling(num_keys=197))
    assert set(drawn(page, "compared")) <= {"", None}
    [scores], [weights], [gradients] = (
        drawn(page, kind) for kind in ("keys", "bars", "alive")
    )
    press(page, "no root")
    expect_published(explorer_of(page), scale=1)
    expect(page.get_by_text("Grey: the same queries")).to_be_visible()
    grey = drawn(page, "compared")
    assert grey[:2] == [scores, weights]
    assert grey[3] == gradients
    assert drawn(page, "keys") != [scores]


def test_a_new_draw_is_the_next_seed(show):
    page = show(SoftmaxScaling(seed=2**32 - 1))
    page.get_by_role("button", name="New draw").click()
    expect_published(explorer_of(page), seed=0)


def test_the_reading_is_spoken_once_after_the_last_movement(show):
    page = show(SoftmaxScaling(scale="none"))
    spoken = page.locator("[aria-live=polite]")
    spoken.evaluate(
        "node => { window.said = []; new MutationObserver(() =>"
        " window.said.push(node.textContent)).observe(node,"
        " {childList: true}); }"
    )
    for _ in range(10):
        head_dim_slider(page).press("ArrowRight")
    expect_published(explorer_of(page), head_dim=74)
    shown = published(explorer_of(page))
    expect(spoken).to_contain_text(
        f"Largest weight {max(shown['weights']):.2f}. "
        f"Entropy {shown['entropy']:.3f} of at most 2.77. "
        f"Dead queries: {100 * shown['deadShare']:.0f}%."
    )
    # A slow machine may take a pause in the middle.
    assert 1 <= len(page.evaluate("window.said")) <= 5
