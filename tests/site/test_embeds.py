"""Explorers in the pages of other sites."""

import threading

import pytest
from conftest import watch
from explorers import MAKERS
from pages import start_explorers
from playwright.sync_api import expect

from tools.serve import make_server

SOFTMAX = "chapters/03-scaled-dot-product-attention.html"
CLIPBOARD = """Object.defineProperty(navigator, "clipboard", {
  value: { writeText: async (text) => { window.copied = text; } } })"""
# It needs a policy that a frame should not have.
NOT_ALONE = "own photograph"


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
    embedded = site.url("embed/softmax-scaling.html")
    other = elsewhere(f'<iframe src="{embedded}"></iframe>')
    expect(other.frame_locator("iframe").locator("main")).to_have_count(1)


@pytest.mark.parametrize(
    "name", [n.replace(" ", "-") for n in MAKERS if n != NOT_ALONE]
)
def test_each_explorer_has_a_page_that_starts_it(browser, site, name):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    watch(page, site.address)
    page.goto(site.url(f"embed/{name}.html"))
    expect(page.locator(f"#explorer-{name}")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
    assert page.requests_outside == page.console_errors == []
