"""Ring in the browser: rounds forward and back, and that all fits."""

from mounted import expect_published, explorer_of
from playwright.sync_api import expect

from vitedu.widgets import Ring


def test_buttons_go_from_round_to_round_and_stop_at_the_ends(show):
    page = show(Ring(num_processes=8, step=14))
    back, forward = (
        page.get_by_role("button", name=f"{name} round")
        for name in ("Previous", "Next")
    )
    expect(forward).to_be_disabled()
    # Fewer processes have fewer rounds.
    page.get_by_label("Processes").press("Home")
    expect_published(explorer_of(page), num_processes=2, step=2)
    expect(page.locator("output").nth(1)).to_have_text("2 of 2")
    back.click()
    back.click()
    expect_published(explorer_of(page), step=0)
    expect(back).to_be_disabled()
    forward.click()
    expect_published(explorer_of(page), step=1)


def test_eight_processes_fit_and_nothing_jumps_from_round_to_round(show):
    page = show(Ring(num_processes=8), width=390)
    heights = set()
    for step in (0, 1, 7, 8, 14):
        page.get_by_role("slider", name="Round").fill(str(step))
        expect_published(explorer_of(page), step=step)
        heights.add(round(explorer_of(page).bounding_box()["height"]))
        inside = page.locator(".of-ring .chunk").evaluate_all(
            "all => all.every((one) => one.scrollWidth <= one.clientWidth)"
        )
        assert inside
    assert max(heights) - min(heights) <= 2
    boxes = [one.bounding_box() for one in page.locator(".chunk").all()]
    assert max(box["x"] + box["width"] for box in boxes) <= 390 - 8
