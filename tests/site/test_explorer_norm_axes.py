"""NormAxes in the browser: its numbers, its mouse, its keyboard."""

import numpy as np
import pytest
import torch
from mounted import (
    EXPLORER,
    each_look,
    expect_accessible_and_inside,
    explorer_of,
    published,
)
from pages import start_explorers
from playwright.sync_api import Locator, Page, expect
from torch import nn

from vitedu.widgets import NormAxes
from vitedu.widgets.norm_axes import NORMS, readings

CHAPTER = "chapters/06-residuals-norms-feed-forward.html"
SAMPLES, TOKENS, FEATURES = 2, 3, 5
TOLERANCE = 1e-5


def make_batch(*shape: int) -> np.ndarray:
    shape = shape or (SAMPLES, TOKENS, FEATURES)
    return np.random.default_rng(0).normal(0.3, 2, shape).astype("f4")


def make(**arguments) -> NormAxes:
    return NormAxes(**{"batch": make_batch()} | arguments)


def cell(page: Page, kind: str, *place: int, shape=None) -> Locator:
    at = np.ravel_multi_index(place, shape or (SAMPLES, TOKENS, FEATURES))
    return page.locator(f'.{kind} .number[data-at="{at}"]')


def values(page: Page, kind: str) -> np.ndarray:
    shown = page.locator(f".{kind} .number").evaluate_all(
        "cells => cells.map((cell) => Number(cell.dataset.value))"
    )
    return np.reshape(shown, (SAMPLES, TOKENS, FEATURES))


def lit(page: Page, kind: str) -> np.ndarray:
    shown = page.locator(f".{kind} .number").evaluate_all(
        "cells => cells.map((cell) => cell.classList.contains('lit'))"
    )
    return np.reshape(shown, (SAMPLES, TOKENS, FEATURES))


def marks(page: Page, kind: str) -> np.ndarray:
    """Return the heights of the triangles, negative where they fall."""
    shown = page.locator(f".{kind} .changed").evaluate_all(
        """paths => paths.map((path) => {
            const [, y, , x, tip] =
                (path.getAttribute("d") || "M0 0h0L0 0z")
                    .match(/[-\\d.e]+/g).map(Number);
            return y - tip;
        })"""
    )
    return np.reshape(shown, (SAMPLES, TOKENS, FEATURES))


def expect_cell(page: Page, sample: int, token: int, feature: int) -> None:
    place = {"sample": sample, "token": token, "feature": feature}
    for name, value in place.items():
        expect(explorer_of(page)).to_have_attribute(f"data-{name}", str(value))
    chosen = page.locator(".inputs .number[aria-checked=true]")
    expect(chosen).to_have_count(1)
    at = np.ravel_multi_index(
        (sample, token, feature), (SAMPLES, TOKENS, FEATURES)
    )
    expect(chosen).to_have_attribute("data-at", str(at))


def expect_readings(page: Page) -> dict:
    """Compare all that the page shows with the Python twin."""
    shown = published(explorer_of(page))
    names = ("norm", "sample", "token", "feature", "change")
    widget = make(**{name: shown[name] for name in names})
    twin = readings(widget)
    outputs = twin.pop("outputs")
    np.testing.assert_allclose(
        values(page, "outputs"), outputs, atol=TOLERANCE
    )
    for name, expected in twin.items():
        first, *others = name.split("_")
        value = shown[first + "".join(word.title() for word in others)]
        np.testing.assert_allclose(
            value, expected, atol=TOLERANCE, err_msg=name
        )
    return shown


def by_torch(norm: str, batch: np.ndarray) -> np.ndarray:
    x = torch.tensor(batch, dtype=torch.float64)
    if norm == "LayerNorm":
        return nn.LayerNorm(x.shape[2], dtype=x.dtype)(x).detach().numpy()
    layers = {
        "BatchNorm": nn.BatchNorm1d(x.shape[2], dtype=x.dtype),
        "whole sample": nn.GroupNorm(1, x.shape[2], dtype=x.dtype),
    }
    out = layers[norm](x.transpose(1, 2)).transpose(1, 2)
    return out.detach().numpy()


