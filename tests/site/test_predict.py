"""The guesses of the chapters: outputs unfold when the reader has chosen."""

import pytest
from pages import PAGES
from playwright.sync_api import Locator, Page, expect

BOX = ".vitedu-predict"
CHAPTERS = [path for path in PAGES if path.startswith("chapters/")]
MOST_CELLS = 3

# The cells that directly follow the cell of a box, and which of their
# outputs can be seen. Outputs that are empty take no room in any case.
FOLLOWING = """box => {
  const seen = [];
  let cell = box.closest(".cell").nextElementSibling;
  while (cell?.classList.contains("cell")) {
    const output = cell.querySelector(":scope > .cell_output");
    seen.push(output ? output.checkVisibility() : null);
    cell = cell.nextElementSibling;
  }
  return seen;
}"""


# The paragraph or list right after these cells, if there is one.
NEXT_WORDS = """box => {
  let next = box.closest(".cell").nextElementSibling;
  for (let i = 0; i < 3 && next?.classList.contains("cell"); i += 1) {
    next = next.nextElementSibling;
  }
  return next?.matches("p, ul") ? next.checkVisibility() : null;
}"""


def boxes(page: Page) -> list[Locator]:
    return page.locator(BOX).all()


def outputs(box: Locator) -> list[bool]:
    """Return for each output that a box folds whether it can be seen."""
    seen = box.evaluate(FOLLOWING)[:MOST_CELLS]
    return [shown for shown in seen if shown is not None]


def answers(box: Locator) -> list[str]:
    return [
        answer.inner_text()
        for answer in box.locator("[role=status] p").all()
        if answer.is_visible()
    ]


@pytest.mark.parametrize("path", CHAPTERS)
def test_outputs_unfold_when_the_reader_has_chosen(open_page, path):
    page = open_page(path)
    assert boxes(page) or path.startswith("chapters/14")
    for box in boxes(page):
        assert answers(box) == []
        assert not any(outputs(box))
        assert not box.evaluate(NEXT_WORDS)
        choices = box.get_by_role("radio").all()
        choices[0].focus()
        page.keyboard.press("Space")
        told = answers(box)
        for choice in choices[1:]:
            page.keyboard.press("ArrowDown")
            expect(choice).to_be_checked()
            told += answers(box)
        assert len(told) == len(set(told)) == len(choices)
        assert sum(text.startswith("Right. ") for text in told) == 1
        assert all(outputs(box))
        assert box.evaluate(NEXT_WORDS) is not False


def test_most_guesses_fold_an_output(open_page):
    """A guess may stand alone; then the answer itself is all there is."""
    folding, total = 0, 0
    for path in CHAPTERS:
        found = [bool(outputs(box)) for box in boxes(open_page(path))]
        folding, total = folding + sum(found), total + len(found)
    assert folding > 0.7 * total


def test_a_link_opens_the_output_it_leads_to(open_page):
    path = "chapters/03-scaled-dot-product-attention.html"
    folded = open_page(path).locator("#claim-broken-attentions-caught")
    expect(folded).to_be_hidden()
    linked = open_page(f"{path}#claim-broken-attentions-caught")
    expect(linked.locator("#claim-broken-attentions-caught")).to_be_visible()


def test_on_paper_everything_is_there(open_page):
    page = open_page(CHAPTERS[2])
    page.emulate_media(media="print")
    for box in boxes(page):
        assert all(outputs(box))
        (told,) = answers(box)
        assert told.startswith("Right. ")


def test_a_box_fits_a_phone(open_page):
    page = open_page(CHAPTERS[2], width=390)
    for box in boxes(page):
        size = box.bounding_box()
        assert size["x"] >= 0
        assert size["x"] + size["width"] <= 390
        for label in box.locator("label").all():
            assert label.bounding_box()["height"] >= 40
