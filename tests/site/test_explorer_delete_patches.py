"""DeletePatches in the browser: its orders, and what they come to."""

from explorers import delete_patches as make
from mounted import expect_published, explorer_of, published, settle
from playwright.sync_api import expect


def test_an_order_that_is_chosen_shows_its_patches_and_all_their_areas(show):
    page = show(make(gone=4))
    explorer = explorer_of(page)
    seen = {}
    for order in ("ink", "rollout", "gradient", "random"):
        page.locator(".order").get_by_text(order, exact=True).click()
        expect_published(explorer, order=order)
        settle(page)
        pressed = page.locator(".order[aria-pressed=true]")
        expect(pressed).to_contain_text(order)
        seen[order] = published(explorer)
        expect(page.locator(".hole")).to_have_count(4)
        expect(page.locator(".rank.first")).to_have_text(["1", "2", "3", "4"])
    assert len({tuple(one["removed"]) for one in seen.values()}) > 1
    areas = seen["ink"]["areas"]
    shown = page.locator(".order .area").all_text_contents()
    assert shown == [f"area {area:.2f}" for area in areas]
