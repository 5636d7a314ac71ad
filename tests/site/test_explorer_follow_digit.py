"""FollowDigit in the browser: drawing, stages, lens, parts switched off."""

from pathlib import Path

import numpy as np
import pytest
import torch
from explorers import digit_model, followed
from explorers import follow_digit as make
from mounted import (
    button,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    overflow,
    press,
    published,
    ready,
)
from playwright.sync_api import Locator, Page, expect
from stages import expect_on_a_screen, expect_view, lighten, open_each_stage

from vitedu.book.followed_digits import followed_digits
from vitedu.data.digits import digits
from vitedu.pretrained.models import config_of, load_vit
from vitedu.widgets import FollowDigit

ROOT = Path(__file__).parents[2]
DATA = digits()
# A tall hook, as shares of the field.
STROKE = [(0.3, 0.2), (0.7, 0.2), (0.45, 0.85)]
VIEWS = {"Drawing": ".field", "One stage": ".numbers", "Attention": ".maps"}


@torch.no_grad()
def lens_of(ink: np.ndarray) -> list[np.ndarray]:
    """Return what norm and head read off all tokens after each layer."""
    model = digit_model()
    image = torch.tensor(ink / 16).float().view(1, 1, 8, 8)
    image = (image - DATA.mean) / DATA.std
    layers = [model.embed(image), *model.layer_features(image)]
    return [model.head(model.norm(x[0])).softmax(-1).numpy() for x in layers]


def expect_answer(explorer: Locator, ink: np.ndarray) -> None:
    """The class token answers, after the last layer."""
    expected = lens_of(ink)[-1][0]
    np.testing.assert_allclose(
        published(explorer)["chances"], expected, atol=1e-4
    )
    first = explorer.locator(".bars li.first .digit")
    expect(first).to_have_text(str(expected.argmax()))


def draw(page: Page, stroke: list = STROKE) -> None:
    box = page.locator(".field").bounding_box()
    for i, (x, y) in enumerate(stroke):
        place = box["x"] + x * box["width"], box["y"] + y * box["height"]
        page.mouse.move(*place, steps=6)
        if not i:
            page.mouse.down()
    page.mouse.up()


def keys(page: Page, pressed: str) -> None:
    """Press keys in the field, where one begins in row 3, column 3."""
    for key in pressed.split():
        page.get_by_role("application").press(key)


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
    assert first.reshape(8, 8).any(axis=1).all()
    expect_answer(explorer, first)
    press(page, "Clear")
    reading = page.locator(".vitedu-reading")
    expect(reading).to_contain_text("Nothing is drawn, but it has to choose.")
    expect_answer(explorer, np.zeros(64))
    # Keys draw pixel by pixel.
    keys(page, "ArrowUp ArrowRight Space Space ArrowRight Space")
    ink = np.zeros((8, 8))
    ink[2, 4], ink[2, 5] = 16, 8
    expect(reading).not_to_contain_text("Nothing")
    np.testing.assert_array_equal(picture_of(page), ink.ravel())
    expect_answer(explorer, ink)
    keys(page, "Delete")
    expect(reading).to_contain_text("Nothing")


def test_test_images_are_named_and_their_answers_known(show):
    page = show(make())
    labels, chances = followed()["labels"], followed()["answers"]
    misread = chances.argmax(-1) != labels
    buttons = page.locator(".sample")
    assert buttons.evaluate_all("all => all.map((one) => one.ariaLabel)") == [
        f"a {label}, which it misreads" if wrong else f"a {label}"
        for label, wrong in zip(labels, misread, strict=True)
    ]
    at = len(labels) - 1
    buttons.nth(at).click()
    expect_published(ready(page), digit=at)
    expect(buttons.nth(at)).to_have_attribute("aria-pressed", "true")
    expect_answer(explorer_of(page), followed()["samples"][at])


def test_every_stage_opens_with_its_numbers_formula_and_line(show):
    page = show(make(block=1, head=2, row=3, column=1))
    ready(page)
    said = {*open_each_stage(page)}
    # 14 steps in a block, of which two are norms and two are sums.
    assert len(said) == 4 + 3 * 12 + 3
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


def test_a_stage_opens_in_place_of_the_drawing(show):
    page = show(book_digits(), theme="dark", width=390)
    ready(page)
    expect_view(page, VIEWS, "Drawing")
    page.locator(".strip [role=radio]").nth(2).click()
    expect_view(page, VIEWS, "One stage")
    press(page, "Start again")
    expect_view(page, VIEWS, "Drawing")
    page.evaluate("location.hash = 'explorer-follow-digit:stage=tokens'")
    expect_view(page, VIEWS, "One stage")
    for _ in ("on a phone in the dark", "in the light"):
        for name in VIEWS:
            button(page, name).press("Enter")
            expect_view(page, VIEWS, name)
            expect_accessible_and_inside(page)
        lighten(page)
    for name in VIEWS:
        press(page, name)
        expect_on_a_screen(page.locator(".switches"))


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
        box.uncheck()
        expect_published(explorer, off="")
    box.check()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"The whole network reads a {np.argmax(whole)}"
    )
    expect(page.locator(".whole:visible")).to_have_count(10)
    press(page, "Everything on")
    expect(box).not_to_be_checked()
    assert published(explorer)["chances"] == whole