@pytest.mark.parametrize("norm", NORMS)
def test_inputs_and_outputs_are_those_of_pytorch(show, norm):
    widget = make(norm=norm, sample=1, token=2, feature=3, change=-1.7)
    page = show(widget)
    edited = widget.batch.astype(np.float64)
    edited[1, 2, 3] -= 1.7
    np.testing.assert_allclose(values(page, "inputs"), edited, atol=TOLERANCE)
    np.testing.assert_allclose(
        values(page, "outputs"), by_torch(norm, edited), atol=TOLERANCE
    )
    expect_readings(page)


def test_the_norm_is_chosen(show):
    page = show(make(sample=1, token=0, feature=4))
    for norm, name in [
        ("BatchNorm", "BatchNorm"),
        ("whole sample", "whole sample (GroupNorm)"),
        ("LayerNorm", "LayerNorm"),
    ]:
        page.get_by_label("Norm", exact=True).select_option(name)
        expect(explorer_of(page)).to_have_attribute("data-norm", norm)
        expect_readings(page)
        expect(page.locator(".vitedu-reading")).to_contain_text(f"With {name}")


@pytest.mark.parametrize(
    ("norm", "group"),
    [
        ("LayerNorm", np.s_[1, 2, :]),
        ("BatchNorm", np.s_[:, :, 3]),
        ("whole sample", np.s_[1, :, :]),
    ],
)
def test_cells_that_share_a_mean_light_up_and_only_they_change(
    show, norm, group
):
    page = show(make(norm=norm, sample=1, token=2, feature=3))
    expected = np.zeros((SAMPLES, TOKENS, FEATURES), bool)
    expected[group] = True
    np.testing.assert_array_equal(lit(page, "inputs"), expected)
    np.testing.assert_array_equal(lit(page, "outputs"), expected)
    np.testing.assert_array_equal(marks(page, "outputs") != 0, expected)
    shown = published(explorer_of(page))
    assert shown["shared"] == shown["changed"] == expected.sum()


def test_triangles_say_how_far_and_which_way(show):
    widget = make(norm="BatchNorm", sample=1, token=1, feature=1, change=2.0)
    page = show(widget)
    edited = widget.batch.astype(np.float64)
    before = by_torch("BatchNorm", edited)
    edited[1, 1, 1] += 2
    moved = (by_torch("BatchNorm", edited) - before)[:, :, 1].ravel()
    heights = marks(page, "outputs")[:, :, 1].ravel()
    np.testing.assert_array_equal(np.sign(heights), np.sign(moved))
    # The area is the change, but for a smallest size that one can see.
    area = np.square(heights / abs(heights).max())
    share = abs(moved / moved[abs(moved).argmax()])
    seen = share > 0.1
    assert seen.sum() > 2
    np.testing.assert_allclose(area[seen], share[seen], atol=1e-4)
    cause = marks(page, "inputs")
    assert cause[1, 1, 1] > 0
    assert (cause != 0).sum() == 1


def test_the_slider_changes_the_number_by_keyboard(show):
    page = show(make(sample=1, token=1, feature=0, change=0.0))
    assert published(explorer_of(page))["changed"] == 0
    assert not marks(page, "outputs").any()
    slider = page.get_by_label("Change of the chosen number")
    span = float(np.ptp(make_batch().astype(np.float64)))
    slider.press("ArrowLeft")
    expect(explorer_of(page)).to_have_attribute("data-changed", str(FEATURES))
    shown = expect_readings(page)
    assert shown["change"] == pytest.approx(-span / 16)
    assert marks(page, "inputs")[1, 1, 0] < 0
    slider.press("End")
    expect(slider).to_have_value("16")
    expect(explorer_of(page)).not_to_have_attribute(
        "data-change", str(shown["change"])
    )
    assert expect_readings(page)["change"] == pytest.approx(span)
    # What Python accepts: the end of the slider is not past its limit.
    assert make(change=published(explorer_of(page))["change"]).change > 0


