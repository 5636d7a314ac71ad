"""What one sees who opens a page: each look returns the faults it finds."""

from accessibility import faults
from explorers import NEED_A_NETWORK
from mounted import TWO_FRAMES
from moves import LOOK, PAGES, controls_of, far_from_here, move
from pages import start_explorers
from playwright.sync_api import Page, expect

DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 390, "height": 844}
# By language. What Google calls good is below 0.1; what stands in for the
# fonts until they have come is fitted to English.
LARGEST_SHIFT = {"en": 0.03, "zh": 0.1}
# On a phone a title with a line less moves the page by 0.032.
MORE_ON_A_PHONE = 0.01

WHOLE = """async () => {
  await document.fonts.ready;
  const wrong = [];
  const all = (css) => [...document.querySelectorAll(css)];
  const seen = (css) => all(css).filter((node) => node.checkVisibility());
  const words = (node) => node.innerText.replace(/\\s+/g, " ").trim();
  // The number of a chapter is above its title. Sphinx gives the pages of
  // the source other titles.
  const heads = seen("h1").map(
    (node) => words(node).replace(/ ?#$/, "").replace(" .", "."));
  const named = document.title.startsWith(heads[0])
    || location.pathname.includes("/_modules/");
  if (heads.length !== 1 || !named) {
    wrong.push(`heading ${heads} under the title ${document.title}`);
  }
  const ids = all("[id]").map(({ id }) => id);
  for (const id of new Set(ids.filter((it, at) => ids.indexOf(it) < at))) {
    wrong.push(`id twice: ${id}`);
  }
  for (const node of all(`.bd-article .math:not(:has(.katex-html)),
      .katex-error, .vitedu-widget-error`)) {
    wrong.push(`not drawn: ${node.outerHTML.slice(0, 120)}`);
  }
  // For what is folded a browser may load a font, for nothing it does not.
  const fonts = [...document.fonts].some(({ family, status }) =>
    family.startsWith("KaTeX") && status === "loaded");
  if (seen(".bd-article .math").length && !fonts
      || fonts && !all(".bd-article .math").length) {
    wrong.push(`fonts of formulas loaded: ${fonts}`);
  }
  return wrong;
}"""
SHIFTS = """() => new Promise((done) => {
  const shifts = [];
  const told = ({ node, previousRect, currentRect }) =>
    `${(node?.className || node?.textContent || "?").slice(0, 40)} from `
      + `${previousRect.x}, ${previousRect.y} `
      + `to ${currentRect.x}, ${currentRect.y}`;
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries()) {
      shifts.push([value, ...sources.map(told)]);
    }
  }).observe({ type: "layout-shift", buffered: true });
  // On a busy machine a picture that moves leaves no time.
  requestIdleCallback(() => setTimeout(() => done(shifts), 50),
    { timeout: 5000 });
})"""
UNFOLD = """() => {
  for (const section of document.querySelectorAll("section")) {
    section.style.contentVisibility = "visible";
  }
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const one of document.querySelectorAll(
    ".toggle-hidden > .toggle-button, "
      + ".vitedu-choices label[data-right] input:not(:checked)",
  )) one.click();
}"""
# The page looks for what can be scrolled a little later.
CAN_BE_SCROLLED = """() => [...document.querySelectorAll(
  "pre, div.math, .cell_output > .output",
)].every((node) => node.scrollWidth <= node.clientWidth
  || node.tabIndex === 0)"""
STICKS_OUT = """() => [...document.querySelectorAll(".bd-article *")].filter(
  (node) => node.getBoundingClientRect().right > innerWidth + 1
    && !node.closest("pre, table, div.math, svg, .strip"),
).map((node) => `sticks out: ${node.outerHTML.slice(0, 120)}`).concat(
  document.documentElement.scrollWidth > innerWidth
    ? ["the page scrolls sideways"] : [])"""
