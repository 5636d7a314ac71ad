"""FollowDigit in the browser: drawing, stages, lens, parts switched off."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from explorers import digit_model, followed
from explorers import follow_digit as make
from mounted import (
    accessibility_faults,
    button,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    overflow,
    press,
    published,
    ready,
)
from playwright.sync_api import Locator, Page, expect

from vitedu.book.followed_digits import followed_digits
from vitedu.data.digits import digits
from vitedu.pretrained.models import config_of, load_vit
from vitedu.widgets import FollowDigit

ROOT = Path(__file__).parents[2]
DATA = digits()
# A tall hook, as shares of the field.
STROKE = [(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]


@torch.no_grad()
def answer(ink: np.ndarray) -> np.ndarray:
    """Return what the library's network answers a picture of 0 to 16."""
    image = torch.tensor(ink / 16).float().view(1, 1, 8, 8)
    logits = digit_model()((image - DATA.mean) / DATA.std)
    return logits.softmax(dim=-1)[0].numpy()


@torch.no_grad()
def lens_of(ink: np.ndarray) -> list[np.ndarray]:
    """Return what norm and head read off all tokens after each layer."""
    model = digit_model()
    image = torch.tensor(ink / 16).float().view(1, 1, 8, 8)
    image = (image - DATA.mean) / DATA.std
    layers = [model.embed(image), *model.layer_features(image)]
    return [model.head(model.norm(x[0])).softmax(-1).numpy() for x in layers]


VIEWS = {"Drawing": ".field", "One stage": ".numbers", "Attention": ".maps"}


def expect_view(page: Page, name: str) -> None:
    for other, part in VIEWS.items():
        expect(page.locator(part)).to_be_visible(visible=other == name)


def expect_answer(explorer: Locator, ink: np.ndarray) -> None:
    expected = answer(ink)
    shown = np.array(json.loads(explorer.get_attribute("data-chances")))
    np.testing.assert_allclose(shown, expected, atol=1e-4)
    first = explorer.locator(".bars li.first .digit")
    expect(first).to_have_text(str(expected.argmax()))


# From the top of the explorer to the end of a part.
ROOM = """part => part.getBoundingClientRect().bottom
  - part.closest(".vitedu-explorer").getBoundingClientRect().top"""


def draw(page: Page) -> None:
    box = page.locator(".field").bounding_box()
    for i, (x, y) in enumerate(STROKE):
        place = box["x"] + x * box["width"], box["y"] + y * box["height"]
        page.mouse.move(*place, steps=6)
        if not i:
            page.mouse.down()
    page.mouse.up()


def picture_of(page: Page) -> np.ndarray:
    """Return what the strip says that the network has got."""
    shades = page.locator(".strip .ink").evaluate_all(
        "all => all.slice(0, 64).map(one => one.getAttribute('fill-opacity'))"
    )
    return np.array(shades, float) * 16


def test_what_one_draws_is_read_at_once_and_again(show):
    page = show(make())
    explorer = ready(page)
    expect_answer(explorer, followed()["samples"][0])
    draw(page)
    expect_published(explorer, digit=-1)
    first = picture_of(page)
    assert (first.max(axis=-1) > 0).all()
    assert first.reshape(8, 8).any(axis=1).all()
    expect_answer(explorer, first)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Nothing is drawn, but it has to choose."
    )
    expect_answer(explorer, np.zeros(64))


def test_keys_draw_pixel_by_pixel(show):
    page = show(make(digit=-1))
    explorer = ready(page)
    field = page.get_by_role("application")
    for key in [
        "ArrowUp",
        "ArrowRight",
        "Space",
        "Space",
        "ArrowRight",
        "Space",
    ]:
        field.press(key)
    ink = np.zeros((8, 8))
    ink[2, 4], ink[2, 5] = 16, 8
    expect(page.locator(".vitedu-reading")).not_to_contain_text("Nothing")
    np.testing.assert_array_equal(picture_of(page), ink.ravel())
    expect_answer(explorer, ink)
    field.press("Delete")
    expect(page.locator(".vitedu-reading")).to_contain_text("Nothing")