def test_the_slider_can_be_dragged(show):
    page = show(make(change=0.0))
    box = page.get_by_label("Change of the chosen number").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] / 2, y)
    page.mouse.down()
    seen = {0}
    for share in (0.6, 0.7, 0.8, 0.9):
        page.mouse.move(box["x"] + share * box["width"], y, steps=3)
        expect(explorer_of(page)).not_to_have_attribute(
            "data-change", str(max(seen))
        )
        seen.add(expect_readings(page)["change"])
    page.mouse.up()
    assert len(seen) == 5
    assert min(seen) == 0


def test_a_click_chooses_a_cell_and_keeps_the_change(show):
    page = show(make(change=1.25))
    cell(page, "inputs", 1, 0, 4).click()
    expect_cell(page, 1, 0, 4)
    page.mouse.move(1, 1)
    expect(explorer_of(page)).to_have_attribute("data-under", "")
    assert expect_readings(page)["change"] == 1.25
    edited = values(page, "inputs") - make_batch()
    assert edited[1, 0, 4] == pytest.approx(1.25)
    assert (edited != 0).sum() == 1


def test_a_tap_chooses_a_cell(show):
    page = show(make(), width=390, has_touch=True)
    cell(page, "inputs", 1, 2, 0).tap()
    expect_cell(page, 1, 2, 0)


@pytest.mark.parametrize("kind", ["inputs", "outputs"])
def test_the_mouse_looks_at_a_cell_without_choosing_it(show, kind):
    page = show(make(sample=0, token=0, feature=0))
    spoken = page.locator("[aria-live=polite]").text_content()
    cell(page, kind, 1, 2, 3).hover()
    at = (1 * TOKENS + 2) * FEATURES + 3
    expect(explorer_of(page)).to_have_attribute("data-under", str(at))
    numbers = make_batch().astype(np.float64)[1, 2]
    shown = published(explorer_of(page))
    assert shown["mean"] == pytest.approx(numbers.mean(), abs=TOLERANCE)
    assert shown["variance"] == pytest.approx(numbers.var(), abs=TOLERANCE)
    assert (shown["sample"], shown["token"], shown["feature"]) == (0, 0, 0)
    assert lit(page, "inputs")[1, 2].all()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "Sample 2, token 3, feature 4: "
    )
    page.wait_for_timeout(400)
    assert page.locator("[aria-live=polite]").text_content() == spoken
    # Neither the change nor its traces went with the mouse.
    assert (marks(page, "outputs")[0, 0] != 0).all()
    page.mouse.move(1, 1)
    expect(explorer_of(page)).to_have_attribute("data-under", "")
    assert lit(page, "inputs")[0, 0].all()
    page.wait_for_timeout(400)
    assert page.locator("[aria-live=polite]").text_content() == spoken


def test_a_mouse_that_was_left_behind_does_not_count(show):
    page = show(make(sample=0, token=0, feature=0))
    cell(page, "inputs", 1, 2, 3).hover()
    expect(explorer_of(page)).not_to_have_attribute("data-under", "")
    cell(page, "inputs", 0, 0, 0).press("ArrowDown")
    expect_cell(page, 0, 1, 0)
    expect(explorer_of(page)).to_have_attribute("data-under", "")
    assert lit(page, "inputs")[0, 1].all()
    expect_readings(page)