# Canvases follow a window that has changed a few frames later.
WIDER = f"""async () => {{
  const wider = {STICKS_OUT};
  const until = performance.now() + 5000;
  while (wider().length && performance.now() < until) {{
    await new Promise(requestAnimationFrame);
  }}
  return wider();
}}"""
# The drawing that is seen, and the height of its letters; exponents, which
# are parts of a text, may be smaller.
DRAWINGS = """(kind) => [...document.querySelectorAll(
  ".drawings > svg",
)].filter((svg) => svg.getBoundingClientRect().width).flatMap((svg) => {
  const label = svg.getAttribute("aria-label") ?? "";
  const sizes = [...svg.querySelectorAll("text[font-size]")].map((text) =>
    parseFloat(text.getAttribute("font-size")) * svg.getScreenCTM().a);
  return [
    svg.getAttribute("class") !== kind && "is for another width",
    label.length <= 40 && "is not described",
    // A scroll bar takes some of the width.
    kind === "drawing-phone" && Math.min(...sizes) < 10.5
      && `has letters of ${Math.min(...sizes)} px`,
    svg.getBoundingClientRect().right > innerWidth && "sticks out",
  ].filter(Boolean).map((what) =>
    `drawing ${svg.dataset.file} (${label.slice(0, 40)}) ${what}`);
})"""


def whole(page: Page) -> list[str]:
    """Start the explorers, then look at headings, names and formulas."""
    start_explorers(page)
    return page.evaluate(WHOLE)


def jumps(page: Page) -> list:
    """See how far the page has jumped before it had nothing left to do.

    On a busy machine a page may be drawn before it is whole, so one that has
    jumped is loaded once more, with nothing kept from the first time.
    """
    shifts = _shifts(page)
    if shifts:
        fresh = page.context.browser.new_context(viewport=page.viewport_size)
        with fresh:
            again = fresh.new_page()
            again.goto(page.url)
            start_explorers(again)
            shifts = _shifts(again)
    return shifts


def _shifts(page: Page) -> list:
    language = page.evaluate("document.documentElement.lang")[:2]
    shifts = page.evaluate(SHIFTS)
    most = LARGEST_SHIFT[language]
    most += MORE_ON_A_PHONE * (page.viewport_size == PHONE)
    far = sum(by for by, *_ in shifts) >= most
    return shifts if far else []


def stirs(page: Page, path: str) -> list[str]:
    """Move the first controls of the explorers that a page has to have."""
    found = []
    for kind in (kind for kind in PAGES if PAGES[kind] == path):
        # They need a network first.
        if kind.replace("-", " ") in NEED_A_NETWORK:
            continue
        explorer = page.locator(f".vitedu-{kind}")
        expect(explorer).to_have_count(1)
        before = explorer.evaluate(LOOK)["picture"]
        looks = []
        for control in controls_of(explorer)[:2]:
            for value in far_from_here(control):
                move(control, value)
                looks.append(explorer.evaluate(LOOK)["picture"])
        if not looks:
            explorer.get_by_role("radio").first.press(" ")
            page.evaluate(TWO_FRAMES)
            looks = [explorer.evaluate(LOOK)["picture"]]
        if all(look == before for look in looks):
            found.append(f"{kind} shows the same whatever one moves")
    return found


def unfold(page: Page) -> None:
    """Open what is folded, answer every guess, draw what is far away."""
    page.evaluate(UNFOLD)
    page.wait_for_function(CAN_BE_SCROLLED)


def sticks_out(page: Page) -> list[str]:
    """Look for elements that are wider than the page, or make it scroll."""
    return page.evaluate(WIDER)


def drawings(page: Page, kind: str = "drawing") -> list[str]:
    """See that each drawing is described, legible, and inside."""
    return page.evaluate(DRAWINGS, kind)


def darken(page: Page) -> None:
    """Let the evening come, and wait until every colour has changed."""
    page.emulate_media(color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.evaluate(
        """() => Promise.all(document.getAnimations()
          .filter((motion) => motion instanceof CSSTransition)
          .map((motion) => motion.finished))"""
    )


def on_a_desktop(page: Page) -> list:
    """Look at a page that was just opened, then at all that it folds."""
    found = [*whole(page), *jumps(page)]
    unfold(page)
    return [*found, *faults(page)]


def on_a_phone(page: Page) -> list:
    """Look at a page that was just opened, 390 pixels wide."""
    start_explorers(page)
    found = jumps(page)
    unfold(page)
    found += sticks_out(page) + drawings(page, "drawing-phone")
    return [*found, *faults(page)]
