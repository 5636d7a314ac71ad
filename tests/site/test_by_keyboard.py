"""Every page with an explorer, on a phone: no mouse, no motion."""

import pytest
from pages import PAGES, ROOT, start_explorers
from playwright.sync_api import Page

PHONE = {"width": 390, "height": 844}
# WCAG 2.2, success criterion 2.5.8.
SMALLEST_TARGET = 24
WITH_EXPLORERS = [
    page
    for page in PAGES
    if "vitedu.widgets import"
    in next(ROOT.glob(page.replace(".html", ".[mi]*"))).read_text("utf-8")
]
# What can have the focus, in the order of the page; of native radio buttons
# of one name, and of marks with one tab stop, only one.
STOPS = """(node) => [...node.querySelectorAll(
  "button, input, select, summary, a[href], [tabindex='0']",
)].filter((one) => !one.disabled && one.tabIndex === 0
  && one.checkVisibility({ visibilityProperty: true }))"""
# Leaves a button before and one behind the explorer, and all in one list.
FENCE = f"""(node) => {{
  const [before, after] = [0, 1].map(() => document.createElement("button"));
  node.before(before);
  node.after(after);
  globalThis.stops = [...({STOPS})(node), after];
  before.focus();
  return globalThis.stops.length;
}}"""
HERE = """() => {
  const node = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(node);
  const ring = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  return [globalThis.stops.indexOf(node), ring, node.outerHTML.slice(0, 99)];
}"""
# Small is what is small itself and has another target within that distance.
# A patch is as large as it is: its size is what the explorers show.
SMALL = f"""(node) => {{
  const targets = [...new Set([
    ...({STOPS})(node), ...node.querySelectorAll("[role=radio]"),
  ])].filter((one) => !one.matches(".patch, .dot") && one.checkVisibility())
    .map((one) => {{
    // The label of a box belongs to it.
    const box = (one.closest("label") ?? one).getBoundingClientRect();
    const centre = [box.x + box.width / 2, box.y + box.height / 2];
    return {{ one, centre, size: Math.min(box.width, box.height) }};
  }});
  return targets.filter(({{ size, centre: [x, y], one }}) =>
    size < {SMALLEST_TARGET} && targets.some(({{ centre, one: other }}) =>
      one !== other
        && Math.hypot(centre[0] - x, centre[1] - y) < {SMALLEST_TARGET}))
    .map(({{ one, size }}) => [size, one.outerHTML.slice(0, 99)]);
}}"""
MOVING = """() => [
  ...document.getAnimations().map((motion) => motion.constructor.name),
  ...[...document.querySelectorAll("*")].filter((node) => {
    const style = getComputedStyle(node);
    return style.animationName !== "none"
      || style.transitionDuration.split(",").some((it) => parseFloat(it));
  }).map((node) => node.outerHTML.slice(0, 99)),
]"""


def test_all_pages_with_explorers_are_known():
    assert len(WITH_EXPLORERS) == 22


@pytest.mark.parametrize("path", WITH_EXPLORERS)
def test_explorers_without_a_mouse_and_without_motion(open_page, path):
    page = open_page(path, reduced_motion="reduce", **PHONE)
    start_explorers(page)
    explorer = page.locator(".vitedu-explorer").first
    assert explorer.evaluate(SMALL) == []
    explorer.scroll_into_view_if_needed()
    expect_tab_to_visit_everything_once(page, explorer.evaluate(FENCE))
    assert page.evaluate(MOVING) == []


def expect_tab_to_visit_everything_once(page: Page, stops: int) -> None:
    """Go forwards to the button behind the explorer, and all the way back."""
    for stop in [*range(stops), *reversed(range(stops - 1))]:
        back = page.evaluate(HERE)[0] > stop
        page.keyboard.press("Shift+Tab" if back else "Tab")
        at, ring, node = page.evaluate(HERE)
        assert at == stop, node
        assert ring or focus_shows(page), node


def focus_shows(page: Page) -> bool:
    """Say whether a mark that has no outline looks different in focus."""
    node = page.evaluate_handle("document.activeElement").as_element()
    box = node.bounding_box()
    clip = {
        "x": box["x"] - 4,
        "y": box["y"] - 4,
        "width": box["width"] + 8,
        "height": box["height"] + 8,
    }
    focused = page.screenshot(clip=clip)
    node.evaluate("node => node.blur()")
    blurred = page.screenshot(clip=clip)
    node.focus()
    return focused != blurred
