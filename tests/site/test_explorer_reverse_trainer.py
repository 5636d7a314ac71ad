"""ReverseTrainer in the browser: what is shown of its training, and how."""

import re

import numpy as np
from explorers import reverse_trainer as make
from javascript import run
from mounted import (
    EXPLORER,
    button,
    choose_setting,
    expect_published,
    explorer_of,
    press,
    published,
    wait_for_step,
)
from playwright.sync_api import Page, expect

from vitedu.widgets import ReverseTrainer

LENGTH, SYMBOLS = 10, 8


def stands_still(page: Page) -> bool:
    """Return whether no step is done in the next frames."""
    return page.evaluate(
        """root => new Promise((done) => {
            const step = () => document.querySelector(root).dataset.step;
            const before = step();
            let frames = 8;
            const wait = () => (frames-- ? requestAnimationFrame(wait)
                : done(step() === before));
            wait();
        })""",
        EXPLORER,
    )


def do_steps(page: Page, *steps: int) -> None:
    for step in steps:
        press(page, "One step")
        expect_published(explorer_of(page), step=step)


def train_for(page: Page, steps: int) -> None:
    press(page, "Train")
    wait_for_step(page, steps)
    press(page, "Pause")
    expect_published(explorer_of(page), playing="false")


def curve(page: Page, name: str) -> np.ndarray:
    path = page.locator(f".curve .{name}").get_attribute("d") or ""
    return np.array(re.findall(r"(\S+?) (\S+?)(?:L|$)", path[1:]), float)


AFTER_A_STEP = """(() => {
  const trainer = makeTrainer({ positions: true, scaled: false, numHeads: 2,
    seed: 3 });
  trainer.step(0.01);
  const { loss, right, mirror } = trainer.evaluate();
  return { trainLoss: trainer.losses[0], loss, right, mirror,
    seen: trainer.look(1) };
})()"""


def test_letters_squares_and_figures_are_those_of_the_network(show):
    page = show(make(scaled=False, learning_rate=0.01))
    press(page, "One step")
    press(page, "Other sequence")
    expect_published(explorer_of(page), step=1, sequence=1)
    expected = run(
        "reverse_trainer_layers reverse_trainer_maths", AFTER_A_STEP
    )
    seen = expected.pop("seen")
    shown = published(explorer_of(page))
    for name, value in (expected | {"sure": seen["sure"]}).items():
        np.testing.assert_allclose(shown[name], value, err_msg=name)
    for head, weights in enumerate(seen["maps"]):
        path = page.locator(".squares").nth(head).get_attribute("d")
        found = np.zeros((LENGTH, LENGTH))
        for x, y, side in re.findall(r"M(\S+) (\S+?)h([\d.]+)v", path):
            found[int(float(y)), int(float(x))] = (float(side) / 0.94) ** 2
        np.testing.assert_allclose(found.ravel(), weights, atol=1e-4)
    for name, selector in [
        ("reads", "tr.reads td"),
        ("should", "tr.should td"),
        ("says", "tr.says .letter"),
    ]:
        letters = [chr(97 + number) for number in seen[name]]
        expect(page.locator(selector)).to_have_text(letters)
    marked = page.locator("tr.says td").evaluate_all(
        "cells => cells.map((cell) => [cell.classList.contains('right'),"
        " cell.textContent.includes('(wrong)')])"
    )
    right = np.equal(seen["says"], seen["should"])
    np.testing.assert_array_equal(marked, np.stack([right, ~right], 1))


def test_the_curve_is_the_loss_of_every_step(show):
    page = show(make())
    losses = []
    for step in range(4):
        do_steps(page, step + 1)
        losses.append(published(explorer_of(page))["trainLoss"])
    across, down = curve(page, "loss").T
    assert len(across) == 4
    np.testing.assert_allclose(np.diff(across), np.diff(across)[0], atol=0.11)
    baseline = page.locator(".curve .baseline").first.get_attribute("d")
    chance = float(re.search(r"M\S+ ([\d.]+)H", baseline)[1])
    zero = 210 - 24
    heights = (zero - down) / (zero - chance) * np.log(SYMBOLS)
    np.testing.assert_allclose(heights, np.minimum(losses, 3), atol=2e-3)


