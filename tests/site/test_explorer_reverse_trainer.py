"""ReverseTrainer in the browser: its network against `vitedu`, its page."""

import re
from collections.abc import Iterator
from itertools import pairwise
from math import comb, factorial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mounted import (
    EXPLORER,
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
)
from numpy.polynomial import Polynomial
from pages import start_explorers
from playwright.sync_api import Browser, Page, expect
from torch import nn

from vitedu.analysis import capture_attention
from vitedu.attention import MultiHeadAttention
from vitedu.layers import EncoderBlock, FeedForward
from vitedu.sinusoids import sinusoidal_table
from vitedu.widgets import ReverseTrainer
from vitedu.widgets.base import _joined

CHAPTER = "chapters/07-encoder.html"
LENGTH, SYMBOLS, BATCH, D_MODEL, D_FF = 10, 8, 16, 32, 64
RATE, WARM_UP = 0.01, 50
# Both sides compute in double precision.
TOLERANCE = 1e-9
SETTINGS = [
    {"positions": True, "scaled": True, "numHeads": 1},
    {"positions": True, "scaled": False, "numHeads": 2},
    {"positions": False, "scaled": True, "numHeads": 4},
    {"positions": False, "scaled": False, "numHeads": 1},
]
settings = pytest.mark.parametrize(
    "settings", SETTINGS, ids=lambda x: "-".join(map(str, x.values()))
)


class Network(nn.Module):
    """What the explorer trains, from the parts of the library."""

    def __init__(self, positions: bool, scaled: bool, num_heads: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, D_MODEL)
        self.places = sinusoidal_table(LENGTH, D_MODEL) * positions
        scale = None if scaled else 1.0
        self.block = EncoderBlock(
            MultiHeadAttention(D_MODEL, num_heads, scale=scale),
            FeedForward(D_MODEL, D_FF, activation="relu"),
        )
        self.norm = nn.LayerNorm(D_MODEL, eps=1e-6)
        self.head = nn.Linear(D_MODEL, SYMBOLS)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        tokens = self.embed(ids) + self.places
        return self.head(self.norm(self.block(tokens)))

    def loss(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self(ids)
        return F.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    yield
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def maths(browser: Browser) -> Iterator[Page]:
    """Return an empty page that knows the functions of the explorer."""
    page = browser.new_page()
    parts = ("common", "reverse_trainer_layers", "reverse_trainer_maths")
    page.add_script_tag(content=_joined(*(f"{name}.js" for name in parts)))
    yield page
    page.close()


def start(maths: Page, settings: dict, *, rate=RATE, seed=3) -> None:
    maths.evaluate(
        "([settings, rate]) => {"
        " globalThis.run = makeTrainer(settings);"
        " globalThis.learn = () => run.step(rate); }",
        [{**settings, "seed": seed}, rate],
    )


def named(maths: Page, kind: str) -> dict[str, np.ndarray]:
    """Return the weights, or their gradients, by name."""
    lists = maths.evaluate(
        "kind => Object.fromEntries(Object.entries("
        "run.network.parameters.named).map(([name, part]) =>"
        " [name, Array.from(part[kind].data)]))",
        kind,
    )
    return {name: np.array(numbers) for name, numbers in lists.items()}


def numbers(maths: Page, expression: str) -> np.ndarray:
    return np.array(maths.evaluate(f"Array.from({expression})"))


def network_of(settings: dict) -> Network:
    return Network(
        settings["positions"], settings["scaled"], settings["numHeads"]
    )


def load(network: Network, weights: dict[str, np.ndarray]) -> None:
    shapes = {name: p.shape for name, p in network.named_parameters()}
    assert list(shapes) == list(weights)
    network.load_state_dict(
        {
            name: torch.tensor(weights[name]).view(shape)
            for name, shape in shapes.items()
        }
    )


def same(actual: np.ndarray, expected: torch.Tensor, name: str = "") -> None:
    expected = expected.detach().numpy()
    np.testing.assert_allclose(
        actual.reshape(expected.shape),
        expected,
        rtol=TOLERANCE,
        atol=TOLERANCE * np.abs(expected).max(),
        err_msg=name,
    )


@settings
def test_forward_loss_and_every_gradient_are_those_of_vitedu(maths, settings):
    torch.manual_seed(0)
    network = network_of(settings)
    for weight in network.parameters():
        nn.init.normal_(weight, std=0.4)
    ids = torch.randint(SYMBOLS, (BATCH, LENGTH))
    start(maths, settings)
    flat = nn.utils.parameters_to_vector(network.parameters())
    loss = maths.evaluate(
        """([weights, ids]) => {
            run.network.parameters.values.set(weights);
            run.network.ids.set(ids);
            const loss = run.network.forward();
            run.network.backward();
            return loss;
        }""",
        [flat.tolist(), ids.flatten().tolist()],
    )
    with capture_attention(network) as captured:
        expected = network.loss(ids)
    expected.backward()
    same(np.array(loss), expected)
    same(numbers(maths, "run.network.logits"), network(ids))
    same(numbers(maths, "run.network.maps"), captured["block.attn"])
    gradients = named(maths, "grad")
    for name, weight in network.named_parameters():
        assert weight.grad.any()
        same(gradients[name], weight.grad, name)


@pytest.mark.parametrize(("which", "steps"), [(0, 60), (1, 5), (2, 5), (3, 5)])
def test_steps_of_adam_lead_to_the_weights_of_pytorch(maths, which, steps):
    network = network_of(SETTINGS[which])
    start(maths, SETTINGS[which])
    load(network, named(maths, "value"))
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    warm_up = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / WARM_UP)
    )
    done = maths.evaluate(
        "steps => Array.from({ length: steps }, (_, step) => { learn();"
        " return [Array.from(run.network.ids), run.losses[step]]; })",
        steps,
    )
    for step, (ids, loss) in enumerate(done):
        expected = network.loss(torch.tensor(ids).view(BATCH, LENGTH))
        same(np.array(loss), expected, f"step {step}")
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
        warm_up.step()
    weights = named(maths, "value")
    for name, weight in network.named_parameters():
        # A gradient near 0 moves its weight by its sign: round-off shows.
        np.testing.assert_allclose(
            weights[name], weight.detach().flatten(), atol=1e-6, err_msg=name
        )


