"""The site in Chinese: the same places, in other words, with nothing left."""

import html
import re

import pytest
from pages import CHAPTERS, PAGES, ROOT, sampled, start_explorers
from playwright.sync_api import expect
from visits import PHONE, on_a_phone

# Written from docstrings, or from what others have written.
ENGLISH = ("book/api/", "book/references", "book/third-party")
SECTION = re.compile(r'<section\b[^>]*\bid="([^"]+)"')
CLAIM = re.compile(r'\bid="((?:claim|rung|exercise)-[^"]+)"')
# Code, the titles of papers, and the headwords of the glossary.
HIDDEN = re.compile(
    r"<head>.*?</head>|<(pre|code|script|style|math|cite|dt)\b.*?</\1>"
    r'|<div [^>]*class="citation-list">.*?</section>',
    re.DOTALL,
)
WORDS = re.compile(r"(?:\b[A-Za-z][a-z']+,? ){3}[a-z]{2,}\b")
GLUE = re.compile(r"\b(?:the|is|are|was|of|to|with|you|it|what|not|in)\b")
# What einops says, and otter, and the check of a class whose pages are so.
PROGRAMS = ("Shape mismatch", "height must be", "could not be", "5.1: that is")


def sentences(texts):
    """Return those that are in English, with the names that numbers have."""
    plain = [html.unescape(" ".join(text.split())) for text in texts]
    return [
        text
        for text in plain
        if WORDS.search(text)
        and GLUE.search(text)
        and not re.search("[\u4e00-\u9fff]", text)
        and not text.startswith(PROGRAMS)
        and not re.search(r"URL:|doi:|\d{4}\.$", text)
    ]


@pytest.fixture(scope="session")
def chinese(site):
    """Return the folder of the Chinese site."""
    folder = site.folder / "zh"
    assert (folder / "index.html").is_file()
    return folder


def read(folder, page):
    return (folder / page).read_text(encoding="utf-8")


def test_every_place_has_its_english_address(site, chinese):
    for page in PAGES:
        english, other = (read(f, page) for f in (site.folder, chinese))
        assert '<html lang="zh-CN"' in other, page
        for pattern in (SECTION, CLAIM):
            places = pattern.findall(english)
            assert pattern.findall(other) == places, page


def test_no_sentence_is_left_in_english(chinese):
    left = []
    for page in PAGES:
        if page.startswith(ENGLISH):
            continue
        text = HIDDEN.sub(" ", read(chinese, page))
        said = re.findall(r">([^<>]+)<", text) + re.findall(
            r'\b(?:alt|aria-label|title|placeholder)="([^"]+)"', text
        )
        left += [(page, sentence) for sentence in sentences(said)]
    assert left == []


def test_the_frame_is_in_chinese_on_every_page(chinese):
    files = [*chinese.rglob("*.html"), *chinese.glob("_static/settings/*.js")]
    assert len(files) > 2 * len(PAGES)
    english = re.compile("Text and figures|code: MIT|Click to (?:show|hide)")
    assert [f for f in files if english.search(f.read_text("utf-8"))] == []


def expect_chinese(explorer):
    """See that an explorer that has started speaks Chinese."""
    assert not explorer.get_attribute("aria-label").isascii()
    texts = explorer.evaluate(
        """node => [...node.querySelectorAll("button, p, label, th, text")]
          .map(({ textContent }) => textContent)"""
    )
    assert sentences(texts) == []


def read_from(page, place):
    """Scroll to a place until what is laid out on the way moves it no more."""
    part, top = page.locator(place), None
    while (now := part.evaluate("part => part.getBoundingClientRect().y")) != (
        top
    ):
        part.evaluate("part => part.scrollIntoView({ behavior: 'instant' })")
        page.wait_for_timeout(200)
        top = now


def test_the_switch_leads_to_the_same_place_and_is_remembered(open_page):
    page = open_page("chapters/05-multi-head-attention.html")
    place = "#two-heads-computed-by-hand"
    page.goto(page.url + place)
    expect(page.locator(place)).to_be_in_viewport()
    link = page.get_by_role("link", name="中文", exact=True)
    assert link.get_attribute("lang") == "zh-Hans"
    link.click()
    expect(page).to_have_url(re.compile(rf"/zh/chapters/05-.*{place}$"))
    heading = page.get_by_role("heading", name="两个头，用手算")
    expect(heading).to_be_in_viewport()
    # Who comes back to the book gets it in the language that was chosen.
    english = page.url.replace("/zh/", "/").partition("#")[0]
    page.goto(f"{english}#exercises")
    expect(page).to_have_url(re.compile(r"/zh/chapters/05-.*#exercises$"))
    # Without an address, it is the section that is being read.
    page.goto(page.url.partition("#")[0])
    start_explorers(page)
    read_from(page, "#take-one-head-out")
    # Where it is: Playwright would scroll to the bar first.
    link = page.get_by_role("link", name="English", exact=True)
    box = link.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(f"{english}#take-one-head-out")
    page.reload()
    expect(page).to_have_url(f"{english}#take-one-head-out")


def test_the_search_speaks_chinese(open_page):
    page = open_page("zh/search.html?q=残差流")
    results = page.locator("#search-results")
    expect(results.locator("li > a").first).to_be_visible()
    expect(results.locator("small").first).to_contain_text("残差、归一化")
    assert results.locator("mark").first.inner_text() == "残差流"
    expect(page.locator("#search-said")).to_have_text(re.compile(r"^\d+ 节$"))
    page.get_by_role("main").get_by_role("searchbox").fill("softmax")
    expect(page.get_by_role("heading", name="库的参考文档")).to_be_visible()
    page.get_by_role("main").get_by_role("searchbox").fill("梯度之海")
    expect(page.locator("#search-said")).to_contain_text("没有找到")


def test_a_line_has_35_to_40_signs(open_page):
    page = open_page("zh/chapters/05-multi-head-attention.html")
    line = page.locator("#two-heads-computed-by-hand > p").first
    width, size = line.evaluate(
        "p => [p.clientWidth, parseFloat(getComputedStyle(p).fontSize)]"
    )
    assert 35 <= width / size <= 40


ON_A_PHONE = [
    *("book/index.html", "book/how-to-use.html"),
    *(CHAPTERS[8], CHAPTERS[19]),
]
IN_CHINESE = [page for page in PAGES if not page.startswith(ENGLISH)]


@pytest.mark.parametrize("path", sampled(IN_CHINESE, ON_A_PHONE))
def test_a_page_on_a_phone_in_the_dark(open_page, path):
    page = open_page(
        f"zh/{path}", from_disk=True, color_scheme="dark", **PHONE
    )
    assert on_a_phone(page) == []
    # Most explorers are read by test_embeds.py.
    for explorer in page.locator(".vitedu-explorer").all():
        expect_chinese(explorer)


def test_quizzes_for_learning_platforms_are_in_chinese(chinese):
    names = {path.stem for path in ROOT.glob("book/quizzes/*.yml")}
    files = {path.stem for path in chinese.glob("quizzes/*.gift")}
    assert files == names
    text = read(chinese, "quizzes/03-scaled-dot-product-attention.gift")
    assert "权重加起来等于 1，所以总会混合一些" in text
    assert sentences(re.split("[{}~=#\n]", text)) == []