def test_a_picture_that_python_gives_is_read(show):
    ink = np.zeros((8, 8), "uint8")
    ink[1:7, 3:5] = 13
    explorer = ready(show(make(digit=-1, picture=ink)))
    expect_answer(explorer, ink)


def test_test_images_are_named_and_their_answers_known(show):
    page = show(make())
    explorer = ready(page)
    labels, chances = followed()["labels"], followed()["answers"]
    buttons = page.locator(".sample")
    for i, label in enumerate(labels):
        buttons.nth(i).click()
        expect_published(explorer, digit=i)
        expect(buttons.nth(i)).to_have_attribute("aria-pressed", "true")
        misread = chances[i].argmax() != label
        name = f"a {label}, which it misreads" if misread else f"a {label}"
        expect(buttons.nth(i)).to_have_attribute("aria-label", name)
        expect_answer(explorer, followed()["samples"][i])


def test_every_stage_opens_with_its_numbers_formula_and_line(show):
    page = show(make(block=1, head=2, row=3, column=1))
    explorer = ready(page)
    marks = page.locator(".strip [role=radio]")
    said = set()
    for i in range(marks.count()):
        marks.nth(i).click()
        expect(marks.nth(i)).to_have_attribute("aria-checked", "true")
        worked = page.locator(".worked").inner_text()
        value = published(explorer)["value"]
        text = worked.rsplit("= ", 1)[1].replace("−", "-")
        shown = float(
            text.replace(" × 10", "e").translate(
                str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
            )
        )
        assert shown == pytest.approx(value, rel=0.06, abs=1e-9)
        said.add(page.locator(".of-stage .vitedu-panel-title").inner_text())
        assert page.locator(".formula").inner_text()
        assert page.locator(".code-line code").inner_text()
    # A block opens on the softmax, which is a step of its own as well.
    assert len(said) >= marks.count() - 3
    assert "softmax: 17 × 17, head 3 of block 2" in said


def test_a_number_is_chosen_in_its_matrix(show):
    page = show(make(stage="softmax"))
    explorer = ready(page)
    press(page, "One stage")
    box = page.locator(".numbers").bounding_box()
    page.locator(".numbers").click(
        position={"x": 4.5 / 17 * box["width"], "y": 7.5 / 17 * box["height"]}
    )
    expect_published(explorer, row=7, column=4)
    expect(page.locator(".of-stage")).to_contain_text(
        "query of patch 7, key of patch 4"
    )
    page.keyboard.press("ArrowDown")
    expect_published(explorer, row=8, column=4)
    # Keys that are faster than the page is drawn.
    page.locator(".numbers").evaluate(
        """(numbers, keys) => keys.forEach((key) => numbers.dispatchEvent(
            new KeyboardEvent("keydown", { key, bubbles: true })))""",
        ["ArrowDown", *5 * ["ArrowLeft"]],
    )
    expect_published(explorer, row=9, column=0)


@each_look
def test_a_stage_opens_in_place_of_the_drawing(show, theme, width):
    page = show(make(), theme=theme, width=width)
    ready(page)
    expect_view(page, "Drawing")
    page.locator(".strip [role=radio]").nth(2).click()
    expect_view(page, "One stage")
    for name in VIEWS:
        button(page, name).press("Enter")
        expect_view(page, name)
        expect_accessible_and_inside(page)
    page.evaluate("location.hash = 'explorer-follow-digit:stage=tokens'")
    expect_view(page, "One stage")
    press(page, "Start again")
    expect_view(page, "Drawing")


def test_each_view_fits_a_screen(show):
    page = show(book_digits(), width=1280)
    ready(page)
    for name in VIEWS:
        press(page, name)
        expect_view(page, name)
        assert page.locator(".switches").evaluate(ROOM) <= 752