def test_arrow_keys_go_through_the_batch(show):
    page = show(make(sample=0, token=1, feature=3))
    expect(page.locator(".number[tabindex='0']")).to_have_count(1)
    cell(page, "inputs", 0, 1, 3).focus()
    for key, place in [
        ("ArrowRight", (0, 1, 4)),
        ("ArrowRight", (1, 1, 0)),
        ("ArrowLeft", (0, 1, 4)),
        ("ArrowDown", (0, 2, 4)),
        ("ArrowDown", (0, 2, 4)),
        ("ArrowUp", (0, 1, 4)),
        ("ArrowUp", (0, 0, 4)),
        ("ArrowUp", (0, 0, 4)),
    ]:
        page.keyboard.press(key)
        expect_cell(page, *place)
        expect(cell(page, "inputs", *place)).to_be_focused()
        expect_readings(page)
    expect(page.locator(".number[tabindex='0']")).to_have_count(1)


def test_the_first_and_the_last_column_are_the_ends(show):
    page = show(make(sample=1, token=0, feature=4))
    cell(page, "inputs", 1, 0, 4).focus()
    page.keyboard.press("ArrowRight")
    expect_cell(page, 1, 0, 4)
    page = show(make(sample=0, token=0, feature=0))
    cell(page, "inputs", 0, 0, 0).focus()
    page.keyboard.press("ArrowLeft")
    expect_cell(page, 0, 0, 0)


def test_a_cell_is_named_by_its_place_and_number(show):
    page = show(make(sample=0, token=0, feature=0, change=0.0))
    number = f"{make_batch()[1, 1, 1]:.3g}".replace("-", "\N{MINUS SIGN}")
    name = f"sample 2, token 2, feature 2: {number}"
    expect(page.get_by_role("radio", name=name)).to_have_count(1)


def test_what_is_said_is_what_is_written(show):
    page = show(make())
    cell(page, "inputs", 1, 1, 1).click()
    page.mouse.move(1, 1)
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text("Sample 2, token 2, feature 2 changes by")
    expect(page.locator("[aria-live=polite]")).to_have_text(
        written.text_content()
    )


def test_two_views_of_a_model_move_together(show):
    page = show(make(), views=2)
    first, second = page.locator(EXPLORER).all()
    first.locator(".inputs .number").nth(7).click()
    first.get_by_label("Norm", exact=True).select_option("BatchNorm")
    expect(second).to_have_attribute("data-token", "1")
    expect(second).to_have_attribute("data-feature", "2")
    expect(second).to_have_attribute("data-norm", "BatchNorm")


@each_look
@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 6, 8)])
def test_accessible_and_inside_the_window(show, theme, width, shape):
    page = show(make(batch=make_batch(*shape)), theme=theme, width=width)
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [900, 390])
def test_the_room_it_takes_does_not_change(show, width):
    page = show(make(), width=width)
    before = explorer_of(page).bounding_box()["height"]
    for norm in ("BatchNorm", "whole sample"):
        page.get_by_label("Norm", exact=True).select_option(norm)
        expect(explorer_of(page)).to_have_attribute("data-norm", norm)
        assert explorer_of(page).bounding_box()["height"] == before
    cell(page, "inputs", 1, 2, 4).hover()
    expect(page.locator(".vitedu-reading")).to_contain_text("It shares")
    assert explorer_of(page).bounding_box()["height"] == before
    page.get_by_label("Change of the chosen number").press("Home")
    expect(page.locator(".vitedu-reading")).to_contain_text(
        "changes by \N{MINUS SIGN}"
    )
    assert explorer_of(page).bounding_box()["height"] == before


def test_the_chapter_lets_one_change_a_number(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    explorer = page.locator(".vitedu-norm-axes")
    expect(explorer).to_have_count(1)
    page.get_by_label("Norm", exact=True).select_option("BatchNorm")
    page.get_by_label("Change of the chosen number").press("End")
    expect(explorer).to_have_attribute("data-norm", "BatchNorm")
    shown = published(explorer)
    assert shown["otherSamples"] > 0
    page.get_by_label("Norm", exact=True).select_option("LayerNorm")
    expect(explorer).to_have_attribute("data-other-samples", "0")
