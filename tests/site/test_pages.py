"""Every page in a browser: served and from disk, light, dark, on a phone.

Loading a page takes seconds, so a page is loaded twice, and each time
everything is asked that one can ask there.
"""

import pytest
from accessibility import COLOURS, faults
from pages import ALL_PAGES, GENERATED, PAGES, start_explorers
from playwright.sync_api import expect

PHONE = {"width": 390, "height": 844}
# What Google calls good is below 0.1.
LARGEST_SHIFT = 0.02


@pytest.mark.parametrize("path", ALL_PAGES)
def test_page_on_a_desktop(open_page, path):
    page = open_page(path)
    expect_explorers(page)
    if path in PAGES:
        expect_one_heading_that_names_the_page(page)
        expect_drawn_formulas(page)
    expect_no_jump(page)
    unfold(page)
    assert faults(page) == []
    scroll_to_the_end(page)
    expect_explorers(page)


@pytest.mark.parametrize("path", ALL_PAGES)
def test_page_from_disk_on_a_phone_in_the_dark(open_page, path):
    page = open_page(path, from_disk=True, color_scheme="dark", **PHONE)
    expect_explorers(page)
    expect_no_jump(page)
    scroll_to_the_end(page)
    expect_explorers(page)
    unfold(page)
    expect_nothing_wider_than_the_phone(page)
    assert faults(page) == []


# What stands beside the article on a desktop is the same on all pages.
@pytest.mark.parametrize("path", [PAGES[4], *GENERATED])
def test_desktop_in_the_dark(open_page, path):
    page = open_page(path)
    unfold(page)
    darken(page)
    assert faults(page, COLOURS) == []


def expect_explorers(page) -> None:
    """Go where the explorers are, and wait until all are in their fonts."""
    start_explorers(page)
    expect(page.locator(".vitedu-widget-error")).to_have_count(0)
    page.evaluate("document.fonts.ready")


def expect_one_heading_that_names_the_page(page) -> None:
    """Compare the one visible heading with the page's title."""
    headings = page.locator("h1:visible")
    expect(headings).to_have_count(1)
    # The number of a chapter is above its title.
    name = " ".join(headings.inner_text().rstrip("#").split())
    assert page.title().startswith(name.replace(" .", "."))


def expect_drawn_formulas(page) -> None:
    """See that every formula is drawn, and in the fonts made for it."""
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
    # For what is folded a browser may load a font, for nothing it does not.
    seen = page.locator(".bd-article .math:visible").count()
    assert bool(seen) <= bool(fonts) <= bool(formulas.count())


def expect_no_jump(page) -> None:
    """See how far the page has jumped before it had nothing left to do."""
    shifts = page.evaluate(
        """() => new Promise((done) => {
          const shifts = [];
          const nameOf = ({ node }) => node?.className || node?.textContent;
          new PerformanceObserver((list) => {
            for (const { value, sources } of list.getEntries()) {
              shifts.push([value, sources.map(nameOf).join(", ")]);
            }
          }).observe({ type: "layout-shift", buffered: true });
          requestIdleCallback(() => setTimeout(() => done(shifts), 50));
        })"""
    )
    assert sum(shift for shift, _ in shifts) < LARGEST_SHIFT, shifts


def unfold(page) -> None:
    """Open what is folded, answer every guess, draw what is far away."""
    page.evaluate(
        """() => {
          for (const section of document.querySelectorAll("section")) {
            section.style.contentVisibility = "visible";
          }
          for (const fold of document.querySelectorAll("details")) {
            fold.open = true;
          }
          for (const one of document.querySelectorAll(
            ".toggle-hidden > .toggle-button, "
              + ".vitedu-choices label:first-child input",
          )) one.click();
        }"""
    )
    # The page looks for what can be scrolled now, a little later.
    page.wait_for_function(
        """() => [...document.querySelectorAll(
          "pre, div.math, .cell_output > .output",
        )].every((node) => node.scrollWidth <= node.clientWidth
          || node.tabIndex === 0)"""
    )


def darken(page) -> None:
    """Let the evening come, and wait until every colour has changed."""
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.evaluate(
        """() => Promise.all(document.getAnimations()
          .filter((motion) => motion instanceof CSSTransition)
          .map((motion) => motion.finished))"""
    )


def scroll_to_the_end(page) -> None:
    """Show the end of the page, for what waits until it is seen."""
    page.evaluate(
        """() => new Promise((done) => {
          scrollTo({ top: document.body.scrollHeight, behavior: "instant" });
          requestAnimationFrame(() => requestAnimationFrame(done));
        })"""
    )


def expect_nothing_wider_than_the_phone(page) -> None:
    """Look for elements that stick out, and for a page that scrolls."""
    wider = page.evaluate(
        """() => [...document.querySelectorAll(".bd-article *")].filter(
          (node) => node.getBoundingClientRect().right > innerWidth + 1
            && !node.closest("pre, table, div.math, svg")
        ).map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert wider == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_columns_keep_their_places_while_rows_arrive(open_page):
    page = open_page("book/notation.html")
    tables = page.locator("table:has(.katex)")
    columns = """tables => tables.flatMap((table) =>
      [...table.querySelectorAll("th")].map(
        (head) => head.getBoundingClientRect().width))"""
    whole = tables.evaluate_all(columns)
    assert len(whole) > 8
    tables.evaluate_all(
        """tables => { for (const table of tables) {
          const [, ...later] = table.tBodies[0].rows;
          for (const row of later) row.hidden = true;
        } }"""
    )
    assert tables.evaluate_all(columns) == pytest.approx(whole, abs=1)


@pytest.mark.parametrize("look", [{}, PHONE])
def test_lists_of_the_index_keep_their_places_while_it_arrives(
    open_page, look
):
    page = open_page("genindex.html", **look)
    rows = page.locator("table.genindextable tr")
    places = """rows => rows.flatMap((row) => {
      const { top } = row.getBoundingClientRect();
      return [...row.cells[0].querySelectorAll("li")].flatMap((entry) => {
        const place = entry.getBoundingClientRect();
        return [place.left, place.top - top, place.width];
      });
    })"""
    whole = rows.evaluate_all(places)
    assert len(whole) > 300
    rows.evaluate_all(
        """rows => { for (const row of rows) {
          const [, ...later] = row.cells;
          for (const cell of later) cell.remove();
        } }"""
    )
    assert rows.evaluate_all(places) == pytest.approx(whole, abs=1)


def test_the_button_of_a_fold_is_in_its_title_of_two_lines(open_page):
    page = open_page("book/teach/chapters.html", **PHONE)
    title = page.locator(".dropdown > .admonition-title").first
    # No title of the book is so long that it takes two lines on a phone.
    title.evaluate("node => { node.parentElement.style.width = '220px'; }")
    title.scroll_into_view_if_needed()
    button = title.locator(".toggle-button")
    expect(button).to_be_visible()
    around, inside = title.bounding_box(), button.bounding_box()
    assert around["height"] > 2 * inside["height"]
    assert around["y"] < inside["y"] < around["y"] + around["height"] / 2


def test_wide_formula_scrolls_and_takes_the_focus(open_page):
    page = open_page("book/notation.html", **PHONE)
    wide = page.evaluate_handle(
        """() => {
          const node = document.querySelector(".bd-article div.math");
          node.style.width = "40px";
          node.scrollIntoView();
          return node;
        }"""
    ).as_element()
    page.wait_for_function("node => node.tabIndex === 0", arg=wide)
    wide.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("node => node.scrollLeft > 0", arg=wide)


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
    assert page.locator("body").evaluate(color) == "rgb(255, 253, 249)"
    context.close()