def test_a_part_that_is_off_is_marked_and_comes_back(show):
    page = show(make(block=1, head=2))
    explorer = ready(page)
    whole = published(explorer)["chances"]
    for label, off in {
        "positions": "positions",
        "the scale 1/√d": "scale",
        "residuals": "residuals",
        "block 2": "block 1",
        "head 3 of block 2": "head 1 2",
    }.items():
        box = page.get_by_label(label, exact=True)
        box.check()
        expect_published(explorer, off=off)
        assert published(explorer)["chances"] != whole, label
        expect(page.locator(".vitedu-reading")).to_contain_text(
            f"The whole network reads a {np.argmax(whole)}"
        )
        expect(page.locator(".whole:visible")).to_have_count(10)
        box.uncheck()
        expect_published(explorer, off="")
    page.get_by_label("residuals").check()
    page.get_by_role("button", name="Everything on").click()
    expect(page.get_by_label("residuals")).not_to_be_checked()
    assert published(explorer)["chances"] == whole


def test_the_lens_names_what_each_layer_would_answer(show):
    page = show(make(block=1))
    ready(page)
    heads = lens_of(followed()["samples"][0])
    for i, chances in enumerate(heads):
        first = page.locator(".lens tbody tr").nth(i).locator(".first")
        expect(first).to_have_text(f"{100 * chances[0].max():.0f}")
        column = first.evaluate("cell => cell.cellIndex - 1")
        assert column == chances[0].argmax()
    patches = page.locator(".patch-lens text").all_text_contents()
    assert [int(text) for text in patches] == heads[2][1:].argmax(-1).tolist()


def test_the_small_form_loads_nothing_until_it_is_touched(show):
    page = show(make(small=True), width=390)
    explorer = explorer_of(page)
    bars = page.locator(".bars li.first .digit")
    expect(bars).to_have_text(str(followed()["answers"][0].argmax()))
    page.wait_for_timeout(300)
    assert page.locator(".block-answers strong").all_inner_texts() == 3 * ["?"]
    assert "chances" not in published(explorer)
    draw(page)
    ready(page)
    link = page.get_by_role("link", name="Follow it through every step")
    address, _, settings = link.get_attribute("href").partition("#")
    assert address.endswith("chapters/14-training-a-vit.html")
    whole = show(make())
    whole.evaluate("settings => { location.hash = settings; }", settings)
    expect_published(ready(whole), digit=-1)
    assert published(ready(whole))["chances"] == published(explorer)["chances"]
    assert page.get_by_role("button", name="Change its mind").count() == 0
    assert overflow(page) <= 0


def test_the_small_form_says_what_it_would_answer_after_each_block(show):
    page = show(make(small=True))
    page.locator(".field").hover()
    ready(page)
    blocks = page.locator(".block-answers li").all_inner_texts()
    for i, chances in enumerate(lens_of(followed()["samples"][0])[1:]):
        name, digit, chance = blocks[i].split("\n")
        assert name == f"block {i + 1}"
        assert int(digit) == chances[0].argmax()
        percents = float(chance.removesuffix("%"))
        assert percents == pytest.approx(100 * chances[0].max(), abs=0.5)


def book_digits(**changes) -> FollowDigit:
    path = ROOT / "book/data/digit-vit.safetensors"
    parts = followed_digits(load_vit(path, config_of(path)))
    return FollowDigit(**parts | changes)


def inks(
    page: Page, row: int, column: int, *, times: int, at: tuple = (3, 3)
) -> None:
    """Ink a pixel by key, from where the keys are; at first in (3, 3)."""
    field = page.get_by_role("application")
    for key, steps in (
        ("ArrowDown", row - at[0]),
        ("ArrowRight", column - at[1]),
    ):
        opposite = {"ArrowDown": "ArrowUp", "ArrowRight": "ArrowLeft"}[key]
        for _ in range(abs(steps)):
            field.press(key if steps > 0 else opposite)
    for _ in range(times):
        field.press("Space")