def test_the_lens_names_what_each_layer_would_answer(show):
    page = show(make(block=1))
    ready(page)
    heads = lens_of(followed()["samples"][0])
    firsts = page.locator(".lens tbody tr .first")
    assert firsts.evaluate_all(
        "all => all.map((cell) => [cell.cellIndex - 1, cell.textContent])"
    ) == [[one[0].argmax(), f"{100 * one[0].max():.0f}"] for one in heads]
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
    page.locator(".field").hover()
    ready(page)
    blocks = page.locator(".block-answers li").all_inner_texts()
    for i, chances in enumerate(lens_of(followed()["samples"][0])[1:]):
        name, digit, chance = blocks[i].split("\n")
        assert name == f"block {i + 1}"
        assert int(digit) == chances[0].argmax()
        percents = float(chance.removesuffix("%"))
        assert percents == pytest.approx(100 * chances[0].max(), abs=0.5)
    before = published(explorer)["chances"]
    draw(page)
    assert published(ready(page))["chances"] != before
    link = page.get_by_role("link", name="Follow it through every step")
    address, _, settings = link.get_attribute("href").partition("#")
    assert address.endswith("chapters/14-training-a-vit.html")
    whole = show(make())
    whole.evaluate("settings => { location.hash = settings; }", settings)
    expect_published(ready(whole), digit=-1)
    assert published(ready(whole))["chances"] == published(explorer)["chances"]
    assert page.get_by_role("button", name="Change its mind").count() == 0
    assert overflow(page) <= 0


def book_digits(**changes) -> FollowDigit:
    path = ROOT / "book/data/digit-vit.safetensors"
    parts = followed_digits(load_vit(path, config_of(path)))
    return FollowDigit(**parts | changes)


def tops(page: Page) -> list[float]:
    """Return where what follows the game begins, however one scrolls."""
    parts = page.locator(
        ".vitedu-explorer, .of-answer, .of-lens, .samples, .vitedu-reading,"
        " .of-strip"
    ).evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
    return [top - parts[0] for top in parts]


def test_the_game_counts_ink_until_the_network_changes_its_mind(show):
    page = show(book_digits(digit=3), width=1280)
    explorer = ready(page)
    line = page.locator(".game-line")
    expect(line).to_be_hidden()
    press(page, "Change its mind")
    expect(line).to_contain_text("It reads a 3, with a probability of 96%.")
    undo = button(page, "Undo stroke")
    expect(undo).to_be_disabled()
    before = tops(page)
    # Two quarters of a pixel, by keys.
    keys(page, "ArrowLeft Space")
    expect_published(explorer, added=0.25, least="")
    expect(line).to_contain_text("0.25 pixels of ink added, 1.2% of")
    expect(line).to_contain_text("it still reads a 3")
    keys(page, "Space")
    expect_published(explorer, added=0.5, least=0.5)
    expect(line).to_contain_text("changes its mind: it now reads a 9")
    first = page.locator(".bars li.first .digit")
    expect(first).to_have_text("9")
    # A stroke adds to it; the least stays.
    draw(page, [(0.05, 0.2), (0.05, 0.8)])
    expect(line).not_to_contain_text("0.50 pixels of ink added")
    assert published(explorer)["added"] > 2
    expect(line).to_contain_text("Your least so far: 0.50.")
    undo.click()
    expect_published(explorer, added=0.5, least=0.5)
    keys(page, "Delete")
    expect_published(explorer, added=0.25, least=0.5)
    expect(button(page, "Compare")).to_be_enabled()
    assert tops(page) == before
    expect_accessible_and_inside(page)
    press(page, "Undo all")
    expect_published(explorer, added=0, least=0.5, digit=3)
    press(page, "Leave the game")
    expect(line).to_be_hidden()
    assert page.locator(".field").get_attribute("class") == "field"


def test_the_game_goes_on_with_another_digit_and_keeps_the_least(show):
    page = show(book_digits(digit=3), theme="dark", width=390)
    explorer = ready(page)
    game = page.get_by_role("group", name="The game")
    press(page, "Change its mind")
    keys(page, "ArrowLeft Space Space")
    expect_published(explorer, least=0.5)
    page.locator(".sample").nth(10).click()
    expect_published(explorer, added=0, least="", digit=10)
    expect(game).to_contain_text("It reads an 8")
    before = tops(page)
    press(page, "Give up")
    expect(game).to_contain_text(
        "The smallest single dab: 0.06, on the framed pixel; it then reads a 1"
    )
    frame = page.locator(".dab")
    expect(frame).to_have_attribute("x", "2")
    expect(frame).to_have_attribute("y", "0")
    assert tops(page) == before
    expect_accessible_and_inside(page)
    page.locator(".sample").nth(3).click()
    expect_published(explorer, added=0, least=0.5, digit=3)
    # The tour and the game end each other.
    tour = page.get_by_role("group", name="Tour")
    press(page, "Take the tour")
    expect(game).to_be_hidden()
    expect(tour).to_be_visible()
    press(page, "Change its mind")
    expect(tour).to_be_hidden()
    expect(game).to_be_visible()
    expect(page.locator(".vitedu-lit")).to_have_count(0)
    press(page, "Clear")
    expect(game).to_be_hidden()
    change = button(page, "Change its mind")
    expect(change).to_be_disabled()
    # One's own drawing is as good a start.
    draw(page)
    expect(change).to_be_enabled()
    drawn = picture_of(page)
    change.click()
    expect_published(explorer, added=0, digit=-1)
    keys(page, f"{3 * 'ArrowUp '}{5 * 'ArrowRight '}Space Space")
    expect_published(explorer, added=0.5)
    assert picture_of(page).sum() == drawn.sum() + 8
    press(page, "Leave the game")
    corner = page.locator(".strip .ink").nth(7)
    expect(corner).to_have_attribute("fill-opacity", "0")
    np.testing.assert_array_equal(picture_of(page), drawn)
