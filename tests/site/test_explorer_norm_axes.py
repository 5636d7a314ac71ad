"""NormAxes in the browser: its cells, its triangles, its mouse."""

import numpy as np
import pytest
import torch
from explorers import make_batch
from explorers import norm_axes as make
from mounted import explorer_of, published
from playwright.sync_api import Locator, Page, expect
from torch import nn

SAMPLES, TOKENS, FEATURES = 2, 3, 5
TOLERANCE = 1e-5


def batch_norm(batch: np.ndarray) -> np.ndarray:
    layer = nn.BatchNorm1d(FEATURES, affine=False).double()
    x = torch.tensor(batch, dtype=torch.float64).transpose(1, 2)
    return layer(x).transpose(1, 2).numpy()


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
    before = batch_norm(edited)
    edited[1, 1, 1] += 2
    moved = (batch_norm(edited) - before)[:, :, 1].ravel()
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
    shown = published(explorer_of(page))
    assert shown["change"] == pytest.approx(-span / 16)
    assert marks(page, "inputs")[1, 1, 0] < 0
    slider.press("End")
    expect(slider).to_have_value("16")
    expect(explorer_of(page)).not_to_have_attribute(
        "data-change", str(shown["change"])
    )
    assert published(explorer_of(page))["change"] == pytest.approx(span)
    # What Python accepts: the end of the slider is not past its limit.
    assert make(change=published(explorer_of(page))["change"]).change > 0


def test_a_click_chooses_a_cell_and_keeps_the_change(show):
    page = show(make(change=1.25))
    cell(page, "inputs", 1, 0, 4).click()
    expect_cell(page, 1, 0, 4)
    page.mouse.move(1, 1)
    expect(explorer_of(page)).to_have_attribute("data-under", "")
    assert published(explorer_of(page))["change"] == 1.25
    edited = values(page, "inputs") - make_batch()
    assert edited[1, 0, 4] == pytest.approx(1.25)
    assert (edited != 0).sum() == 1


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


def test_a_cell_is_named_by_its_place_and_number(show):
    page = show(make(sample=0, token=0, feature=0, change=0.0))
    number = f"{make_batch()[1, 1, 1]:.3g}".replace("-", "\N{MINUS SIGN}")
    name = f"sample 2, token 2, feature 2: {number}"
    expect(page.get_by_role("radio", name=name)).to_have_count(1)
