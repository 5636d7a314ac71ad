"""RotaryPairs in the browser: what turns, what stays, what it says."""

from mounted import expect_published, explorer_of
from playwright.sync_api import Page

from vitedu.widgets import RotaryPairs


def hands(page: Page) -> list[str]:
    return page.locator(".of-clocks .hand").evaluate_all(
        "all => all.map((hand) => hand.getAttribute('d'))"
    )


def test_the_key_moves_all_hands(show):
    page = show(RotaryPairs(key=12, distance=5, content="drawn"))
    turned = hands(page)
    page.get_by_label("Key's position").fill("150")
    expect_published(explorer_of(page), key=150)
    # Two hands a pair; the slowest has moved by a twentieth of a radian.
    assert len(turned) == 16
    assert all(a != b for a, b in zip(turned, hands(page), strict=True))


def test_the_mark_stands_on_the_curve_at_the_distance(show):
    page = show(RotaryPairs(distance=0))
    for distance in (0, 9, 64):
        page.get_by_label("The query comes later by").fill(str(distance))
        expect_published(explorer_of(page), distance=distance)
        curve = page.locator(".of-curve .curve").get_attribute("d")
        mark = page.locator(".of-curve .now")
        at = [float(mark.get_attribute(name)) for name in ("cx", "cy")]
        assert at == [float(x) for x in curve[1:].split("L")[distance].split()]