def test_fresh_weights_have_the_variance_they_should(maths):
    start(maths, SETTINGS[0])
    weights = named(maths, "value")
    for name, weight in network_of(SETTINGS[0]).named_parameters():
        if weight.ndim == 1:
            expected = float(name.endswith("weight"))
            assert (weights[name] == expected).all(), name
            continue
        spread = (
            1 if name == "embed.weight" else (2 / sum(weight.shape)) ** 0.5
        )
        assert weights[name].std() == pytest.approx(spread, rel=0.1), name
        assert abs(weights[name].mean()) < 0.2 * spread, name


def test_a_seed_fixes_weights_and_sequences_whatever_the_switches(maths):
    drawn = []
    for settings, seed in [
        (SETTINGS[0], 5),
        (SETTINGS[2], 5),
        (SETTINGS[0], 6),
    ]:
        start(maths, settings, seed=seed)
        first = numbers(maths, "run.network.parameters.values")
        maths.evaluate("learn()")
        drawn.append([first, numbers(maths, "run.network.ids")])
    for here, switched, other in zip(*drawn, strict=True):
        np.testing.assert_array_equal(here, switched)
        assert (here != other).any()


def test_every_batch_is_new_and_every_letter_is_drawn(maths):
    start(maths, SETTINGS[0])
    batches = []
    for _ in range(5):
        maths.evaluate("learn()")
        batches.append(numbers(maths, "run.network.ids"))
    for before, after in pairwise(batches):
        assert 0.05 < (before == after).mean() < 0.25
    counts = np.bincount(np.concatenate(batches), minlength=SYMBOLS)
    assert len(counts) == SYMBOLS
    assert counts.min() > 60


