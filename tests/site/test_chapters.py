"""One visit to each chapter: everything that a reader meets there.

To open a chapter takes longer than most of what one asks there, so it is
opened once, and the window becomes a phone's on the way.
"""

import pytest
from accessibility import EVERYTHING, STRUCTURE, faults
from pages import CHAPTERS, sampled
from visits import (
    DESKTOP,
    PHONE,
    drawings,
    jumps,
    on_a_phone,
    sticks_out,
    stirs,
    unfold,
    whole,
)

# All boxes are asked at once: with each choice the browser looks again at the
# whole page.
CHOOSE = """() => {
  for (const fold of document.querySelectorAll("details.deep")) {
    fold.open = true;
  }
  const wrong = [];
  const following = (box) => {
    const after = box.closest(".cell")?.nextElementSibling;
    return after?.matches(".vitedu-after") ? [...after.children].filter(
      (one) => one.textContent.trim()
        && !one.matches(".vitedu-after, script")) : [];
  };
  const boxes = [...document.querySelectorAll(
    ".vitedu-predict, #five-questions .vitedu-quiz",
  )].map((box) => ({
    box,
    radios: [...box.querySelectorAll("label:not(.vitedu-show) > input")],
    answers: [...box.querySelectorAll("[role=status] p")],
    after: following(box),
    said: [],
  }));
  const shown = (node) => node.checkVisibility({ visibilityProperty: true });
  const told = ({ answers }) => answers.filter(shown).map(
    ({ textContent }) => textContent);
  const marked = ({ box }) => [...box.querySelectorAll("label")].filter(
    (label) => getComputedStyle(label, "::after").content.includes("✓"));
  const see = (right, { box }, what) => {
    if (right) return;
    const [name] = box.querySelector("legend").textContent.match(/.{0,60}/);
    wrong.push(`"${name}" ${what}`);
  };
  for (const one of boxes) {
    see(!told(one).length && !marked(one).length, one, "tells the answer");
    see(!one.after.some(shown), one, "shows what follows");
  }
  const most = Math.max(...boxes.map(({ radios }) => radios.length));
  for (let number = 0; number < most; number++) {
    const asked = boxes.filter(({ radios }) => number < radios.length);
    for (const { radios } of asked) radios[number].click();
    for (const one of asked) {
      one.said.push(...told(one));
      const right = marked(one);
      see(one.radios[number].checked, one, `cannot be answered ${number}`);
      if (!number && !one.radios[0].closest("[data-right]")) {
        see(!right.length && !one.after.some(shown), one,
          "leaves no second try");
        continue;
      }
      see(right.length === 1 && right[0].hasAttribute("data-right"), one,
        `marks the wrong answer after ${number}`);
    }
  }
  for (const one of boxes) {
    const texts = one.answers.map(({ textContent }) => textContent);
    see(one.said.join("|") === texts.join("|")
      && new Set(texts).size === one.radios.length, one,
    "does not answer each option in words of its own");
    see(texts.filter((text) => text.startsWith("Right. ")).length === 1, one,
      "has not one right answer");
    see(one.after.every(shown), one, "hides what follows");
  }
  const quiz = boxes.filter(({ box }) => box.matches(".vitedu-quiz")).length;
  // A guess may stand alone; then the answer itself is all there is.
  const folds = boxes.filter(({ after }) => after.length).length;
  if (quiz !== 5) wrong.push(`${quiz} questions`);
  if (!(folds > (boxes.length - quiz) / 2)) wrong.push("guesses fold nothing");
  const entry = document.querySelector("a.nav-link[href='#five-questions']");
  if (!entry?.textContent.includes("Five questions")) {
    wrong.push("the questions are not in the contents");
  }
  return wrong;
}"""
DOWNLOADS = """() => [...document.querySelectorAll(
  "#five-questions a[download]")].map((link) => link.getAttribute("href"))"""

# With explorers, with wide tables and formulas, with photographs.
ON_A_PHONE = [CHAPTERS[number - 1] for number in (3, 15, 20)]


@pytest.mark.parametrize("path", CHAPTERS)
def test_a_visit_to_a_chapter(open_page, site, path):
    page = open_page(path)
    found = [*whole(page), *jumps(page), *drawings(page)]
    found += stirs(page, path)
    found += page.evaluate(CHOOSE)
    links = page.evaluate(DOWNLOADS)
    files = [(site.folder / path).parent / link for link in links]
    if [file.exists() and file.stat().st_size > 999 for file in files] != [
        *(True, True),
    ]:
        found.append(f"two files of questions, not {links}")
    unfold(page)
    page.set_viewport_size(PHONE)
    found += sticks_out(page) + drawings(page, "drawing-phone")
    page.set_viewport_size(DESKTOP)
    asked = EVERYTHING if path in ON_A_PHONE else STRUCTURE
    assert [*found, *faults(page, asked)] == []


@pytest.mark.parametrize("path", sampled(CHAPTERS, ON_A_PHONE))
def test_a_chapter_from_disk_on_a_phone_in_the_dark(open_page, path):
    page = open_page(path, from_disk=True, color_scheme="dark", **PHONE)
    assert on_a_phone(page) == []
