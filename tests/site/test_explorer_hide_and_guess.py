"""HideAndGuess in the browser: patches go and come, the guess follows."""

import numpy as np
import pytest
import torch
from explorers import guessing_model, hiding
from explorers import hide_and_guess as make
from mounted import (
    each_look,
    expect_accessible_and_inside,
    explorer_of,
    published,
    settle,
)
from playwright.sync_api import Locator, Page, expect

MEAN, STD = 0.3, 0.4
NOTHING = np.zeros(49, bool)
READ_CANVAS = """canvas => Array.from(
  canvas.getContext("2d").getImageData(0, 0, 28, 28).data)"""


def ready(page: Page) -> Locator:
    explorer = explorer_of(page)
    expect(explorer).to_have_attribute("aria-busy", "false")
    settle(page)
    return explorer


def hidden_in(page: Page) -> np.ndarray:
    """Return which patches are hidden; all that says so has to agree."""
    said = np.array(published(ready(page))["hidden"], bool)
    marks = page.locator(".patch")
    labels = marks.evaluate_all("all => all.map(one => one.ariaLabel)")
    states = ["hidden" if one else "seen" for one in said]
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


@torch.no_grad()
def guess(picture: int, hidden: np.ndarray) -> np.ndarray:
    """Return what the library fills in, from 0 to 1."""
    pixels = torch.tensor(hiding()["samples"][picture] / 255).float()
    images = (pixels[None, None] - MEAN) / STD
    mask = torch.tensor(hidden)[None]
    filled = guessing_model().fill_in(images, mask)[0, 0] * STD + MEAN
    return filled.clamp(0, 1).numpy()


def expect_guess(page: Page, picture: int = 0) -> None:
    """All pictures, and the numbers, are those of what is hidden."""
    hidden = hidden_in(page)
    original = hiding()["samples"][picture]
    for place in (".of-seen", ".of-original"):
        np.testing.assert_array_equal(shades(page, place), original)
    expected = guess(picture, hidden)
    difference = shades(page, ".of-guess") - 255 * expected
    assert np.abs(difference).max() < 0.51
    pixels = hidden.reshape(7, 7).repeat(4, 0).repeat(4, 1)
    right = original / 255
    grey = right[~pixels].mean()
    off, of_grey = (
        np.abs(one - right)[pixels].mean() for one in (expected, grey)
    )
    shown = published(explorer_of(page))
    assert shown["off"] == pytest.approx(off, abs=1e-4)
    assert shown["grey"] == pytest.approx(of_grey, abs=1e-4)
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text(f"off by {shown['off']:.2f} on average")
    expect(reading).to_contain_text(f"would be off by {shown['grey']:.2f}.")


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
    mask = NOTHING.copy().reshape(7, 7)
    for place in places:
        mask[place] = True
    return mask.ravel()


@pytest.mark.parametrize("picture", [0, 3])
def test_it_opens_with_a_guess(show, picture):
    page = show(make(picture=picture))
    assert hidden_in(page).sum() == 37
    expect_guess(page, picture)
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "12 of 49 patches are seen, 37 are hidden."
    )


def test_a_pointer_that_is_dragged_hides_and_shows(show):
    page = show(make(hidden=at((3, 3), (6, 6))))
    ready(page)
    # The first is seen: all are hidden on the way, and what was stays so.
    drag(page, (3, 1), (3, 5), (5, 5))
    row = [(3, column) for column in range(1, 6)]
    expected = at(*row, (4, 5), (5, 5), (6, 6))
    np.testing.assert_array_equal(hidden_in(page), expected)
    expect_guess(page)
    # The first is hidden: all are shown. Outside of it nothing happens.
    drag(page, (3, 2), (3, 4), (-2, 4), (0, 9))
    expected = at((3, 1), (3, 5), (4, 5), (5, 5), (6, 6))
    np.testing.assert_array_equal(hidden_in(page), expected)
    expect_guess(page)
    # A pointer that is up changes nothing.
    page.mouse.move(5, 5)
    page.locator(".patch").nth(0).hover()
    np.testing.assert_array_equal(hidden_in(page), expected)


def test_a_click_changes_one_patch_once(show):
    page = show(make(hidden=at((0, 0))))
    page.locator(".patch").nth(9).click()
    np.testing.assert_array_equal(hidden_in(page), at((0, 0), (1, 2)))
    page.locator(".patch").nth(0).click()
    np.testing.assert_array_equal(hidden_in(page), at((1, 2)))
    # Where the click of a pointer comes to the patch, it has been counted; a
    # screen reader's has not.
    for detail, expected in ((1, at((1, 2))), (0, at((1, 2), (2, 0)))):
        page.locator(".patch").nth(14).dispatch_event(
            "click", {"detail": detail}
        )
        np.testing.assert_array_equal(hidden_in(page), expected)


def test_a_finger_hides_and_shows(show):
    page = show(make(hidden=at((0, 0))), has_touch=True, width=390)
    patch = page.locator(".patch").nth(9)
    patch.tap()
    np.testing.assert_array_equal(hidden_in(page), at((0, 0), (1, 2)))
    patch.tap()
    np.testing.assert_array_equal(hidden_in(page), at((0, 0)))
    # The page must not scroll away under it.
    cover = page.locator(".cover")
    assert cover.evaluate("node => getComputedStyle(node).touchAction") == (
        "none"
    )
    assert patch.bounding_box()["width"] > 32


