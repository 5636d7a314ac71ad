"""What the chapters' cells call."""

import html
import json
import math
import random
import re

import matplotlib as mpl
import numpy as np
import pytest
import torch
from helpers import refuses

from vitedu.book import notebook, plots


@pytest.fixture
def shown(monkeypatch):
    """Collect what a cell would show."""
    objects = []
    monkeypatch.setattr(notebook, "display", objects.append)
    return objects


@pytest.fixture
def own_settings():
    """Put threads, style and generators back after a test."""
    threads = torch.get_num_threads()
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    with mpl.rc_context():
        yield
    torch.set_num_threads(threads)
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


def draws():
    return random.random(), np.random.rand(), torch.rand(1).item()


@pytest.mark.usefixtures("own_settings")
def test_set_up_fixes_threads_and_style_and_makes_all_draws_equal():
    torch.set_num_threads(2)
    notebook.set_up()
    first = draws()
    assert torch.get_num_threads() == 1
    assert mpl.rcParams["image.cmap"] == plots.SEQUENTIAL
    notebook.set_up(seed=1)
    other = draws()
    notebook.set_up()
    assert draws() == first
    for a, b in zip(first, other, strict=True):
        assert a != b


def test_is_live_unless_the_book_is_built(monkeypatch):
    monkeypatch.delenv("VITEDU_BUILD", raising=False)
    assert notebook.is_live()
    monkeypatch.setenv("VITEDU_BUILD", "1")
    assert not notebook.is_live()


CLAIM = {"value": 2.004, "expected": 2, "tolerance": 0.01}


def claim(name="one", statement="It is {value}.", **changes):
    notebook.claim(name, statement, **(CLAIM | changes))


def test_a_claim_carries_its_ledger_entry(shown):
    claim(
        name="speed",
        statement='As "fast" as {value}.',
        unit=" <m>/s",
        seeds=5,
        decimals=1,
    )
    text = shown[0]._repr_html_()
    assert text.startswith('<p class="claim" id="claim-speed" data-claim="')
    assert text.endswith(">As &quot;fast&quot; as 2.0 &lt;m&gt;/s.</p>")
    entry = re.search(r'data-claim="([^"]*)"', text)[1]
    assert json.loads(html.unescape(entry)) == {
        "name": "speed",
        "statement": 'As "fast" as 2.0 <m>/s.',
        "shown": "2.0 <m>/s",
        "at": 13,
        "value": 2.004,
        "expected": 2.0,
        "tolerance": 0.01,
        "unit": " <m>/s",
        "seeds": 5,
    }


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.123456, None, "0.1235"),
        (1234.5, 1, "1,234.5"),
        (98.76, 0, "99"),
        (np.float32(0.5), None, "0.5"),
        (torch.tensor(3), None, "3"),
        (14_464, None, "14,464"),
        (138_954.4, None, "138,954"),
        (9_999.7, None, "10,000"),
        (-1_656_580, None, "-1,656,580"),
        (-1e30, None, "-1e+30"),
    ],
)
def test_the_number_is_rounded_for_the_sentence(shown, value, decimals, text):
    claim(value=value, expected=value, decimals=decimals)
    assert repr(shown[0]) == f"Claim: It is {text}."
    assert shown[0].entry["value"] == float(value)


@pytest.mark.parametrize(
    "change",
    [
        {"value": 2.02},
        {"value": 1.98},
        {"tolerance": 0},
        {"value": float("nan")},
        {"expected": float("nan"), "tolerance": 0},
        {"value": float("inf"), "expected": float("inf")},
    ],
)
def test_a_claim_that_does_not_hold_stops_the_build(shown, change):
    with pytest.raises(AssertionError, match=r"^claim 'one': .* is not"):
        claim(**change)
    assert shown == []


def test_a_claim_stops_no_person(shown, monkeypatch, capsys):
    monkeypatch.delenv("VITEDU_BUILD")
    claim(value=2.5, unit=" px")
    assert shown == []
    assert capsys.readouterr().out == (
        "The claim 'one' does not hold in this run: 2.5 px is not 2 px "
        "within 0.01.\n"
    )
    claim()
    assert len(shown) == 1


def bounded(value, **bounds):
    notebook.claim("one", "It is {value} %.", value, unit=" %", **bounds)


