"""The decks of slides, opened from disk as a teacher would open them."""

import re
import threading
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from conftest import watch
from filelock import FileLock
from pages import PAGES, is_broken, read
from playwright.sync_api import expect

from tools.serve import make_server
from tools.slides.__main__ import write

CHAPTERS = [
    re.sub(r"^chapters/|\.html$", "", page)
    for page in PAGES
    if page.startswith("chapters/")
]
each_chapter = pytest.mark.parametrize("name", CHAPTERS)
SMALLEST = 0.5  # how far a slide may be scaled down

# Shows all slides at once with all answers, says what is wrong with which.
WALK = """async (smallest) => {
  Reveal.configure({ viewDistance: 1000 });
  for (const later of document.querySelectorAll(".fragment")) {
    later.classList.add("visible");
  }
  for (let frame = 0; frame < 20; frame++) {
    await new Promise(requestAnimationFrame);
  }
  const found = [];
  for (const slide of Reveal.getSlides()) {
    const edge = slide.getBoundingClientRect();
    const shown = slide.querySelectorAll(
      ".fit, h1, h2, h3, p, li, pre, img, table, fieldset, label, "
      + ".katex-display > .katex, .vitedu-explorer *");
    const outside = [...shown].filter((node) => {
      if (!node.checkVisibility() || node.closest(".vitedu-hidden")) return;
      const box = node.getBoundingClientRect();
      return box.right > edge.right + 1 || box.bottom > edge.bottom - 20;
    });
    const size = Number(slide.querySelector(".fit").style.zoom);
    const heads = slide.querySelectorAll("h1, h2, h3").length;
    const notes = slide.querySelector(".notes").textContent.trim();
    const words = slide.className.includes("question") || notes;
    if (outside.length || !(size >= smallest) || heads !== 1 || !words) {
      found.push([slide.id, size, heads, notes.length, outside.slice(0, 3).map(
        (node) => node.localName + "." + node.className)]);
    }
  }
  return found;
}"""


@pytest.fixture(scope="session")
def folder(site, worker_id, tmp_path_factory):
    """Write the decks once for all processes that test them."""
    top = tmp_path_factory.getbasetemp()
    top = top if worker_id == "master" else top.parent
    with FileLock(top / "slides.lock"):
        if not (top / "slides").exists():
            write(site.folder, top / "slides")
    return top / "slides"


@pytest.fixture
def open_deck(browser, folder):
    """Open a deck; it has to stay on the disk and be quiet."""
    pages = []

    def open_one(name, at="", **context):
        size = {"width": 1280, "height": 720}
        page = browser.new_page(viewport=size, **context)
        pages.append(page)
        watch(page, folder.as_uri())
        page.goto(f"{(folder / name).as_uri()}.html{at}")
        return page

    yield open_one
    for page in pages:
        page.close()
    assert [ask for page in pages for ask in page.requests_outside] == []
    assert [error for page in pages for error in page.console_errors] == []


def slides(folder, name):
    text = (folder / f"{name}.html").read_text(encoding="utf-8")
    return BeautifulSoup(text, "html.parser")


def shown(page):
    return page.evaluate("Reveal.getCurrentSlide().id")


def test_every_chapter_has_a_deck(folder):
    links = slides(folder, "index").select(".decks a")
    assert [link["href"] for link in links] == [f"{n}.html" for n in CHAPTERS]
    assert all((folder / link["href"]).is_file() for link in links)


@each_chapter
def test_every_slide_is_in_order(open_deck, name):
    page = open_deck(name)
    assert page.evaluate(WALK, SMALLEST) == []
    missing = "[...document.images].filter((image) => !image.naturalWidth)"
    assert page.evaluate(f"{missing}.map((image) => image.src)") == []
    views = page.locator('script[type$="widget-view+json"]').count()
    assert page.locator(".vitedu-explorer").count() == views


@each_chapter
def test_a_deck_holds_what_its_chapter_holds(folder, site, name):
    page = (site.folder / f"chapters/{name}.html").read_text(encoding="utf-8")
    chapter = page.partition("<article")[2].partition("</article")[0]
    deck = (folder / f"{name}.html").read_text(encoding="utf-8")
    kinds = ("fieldset class=", 'p class="claim"', 'p class="rung"')
    for kind in kinds:
        assert deck.count(f"<{kind}") == chapter.count(f"<{kind}"), kind
    # The page holds drawings, the deck their files.
    drawings = BeautifulSoup(chapter, "html.parser").select(".drawings")
    wanted = [Path(each.svg["data-file"]).name for each in drawings]
    images = BeautifulSoup(deck, "html.parser").select("img")
    assert wanted
    assert [Path(image["src"]).name for image in images] == wanted
    formulas = re.compile('<div class="math')
    assert len(formulas.findall(deck)) >= len(formulas.findall(chapter))
    anchors = re.findall(r'<section id="([^"]+)">\n<h[12]>', chapter)
    assert set(anchors) <= set(re.findall(r'<section id="([^"]+)"', deck))


