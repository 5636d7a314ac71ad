"""What the explorers that follow something through a network share."""

import pytest
from mounted import settle
from playwright.sync_api import Locator, Page, expect

# Opens every stage, and those inside of blocks, whose names end in a number.
EACH_STAGE = """async () => {
  const marks = (css) => [...document.querySelectorAll(`${css} [role=radio]`)]
    .filter((mark) => mark.checkVisibility());
  const parts = [".of-stage .vitedu-panel-title", ".formula",
    ".code-line code", ".worked strong"];
  const found = [];
  async function open(mark) {
    mark.click();
    for (let frames = 2; frames; frames -= 1) {
      await new Promise(requestAnimationFrame);
    }
    const { value } = mark.closest(".vitedu-explorer").dataset;
    found.push([mark.ariaChecked, Number(value),
      ...parts.map((css) => document.querySelector(css).innerText)]);
  }
  for (const mark of marks(".strip:not(.inner)")) {
    await open(mark);
    if (!/\\d$/.test(mark.innerText)) continue;
    for (const step of marks(".strip.inner")) await open(step);
  }
  return found;
}"""
TYPED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻−", "0123456789--", "= ")
# From the top of the explorer to the end of a part.
ROOM = """part => part.getBoundingClientRect().bottom
  - part.closest(".vitedu-explorer").getBoundingClientRect().top"""


def open_each_stage(page: Page) -> list[str]:
    """See that each has a formula, a line and its number; return titles."""
    found = page.evaluate(EACH_STAGE)
    for checked, value, title, formula, line, worked in found:
        assert checked == "true", title
        assert formula, title
        assert line, title
        shown = float(
            worked.strip("= ").replace(" × 10", "e").translate(TYPED)
        )
        assert shown == pytest.approx(value, rel=0.06, abs=1e-9), title
    return [title for _, _, title, *_ in found]


def expect_view(page: Page, views: dict[str, str], name: str) -> None:
    """One of the views is there, which have these parts."""
    for other, part in views.items():
        expect(page.locator(part)).to_be_visible(visible=other == name)


def expect_on_a_screen(part: Locator) -> None:
    """Between the bar of the site and the end of a usual screen."""
    assert part.evaluate(ROOM) <= 752


def lighten(page: Page) -> None:
    """Let the day come, on a screen."""
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    page.set_viewport_size({"width": 1280, "height": 1000})
    settle(page)