def test_what_it_is_tested_on_is_what_the_network_says(maths):
    start(maths, SETTINGS[1])
    maths.evaluate("for (let i = 0; i < 100; i++) learn()")
    network = network_of(SETTINGS[1])
    load(network, named(maths, "value"))
    tested = maths.evaluate(
        "(() => { const { mirror, ...rest } = run.evaluate();"
        " return { mirror: Array.from(mirror), ...rest }; })()"
    )
    seen = maths.evaluate(
        "Array.from({ length: 16 }, (_, i) => run.look(i)).map((seen) =>"
        " ({ ...seen, maps: seen.maps.map((map) => Array.from(map)) }))"
    )
    ids = torch.tensor([one["reads"] for one in seen])
    with torch.no_grad(), capture_attention(network) as maps:
        shares = network(ids).softmax(-1)
    sure, says = shares.max(-1)
    np.testing.assert_array_equal([one["says"] for one in seen], says)
    np.testing.assert_array_equal([one["should"] for one in seen], ids.flip(1))
    same(np.array([one["sure"] for one in seen]), sure)
    same(np.array([one["maps"] for one in seen]), maps["block.attn"])
    # The four batches of the test, of which `look` shows the first.
    rights, losses, mirrors = [], [], []
    for batch in range(4):
        maths.evaluate(
            "batch => run.network.ids.set(run.tests.subarray("
            "batch * 160, batch * 160 + 160))",
            batch,
        )
        ids = torch.tensor(numbers(maths, "run.network.ids")).view(BATCH, -1)
        with torch.no_grad(), capture_attention(network) as maps:
            losses.append(network.loss(ids))
        rights.append((network(ids).argmax(-1) == ids.flip(1)).double())
        diagonal = maps["block.attn"].flip(-1).diagonal(dim1=-2, dim2=-1)
        mirrors.append(diagonal.mean((0, 2)))
    same(np.array(tested["loss"]), torch.stack(losses).mean())
    same(np.array(tested["right"]), torch.stack(rights).mean())
    same(np.array(tested["mirror"]), torch.stack(mirrors).mean(0))
    assert tested["step"] == 100


def test_the_limit_is_that_of_the_other_letters(maths):
    others = LENGTH - 1
    # How often one letter stands at the nine other places.
    times = np.arange(1, LENGTH)
    chance = [
        comb(others, k) * (SYMBOLS - 1) ** (others - k) / SYMBOLS**others
        for k in times.tolist()
    ]
    share = times / others
    loss = -SYMBOLS * (chance * share * np.log(share)).sum()
    # Rows in which each letter stands at most k times are counted by the
    # coefficients of a power of 1 + x + x^2/2! + ... + x^k/k!.
    most = 0
    for k in range(others):
        power = Polynomial([1 / factorial(i) for i in range(k + 1)]) ** SYMBOLS
        found = power.coef[others] if power.degree() >= others else 0
        most += 1 - found * factorial(others) / SYMBOLS**others
    limit = maths.evaluate("WITHOUT_ORDER")
    assert limit["loss"] == pytest.approx(loss, abs=1e-4)
    assert limit["right"] == pytest.approx(most / others, abs=1e-4)


