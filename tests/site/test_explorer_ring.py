"""Ring in the browser: rounds forward and back, sums, what was sent."""

import numpy as np
import pytest
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Page, expect

from vitedu.widgets import Ring
from vitedu.widgets.ring import GRADIENTS


def chunks(page: Page) -> list[list[str]]:
    return [
        row.locator(".number").all_text_contents()
        for row in page.locator(".of-ring tr").all()[1:]
    ]


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_it_opens_with_one_finished_sum_for_each(show):
    page = show(Ring())
    sums = np.sum([row[:4] for row in GRADIENTS[:4]], axis=0)
    finished = page.locator(".of-ring .whole .number").all_text_contents()
    assert sorted(finished) == sorted(str(n).replace("-", "−") for n in sums)
    expect(page.locator(".of-ring .whole")).to_have_count(4)
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Each process now has 1 of 4 sums. In the ring each process has sent "
        "0.75 gradients. The other way, process 0 has sent 0 and received 3"
    )


@pytest.mark.parametrize("count", [2, 5, 8])
def test_forward_to_the_end_and_back_to_the_start(show, count):
    page = show(Ring(num_processes=count, step=0))
    start = chunks(page)
    shown = [
        [str(n).replace("-", "−") for n in row[:count]]
        for row in GRADIENTS[:count]
    ]
    assert start == shown
    expect(page.get_by_role("button", name="Previous round")).to_be_disabled()
    seen = [published(explorer_of(page))]
    for step in range(1, 2 * count - 1):
        press(page, "Next round")
        expect_published(explorer_of(page), step=step)
        seen.append(published(explorer_of(page)))
        expect(page.locator(".of-ring .got")).to_have_count(count)
        expect(page.locator(".of-collect .got")).to_have_count(1)
    expect(page.get_by_role("button", name="Next round")).to_be_disabled()
    sums = np.sum([row[:count] for row in GRADIENTS[:count]], axis=0)
    assert seen[-1]["held"] == list(sums) * count == seen[-1]["collected"]
    shares = page.locator(".of-ring-sent .share").all_text_contents()
    limit = 2 * (count - 1) / count
    assert [float(one) for one in shares] == [pytest.approx(limit)] * count
    for step in reversed(range(2 * count - 2)):
        press(page, "Previous round")
        expect_published(explorer_of(page), step=step)
        now = published(explorer_of(page))
        assert {**now, "lmSuppressShortcuts": 0} == {
            **seen[step],
            "lmSuppressShortcuts": 0,
        }
    assert chunks(page) == start


@pytest.mark.parametrize("width", [830, 390])
def test_nothing_jumps_from_round_to_round(show, width):
    page = show(Ring(), width=width)
    heights = set()
    for step in range(7):
        page.get_by_role("slider", name="Round").fill(str(step))
        expect_published(explorer_of(page), step=step)
        heights.add(round(explorer_of(page).bounding_box()["height"]))
    assert max(heights) - min(heights) <= 2


def test_fewer_processes_have_fewer_rounds(show):
    page = show(Ring(num_processes=8, step=14))
    expect(page.locator("output").nth(1)).to_have_text("14 of 14")
    page.get_by_label("Processes").press("Home")
    expect_published(explorer_of(page), num_processes=2, step=2)
    expect(page.locator("output").nth(1)).to_have_text("2 of 2")
    expect(page.locator(".of-ring .chunk")).to_have_count(4)


def test_eight_processes_fit_on_a_phone(show):
    page = show(Ring(num_processes=8, step=5), width=390)
    boxes = [one.bounding_box() for one in page.locator(".chunk").all()]
    assert max(box["x"] + box["width"] for box in boxes) <= 390 - 8
    inside = page.locator(".of-ring .chunk").evaluate_all(
        "all => all.every((one) => one.scrollWidth <= one.clientWidth)"
    )
    assert inside
