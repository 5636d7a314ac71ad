"""The decks of slides, opened from disk as a teacher would open them."""

import re
import threading
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from conftest import watch
from filelock import FileLock
from pages import CHAPTERS, is_broken, parsed, read, sampled
from playwright.sync_api import expect

from tools.serve import make_server
from tools.slides.__main__ import write

NAMES = [Path(page).stem for page in CHAPTERS]
# With explorers, with exercises, with photographs.
ATTENTION, HEADS, SOME = (NAMES[number - 1] for number in (3, 5, 11))
each_chapter = pytest.mark.parametrize(
    "name", sampled(NAMES, [ATTENTION, HEADS, SOME])
)
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
      // A strip can be scrolled, and some images cut off what they enlarge.
      const image = node.ownerSVGElement;
      if (!node.checkVisibility() || node.closest(".vitedu-hidden, .strip")
        || image && getComputedStyle(image).overflow !== "visible") return;
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
def folder(site, worker_id, tmp_path_factory, request):
    """Write the decks once for all processes that test them."""
    top = tmp_path_factory.getbasetemp()
    top = top if worker_id == "master" else top.parent
    soak = "not soak" not in request.config.option.markexpr
    names = NAMES if soak else [ATTENTION, HEADS, SOME]
    with FileLock(top / "slides.lock"):
        if not (top / "slides").exists():
            write(some_of(site.folder, top / "few", names), top / "slides")
    return top / "slides"


def some_of(site, folder, names):
    """Return a folder with some chapters of a site: a deck takes seconds."""
    (folder / "chapters").mkdir(parents=True)
    for name in ("_headers", "_images", "_static"):
        (folder / name).symlink_to(site / name)
    for name in names:
        path = f"chapters/{name}.html"
        (folder / path).symlink_to(site / path)
    return folder


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


def shown(page):
    return page.evaluate("Reveal.getCurrentSlide().id")


@each_chapter
def test_every_slide_is_in_order_and_holds_what_its_chapter_holds(
    open_deck, folder, site, name
):
    page = open_deck(name)
    assert page.evaluate(WALK, SMALLEST) == []
    missing = "[...document.images].filter((image) => !image.naturalWidth)"
    assert page.evaluate(f"{missing}.map((image) => image.src)") == []
    views = page.locator('script[type$="widget-view+json"]').count()
    assert page.locator(".vitedu-explorer").count() == views
    text = (site.folder / f"chapters/{name}.html").read_text(encoding="utf-8")
    chapter = text.partition("<article")[2].partition("</article")[0]
    path = folder / f"{name}.html"
    deck = path.read_text(encoding="utf-8")
    kinds = ("fieldset class=", 'p class="claim"', 'p class="rung"')
    wanted = {kind: chapter.count(f"<{kind}") for kind in kinds}
    # Somebody else's mistakes are for readers of the page.
    wanted[kinds[0]] -= chapter.count('<details class="attempt"')
    assert {kind: deck.count(f"<{kind}") for kind in kinds} == wanted
    # The page holds drawings, the deck their files.
    drawings = re.findall(
        r'<div class="drawings[^"]*"><svg [^>]*? data-file="(.*?)"', chapter
    )
    wanted = [Path(file).name for file in drawings]
    images = [image["src"] for image in read(path).images]
    assert wanted
    assert [Path(src).name for src in images] == wanted
    formula = '<div class="math'
    assert deck.count(formula) >= chapter.count(formula)
    anchors = re.findall(r'<section id="([^"]+)">\n<h[12]>', chapter)
    assert set(anchors) <= set(re.findall(r'<section id="([^"]+)"', deck))
    # What folds on the page does not on a slide.
    assert not re.search('<details|class="vitedu-show', deck)
    broken = [
        # To a slide reveal.js leads by #/name.
        link
        for link in read(path).links
        if is_broken(path, link.replace("#/", "#"))
    ]
    assert broken == []
    assert f"{name}.html" in read(folder / "index.html").links