def test_solutions_are_for_the_speaker_only(folder):
    deck = slides(folder, "05-multi-head-attention")
    notes = [aside.extract().get_text() for aside in deck.select(".notes")]
    assert "def multi_head_solution" in "".join(notes)
    assert "Split the last axis, then transpose" in "".join(notes)
    assert "multi_head(multi_head)" in deck.get_text()
    assert "solution" not in deck.get_text()


def test_keys_lead_through_a_deck(open_deck):
    page = open_deck("03-scaled-dot-product-attention")
    keys = ["ArrowDown"] * 2 + ["ArrowRight"] * 3 + ["PageUp"]
    seen = [shown(page)]
    for key in keys:
        page.keyboard.press(key)
        seen.append(shown(page))
    first = "scaled-dot-product-attention"
    assert seen == [
        first,
        f"{first}-1",
        f"{first}-2",
        "what-does-attention-do",
        "what-does-attention-do",
        "how-is-it-computed-by-hand",
        "what-does-attention-do",
    ]


def test_the_question_comes_before_what_it_asks_for(open_deck):
    page = open_deck("03-scaled-dot-product-attention")
    page.keyboard.press("ArrowRight")
    code = page.locator("#what-does-attention-do pre")
    expect(code).to_be_hidden()
    page.keyboard.press("Space")
    expect(code).to_be_visible()


def test_a_guess_is_answered_by_going_on(open_deck):
    page = open_deck("03-scaled-dot-product-attention")
    page.evaluate(
        """() => {
          const box = document.querySelector(".vitedu-predict");
          const { h, v } = Reveal.getIndices(box.closest("section"));
          Reveal.slide(h, v);
        }"""
    )
    box = page.locator("section.present .vitedu-predict")
    right = box.locator("[data-right]").last
    wrong = box.locator(".vitedu-answers p:not([data-right])").first
    box.locator("label").first.click()
    expect(wrong).to_be_visible()
    expect(right).to_be_hidden()
    # The button has the focus, and a clicker goes on all the same.
    page.keyboard.press("PageDown")
    expect(right).to_be_visible()
    expect(wrong).to_be_hidden()


def test_the_speaker_has_a_window(open_deck):
    page = open_deck(
        "03-scaled-dot-product-attention", "#/how-is-it-computed-by-hand"
    )
    with page.expect_popup() as popup:
        page.keyboard.press("s")
    notes = popup.value.locator(".speaker-controls-notes > .value")
    expect(notes).to_contain_text("The dot product of the query")


def test_links_of_slides_lead_somewhere(folder):
    assert [
        (name, link)
        for name in ("index", *CHAPTERS)
        for link in read(folder / f"{name}.html").links
        # To a slide reveal.js leads by #/name.
        if is_broken(folder / f"{name}.html", link.replace("#/", "#"))
    ] == []


def test_a_deck_works_under_the_policy_of_a_host(folder, browser):
    with make_server(folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        context.on("page", lambda page: watch(page, address))
        page = context.new_page()
        page.goto(f"{address}/03-scaled-dot-product-attention.html")
        views = page.locator('script[type$="widget-view+json"]').count()
        expect(page.locator(".vitedu-explorer")).to_have_count(views)
        with page.expect_popup() as popup:
            page.keyboard.press("s")
        frame = popup.value.frame_locator("#current-slide iframe")
        expect(frame.locator("section.present h1")).to_be_visible()
        page.keyboard.press("ArrowRight")
        notes = popup.value.locator(".speaker-controls-notes > .value")
        expect(notes).not_to_be_empty()
        # A style of the window's own text is in force.
        expect(popup.value.locator("#current-slide")).to_have_css(
            "position", "absolute"
        )
        errors = page.console_errors + popup.value.console_errors
        context.close()
        server.shutdown()
    assert errors == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_slides_are_accessible(open_deck, theme):
    page = open_deck("05-multi-head-attention", color_scheme=theme)
    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    # From disk a page cannot read its style sheets once more.
    rules = {"runOnly": levels, "preload": False}
    for at in ("exercises-1", "how-do-you-split-the-result-into-heads"):
        page.evaluate(f"location.hash = '#/{at}'")
        expect(page.locator(f"section.present#{at}")).to_be_visible()
        page.keyboard.press("PageDown")
        found = Axe().run(page, options=rules).response["violations"]
        assert [(rule["id"], rule["nodes"]) for rule in found] == []


def test_the_decks_in_chinese_say_all_in_chinese(site, tmp_path):
    decks = write(site.folder / "zh", tmp_path / "slides-zh", "zh")
    assert list(decks) == CHAPTERS
    path = tmp_path / "slides-zh" / f"{CHAPTERS[2]}.html"
    deck = BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
    assert deck.html["lang"] == "zh"
    titles = [head.get_text(strip=True) for head in deck.select("h2, h3")]
    assert {"学完之后你会做什么", "讨论"} <= {*titles}
    assert any(title.startswith("练习 3.1") for title in titles)
    notes = " ".join(note.get_text() for note in deck.select(".notes"))
    assert "常见的错误：" in notes
    assert "提示" in notes
    words = "What you|To discuss|Hints|goes wrong|Exercise|Not yet"
    assert not re.search(words, deck.get_text())
