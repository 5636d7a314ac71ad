"""HideAndGuess in the browser: patches go and come, the guess follows."""

import numpy as np
import pytest
from explorers import hide_and_guess as make
from explorers import hiding
from mounted import explorer_of, press, published, ready
from playwright.sync_api import Page, expect

READ_CANVAS = """canvas => Array.from(
  canvas.getContext("2d").getImageData(0, 0, 28, 28).data)"""


def hidden_in(page: Page) -> np.ndarray:
    """Return which patches are hidden; all that says so has to agree."""
    said = np.array(published(ready(page))["hidden"], bool)
    marks = page.locator(".patch")
    labels = marks.evaluate_all("all => all.map(one => one.ariaLabel)")
    states = ["hidden" if one else "visible" for one in said]
    assert labels == [
        f"row {place // 7 + 1}, column {place % 7 + 1}: {state}"
        for place, state in enumerate(states)
    ]
    covered = page.locator(".patch.hidden")
    expect(covered).to_have_count(int(said.sum()))
    expect(page.locator("output")).to_contain_text(f"{said.sum()} of 49")
    return said


def shades(page: Page, place: str) -> np.ndarray:
    """Return the ink of a picture, 0 for white to 255; all is grey."""
    found = page.locator(f"{place} canvas").evaluate(READ_CANVAS)
    pixels = np.array(found).reshape(28, 28, 4)
    assert (pixels[..., :3] == pixels[..., :1]).all()
    assert (pixels[..., 3] == 255).all()
    return 255 - pixels[..., 0]


def drag(page: Page, *places: tuple[int, int]) -> None:
    """Press the pointer in the first patch and move it over the others."""
    box = page.locator(".cover").bounding_box()
    for i, (row, column) in enumerate(places):
        x, y = ((at + 0.5) / 7 for at in (column, row))
        page.mouse.move(
            box["x"] + x * box["width"], box["y"] + y * box["height"]
        )
        if not i:
            page.mouse.down()
    page.mouse.up()


def at(*places: tuple[int, int]) -> np.ndarray:
    mask = np.zeros((7, 7), bool)
    for place in places:
        mask[place] = True
    return mask.ravel()


def expect_hidden(page: Page, *places: tuple[int, int]) -> None:
    np.testing.assert_array_equal(hidden_in(page), at(*places))


def test_a_pointer_that_is_dragged_hides_and_shows(show):
    page = show(make(hidden=at((3, 3), (6, 6))))
    ready(page)
    # The first is seen: all are hidden on the way, and what was stays so.
    drag(page, (3, 1), (3, 5), (5, 5))
    row = [(3, column) for column in range(1, 6)]
    expect_hidden(page, *row, (4, 5), (5, 5), (6, 6))
    # The first is hidden: all are shown. Outside of it nothing happens.
    drag(page, (3, 2), (3, 4), (-2, 4), (0, 9))
    left = (3, 1), (3, 5), (4, 5), (5, 5), (6, 6)
    expect_hidden(page, *left)
    # A pointer that is up changes nothing.
    page.mouse.move(5, 5)
    page.locator(".patch").nth(0).hover()
    expect_hidden(page, *left)


def test_a_click_and_a_finger_change_one_patch_once(show):
    page = show(make(hidden=at((0, 0))), has_touch=True, width=390)
    patches = page.locator(".patch")
    patches.nth(9).click()
    expect_hidden(page, (0, 0), (1, 2))
    patches.nth(0).tap()
    expect_hidden(page, (1, 2))
    # Where the click of a pointer comes to the patch, it has been counted; a
    # screen reader's has not.
    for detail, more in ((1, []), (0, [(2, 0)])):
        patches.nth(14).dispatch_event("click", {"detail": detail})
        expect_hidden(page, (1, 2), *more)
    # The page must not scroll away under a finger.
    expect(page.locator(".cover")).to_have_css("touch-action", "none")
    assert patches.nth(9).bounding_box()["width"] > 32


def test_keys_go_over_the_patches_and_hide_them(show):
    page = show(make(hidden=at((6, 6))))
    patches = page.locator(".patch")
    patches.nth(0).focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "Space", "ArrowDown"):
        page.keyboard.press(key)
    expect(patches.nth(15)).to_be_focused()
    page.keyboard.press("Enter")
    expect_hidden(page, (1, 1), (2, 1), (6, 6))
    page.keyboard.press("Space")
    expect_hidden(page, (1, 1), (6, 6))
    stops = patches.evaluate_all("all => all.map(one => one.tabIndex)")
    assert stops == [-1] * 15 + [0] + [-1] * 33


def test_buttons_and_the_slider_hide_and_all_pictures_follow(show):
    page = show(make())
    slider = page.get_by_role("slider", name="Hidden patches")
    slider.fill("20")
    first = hidden_in(page)
    press(page, "Hide others at random")
    second = hidden_in(page)
    assert first.sum() == second.sum() == 20
    assert (first != second).any()
    slider.fill("21")
    more = hidden_in(page)
    assert more.sum() == 21
    assert (more >= second).all()
    # Where nothing is hidden, as many as at first.
    press(page, "Show all")
    assert hidden_in(page).sum() == 0
    expect(page.locator(".of-guess path.over")).to_have_attribute("d", "")
    press(page, "Hide others at random")
    assert hidden_in(page).sum() == 37
    press(page, "Hide all but the middle")
    assert not hidden_in(page).reshape(7, 7)[2:5, 2:5].any()
    assert hidden_in(page).sum() == 40
    press(page, "Hide the left")
    left = hidden_in(page).reshape(7, 7)
    assert left[:, :4].all()
    assert left.sum() == 28
    name = hiding()["names"][2]
    press(page, name)
    ready(page)
    expect(page.locator(".of-original")).to_contain_text(name)
    original = hiding()["samples"][2]
    for place in (".of-seen", ".of-original"):
        np.testing.assert_array_equal(shades(page, place), original)
    # What is seen is as it was, the rest is a guess.
    guess = shades(page, ".of-guess")
    np.testing.assert_array_equal(guess[:, 16:], original[:, 16:])
    right = np.abs(guess - original.astype(int))[:, :16].mean() / 255
    off = published(explorer_of(page))["off"]
    assert off == pytest.approx(right, abs=0.002)