def test_solutions_are_for_the_speaker_only(folder):
    text = (folder / f"{HEADS}.html").read_text(encoding="utf-8")
    deck = BeautifulSoup(text, "html.parser")
    notes = [aside.extract().get_text() for aside in deck.select(".notes")]
    assert "def multi_head_solution" in "".join(notes)
    assert "Split the last axis, then transpose" in "".join(notes)
    assert "def multi_head(" in deck.get_text()
    assert "solution" not in deck.get_text()


def test_keys_lead_through_a_deck_and_its_guesses(open_deck):
    page = open_deck(ATTENTION)

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)
            yield shown(page)

    first, second = "scaled-dot-product-attention", "what-does-attention-do"
    third = "where-do-query-key-and-value-come-from"
    fourth = "how-is-it-computed-by-hand"
    assert shown(page) == first
    seen = [*press("ArrowDown", "ArrowDown", "ArrowRight")]
    assert seen == [f"{first}-1", f"{first}-2", second]
    assert [*press(*3 * ["ArrowRight"])] == [second, third, fourth]
    # The question comes before what it asks for.
    code = page.locator(f"#{fourth} pre").first
    expect(code).to_be_hidden()
    assert [*press("ArrowRight")] == [fourth]
    expect(code).to_be_visible()
    fifth = "how-large-does-a-score-get"
    assert [*press("ArrowRight", "PageUp")] == [fifth, f"{fourth}-4"]
    # A guess is answered by going on.
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


def test_a_deck_and_its_speaker_work_under_the_policy_of_a_host(
    folder, browser
):
    with make_server(folder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        context.on("page", lambda page: watch(page, address))
        page = context.new_page()
        page.goto(f"{address}/{ATTENTION}.html")
        views = page.locator('script[type$="widget-view+json"]').count()
        expect(page.locator(".vitedu-explorer")).to_have_count(views)
        with page.expect_popup() as popup:
            page.keyboard.press("s")
        frame = popup.value.frame_locator("#current-slide iframe")
        expect(frame.locator("section.present h1")).to_be_visible()
        page.keyboard.press("ArrowRight")
        notes = popup.value.locator(".speaker-controls-notes > .value")
        expect(notes).to_contain_text("Attention answers a question")
        # A style of the window's own text is in force.
        expect(popup.value.locator("#current-slide")).to_have_css(
            "position", "absolute"
        )
        errors = page.console_errors + popup.value.console_errors
        context.close()
        server.shutdown()
    assert errors == []


def test_slides_are_accessible(open_deck):
    page = open_deck(HEADS)
    levels = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
    # From disk a page cannot read its style sheets once more.
    rules = {"runOnly": levels, "preload": False}
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for at in ("exercises-1", "how-do-you-split-the-result-into-heads"):
            page.evaluate(f"location.hash = '#/{at}'")
            expect(page.locator(f"section.present#{at}")).to_be_visible()
            page.keyboard.press("PageDown")
            found = Axe().run(page, options=rules).response["violations"]
            assert [(rule["id"], rule["nodes"]) for rule in found] == [], at


def test_the_decks_in_chinese_say_all_in_chinese(site, tmp_path):
    few = some_of(site.folder / "zh", tmp_path / "few", [ATTENTION])
    write(few, tmp_path / "slides", "zh")
    path = tmp_path / "slides" / f"{ATTENTION}.html"
    deck = parsed(path)
    assert deck.html["lang"] == "zh"
    titles = [head.get_text(strip=True) for head in deck.select("h2, h3")]
    assert {"学完之后你会做什么", "讨论"} <= {*titles}
    assert any(title.startswith("练习 3.1") for title in titles)
    notes = " ".join(note.get_text() for note in deck.select(".notes"))
    assert "常见的错误：" in notes
    assert "提示" in notes
    words = "What you|To discuss|Hints|goes wrong|Exercise|Not yet"
    assert not re.search(words, deck.get_text())
