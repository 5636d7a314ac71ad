"""Training in the browser: its tiles, its buttons, and Play."""

import numpy as np
from explorers import training as make
from mounted import (
    button,
    choose_setting,
    expect_published,
    explorer_of,
    press,
    stop_clock,
)
from playwright.sync_api import Page, expect

WIDGET = make()
WRONG = WIDGET.answers != WIDGET.labels


def tap(page: Page, image: int) -> None:
    """Tap a tile; they stand in rows of 24."""
    tiles = page.locator(".tiles")
    box = tiles.bounding_box()
    down, across = divmod(image, 24)
    rows = -(-WRONG.shape[-1] // 24)
    tiles.click(
        position={
            "x": (across + 0.5) / 24 * box["width"],
            "y": (down + 0.5) / rows * box["height"],
        }
    )


def test_tiles_are_red_and_tapped_and_a_button_goes_round_them(show):
    page = show(make(epoch=4))
    explorer = explorer_of(page)
    for network, name in enumerate(WIDGET.names):
        choose_setting(page, name)
        expect_published(explorer, network=network, epoch=4)
        wrong = WRONG[network, 3]
        red = page.locator(".tile").evaluate_all(
            "all => all.map((one) => one.matches('.wrong'))"
        )
        assert red == wrong.tolist()
    digits = np.flatnonzero(wrong)
    for image in (digits[-1], np.flatnonzero(~wrong)[-1], 0):
        tap(page, image)
        expect_published(explorer, image=image)
    for image in [*digits[digits > 0], digits[0]]:
        press(page, "Next misread")
        expect_published(explorer, image=image)


def test_it_plays_in_silence_to_the_end_and_stops(show):
    page = show(make(epoch=3))
    explorer = explorer_of(page)
    spoken = page.locator("[aria-live=polite]")
    first = spoken.text_content()
    stop_clock(page)
    play = button(page, "Play")
    play.click()
    expect(button(page, "Stop")).to_be_visible()
    for _ in range(12):
        page.clock.run_for(100)
    expect_published(explorer, epoch=6)
    expect(spoken).to_have_text(first)
    for _ in range(20):
        page.clock.run_for(100)
    expect_published(explorer, epoch=7)
    expect(play).to_be_visible()
    expect(spoken).not_to_have_text(first)
    # From the end it begins again; moving the slider stops it.
    play.click()
    page.clock.run_for(100)
    expect_published(explorer, epoch=1)
    page.get_by_role("slider", name="Epoch").press("End")
    for _ in range(10):
        page.clock.run_for(100)
    expect_published(explorer, epoch=7)
    expect(play).to_be_visible()


def test_with_one_network_and_nothing_misread_there_is_no_choice(show):
    answers = np.tile(WIDGET.labels, (1, 1, 1))
    page = show(make(answers=answers, names=["all"]))
    expect(button(page, "Next misread")).to_be_disabled()
    expect(page.locator(".vitedu-settings")).to_have_count(0)
    press(page, "Play")
    expect_published(explorer_of(page), epoch=1)
