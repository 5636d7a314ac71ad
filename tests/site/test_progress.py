"""The place of a reader: chapters read, where reading stopped, one file."""

import json

import pytest
from pages import CHAPTERS
from playwright.sync_api import Locator, Page, expect

CHAPTER = CHAPTERS[4]
FRONT = "book/index.html"


def read_to_the_end(page: Page) -> None:
    page.locator(".onward").scroll_into_view_if_needed()
    page.wait_for_function("() => localStorage.progress?.includes('05-')")


def kept(page: Page) -> Locator:
    """Open the contents, and return what they say of what is kept."""
    page.get_by_role("button", name="Contents").click()
    return page.locator("#contents .kept")


def test_a_chapter_is_read_when_its_end_was_seen(open_page, site):
    page = open_page(CHAPTER)
    expect(kept(page).locator(".read")).to_have_text(
        "0 of 23 chapters read, 0 questions answered"
    )
    page.keyboard.press("Escape")
    read_to_the_end(page)
    dash = page.locator(".dashes a.read")
    expect(dash).to_have_attribute("aria-current", "page")
    page.goto(f"{site.address}/{FRONT}")
    expect(kept(page).locator(".read")).to_have_text(
        "1 of 23 chapters read, 0 questions answered"
    )
    read = page.locator("#contents .pages a.read")
    expect(read).to_have_text("5. Multi-head attention")
    # Of another language it is the same chapter.
    page.goto(f"{site.address}/zh/{FRONT}")
    count = page.locator("#contents .kept .read")
    expect(count).to_have_text("已读 1 / 23 章，答对 0 题")


def test_right_answers_are_kept_and_counted_once(open_page, site):
    page = open_page(CHAPTERS[2])
    field = page.get_by_label("Your answer").first
    for answer in ("1600", "40", "40"):
        field.fill(answer)
        field.press("Enter")
    quiz = page.locator("#five-questions .vitedu-quiz").first
    quiz.locator("label:not([data-right])").first.click()
    quiz.locator("label[data-right]").click()
    page.reload()
    expect(field).to_have_value("40")
    said = page.locator("form.vitedu-answer [role=status]").first
    expect(said).to_contain_text("Right: the variance is 100")
    expect(quiz.locator("label[data-right] input")).to_be_checked()
    expect(kept(page).locator(".read")).to_have_text(
        "0 of 23 chapters read, 2 questions answered"
    )
    page.goto(f"{site.address}/zh/{CHAPTERS[2]}")
    page.locator("#five-questions label[data-right]").first.click()
    expect(page.locator("#contents .kept .read")).to_have_text(
        "已读 0 / 23 章，答对 2 题"
    )


def test_the_front_page_leads_to_where_reading_stopped(open_page, site):
    page = open_page(CHAPTER)
    section = page.locator("main section section[id]").nth(2)
    name = section.get_attribute("id")
    section.evaluate("section => section.scrollIntoView()")
    page.goto(f"{site.address}/{FRONT}")
    link = page.get_by_role("link", name="Go on where you stopped")
    expect(link).to_have_text(
        "Go on where you stopped: 5. Multi-head attention"
    )
    link.click()
    assert page.url == f"{site.address}/{CHAPTER}#{name}"
    expect(page.locator(f"[id='{name}']")).to_be_in_viewport()


def test_on_the_first_visit_the_front_page_leads_nowhere(open_page):
    page = open_page(FRONT)
    expect(page.locator(".stopped")).to_be_hidden()


def test_what_is_kept_goes_from_one_browser_to_another(
    open_page, site, tmp_path
):
    first = open_page(CHAPTER)
    first.evaluate(
        """() => {
          localStorage.setItem("ours.of.somebody.else", "1");
          localStorage.setItem(`${location.pathname}#guesses`, "{}");
        }"""
    )
    read_to_the_end(first)
    with first.expect_download() as download:
        kept(first).get_by_role("button", name="Save to a file").click()
    file = tmp_path / "kept.json"
    download.value.save_as(file)
    found = json.loads(file.read_text("utf-8"))["kept"]
    assert found[f"{CHAPTER}#guesses"] == "{}"
    assert "ours.of.somebody.else" not in found

    second = open_page(FRONT)
    kept(second).locator("input").set_input_files(file)
    second.wait_for_function("() => localStorage.progress?.includes('05-')")
    guesses = f"/{CHAPTER}#guesses"
    assert second.evaluate(f"localStorage['{guesses}']") == "{}"
    expect(second.locator(".dashes a.read")).to_have_count(1)

    first.reload()
    kept(first).get_by_role("button", name="Forget all").click()
    first.wait_for_function("() => !localStorage.progress?.includes('05-')")
    left = {*first.evaluate("Object.keys(localStorage)")}
    assert left - {"mode", "theme"} == {"ours.of.somebody.else"}


@pytest.mark.parametrize(
    "content",
    ["no JSON", '{"kept": {}}', '{"format": 1, "kept": {"mode": "dark"}}'],
)
def test_another_file_changes_nothing(open_page, tmp_path, content):
    page = open_page(FRONT)
    file = tmp_path / "a.json"
    file.write_text(content, "utf-8")
    place = kept(page)
    place.locator("input").set_input_files(file)
    expect(place.get_by_role("status")).to_have_text(
        "This is not a file that the book has saved."
    )
    assert page.evaluate("localStorage.mode") != "dark"


def test_names_that_are_not_of_the_book_are_refused(open_page, tmp_path):
    page = open_page(FRONT)
    file = tmp_path / "a.json"
    form = "From Transformer to ViT: kept by a browser"
    content = {"format": form, "kept": {"mode": "dark", "token": "stolen"}}
    file.write_text(json.dumps(content), "utf-8")
    place = kept(page)
    place.locator("input").set_input_files(file)
    expect(place.get_by_role("status")).not_to_be_empty()
    assert page.evaluate("localStorage.mode") != "dark"
