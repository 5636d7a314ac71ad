"""What every explorer does, whatever it shows."""

from itertools import product

import numpy as np
import pytest
from explorers import MAKERS, NEED_A_NETWORK
from javascript import run
from mounted import (
    EXPLORER,
    TWO_FRAMES,
    expect_accessible_and_inside,
    explorer_of,
    overflow,
    published,
    settle,
    stop_clock,
)
from moves import (
    FEW,
    LOOK,
    PAGES,
    controls_of,
    far_from_here,
    label_of,
    move,
)
from pages import sampled
from playwright.sync_api import Locator, Page, expect

from vitedu import widgets
from vitedu.widgets import modules
from vitedu.widgets.base import Explorer, Integer, Number

OPEN = [name for name in MAKERS if name not in NEED_A_NETWORK]
# `make soak` goes to both ends of a slider and to all options of a choice,
# `make test` only as far as it takes to see a change.
how_far = pytest.mark.parametrize(
    "to_all_ends",
    [
        pytest.param(False, id="until it changes"),
        pytest.param(True, id="to all ends", marks=pytest.mark.soak),
    ],
)


def test_all_explorers_are_tested():
    made = {name.title().replace(" ", "") for name in MAKERS}
    assert made == {*widgets.__all__}
    assert len(PAGES) == len(MAKERS)


# Where all controls count.
START = {
    "mask editor": {"mask": np.tri(6, k=-1) == 1},
    "patch by patch": {"stage": "attention"},
    "patch cutter": {"patch": 8, "place": 101},
}
# Their sentence is the same, or they say how a training goes on.
WITHOUT_WORDS = {"written for", "Learning rate", "Speed", "In the cells"}
WITHOUT_PICTURE = {"Learning rate", "Speed"}
WITHOUT = {"picture": WITHOUT_PICTURE, "reading": WITHOUT_WORDS}
# The view that has the controls, where it is not the first.
VIEWS = {"follow digit": "One stage"}
# The run before stays to be compared with.
LEAVES_TRACES = {"reverse trainer"}


# A longer sentence, a table or a map more takes more room.
GROWS = {
    "decoding steps",
    "follow sentence",
    "reverse trainer",
    "ring",
    *NEED_A_NETWORK,
}


def controls_in_sight(explorer: Locator, name: str) -> list[Locator]:
    """Return the controls of an explorer, in the view that has them."""
    if name in VIEWS:
        explorer.get_by_role("button", name=VIEWS[name]).click()
    return controls_of(explorer)


def expect_one_height(heights: dict[tuple[str, str], float]) -> None:
    """See that nothing jumps while a control moves."""
    # A raised digit from another font makes its line a pixel higher.
    assert max(heights.values()) - min(heights.values()) <= 2, heights


def changed(others: list[dict], back: dict) -> set[str]:
    """Return which kinds of content differ from what they went back to."""
    return {
        kind
        for kind in WITHOUT
        if any(other[kind] != back[kind] for other in others)
    }


def expect_taken_down(page: Page) -> None:
    """Hide the explorers, then leave the page."""
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.locator("main").evaluate("node => { node.style.display = 'none'; }")
    page.evaluate(TWO_FRAMES)
    assert complaints == []
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator(EXPLORER)).to_have_count(0)


def expect_ends(explorer: Locator, widget: Explorer) -> None:
    """See that sliders stop, where Python takes what they say."""
    for slider in explorer.locator("input[type=range]:enabled").all():
        for end, beyond in (("End", "ArrowRight"), ("Home", "ArrowLeft")):
            slider.press(end)
            settle(explorer.page)
            before = published(explorer)
            for trait, kind in widget.traits().items():
                value = before.get(camel(trait))
                if isinstance(kind, Number | Integer) and value is not None:
                    kind.validate(widget, value)
            slider.press(beyond)
            settle(explorer.page)
            assert published(explorer) == before


@how_far
@pytest.mark.parametrize("name", sampled(OPEN, FEW))
def test_every_control_changes_what_is_shown_and_nothing_stays(
    show, name, to_all_ends
):
    widget = MAKERS[name](**START.get(name, {}))
    page = show(widget, width=830)
    explorer = explorer_of(page)
    expect_accessible_and_inside(page)
    controls = controls_in_sight(explorer, name)
    values = [control.input_value() for control in controls]
    heights = {}

    def look_after(control: Locator, value: str) -> dict:
        move(control, value)
        return explorer.evaluate(LOOK)

    def go_back() -> dict:
        for control, value in zip(controls, values, strict=True):
            if control.input_value() != value:
                move(control, value)
        return explorer.evaluate(LOOK)

    # A touch stops what moves by itself.
    for control, value in zip(controls, values, strict=True):
        move(control, value)
    start = back = go_back()
    for control in controls:
        label, others = label_of(control), []
        expected = {
            kind for kind, without in WITHOUT.items() if label not in without
        }
        for far in far_from_here(control):
            others.append(look_after(control, far))
            heights[label, far] = explorer.bounding_box()["height"]
            if not to_all_ends and changed(others, back) == expected:
                break
        back = go_back()
        assert changed(others, back) == expected, label
    assert (go_back() == start) == (name not in LEAVES_TRACES)
    expect(explorer.locator("[aria-live=polite]").first).to_have_text(
        explorer.locator(".vitedu-reading").text_content()
    )
    if name not in GROWS:
        expect_one_height(heights)
    expect_ends(explorer, widget)
    assert overflow(page) == 0
    expect_taken_down(page)


