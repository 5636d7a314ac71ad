"""Training in the browser: what is red, what was taken for what, and Play."""

import numpy as np
from explorers import training as make
from mounted import (
    choose_setting,
    expect_published,
    explorer_of,
    published,
    stop_clock,
)
from playwright.sync_api import Page, expect

WIDGET = make()
WRONG = WIDGET.answers != WIDGET.labels


def reading_of(page: Page) -> str:
    return page.locator(".vitedu-reading").text_content()


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


def test_an_epoch_shows_which_digits_are_misread(show):
    page = show(make())
    explorer = explorer_of(page)
    slider = page.get_by_role("slider", name="Epoch")
    for epoch in (1, 2, 3):
        expect_published(explorer, network=0, epoch=epoch)
        now = WRONG[0, epoch - 1]
        assert published(explorer)["misread"] == np.flatnonzero(now).tolist()
        red = page.locator(".tile").evaluate_all(
            "all => all.map((one) => one.matches('.wrong'))"
        )
        assert red == now.tolist()
        reading, right = reading_of(page), 100 * (1 - now.mean())
        assert f"epoch {epoch} misreads {now.sum()} of 30 test" in reading
        assert f"reads {right:.1f} % right" in reading
        slider.press("ArrowRight")
    choose_setting(page, "second")
    expect_published(explorer, network=1, epoch=4)
    wrong = np.flatnonzero(WRONG[1, 3])
    assert published(explorer)["misread"] == wrong.tolist()
    last = page.locator(".lines .value").last
    expect(last).to_have_text(str(len(wrong)))


def test_a_digit_that_is_tapped_says_what_it_was_taken_for(show):
    page = show(make(epoch=3))
    misread = np.flatnonzero(WRONG[0, 2])
    known = np.flatnonzero(~WRONG[0, 2])
    for image in (misread[-1], misread[0], known[-1]):
        tap(page, image)
        expect_published(explorer_of(page), image=image)
        answers = page.locator(".answer")
        said = WIDGET.answers[0, :, image]
        assert answers.all_text_contents() == [str(one) for one in said]
        red = answers.evaluate_all(
            "all => all.map((one) => one.matches('.wrong'))"
        )
        assert red == WRONG[0, :, image].tolist()
        expect(page.locator(".answer.now")).to_have_text(str(said[2]))
        label = WIDGET.labels[image]
        end = (
            f"is taken for {article(said[2])}." if red[2] else "is read right."
        )
        assert f"digit, {article(label)}, {end}" in reading_of(page)


def article(digit: int) -> str:
    return f"an {digit}" if digit == 8 else f"a {digit}"


def test_a_button_leads_from_one_misread_digit_to_the_next(show):
    page = show(make(epoch=4))
    button = page.get_by_role("button", name="Next misread")
    wrong = np.flatnonzero(WRONG[0, 3]).tolist()
    start = [image for image in wrong if image > 0]
    for image in [*start, wrong[0]]:
        button.press("Enter")
        expect_published(explorer_of(page), image=image)


def test_it_plays_to_the_end_and_stops(show):
    page = show(make(epoch=5))
    explorer = explorer_of(page)
    stop_clock(page)
    play, stop = (
        page.get_by_role("button", name=name, exact=True)
        for name in ("Play", "Stop")
    )
    play.click()
    expect(stop).to_be_visible()
    for _ in range(30):
        page.clock.run_for(100)
    expect_published(explorer, epoch=7)
    expect(play).to_be_visible()
    # From the end it begins again.
    play.click()
    page.clock.run_for(100)
    expect_published(explorer, epoch=1)
    for _ in range(6):
        page.clock.run_for(100)
    expect_published(explorer, epoch=2)
    # Who moves the slider stops it.
    page.get_by_role("slider", name="Epoch").press("End")
    for _ in range(10):
        page.clock.run_for(100)
    expect_published(explorer, epoch=7)
    expect(play).to_be_visible()


def test_with_nothing_misread_there_is_no_next(show):
    answers = np.tile(WIDGET.labels, (1, 1, 1))
    page = show(make(answers=answers, names=["all"]))
    expect(page.get_by_role("button", name="Next misread")).to_be_disabled()
    assert "misreads 0 of 30 test digits" in reading_of(page)
    page.get_by_role("button", name="Play", exact=True).click()
    expect_published(explorer_of(page), epoch=1)
