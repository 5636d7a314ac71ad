"""The search: which sections it finds, what it shows, what it loads."""

import gzip
import re

import pytest
from accessibility import COLOURS, faults
from pages import CHAPTERS
from playwright.sync_api import Page, expect
from visits import PHONE, sticks_out

LINKS = "#search-results li > a"
INDEX = "_static/search-index.js"
each_place = pytest.mark.parametrize(
    "from_disk", [False, True], ids=["served", "disk"]
)


def chapter(number: int) -> str:
    return CHAPTERS[number - 1]


def ask(page: Page, query: str) -> list[str]:
    """Search for something; return the addresses of what is found."""
    page.get_by_role("main").get_by_role("searchbox").fill(query)
    expect(page.locator("#search-said")).to_have_text(
        re.compile(r"sections?$|节$|No section|没有找到")
    )
    return addresses(page)


def addresses(page: Page) -> list[str]:
    return page.locator(LINKS).evaluate_all(
        "links => links.map((link) => link.getAttribute('href'))"
    )


@pytest.fixture(scope="module")
def searching(browser, site):
    """Return a function that finds things on the page of a language."""
    pages = {}

    def found(query: str, folder: str = "") -> list[str]:
        if folder not in pages:
            pages[folder] = browser.new_page()
            pages[folder].goto(site.url(f"{folder}search.html"))
        return ask(pages[folder], query)

    yield found
    for page in pages.values():
        page.close()


def test_the_sections_on_the_class_token_are_found_by_its_short_name(
    searching,
):
    first = searching("CLS")[:3]
    assert [address.partition("#")[0] for address in first] == [
        chapter(12)
    ] * 3


def test_a_question_finds_the_section_that_answers_it(searching):
    assert searching("why square root")[0].startswith(f"{chapter(3)}#")


def test_a_short_name_finds_its_thing_and_no_part_of_a_word(open_page):
    page = open_page("search.html?q=rope")
    expect(page.locator(LINKS).first).to_be_visible()
    found = addresses(page)
    in_chapters = [one for one in found if one.startswith("chapters/")]
    assert in_chapters[0].startswith(f"{chapter(22)}#")
    marked = page.locator("#search-results mark").all_inner_texts()
    assert marked
    named = re.compile("rope|rotary|[\u3400-\u9fff]+$", re.IGNORECASE)
    assert [one for one in marked if not named.match(one)] == []


@pytest.mark.parametrize(
    ("names", "number"),
    [
        (["CLS", "class token", "class tokens", "类别词元"], 12),
        (["RoPE", "rotary position", "旋转位置编码"], 22),
        (["GQA", "grouped-query attention", "分组查询注意力"], 22),
        (["MHA", "Multi-head attention", "多头注意力"], 5),
        (["MAE", "masked autoencoder", "掩码自编码器"], 23),
        (["FFN", "MLP", "feed-forward network", "前馈网络"], 6),
        (["LN", "LayerNorm", "layer norm", "层归一化"], 6),
    ],
)
def test_all_names_of_a_thing_find_the_same_sections(searching, names, number):
    for folder in ("", "zh/"):
        found = searching(names[0], folder)
        near = [one.partition("#")[0] for one in found[:5]]
        assert chapter(number) in near, (folder, near)
        for name in names[1:]:
            assert searching(name, folder) == found, (folder, name)


@pytest.mark.parametrize(
    ("query", "folder", "number"),
    [
        ("stacked encoder", "", 7),
        ("atention", "", 3),
        ("残差流", "zh/", 6),
        ("为什么除以根号", "zh/", 3),
        ("束搜索", "zh/", 10),
    ],
)
def test_spelling_inflection_and_chinese_without_spaces(
    searching, query, folder, number
):
    near = searching(query, folder)[:6]
    assert chapter(number) in [one.partition("#")[0] for one in near]


