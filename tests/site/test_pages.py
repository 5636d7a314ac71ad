"""Every page in a browser: served and from disk, light, dark, on a phone."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from pages import ALL_PAGES, PAGES, read
from playwright.sync_api import expect

PHONE = {"width": 390, "height": 844}
LOOKS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": PHONE,
}
# What Google calls good is below 0.1.
LARGEST_SHIFT = 0.02
AXE = {
    "runOnly": [
        "wcag2a",
        "wcag2aa",
        "wcag21a",
        "wcag21aa",
        "wcag22aa",
        "best-practice",
    ],
    # Axe would fetch the style sheets again, some from wrong addresses.
    "preload": False,
}


def settle(page) -> None:
    """Wait until the explorers are drawn and the theme has marked the page."""
    page.evaluate("document.fonts.ready")
    page.wait_for_timeout(400)


def unfold(page) -> None:
    """Answer every guess, so that all of the page can be seen."""
    page.locator(".vitedu-predict").evaluate_all(
        "boxes => boxes.forEach((box) => box.querySelector('input').click())"
    )
    # The theme looks for what can be scrolled now, a little later.
    page.wait_for_timeout(600)


def layout_shift(page) -> float:
    """Return how far the page has jumped since it was opened."""
    return page.evaluate(
        """() => new Promise((done) => {
          let sum = 0;
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) sum += entry.value;
          }).observe({ type: "layout-shift", buffered: true });
          setTimeout(() => done(sum), 50);
        })"""
    )


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "disk"])
@pytest.mark.parametrize("path", ALL_PAGES)
def test_page_is_quiet_and_asks_nobody_else(open_page, site, path, from_disk):
    page = open_page(path, from_disk=from_disk)
    settle(page)
    assert layout_shift(page) < LARGEST_SHIFT
    page.mouse.wheel(0, 20_000)
    views = read(site.folder / path).views
    expect(page.locator(".vitedu-widget .vitedu-explorer")).to_have_count(
        views
    )
    expect(page.locator(".vitedu-widget-error")).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("path", ALL_PAGES)
def test_page_is_accessible(open_page, path, look):
    page = open_page(path, **LOOKS[look])
    unfold(page)
    settle(page)
    found = Axe().run(page, options=AXE).response
    assert [
        (
            rule["id"],
            [(n["target"], n["failureSummary"]) for n in rule["nodes"]],
        )
        for rule in found["violations"]
    ] == []


@pytest.mark.parametrize("path", ALL_PAGES)
def test_page_fits_a_phone_and_does_not_jump(open_page, path):
    page = open_page(path, **PHONE)
    settle(page)
    assert layout_shift(page) < LARGEST_SHIFT
    unfold(page)
    wider = page.evaluate(
        """() => [...document.querySelectorAll(".bd-article *")].filter(
          (node) => node.getBoundingClientRect().right > innerWidth + 1
            && !node.closest("pre, table, div.math, svg")
        ).map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert wider == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("path", PAGES)
def test_one_visible_heading_names_the_page(open_page, path):
    page = open_page(path)
    headings = page.locator("h1:visible")
    expect(headings).to_have_count(1)
    name = headings.inner_text().rstrip("#").strip()
    assert page.title().startswith(name)


@pytest.mark.parametrize("path", PAGES)
def test_formulas_are_drawn(open_page, path):
    page = open_page(path)
    formulas = page.locator(".bd-article .math")
    drawn = page.locator(".bd-article .math:has(.katex-html)")
    expect(drawn).to_have_count(formulas.count())
    assert page.locator(".katex-error").count() == 0
    fonts = page.evaluate(
        """async () => {
          await document.fonts.ready;
          return [...document.fonts].filter(
            (font) => font.family.startsWith("KaTeX")
              && font.status === "loaded").length;
        }"""
    )
    assert bool(fonts) == bool(formulas.count())


def test_wide_formula_scrolls_and_takes_the_focus(open_page):
    page = open_page("book/notation.html", **PHONE)
    wide = page.evaluate_handle(
        """() => {
          const node = document.querySelector(".bd-article div.math");
          node.style.width = "40px";
          dispatchEvent(new Event("resize"));
          return node;
        }"""
    ).as_element()
    page.wait_for_timeout(500)
    assert wide.get_attribute("tabindex") == "0"
    wide.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert wide.evaluate("node => node.scrollLeft") > 0


def test_icons_are_drawn_by_the_web_font(open_page):
    page = open_page("book/index.html")
    icon = page.locator(".search-button-field i")
    expect(icon).to_be_visible()
    content = icon.evaluate("n => getComputedStyle(n, '::before').content")
    assert content.strip('"') == "\uf002"
    assert page.evaluate(
        """async () => {
          await document.fonts.ready;
          return [...document.fonts].some((font) =>
            font.family.includes("Font Awesome")
            && font.status === "loaded");
        }"""
    )


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "disk"])
def test_search_finds_a_word(open_page, from_disk):
    page = open_page("book/index.html", from_disk=from_disk)
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    expect(page.locator("#search-results ul.search li").first).to_be_visible()


@pytest.mark.parametrize("from_disk", [False, True], ids=["served", "disk"])
def test_front_door_leads_to_the_first_page(open_page, from_disk):
    page = open_page("index.html", from_disk=from_disk)
    page.wait_for_url("**/book/index.html")
    expect(page.locator("h1:visible")).to_have_count(1)


def test_theme_follows_the_system_until_the_reader_chooses(open_page):
    page = open_page("book/index.html", color_scheme="dark")
    html = page.locator("html")
    expect(html).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(html).to_have_attribute("data-theme", "light")
    button = page.locator(".theme-switch-button:visible")
    while html.get_attribute("data-mode") != "dark":
        button.click()
    page.goto(page.url)
    expect(html).to_have_attribute("data-theme", "dark")


def test_page_reads_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url(PAGES[0]))
    expect(page.locator("h1:visible")).to_have_count(1)
    color = "node => getComputedStyle(node).backgroundColor"
    assert page.locator("body").evaluate(color) == "rgb(255, 255, 255)"
    context.close()


@pytest.mark.parametrize(
    "path", ["chapters/03-scaled-dot-product-attention.html"]
)
def test_motion_stops_where_the_reader_asks_for_it(open_page, path):
    page = open_page(path)
    page.emulate_media(reduced_motion="reduce")
    moving = page.evaluate(
        """() => [...document.querySelectorAll("*")].filter((node) => {
          const style = getComputedStyle(node);
          return style.transitionDuration !== "0s"
            || style.animationName !== "none";
        }).length"""
    )
    assert moving == 0