def trained(maths: Page, settings: dict, seed: int, steps: int) -> dict:
    start(maths, settings, rate=1e-3, seed=seed)
    return maths.evaluate(
        "steps => { for (let i = 0; i < steps; i++) learn();"
        " const { right, loss, mirror } = run.evaluate();"
        " return { right, loss, limit: WITHOUT_ORDER,"
        " mirror: Math.max(...mirror) }; }",
        steps,
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_learns_to_reverse(maths, seed):
    after = trained(maths, SETTINGS[0], seed, 450)
    assert after["right"] > 0.95
    assert after["mirror"] > 0.5


def test_without_positions_it_knows_the_letters_and_not_their_order(maths):
    after = trained(maths, SETTINGS[2], 0, 400)
    assert 0.25 < after["right"] < after["limit"]["right"] + 0.06
    assert after["limit"]["loss"] - 0.02 < after["loss"] < np.log(SYMBOLS)


# The page around the network.


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def wait_for_step(page: Page, step: int) -> None:
    page.wait_for_function(
        "([root, step]) =>"
        " Number(document.querySelector(root).dataset.step) >= step",
        arg=[EXPLORER, step],
    )


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


def make(**arguments) -> ReverseTrainer:
    return ReverseTrainer(**{"num_heads": 2, "seed": 3} | arguments)


def test_a_step_on_the_page_is_a_step_of_the_network(show, maths):
    page = show(make(scaled=False, learning_rate=RATE))
    start(maths, SETTINGS[1])
    for step in range(3):
        button(page, "One step").click()
        expect_published(explorer_of(page), step=step + 1)
        shown = published(explorer_of(page))
        loss = maths.evaluate("learn(), run.losses[run.steps - 1]")
        assert shown["trainLoss"] == pytest.approx(loss, rel=TOLERANCE)
        tested = maths.evaluate("run.evaluate()")
        assert shown["right"] == pytest.approx(tested["right"])
        assert shown["loss"] == pytest.approx(tested["loss"])
        seen = maths.evaluate("run.look(0)")
        assert shown["says"] == seen["says"]
        assert shown["sure"] == pytest.approx(seen["sure"])


def test_squares_and_letters_show_what_was_computed(show, maths):
    page = show(make(scaled=False))
    start(maths, SETTINGS[1])
    seen = maths.evaluate(
        "(({ maps, ...rest }) => ({ ...rest,"
        " maps: maps.map((map) => Array.from(map)) }))(run.look(1))"
    )
    button(page, "Other sequence").click()
    expect_published(explorer_of(page), sequence=1)
    for head, expected in enumerate(seen["maps"]):
        path = page.locator(".squares").nth(head).get_attribute("d")
        found = np.zeros((LENGTH, LENGTH))
        for x, y, side in re.findall(r"M(\S+) (\S+?)h([\d.]+)v", path):
            found[int(float(y)), int(float(x))] = (float(side) / 0.96) ** 2
        expected = np.reshape(expected, (LENGTH, LENGTH))
        np.testing.assert_allclose(found, expected, atol=3e-3)
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


def curve(page: Page, name: str) -> np.ndarray:
    path = page.locator(f".curve .{name}").get_attribute("d") or ""
    return np.array(re.findall(r"(\S+?) (\S+?)(?:L|$)", path[1:]), float)


def test_the_curve_is_the_loss_of_every_step(show):
    page = show(make())
    losses = []
    for step in range(4):
        button(page, "One step").click()
        expect_published(explorer_of(page), step=step + 1)
        losses.append(published(explorer_of(page))["trainLoss"])
    across, down = curve(page, "loss").T
    assert len(across) == 4
    np.testing.assert_allclose(np.diff(across), np.diff(across)[0], atol=0.11)
    baseline = page.locator(".curve .baseline").first.get_attribute("d")
    chance = float(re.search(r"M\S+ ([\d.]+)H", baseline)[1])
    zero = 210 - 24
    heights = (zero - down) / (zero - chance) * np.log(SYMBOLS)
    np.testing.assert_allclose(heights, np.minimum(losses, 3), atol=2e-3)


def test_it_trains_until_it_is_paused(show):
    page = show(make())
    assert stands_still(page)
    button(page, "Train").click()
    wait_for_step(page, 12)
    button(page, "Pause").click()
    expect_published(explorer_of(page), playing="false")
    assert stands_still(page)
    shown = published(explorer_of(page))
    assert shown["tested"] == shown["step"] >= 12
    written = page.locator(".vitedu-reading")
    expect(written).to_contain_text(f"Step {shown['step']}: loss ")
    expect(page.locator("[aria-live=polite]").first).to_have_text(
        written.text_content()
    )


def test_it_stops_where_nobody_looks(show):
    page = show(make())
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('div'),"
        " { style: 'height: 5000px' }))"
    )
    button(page, "Train").click()
    wait_for_step(page, 3)
    page.evaluate("scrollTo(0, 4000)")
    page.wait_for_timeout(100)
    assert stands_still(page)
    before = published(explorer_of(page))["step"]
    page.evaluate("scrollTo(0, 0)")
    wait_for_step(page, before + 3)


def test_a_rate_chosen_before_the_first_step_is_that_of_the_run(show):
    losses = []
    for widget, key in ((make(), "PageUp"), (make(learning_rate=0.002), None)):
        page = show(widget)
        if key:
            page.get_by_label("Learning rate").press(key)
        expect_published(explorer_of(page), learning_rate=0.002)
        for step in range(3):
            button(page, "One step").click()
            expect_published(explorer_of(page), step=step + 1)
        losses.append(published(explorer_of(page))["trainLoss"])
    assert losses[0] == losses[1]


def test_the_same_settings_give_the_same_run(show):
    page = show(make())

    def three_steps() -> float:
        for step in range(3):
            button(page, "One step").click()
            expect_published(explorer_of(page), step=step + 1)
        return published(explorer_of(page))["trainLoss"]

    first = three_steps()
    button(page, "Start again").click()
    expect_published(explorer_of(page), step=0)
    assert three_steps() == first
    button(page, "New seed").click()
    expect_published(explorer_of(page), step=0, seed=4)
    assert three_steps() != first


