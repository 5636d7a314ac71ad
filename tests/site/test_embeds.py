"""Explorers in the pages of other sites: alone, on a phone, by keyboard."""

import threading
from collections.abc import Iterator

import pytest
from conftest import watch
from explorers import MAKERS, NEED_A_NETWORK
from moves import FEW
from pages import CHAPTERS, sampled, start_explorers
from playwright.sync_api import Page, expect
from test_chinese import expect_chinese
from visits import PHONE

from tools.serve import make_server

SOFTMAX = CHAPTERS[2]
CLIPBOARD = """Object.defineProperty(navigator, "clipboard", {
  value: { writeText: async (text) => { window.copied = text; } } })"""
# Those that load a network need a policy that a frame should not have.
NAMES = sampled([name for name in MAKERS if name not in NEED_A_NETWORK], FEW)
# WCAG 2.2, success criterion 2.5.8.
SMALLEST_TARGET = 24
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


@pytest.fixture
def elsewhere(browser, tmp_path):
    """Show a body of HTML on a page of another site."""
    pages = []
    (tmp_path / "index.html").touch()
    with make_server(tmp_path) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://localhost:{server.server_port}/index.html"

        def show(body):
            (tmp_path / "index.html").write_text(
                f"<!doctype html><title>A course</title>{body}"
            )
            pages.append(browser.new_page())
            pages[-1].goto(address)
            return pages[-1]

        yield show
        for page in pages:
            page.close()
        server.shutdown()


@pytest.fixture(scope="module")
def phone(browser, site) -> Iterator[Page]:
    """One page for all explorers, on a phone without motion."""
    page = browser.new_page(viewport=PHONE, reduced_motion="reduce")
    watch(page, site.address)
    yield page
    page.close()


def test_a_copied_line_shows_the_explorer_elsewhere(open_page, elsewhere):
    page = open_page(SOFTMAX)
    page.evaluate(CLIPBOARD)
    start_explorers(page)
    here = page.locator("#explorer-softmax-scaling")
    here.locator("select").select_option("none")
    here.get_by_role("button", name="Embed").click()
    expect(page.get_by_text("code for your page is copied")).to_be_visible()
    other = elsewhere(page.evaluate("window.copied"))
    frame = other.frame_locator("iframe")
    explorer = frame.locator("#explorer-softmax-scaling")
    expect(explorer.locator("select")).to_have_value("none")
    height = other.locator("iframe").bounding_box()["height"]
    assert frame.locator("main").bounding_box()["height"] <= height
    link = frame.get_by_role("link", name="Scaled dot-product")
    assert link.get_attribute("href").startswith(f"../{SOFTMAX}#explorer-")


def test_no_other_page_stands_in_a_frame(site, elsewhere):
    other = elsewhere(f'<iframe src="{site.url(SOFTMAX)}"></iframe>')
    # What the browser shows in its place has a heading, too.
    expect(other.frame_locator("iframe").locator("main")).to_have_count(0)


@pytest.mark.parametrize("name", NAMES)
def test_an_explorer_alone_without_a_mouse_and_without_motion(
    phone, site, name
):
    name = name.replace(" ", "-")
    phone.requests_outside.clear()
    phone.console_errors.clear()
    phone.goto(site.url(f"embed/{name}.html"))
    explorer = phone.locator(f"#explorer-{name}")
    expect(explorer).to_be_visible()
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390
    assert explorer.evaluate(SMALL) == []
    expect_tab_to_visit_everything_once(phone, explorer.evaluate(FENCE))
    assert phone.evaluate(MOVING) == []
    phone.goto(site.url(f"zh/embed/{name}.html"))
    expect(explorer).to_be_visible()
    expect_chinese(explorer)
    assert phone.requests_outside == phone.console_errors == []


def expect_tab_to_visit_everything_once(page: Page, stops: int) -> None:
    """Go forwards to the button behind the explorer, and all the way back."""
    for stop in range(stops):
        page.keyboard.press("Tab")
        at, ring, node = page.evaluate(HERE)
        assert at == stop, node
        # The last is the button of this test.
        assert ring or stop == stops - 1 or focus_shows(page), node
    for stop in reversed(range(stops - 1)):
        page.keyboard.press("Shift+Tab")
        at, _, node = page.evaluate(HERE)
        assert at == stop, node


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
