"""RotaryPairs in the browser: what turns, what stays, what it says."""

import pytest
from mounted import (
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
)
from playwright.sync_api import Page

from vitedu.widgets import RotaryPairs


def curve(page: Page) -> str:
    return page.locator(".of-curve .curve").get_attribute("d")


def hands(page: Page) -> list[str]:
    return [
        hand.get_attribute("d")
        for hand in page.locator(".of-clocks .hand").all()
    ]


def test_the_key_moves_all_hands_and_no_score(show):
    page = show(RotaryPairs(key=12, distance=5, content="drawn"))
    before = published(explorer_of(page))
    score, turned = curve(page), hands(page)
    page.get_by_label("Key's position").fill("150")
    expect_published(explorer_of(page), key=150)
    after = published(explorer_of(page))
    assert after["score"] == pytest.approx(before["score"], abs=1e-9)
    assert curve(page) == score
    # Two hands a pair; the slowest has moved by a twentieth of a radian.
    assert len(turned) == 16
    assert all(a != b for a, b in zip(turned, hands(page), strict=True))


def test_the_mark_stands_on_the_curve_at_the_distance(show):
    page = show(RotaryPairs(distance=0))
    for distance in (0, 9, 64):
        page.get_by_label("The query comes later by").fill(str(distance))
        expect_published(explorer_of(page), distance=distance)
        shown = published(explorer_of(page))
        assert shown["score"] == shown["curve"][distance]
        points = curve(page)[1:].split("L")
        mark = page.locator(".of-curve .now")
        at = [float(mark.get_attribute(name)) for name in ("cx", "cy")]
        assert at == [float(x) for x in points[distance].split()]


@each_look
def test_it_is_accessible_and_stays_inside(show, theme, width):
    page = show(RotaryPairs(key=150, distance=40), theme=theme, width=width)
    expect_accessible_and_inside(page)