@how_far
@pytest.mark.parametrize("name", MAKERS)
def test_on_a_phone_in_the_dark(show, name, to_all_ends):
    page = show(MAKERS[name](), theme="dark", width=390)
    explorer = explorer_of(page)
    assert overflow(page) == 0
    heights = {}
    for control in controls_in_sight(explorer, name):
        far = far_from_here(control)
        if not to_all_ends:
            far = [one for one in far if one != control.input_value()][:1]
        for value in far:
            move(control, value)
            height = explorer.bounding_box()["height"]
            heights[label_of(control), value] = height
    if name not in GROWS:
        expect_one_height(heights)
    expect_accessible_and_inside(page)
    expect_taken_down(page)


NAMED = ["ask patch", "attention plane", "collapse", "model counter"]
NAMED += ["positional encoding", "softmax scaling"]


@pytest.mark.parametrize("name", NAMED)
def test_named_settings_hold_once_they_are_pressed(show, name):
    page = show(MAKERS[name]())
    buttons, seen = page.locator(".vitedu-settings [aria-pressed]"), []
    for button in buttons.all():
        button.click()
        settle(page)
        expect(button).to_have_attribute("aria-pressed", "true")
        shown = published(explorer_of(page))
        assert shown not in seen
        seen.append(shown)
    assert len(seen) > 1


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


# Four that draw by themselves, and one of those that the core draws.
DRAWN = ["follow digit", "follow sentence", "mask editor", "reverse trainer"]
DRAWN += ["softmax scaling"]


@pytest.mark.parametrize("name", sampled(OPEN, DRAWN))
def test_two_views_move_together(show, name):
    page = show(MAKERS[name](), views=2)
    first, second = page.locator(EXPLORER).all()
    controls = controls_of(first)
    for control, other in zip(controls, controls_of(second), strict=True):
        # Not the speed at which one looks at it.
        for value in far_from_here(control)[-1:] * (
            label_of(control) != "Speed"
        ):
            move(control, value)
        expect(other).to_have_value(control.input_value())
        assert published(second) == published(first), label_of(control)


# What stands on the page, `it`, computed again in Node from its settings.
MATHS = {
    "mask editor": """readings({
      ...it, scores: Float64Array.from(it.scores, Number),
      mask: Uint8Array.from(it.mask),
    })""",
    "model counter": "it.fault ? {} : countModel(it)",
    "positional encoding": "readings(makeTable(it), it.position, it.other)",
    "softmax scaling": """readings(
      makeDraw(it.seed), it.headDim, it.numKeys, it.scale)""",
}


@pytest.mark.parametrize("name", MATHS)
def test_figures_are_those_of_the_settings(show, name):
    explorer = explorer_of(show(MAKERS[name](**START.get(name, {}))))
    shown = []
    for control in controls_of(explorer):
        for value in far_from_here(control)[-1:]:
            move(control, value)
            shown.append(published(explorer))
    script = f"{name.replace(' ', '_')}_maths"
    computed = run(script, f"shown.map((it) => {MATHS[name]})", shown=shown)
    assert len(max(computed, key=len)) > 4
    for it, expected in zip(shown, computed, strict=True):
        for figure, value in expected.items():
            if isinstance(value, dict):
                value = list(value.values())
            found = [np.array(one, np.float64) for one in (it[figure], value)]
            np.testing.assert_allclose(*found, atol=1e-9, err_msg=figure)