def test_what_the_book_does_not_say_is_not_found(searching):
    assert searching("hovercraft eels") == []
    assert searching("梯度之海", "zh/") == []


def test_the_reference_comes_last_and_sources_not_at_all(open_page):
    page = open_page("search.html?q=causal mask")
    page.get_by_role("button", name="Show all").first.click()
    heading = page.get_by_role("heading", name="In the reference")
    expect(heading).to_be_visible()
    book, reference = (
        page.locator("#search-results ol").nth(at).locator("li > a")
        for at in (0, 1)
    )
    for link in book.all():
        assert not link.get_attribute("href").startswith(("book/api", "_mod"))
    for link in reference.all():
        assert link.get_attribute("href").startswith("book/api/")
    texts = page.locator("#search-results li p").all_inner_texts()
    assert len(texts) > 20
    code = re.compile(r"\bimport \w+$|>>>")
    assert [text for text in texts if code.search(text)] == []


@each_place
@pytest.mark.parametrize("folder", ["", "zh/"])
def test_from_any_page_to_a_section_by_the_keyboard(
    open_page, folder, from_disk
):
    page = open_page(f"{folder}{chapter(5)}", from_disk=from_disk)
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=softmax")
    first = page.locator(LINKS).first
    expect(first).to_be_visible()
    for _ in range(3):
        page.keyboard.press("Tab")
        if first.evaluate("node => node === document.activeElement"):
            break
    address = first.get_attribute("href")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/{address}")
    name = address.partition("#")[2]
    expect(page.locator(f"[id='{name}']").first).to_be_in_viewport()


def test_the_address_holds_what_was_asked(open_page):
    page = open_page("search.html")
    found = ask(page, "residual stream")
    assert page.url.endswith("?q=residual+stream")
    page.locator(LINKS).first.click()
    page.wait_for_url("**/chapters/**")
    page.go_back()
    expect(page.locator(LINKS)).to_have_count(len(found))


def test_nothing_is_loaded_before_somebody_searches(open_page):
    page = open_page("search.html")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    field = page.get_by_role("main").get_by_role("searchbox")
    expect(field).to_be_focused()
    loaded = page.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => name)"
    )
    assert not [name for name in loaded if re.search("index|minisearch", name)]
    field.fill("mask")
    expect(page.locator(LINKS).first).to_be_visible()
    names = [url.partition("?")[0].rpartition("_static/")[2] for url in asked]
    scripts = sorted(name for name in names if name.endswith(".js"))
    assert scripts == ["minisearch/index.js", "search-index.js"]


def test_the_index_is_light_and_no_page_loads_another(site):
    for folder in (site.folder, site.folder / "zh"):
        packed = gzip.compress((folder / INDEX).read_bytes())
        assert len(packed) < 450_000
        assert not (folder / "searchindex.js").exists()
        for page in (chapter(3), "search.html", "genindex.html"):
            text = (folder / page).read_text(encoding="utf-8")
            assert not re.search(
                "doctools|sphinx_highlight|searchtools|translations.js", text
            )


def test_nothing_lies_on_the_field(open_page):
    page = open_page("search.html?q=attention")
    covered = page.locator("main form input").evaluate(
        """field => {
          const { left, top, height } = field.getBoundingClientRect();
          const start = parseFloat(getComputedStyle(field).paddingLeft);
          return [1, 8, 16].map((x) => document.elementFromPoint(
            left + start + x, top + height / 2) === field);
        }"""
    )
    assert covered == [True] * 3


@pytest.mark.parametrize("folder", ["", "zh/"])
@pytest.mark.parametrize("look", [{}, PHONE])
def test_results_are_accessible_and_inside(open_page, folder, look):
    page = open_page(f"{folder}search.html?q=softmax", **look)
    expect(page.locator(LINKS).first).to_be_visible()
    assert faults(page) == []
    assert sticks_out(page) == []
    page.emulate_media(color_scheme="dark")
    assert faults(page, COLOURS) == []
