"""The pages that are no chapters, of each kind one; soak looks at all.

And what all pages can do: lead to the search, follow the theme, keep their
places.
"""

import pytest
from accessibility import COLOURS, faults
from pages import ALL_PAGES, CHAPTERS, GENERATED, PAGES, sampled
from playwright.sync_api import expect
from visits import PHONE, darken, on_a_desktop, on_a_phone, stirs

OTHERS = [path for path in ALL_PAGES if path not in CHAPTERS]
OF_EACH_KIND = [
    *("book/index.html", "book/notation.html", "book/paths.html"),
    *("book/claims.html", "book/glossary.html", "book/teach/chapters.html"),
    *("book/api/attention.html", *GENERATED),
]
ON_A_PHONE = ["book/index.html", "book/claims.html"]


@pytest.mark.parametrize("path", sampled(OTHERS, OF_EACH_KIND))
def test_a_page_on_a_desktop_by_day_and_by_night(open_page, path):
    page = open_page(path)
    found = on_a_desktop(page) + stirs(page, path)
    darken(page)
    assert [*found, *faults(page, COLOURS)] == []


@pytest.mark.parametrize("path", sampled(OTHERS, ON_A_PHONE))
def test_a_page_from_disk_on_a_phone_in_the_dark(open_page, path):
    page = open_page(path, from_disk=True, color_scheme="dark", **PHONE)
    assert on_a_phone(page) == []


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


@pytest.mark.parametrize(("width", "first"), [(1280, "note"), (390, "text")])
def test_a_note_is_beside_its_paragraph_or_below_it(open_page, width, first):
    note = open_page(CHAPTERS[12], width=width).locator(".margin").first
    text = note.locator("xpath=following-sibling::*[1]")
    tops = {
        "note": note.bounding_box()["y"],
        "text": text.bounding_box()["y"] + 20,
    }
    assert min(tops, key=tops.get) == first


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
def test_the_front_door_leads_to_a_page_that_finds_a_word(
    open_page, from_disk
):
    page = open_page("index.html", from_disk=from_disk)
    page.wait_for_url("**/book/index.html")
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    expect(page.locator("#search-results li").first).to_be_visible()


def test_theme_follows_the_system_until_the_reader_chooses(open_page):
    page = open_page("book/errata.html", color_scheme="dark")
    html = page.locator("html")
    expect(html).to_have_attribute("data-theme", "dark")
    page.emulate_media(color_scheme="light")
    expect(html).to_have_attribute("data-theme", "light")
    button = page.locator(".theme-switch-button:visible")
    while html.get_attribute("data-mode") != "dark":
        button.click()
    page.goto(page.url)
    expect(html).to_have_attribute("data-theme", "dark")
    # Paper is white all the same.
    theme = "document.documentElement.dataset.theme"
    page.evaluate(
        f"""() => addEventListener("beforeprint", () => {{
          window.seen = {theme};
        }})"""
    )
    page.pdf()
    assert page.evaluate(f"[window.seen, {theme}]") == ["light", "dark"]


def test_page_reads_without_scripts(browser, site):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site.url(PAGES[0]))
    expect(page.locator("h1:visible")).to_have_count(1)
    color = "node => getComputedStyle(node).backgroundColor"
    assert page.locator("body").evaluate(color) == "rgb(255, 253, 249)"
    context.close()