def tops(page: Page) -> list[float]:
    """Return where what follows the game begins."""
    return page.locator(
        ".of-answer, .of-lens, .samples, .vitedu-reading, .of-strip"
    ).evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_game_counts_ink_until_the_network_changes_its_mind(
    show, theme, width
):
    page = show(book_digits(digit=3), theme=theme, width=width)
    explorer = ready(page)
    line, field = page.locator(".game-line"), page.locator(".field")
    expect(line).to_be_hidden()
    page.get_by_role("button", name="Change its mind").click()
    expect(line).to_contain_text("It reads a 3, with a probability of 96%.")
    undo = page.get_by_role("button", name="Undo stroke")
    expect(undo).to_be_disabled()
    before = tops(page)
    # Two quarters of the pixel that the search finds, by keys.
    inks(page, 3, 2, times=1)
    expect_published(explorer, added=0.25, least="")
    expect(line).to_contain_text("0.25 pixels of ink added, 1.2% of")
    expect(line).to_contain_text("it still reads a 3")
    field.press("Space")
    expect_published(explorer, added=0.5, least=0.5)
    expect(line).to_contain_text("changes its mind: it now reads a 9")
    first = page.locator(".bars li.first .digit")
    expect(first).to_have_text("9")
    # A stroke adds to it; the least stays.
    box = field.bounding_box()
    for i, share in enumerate((0.2, 0.8)):
        page.mouse.move(
            box["x"] + 0.05 * box["width"], box["y"] + share * box["height"]
        )
        if not i:
            page.mouse.down()
    page.mouse.up()
    expect(line).not_to_contain_text("0.50 pixels of ink added")
    assert published(explorer)["added"] > 2
    expect(line).to_contain_text("Your least so far: 0.50.")
    undo.click()
    expect_published(explorer, added=0.5, least=0.5)
    field.press("Delete")
    expect_published(explorer, added=0.25, least=0.5)
    page.get_by_role("button", name="Compare").click()
    expect(line).to_contain_text(
        "The smallest single dab: 0.50, on the framed pixel; "
        "it then reads a 9."
    )
    frame = page.locator(".dab")
    expect(frame).to_have_attribute("x", "2")
    expect(frame).to_have_attribute("y", "3")
    assert tops(page) == before
    assert overflow(page) <= 0
    assert accessibility_faults(page) == []
    page.get_by_role("button", name="Undo all").click()
    expect_published(explorer, added=0, least=0.5, digit=3)
    page.get_by_role("button", name="Leave the game").click()
    expect(line).to_be_hidden()
    assert field.get_attribute("class") == "field"


def test_the_game_goes_on_with_another_digit_and_keeps_the_least(show):
    page = show(book_digits(digit=3))
    explorer = ready(page)
    page.get_by_role("button", name="Change its mind").click()
    inks(page, 3, 2, times=2)
    expect_published(explorer, least=0.5)
    page.locator(".sample").nth(10).click()
    expect_published(explorer, added=0, least="", digit=10)
    expect(page.locator(".game-line")).to_contain_text("It reads an 8")
    page.get_by_role("button", name="Give up").click()
    expect(page.locator(".game-line")).to_contain_text(
        "The smallest single dab: 0.06, on the framed pixel"
    )
    page.locator(".sample").nth(3).click()
    expect_published(explorer, added=0, least=0.5, digit=3)
    page.get_by_role("button", name="Clear").click()
    expect(page.locator(".game")).to_be_hidden()
    change = page.get_by_role("button", name="Change its mind")
    expect(change).to_be_disabled()
    # One's own drawing is as good a start.
    draw(page)
    expect(change).to_be_enabled()
    drawn = picture_of(page)
    change.click()
    expect_published(explorer, added=0, digit=-1)
    inks(page, 0, 7, times=2, at=(3, 2))
    expect_published(explorer, added=0.5)
    assert picture_of(page).sum() == drawn.sum() + 8
    page.get_by_role("button", name="Leave the game").click()
    corner = page.locator(".strip .ink").nth(7)
    expect(corner).to_have_attribute("fill-opacity", "0")
    np.testing.assert_array_equal(picture_of(page), drawn)


def test_the_tour_and_the_game_end_each_other(show):
    page = show(book_digits(digit=3))
    ready(page)
    tour = page.get_by_role("group", name="Tour")
    game = page.get_by_role("group", name="The game")
    press(page, "Take the tour")
    expect(tour).to_be_visible()
    press(page, "Change its mind")
    expect(tour).to_be_hidden()
    expect(game).to_be_visible()
    expect(page.locator(".vitedu-lit")).to_have_count(0)
    press(page, "Take the tour")
    expect(game).to_be_hidden()
    expect(tour).to_be_visible()
    expect(page.get_by_role("button", name="Change its mind")).to_be_enabled()