def test_bounds_hold_up_to_their_ends_and_enter_the_ledger(shown):
    for value in (5, 7, 35):
        bounded(value, at_least=5, at_most=35, baseline=0)
    bounded(1e9, at_least=5, baseline=0)
    bounded(-1e9, at_most=35, baseline=50)
    entry = shown[0].entry
    bounds = {"at_least": 5, "at_most": 35, "baseline": 0}
    assert entry.items() >= bounds.items()
    assert "expected" not in entry
    assert "at_most" not in shown[3].entry


@pytest.mark.parametrize("value", [4.9, 35.1, math.nan, math.inf])
def test_a_value_outside_of_its_bounds_stops_the_build(shown, value):
    with pytest.raises(
        AssertionError,
        match=r"^claim 'one': .* % is not at least 5 % and at most 35 %$",
    ):
        bounded(value, at_least=5, at_most=35, baseline=0)
    assert shown == []


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        (
            {"at_least": 5, "at_most": 35},
            "baseline must say what at_least and at_most rule out, got None",
        ),
        (
            {"at_least": 5, "at_most": 35, "baseline": 10},
            "baseline must lie outside of what is allowed, at least 5 and at "
            "most 35, got 10",
        ),
        (
            {"expected": 20, "tolerance": 5, "baseline": 16},
            "baseline must lie outside of what is allowed, 20 within 5, got "
            "16",
        ),
        (
            {"expected": 20, "tolerance": 7},
            "tolerance must be at most 30% of expected, or a claim can "
            "hardly fail, got 7 for 20; state bounds",
        ),
        (
            {"expected": 0, "tolerance": 0.01},
            "tolerance must be at most 30% of expected",
        ),
        (
            {"at_least": 5, "tolerance": 1, "baseline": 0},
            "tolerance needs expected, got 1",
        ),
        (
            {},
            "a claim must have either expected, with a tolerance, or at_least "
            "or at_most, got expected=None, at_least=None, at_most=None",
        ),
        (
            {"expected": 7, "tolerance": 1, "at_most": 8},
            "a claim must have either expected, with a tolerance, or at_least "
            "or at_most, got expected=7, at_least=None, at_most=8",
        ),
    ],
)
def test_a_claim_that_cannot_fail_is_refused(shown, allowed, message):
    with refuses(ValueError, message):
        bounded(7, **allowed)
    assert shown == []


RUNG = {"difference": 2.5e-16, "tolerance": 1e-12}


def test_a_rung_that_holds_carries_its_entry(shown):
    notebook.rung("a-rung", "a <loop>", "a product", **RUNG)
    assert repr(shown[0]) == (
        "Rung: a <loop> = a product (largest difference 2.5e-16)"
    )
    text = shown[0]._repr_html_()
    assert text.startswith('<p class="rung" id="rung-a-rung" data-rung="')
    assert "a &lt;loop&gt; = a product" in text
    entry = re.search(r'data-rung="([^"]*)"', text)[1]
    texts = {
        "name": "a-rung",
        "lower": "a <loop>",
        "upper": "a product",
        "compares": "outputs",
    }
    assert json.loads(html.unescape(entry)) == texts | RUNG


@pytest.mark.parametrize("difference", [2e-12, -1e-16, math.nan, math.inf])
def test_a_rung_that_does_not_hold_stops(shown, difference):
    with pytest.raises(AssertionError, match="rung 'r': a difference of"):
        notebook.rung("r", "a", "b", difference, tolerance=1e-12)
    assert shown == []


OPTIONS = {2: "As 1 < 2.", "a <lot>": "Think & count."}


def test_a_prediction_is_escaped_and_says_which_option_is_right():
    guess = notebook.predict("How much is 1 < 2?", OPTIONS, right=2)
    assert repr(guess) == "Guess first: How much is 1 < 2? (2, a <lot>)"
    text = guess._repr_html_()
    assert "How much is 1 &lt; 2?</legend>" in text
    assert re.search(r"<label><input [^>]*> a &lt;lot&gt;</label>", text)
    assert re.search(r"<label data-right><input [^>]*> 2</label>", text)
    assert re.search(
        r'<label class="vitedu-show"><input [^>]*> Show the answer</label>',
        text,
    )
    assert "<p data-right><strong>Right.</strong> As 1 &lt; 2.</p>" in text
    assert "<p><strong>No.</strong> Think &amp; count.</p>" in text
    assert text.count("<p data-right>") == 1
    # Each question has buttons of its own.
    other = notebook.predict("Another?", OPTIONS, right=2)._repr_html_()
    names = [set(re.findall(r' name="([^"]*)"', x)) for x in (text, other)]
    assert [len(name) for name in names] == [1, 1]
    assert names[0] != names[1]
