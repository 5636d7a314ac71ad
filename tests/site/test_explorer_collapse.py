"""Collapse in the browser: what trains, what stops, what is drawn."""

import re

import numpy as np
from mounted import (
    EXPLORER,
    button,
    choose_setting,
    expect_published,
    explorer_of,
    published,
    settle,
    wait_for_step,
)
from playwright.sync_api import Page, expect

from vitedu.widgets import Collapse

GROUPS, POINTS = 6, 120


def curve_ends(page: Page, name: str) -> np.ndarray:
    """Return where the curves of a name end, in nats."""
    highest = page.locator(".of-entropies .highest").first.get_attribute("d")
    top = float(re.search(r" ([\d.]+)H", highest)[1])
    axis = page.locator(".of-entropies .axis").first.get_attribute("d")
    floor = float(re.search(r"V([\d.]+)H", axis)[1])
    ends = [
        float(circle.get_attribute("cy"))
        for circle in page.locator(f".of-entropies .end.{name}").all()
    ]
    return (floor - np.array(ends)) / (floor - top) * np.log(GROUPS)


def test_signs_bars_and_curves_are_those_of_the_runs(show):
    page = show(Collapse(centring=False, step=60))
    settle(page)
    shown = published(explorer_of(page))
    signs = page.locator(".of-points .sign").evaluate_all(
        "all => all.map((sign) => Number(sign.classList[1].slice(-1)))"
    )
    assert len(signs) == 3 * POINTS
    assert signs == shown["chosen"]
    bars = page.locator(".of-means rect").evaluate_all(
        "all => all.map((bar) => Number(bar.getAttribute('height')))"
    )
    means = np.array(shown["means"])
    np.testing.assert_allclose(bars, means * 62, atol=0.01)
    reading = page.locator(".vitedu-reading").text_content()
    for name, figures in (("of-mean", "ofMean"), ("of-each", "ofEach")):
        nats = shown[figures]
        np.testing.assert_allclose(curve_ends(page, name), nats, atol=1e-3)
        assert all(f"{one:.2f}" in reading for one in nats)


def test_it_trains_until_it_is_paused_or_moved_and_keeps_the_step(show):
    page = show(Collapse(step=20))
    explorer, before = explorer_of(page), page.url
    button(page, "Train").click()
    wait_for_step(page, 26)
    button(page, "Pause").click()
    settle(page)
    shown = published(explorer)
    assert shown["step"] >= 26
    page.wait_for_timeout(150)
    assert published(explorer) == shown
    button(page, "One step").click()
    expect_published(explorer, step=shown["step"] + 1)
    assert page.url == before
    # The model knows the step, too: other settings are shown at the same.
    choose_setting(page, "not centred")
    expect_published(explorer, centring="false", step=shown["step"] + 1)
    # It goes on under other settings, and stops where it is moved.
    button(page, "Train").click()
    wait_for_step(page, shown["step"] + 4)
    choose_setting(page, "not sharpened")
    expect(explorer).to_have_attribute("data-teacher_temperature", "0.1")
    wait_for_step(page, shown["step"] + 8)
    page.get_by_label("Step", exact=True).fill("5")
    expect(button(page, "Train")).to_be_visible()
    expect_published(explorer, step=5)


def test_training_ends_at_the_last_step_and_begins_anew(show):
    page = show(Collapse(step=197))
    button(page, "Train").click()
    expect(button(page, "Train")).to_be_visible()
    expect_published(explorer_of(page), step=200)
    expect(button(page, "One step")).to_be_disabled()
    button(page, "Train").click()
    page.wait_for_function(
        "root => document.querySelector(root).dataset.step < 190",
        arg=EXPLORER,
    )
    wait_for_step(page, 3)


def test_new_seeds_are_the_next_three(show):
    page = show(Collapse(step=8, seed=9998))
    names = page.locator(".of-points .name")
    expect(names).to_have_text(["seed 9998", "seed 9999", "seed 10000"])
    before = published(explorer_of(page))["ofMean"]
    button(page, "New seeds").click()
    expect_published(explorer_of(page), seed=1)
    expect(names).to_have_text(["seed 1", "seed 2", "seed 3"])
    assert published(explorer_of(page))["ofMean"] != before