def test_keys_go_over_the_patches_and_hide_them(show):
    page = show(make(hidden=at((6, 6))))
    patches = page.locator(".patch")
    patches.nth(0).focus()
    for key in ("ArrowLeft", "ArrowDown", "ArrowRight", "Space", "ArrowDown"):
        page.keyboard.press(key)
    expect(patches.nth(15)).to_be_focused()
    page.keyboard.press("Enter")
    np.testing.assert_array_equal(hidden_in(page), at((1, 1), (2, 1), (6, 6)))
    expect_guess(page)
    page.keyboard.press("Space")
    np.testing.assert_array_equal(hidden_in(page), at((1, 1), (6, 6)))
    stops = patches.evaluate_all("all => all.map(one => one.tabIndex)")
    assert stops == [-1] * 15 + [0] + [-1] * 33


def test_others_are_hidden_at_random_as_many_as_before(show):
    page = show(make())
    slider = page.get_by_role("slider", name="Hidden patches")
    slider.fill("20")
    first = hidden_in(page)
    page.get_by_role("button", name="Hide others at random").click()
    second = hidden_in(page)
    assert first.sum() == second.sum() == 20
    assert (first != second).any()
    expect_guess(page)
    slider.fill("21")
    more = hidden_in(page)
    assert more.sum() == 21
    assert (more >= second).all()
    assert published(explorer_of(page))["seed"] == 2
    # Where nothing is hidden, as many as at first.
    page.get_by_role("button", name="Show all").click()
    assert hidden_in(page).sum() == 0
    page.get_by_role("button", name="Hide others at random").click()
    assert hidden_in(page).sum() == 37


def test_named_masks(show):
    page = show(make())
    page.get_by_role("button", name="Hide the left").click()
    left = hidden_in(page).reshape(7, 7)
    assert left[:, :4].all()
    assert left.sum() == 28
    expect_guess(page)
    page.get_by_role("button", name="Hide all but the middle").click()
    assert not hidden_in(page).reshape(7, 7)[2:5, 2:5].any()
    assert hidden_in(page).sum() == 40
    expect_guess(page)


def test_where_there_is_nothing_to_guess_or_nothing_to_guess_from(show):
    page = show(make(hidden=NOTHING))
    ready(page)
    reading = page.locator(".vitedu-reading")
    expect(reading).to_have_text(
        "All 49 patches are seen: nothing is left to guess."
    )
    np.testing.assert_array_equal(
        shades(page, ".of-guess"), hiding()["samples"][0]
    )
    assert published(explorer_of(page))["off"] == "none"
    page.get_by_role("slider", name="Hidden patches").fill("49")
    assert hidden_in(page).all()
    expect(reading).to_contain_text("None of 49 patches is seen")
    first = shades(page, ".of-guess")
    page.get_by_role("group", name="Pictures").get_by_role("button").nth(
        2
    ).click()
    assert published(ready(page))["picture"] == 2
    np.testing.assert_array_equal(shades(page, ".of-guess"), first)


@pytest.mark.parametrize(
    ("hidden", "words"),
    [
        (at((2, 2)), "48 of 49 patches are seen, 1 is hidden."),
        (~at((2, 2)), "1 of 49 patches is seen, 48 are hidden."),
    ],
)
def test_one_patch_is_one(show, hidden, words):
    page = show(make(hidden=hidden))
    ready(page)
    expect(page.locator(".vitedu-reading")).to_contain_text(words)
    expect_guess(page)


def test_pictures_have_names_and_can_be_chosen(show):
    page = show(make())
    ready(page)
    group = page.get_by_role("group", name="Pictures")
    chips = group.get_by_role("button")
    names = chips.evaluate_all("all => all.map(one => one.ariaLabel)")
    assert names == hiding()["names"]
    chips.nth(2).click()
    expect(chips.nth(2)).to_have_attribute("aria-pressed", "true")
    ready(page)
    expect_guess(page, 2)
    expect(page.locator(".of-original")).to_contain_text(names[2])


def test_what_is_seen_is_outlined_and_nothing_where_nothing_is_hidden(show):
    page = show(make(hidden=~at((2, 2), (2, 3))))
    ready(page)
    line = page.locator(".of-guess path.over")
    box = "M2 2h1M2 3h1M2 2v1M3 2h1M3 3h1M4 2v1"
    expect(line).to_have_attribute("d", box)
    page.get_by_role("button", name="Show all").click()
    expect(line).to_have_attribute("d", "")


@each_look
def test_every_state_is_accessible_and_inside(show, theme, width):
    page = show(make(), theme=theme, width=width)
    for name in ("Hide the left", "Hide all but the middle", "Show all"):
        page.get_by_role("button", name=name).click()
        ready(page)
        expect_accessible_and_inside(page)
    pictures = page.locator(".at-once canvas")
    assert pictures.count() == 3