# Of marks of which one is chosen: what it is at first, and where keys lead.
MARKS = {
    "ask patch": (
        ".head",
        {"layer": 2, "head": 1},
        "Left 4 Down 5 Down 5 Left 2 Left 2 Up 1 Right 4 Right 7 Right 10",
    ),
    "attention distance": (
        ".patch",
        {"row": 1, "column": 1},
        "Down 7 Right 8 Right 8 Up 5 Up 2 Up 2 Left 1",
    ),
    "head viewer": (
        ".token.query",
        {"query": 1},
        "Down 2 Right 3 Up 2 Left 1 End 4 Down 4 Home 0 Up 0",
    ),
    # Behind the first sample is the second, on the right.
    "norm axes": (
        ".inputs .number",
        {"token": 1, "feature": 3},
        "Right 9 Right 20 Left 9 Down 14 Down 14 Up 9 Up 4 Up 4",
    ),
    # The class token comes before the patches.
    "patch by patch": (
        ".mark",
        {"stage": "depth", "token": 1},
        "Left 0 Left 0 Right 1 Down 5 Right 6 Up 2 Up 2 Left 1 Up 0 Down 1",
    ),
    "patch cutter": (
        ".patch",
        {"patch": 3},
        "Right 4 Right 5 Left 4 Up 4 Down 9 Down 14 Down 14 Right 14",
    ),
    "follow sentence": (
        ".line.tgt [role=radio]",
        {"step": 1},
        "Right 2 Right 2 Left 1 Home 0 Left 0 End 2 Left 1",
    ),
}


def expect_chosen(marks: Locator, at: int) -> None:
    """One mark is chosen, and the only stop of the Tab key."""
    chosen = "all => all.map((mark) => [mark.ariaChecked, mark.tabIndex])"
    expect(marks.nth(at)).to_have_attribute("aria-checked", "true")
    found = marks.evaluate_all(chosen)
    assert found.pop(at) == ["true", 0]
    assert found == [["false", -1]] * len(found)


@pytest.mark.parametrize("name", MARKS)
def test_keys_go_from_mark_to_mark_and_a_tap_chooses_one(show, name):
    selector, start, keys = MARKS[name]
    page = show(MAKERS[name](**start), width=390, has_touch=True)
    marks = page.locator(selector)
    marks.and_(page.locator("[aria-checked=true]")).focus()
    way = keys.split()
    for key, at in zip(way[::2], way[1::2], strict=True):
        arrow = "" if key in ("Home", "End") else "Arrow"
        page.keyboard.press(arrow + key)
        expect_chosen(marks, int(at))
        expect(marks.nth(int(at))).to_be_focused()
    # Where no way of the keys ends.
    marks.nth(2).tap()
    expect_chosen(marks, 2)


@pytest.mark.parametrize(
    ("name", "selector"),
    [("attention distance", ".dot"), ("head viewer", ".token.query")],
)
def test_a_mouse_that_rests_chooses_and_one_that_passes_does_not(
    show, name, selector
):
    page = show(MAKERS[name](layer=0))
    marks = page.locator(selector)
    chosen = marks.and_(page.locator("[aria-checked=true]"))
    stop_clock(page)
    box = marks.last.bounding_box()
    last = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = chosen.evaluate("node => node.outerHTML")
    page.mouse.move(*last)
    page.clock.run_for(60)
    page.mouse.move(5, 5)
    page.clock.run_for(500)
    assert chosen.evaluate("node => node.outerHTML") == before
    page.mouse.move(*last)
    page.clock.run_for(500)
    expect(marks.last).to_have_attribute("aria-checked", "true")


LINE = ["path", {"d": "M0 0h9"}]
PICTURES = [
    [],
    [LINE],
    [["path", {"class": "long", "d": "M0 0h99"}]],
    [LINE, ["text", {"x": 1, "text": "one"}]],
    [LINE, ["text", {"text": "two"}]],
    [["text", {"x": 1, "text": "one"}], LINE],
    [["text", {"x": 1}]],
    [["g", {}, ["text", {"text": "1"}], ["text", {"text": "2"}], LINE]],
    [["g", {"class": "small"}, ["text", {"text": "2"}]], ["circle", {"r": 3}]],
    [["g", {}]],
]
RENEW = """([before, after]) => {
  const drafts = (picture) => picture.map(([tag, attributes, ...children]) =>
    draft(tag, attributes, ...drafts(children)));
  const nodes = (picture) => picture.map(([tag, attributes, ...children]) =>
    svg(tag, attributes, ...nodes(children)));
  const node = svg("svg");
  renew(node, drafts(before));
  const right = [node.isEqualNode(svg("svg", {}, ...nodes(before)))];
  const [first] = node.children;
  renew(node, drafts(after));
  right.push(node.isEqualNode(svg("svg", {}, ...nodes(after))));
  return { right, kept: first === node.children[0] };
}"""


def kind(picture: list) -> tuple | None:
    """Return what a first element has to share to be kept."""
    return picture and (picture[0][0], "text" in picture[0][1])


def test_a_picture_keeps_elements_and_looks_as_a_new_one(browser):
    page = browser.new_page()
    page.add_script_tag(content=modules.joined("core/dom.js"))
    for before, after in product(PICTURES, repeat=2):
        found = page.evaluate(RENEW, [before, after])
        assert found["right"] == [True, True], (before, after)
        assert found["kept"] == (kind(before) == kind(after)), (before, after)
    page.close()