def test_it_trains_until_it_is_paused_and_where_one_looks(show):
    page = show(make())
    assert stands_still(page)
    train_for(page, 12)
    assert stands_still(page)
    shown = published(explorer_of(page))
    assert shown["tested"] == shown["step"] >= 12
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text(f"Step {shown['step']}: loss ")
    expect(page.locator("[aria-live=polite]").first).to_have_text(
        written.text_content()
    )
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('div'),"
        " { style: 'height: 5000px' }))"
    )
    press(page, "Train")
    wait_for_step(page, shown["step"] + 1)
    page.evaluate("scrollTo(0, 4000)")
    page.wait_for_timeout(100)
    assert stands_still(page)
    before = published(explorer_of(page))["step"]
    page.evaluate("scrollTo(0, 0)")
    wait_for_step(page, before + 3)


def test_a_run_starts_again_with_its_seed_with_the_next_and_on_a_switch(show):
    page = show(make())
    explorer = explorer_of(page)
    losses = []
    for name, seed in (("From scratch", 3), ("New seed", 4)):
        do_steps(page, 1, 2)
        losses.append(published(explorer)["trainLoss"])
        press(page, name)
        expect_published(explorer, step=0, seed=seed)
    do_steps(page, 1, 2)
    assert losses[0] == losses[1] != published(explorer)["trainLoss"]
    press(page, "Train")
    wait_for_step(page, 60)
    page.get_by_label("Heads", exact=True).select_option("4")
    expect_published(explorer, num_heads=4)
    page.wait_for_function(
        "root => document.querySelector(root).dataset.step < 60", arg=EXPLORER
    )
    # It goes on, and the run before stays to be compared with.
    wait_for_step(page, 2)
    shown = published(explorer)
    assert shown["playing"] is True
    expect(page.locator(".map")).to_have_count(4)
    assert len(shown["mirror"]) == 4
    assert len(curve(page, "before")) >= 60


def test_runs_are_kept_by_name_and_short_ones_are_not(show):
    page = show(ReverseTrainer())
    names = page.locator(".curve g .before ~ text")
    train_for(page, 60)
    for name in ("no positions", "too fast", "fast", "default"):
        choose_setting(page, name)
        expect_published(explorer_of(page), step=0)
        if name == "too fast":
            continue  # not trained: nothing to keep
        train_for(page, 60)
    expect(names).to_have_text(["default", "no positions", "rate 0.01"])
    assert len(curve(page, "before >> nth=0")) >= 60
    press(page, "From scratch")
    expect(names).to_have_text(["no positions", "rate 0.01", "default"])


def test_one_can_look_back(show):
    page = show(make())
    explorer, back = explorer_of(page), page.get_by_label("Look back")
    expect(back).to_be_disabled()
    at_start = published(explorer)
    do_steps(page, *range(1, 12))
    now = published(explorer)
    back.press("Home")
    expect_published(explorer, tested=0, looked_at=0, step=11)
    shown = published(explorer)
    for name in ("loss", "mirror", "reads", "says", "sure"):
        assert shown[name] == at_start[name] != ""
    assert shown["sure"] != now["sure"]
    expect(page.locator(".vitedu-reading")).to_contain_text("Step 0: loss ")
    # The next step is the twelfth, not the first.
    do_steps(page, 12)
    expect_published(explorer, looked_at="")


class Short(ReverseTrainer):
    """Ends after 25 steps, and half of the letters are soon right."""

    _esm = ReverseTrainer._esm.replace(
        "MAX_STEPS = 2000", "MAX_STEPS = 25"
    ).replace('["half", 0.5]', '["half", 0.05]')


def test_milestones_and_the_end_are_said(show):
    page = show(Short())
    news = page.locator("[aria-live=polite]").last
    do_steps(page, *range(1, 11))
    expect(news).to_have_text("Step 10: half of the letters are right.")
    press(page, "Train")
    expect_published(explorer_of(page), step=25, playing="false")
    expect(news).to_have_text("Step 25: the training ends here.")
    expect(button(page, "Train")).to_be_disabled()
    expect(button(page, "One step")).to_be_disabled()
    press(page, "From scratch")
    expect(button(page, "Train")).to_be_enabled()
    expect(news).to_have_text("")


def test_fast_does_as_many_steps_as_fit_into_a_frame(show):
    page = show(make())
    page.get_by_label("Speed").select_option("true")
    # A clock that ticks when it is read: eight steps take eight milliseconds.
    page.evaluate("() => { let t = 0; performance.now = () => t++; }")
    steps = page.evaluate(
        """() => new Promise((done) => {
            const root = document.querySelector(".vitedu-explorer");
            const seen = new Set();
            new MutationObserver(() => {
                seen.add(Number(root.dataset.step));
                if (seen.size > 10) done([...seen]);
            }).observe(root, { attributeFilter: ["data-step"] });
            root.querySelector(".buttons button").click();
        })"""
    )
    assert set(np.diff(steps)) == {8}