@pytest.mark.parametrize(
    ("label", "value", "name", "text"),
    [
        ("Positions", "false", "positions", "false"),
        ("Scores", "false", "scaled", "false"),
        ("Heads", "4", "numHeads", "4"),
    ],
)
def test_a_switch_starts_a_new_run_that_goes_on(
    show, label, value, name, text
):
    page = show(make())
    button(page, "Train").click()
    wait_for_step(page, 12)
    page.get_by_label(label, exact=True).select_option(value)
    kebab = re.sub("([A-Z])", lambda x: "-" + x[1].lower(), name)
    expect_published(explorer_of(page), **{kebab.replace("-", "_"): text})
    page.wait_for_function(
        "root => document.querySelector(root).dataset.step < 12", arg=EXPLORER
    )
    wait_for_step(page, 13)
    shown = published(explorer_of(page))
    assert shown["playing"] is True
    heads = shown["numHeads"]
    expect(page.locator(".map")).to_have_count(heads)
    assert len(shown["mirror"]) == heads
    # The run before stays to be compared with.
    assert len(curve(page, "before")) >= 12


def test_keys_alone_are_enough(show):
    page = show(make())
    button(page, "Train").focus()
    page.keyboard.press("Enter")
    wait_for_step(page, 3)
    page.keyboard.press("Space")
    expect_published(explorer_of(page), playing="false")
    page.keyboard.press("Tab")
    expect(button(page, "One step")).to_be_focused()
    step = published(explorer_of(page))["step"]
    page.keyboard.press("Enter")
    expect_published(explorer_of(page), step=step + 1)
    rate = page.get_by_label("Learning rate")
    rate.focus()
    page.keyboard.press("PageUp")
    expect_published(explorer_of(page), step=0, learning_rate=0.002)
    assert rate.get_attribute("aria-valuetext") == "0.002"


class Short(ReverseTrainer):
    """Ends after 25 steps, and half of the letters are soon right."""

    _esm = ReverseTrainer._esm.replace(
        "MAX_STEPS = 2000", "MAX_STEPS = 25"
    ).replace('["half", 0.5]', '["half", 0.05]')


def test_milestones_and_the_end_are_said(show):
    page = show(Short())
    news = page.locator("[aria-live=polite]").last
    for step in range(10):
        button(page, "One step").click()
        expect_published(explorer_of(page), step=step + 1)
    expect(news).to_have_text("Step 10: half of the letters are right.")
    button(page, "Train").click()
    expect_published(explorer_of(page), step=25, playing="false")
    expect(news).to_have_text("Step 25: the training ends here.")
    expect(button(page, "Train")).to_be_disabled()
    expect(button(page, "One step")).to_be_disabled()
    button(page, "Start again").click()
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
            root.querySelector("button").click();
        })"""
    )
    assert set(np.diff(steps)) == {8}


def test_two_views_follow_the_same_settings(show):
    page = show(make(), views=2)
    first, second = page.locator(EXPLORER).all()
    first.get_by_label("Heads", exact=True).select_option("4")
    expect(second).to_have_attribute("data-num-heads", "4")
    first.get_by_role("button", name="One step").click()
    expect(first).to_have_attribute("data-step", "1")
    expect(second).to_have_attribute("data-step", "0")


def test_the_explorer_takes_itself_down(show):
    page = show(make())
    button(page, "Train").click()
    wait_for_step(page, 2)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator(EXPLORER)).to_have_count(0)


@each_look
@pytest.mark.parametrize("num_heads", [1, 4])
def test_accessible_and_inside_the_window(show, theme, width, num_heads):
    page = show(make(num_heads=num_heads), theme=theme, width=width)
    button(page, "One step").click()
    expect_accessible_and_inside(page)


@pytest.mark.parametrize("width", [900, 390])
def test_the_room_it_takes_does_not_change(show, width):
    page = show(make(num_heads=4), width=width)
    before = explorer_of(page).bounding_box()["height"]
    button(page, "Train").click()
    wait_for_step(page, 11)
    button(page, "Pause").click()
    expect_published(explorer_of(page), playing="false")
    assert explorer_of(page).bounding_box()["height"] == before


def test_the_chapter_lets_one_train_and_pause(open_page):
    page = open_page(CHAPTER)
    start_explorers(page)
    trainer = page.locator(".vitedu-reverse-trainer")
    reading = trainer.locator(".vitedu-reading")
    map_ = trainer.locator(".squares").first
    expect(reading).to_contain_text("Step 0: loss ")
    before = published(trainer)["loss"], map_.get_attribute("d")
    button(page, "Train").press("Enter")
    expect(reading).not_to_have_text(re.compile("^Step (0|10|20): "))
    button(page, "Pause").press("Enter")
    expect(button(page, "Train")).to_be_focused()
    shown = published(trainer)
    expect(reading).to_contain_text(
        f"Step {shown['step']}: loss {shown['loss']:.2f} on "
    )
    assert shown["loss"] < before[0]
    assert map_.get_attribute("d") != before[1]
