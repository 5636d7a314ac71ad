"""The five questions at the end of a chapter, as a reader meets them."""

import pytest
from pages import PAGES
from playwright.sync_api import expect

CHAPTERS = [path for path in PAGES if path.startswith("chapters/")]
BOX = ".vitedu-quiz"


@pytest.mark.parametrize("path", CHAPTERS)
def test_every_answer_is_explained(open_page, path):
    page = open_page(path)
    boxes = page.locator(f"#five-questions {BOX}")
    expect(boxes).to_have_count(5)
    contents = page.locator("#pst-page-toc-nav")
    assert "Five questions" in contents.inner_text()
    for box in boxes.all():
        told = box.locator("[role=status] p")
        choices = box.get_by_role("radio").all()
        expect(told).to_have_count(len(choices))
        assert not any(answer.is_visible() for answer in told.all())
        choices[0].focus()
        page.keyboard.press("Space")
        right = []
        for number, choice in enumerate(choices):
            if number:
                page.keyboard.press("ArrowDown")
            expect(choice).to_be_checked()
            seen = [answer for answer in told.all() if answer.is_visible()]
            assert [answer.inner_text() for answer in seen] == [
                told.nth(number).inner_text()
            ]
            right.append(seen[0].inner_text().startswith("Right. "))
        assert sum(right) == 1


def test_an_explanation_leads_to_its_section(open_page):
    page = open_page(CHAPTERS[4])
    box = page.locator(BOX).first
    box.get_by_role("radio").first.check()
    link = box.locator("[role=status] a").first
    link.click()
    name = page.url.partition("#")[2]
    expect(page.locator(f"section#{name}")).to_be_in_viewport()
    assert link.inner_text() in page.locator(f"section#{name}").inner_text()


@pytest.mark.parametrize("path", CHAPTERS)
def test_the_files_for_platforms_are_there(open_page, site, path):
    page = open_page(path)
    links = page.locator("#five-questions a[download]")
    expect(links).to_have_count(2)
    for link in links.all():
        file = (site.folder / path).parent / link.get_attribute("href")
        assert file.resolve().stat().st_size > 1000


def test_a_quiz_fits_a_phone(open_page):
    page = open_page(CHAPTERS[4], width=390)
    for box in page.locator(BOX).all():
        size = box.bounding_box()
        assert size["x"] >= 0
        assert size["x"] + size["width"] <= 390
        for label in box.locator("label").all():
            assert label.bounding_box()["height"] >= 40
