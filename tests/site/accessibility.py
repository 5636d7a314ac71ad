"""What axe finds on a page, in a fraction of the time it takes by itself."""

from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

COLOUR_RULES = ["color-contrast", "link-in-text-block"]
EVERYTHING = {
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
    # It would describe everything that is right, too: twice the time.
    "resultTypes": ["violations"],
}
# Colours and sizes come from styles that all pages share, and take most of
# the time: some pages speak for all.
STRUCTURE = EVERYTHING | {
    "rules": {
        name: {"enabled": False} for name in [*COLOUR_RULES, "target-size"]
    }
}
COLOURS = EVERYTHING | {"runOnly": {"type": "rule", "values": COLOUR_RULES}}
# Most of axe's time goes into the contrast of each word, and most words of a
# page look like a thousand others on the same ground.
FIRST = "data-first-of-its-kind"
QUICK_AXE = Axe(
    f"{AXE_SCRIPT}\naxe.configure({{rules: "
    f'[{{id: "color-contrast", selector: "[{FIRST}]"}}]}});'
)
# Two elements are of a kind if they and all around them have the same tags,
# classes, colours and sizes. In an explorer marks can lie behind words; axe
# sees all of them in the tests of the explorers.
MARK_THE_FIRST_OF_EACH_KIND = """(mark) => {
  const kinds = new Map([[null, ""]]);
  const names = new Map();
  function nameOf(node) {
    const style = getComputedStyle(node);
    const kind = [
      kinds.get(node.parentElement), node.tagName,
      node.getAttribute("class"), style.color, style.backgroundColor,
      style.backgroundImage, style.opacity, style.fontSize, style.fontWeight,
    ].join("|");
    if (!names.has(kind)) names.set(kind, String(names.size));
    return names.get(kind);
  }
  const seen = new Set();
  for (const node of document.querySelectorAll("*")) {
    kinds.set(node, nameOf(node));
    const first = !seen.has(kinds.get(node)) && node.checkVisibility();
    node.toggleAttribute(mark, first);
    if (first) seen.add(kinds.get(node));
  }
}"""
# What is left of the time grows with the number of elements, and most are
# the coloured words of code and the parts of formulas, which axe skips. A
# formula that scrolls stays: it has to take the focus.
THIN_OUT = """(mark) => {
  const again = `.highlight pre span:not([${mark}])`;
  for (const word of document.querySelectorAll(again)) {
    word.replaceWith(...word.childNodes);
  }
  for (const formula of document.querySelectorAll(".katex")) {
    const line = formula.closest("div.math");
    if (line && line.scrollWidth > line.clientWidth) continue;
    formula.textContent = "formula";
  }
}"""


def faults(page: Page, options: dict = EVERYTHING) -> list:
    """Return what axe finds, each rule with its elements.

    Args:
        page: An open page, everything on it unfolded.
        options: What axe is asked; `EVERYTHING`, the `STRUCTURE` or only the
            `COLOURS`.
    """
    page.evaluate(MARK_THE_FIRST_OF_EACH_KIND, FIRST)
    page.evaluate(THIN_OUT, FIRST)
    # There the bar lies over nothing; elsewhere it covers what one scrolls to.
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    found = QUICK_AXE.run(page, options=options).response
    return [
        (
            rule["id"],
            [(n["target"], n["failureSummary"]) for n in rule["nodes"]],
        )
        for rule in found["violations"]
    ]
