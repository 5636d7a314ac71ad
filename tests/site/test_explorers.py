"""What every explorer promises, whatever it shows."""

from itertools import product
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from accessibility import COLOURS
from explorers import MAKERS
from javascript import run
from mounted import (
    EXPLORER,
    TWO_FRAMES,
    accessibility_faults,
    each_look,
    expect_accessible_and_inside,
    explorer_of,
    overflow,
    published,
    settle,
    stop_clock,
)
from pages import ROOT, start_explorers
from playwright.sync_api import Locator, Page, expect

from vitedu import widgets
from vitedu.widgets.base import Explorer, Integer, Number

# What it does begins when it has loaded a network; see test_own_photograph.
OPEN = [name for name in MAKERS if name != "own photograph"]
# Where all controls count and nothing moves by itself.
START = {
    "attention plane": {"playing": False},
    "mask editor": {"mask": np.tri(6, k=-1) == 1},
    "patch cutter": {"patch": 8, "place": 101},
}
# Their sentence is the same, or they say how a training goes on.
WITHOUT_WORDS = {"written for", "Learning rate", "Speed"}
WITHOUT_PICTURE = {"Learning rate", "Speed"}
# The run before stays to be compared with.
LEAVES_TRACES = {"reverse trainer"}
# A longer sentence, a table or a map more takes more room.
GROWS = {
    *("decoding steps", "follow sentence", "patch cutter"),
    *("reverse trainer", "ring"),
}
MOVE = """(node, value) => {
  node.value = value;
  node.dispatchEvent(new Event("input"));
  node.dispatchEvent(new Event("change"));
}"""
# A picture that moves keeps its elements and changes what differs: all that
# does, and nothing of where it was may stay.
LOOK = """root => {
  const hash = (numbers) => {
    let sum = 0;
    for (const number of numbers) sum = Math.imul(sum ^ number, 16777619) + 7;
    return sum;
  };
  const drawn = (node) => node.width && node.height && hash(
    new Uint32Array(node.getContext("2d")
      .getImageData(0, 0, node.width, node.height).data.buffer));
  const content = (node) => node.nodeType === Node.TEXT_NODE ? node.data : [
    node.nodeName, node.nodeName === "CANVAS" ? drawn(node) : 0,
    Array.from(node.attributes, ({ name, value }) => name + value).sort(),
    node.matches("[aria-live]") ? [] : Array.from(node.childNodes, content),
  ];
  const digest = (nodes) => hash(new TextEncoder().encode(
    JSON.stringify(Array.from(nodes, content))));
  return {
    all: digest([root]), picture: digest(root.querySelectorAll(
      ".vitedu-panel")),
    reading: digest(root.querySelectorAll(".vitedu-reading")),
  };
}"""
CLIPBOARD = """Object.defineProperty(navigator, "clipboard", {
  value: { writeText: async (text) => { window.copied = text; } } })"""
HOSTILE = ("<script>window.hurt = 1</script>", "9" * 10_000, "null")


def test_all_explorers_are_tested():
    made = {type(make()).__name__ for make in MAKERS.values()}
    assert made == {*widgets.__all__}


def controls_of(explorer: Locator) -> list[Locator]:
    """Return choices and sliders; one may be switched off later on."""
    usable = "select:visible:enabled, input[type=range]:visible:enabled"
    ids = [
        control.get_attribute("id")
        for control in explorer.locator(usable).all()
    ]
    return [explorer.locator(f"#{name}") for name in ids]


def label_of(control: Locator) -> str:
    return control.evaluate("node => node.labels[0].textContent")


def move(control: Locator, value: str) -> None:
    control.evaluate(MOVE, value)
    # A change is drawn in the first frame after it, or when it is loaded.
    settle(control.page)


def far_from_here(control: Locator) -> list[str]:
    """Return both ends of a slider, or all options of a choice."""
    if control.is_disabled():  # what another control has switched off
        return []
    if is_slider(control):
        return [control.get_attribute("max"), control.get_attribute("min")]
    options = control.locator("option:enabled").all()
    return [option.get_attribute("value") for option in options]


def is_slider(control: Locator) -> bool:
    return control.get_attribute("type") == "range"


def look(page: Page) -> dict[str, object]:
    settle(page)
    found = published(explorer_of(page))
    # What the focus leaves behind.
    found.pop("lmSuppressShortcuts", None)
    return found


def go(page: Page, fragment: str) -> None:
    page.evaluate("fragment => location.hash = fragment", fragment)
    page.evaluate(TWO_FRAMES)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def make(name: str, **changes: Any) -> Explorer:
    return MAKERS[name](**START.get(name, {}) | changes)


def id_of(widget: Explorer) -> str:
    return f"explorer-{widget.files.replace('_', '-')}"


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def others_of(widget: Explorer) -> dict[str, Any]:
    """Return another value of each setting, as Python has it."""
    found = {}
    for name, facts in widget._schema.items():
        start = facts["start"]
        if name == "playing" or len(facts.get("options", "ab")) == 1:
            continue
        match facts["kind"]:
            case "flag":
                found[name] = not start
            case "list":
                found[name] = start[:1]
            case "words":
                found[name] = facts["options"][1:3]
            case "array":
                array = getattr(widget, name)
                turned = array[::-1]
                found[name] = turned if (turned != array).any() else array + 1
            case _ if "options" in facts:
                found[name] = next(o for o in facts["options"] if o != start)
            case "number":
                found[name] = facts["low"]
            case _:
                least = facts["low"]
                found[name] = least if start != least else least + 1
    return found


def written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "_".join(map(str, value))
    if hasattr(value, "dtype"):
        bits = value.dtype == bool
        return ("" if bits else "_").join(
            str(n) for n in (value + 0).ravel().tolist()
        )
    return str(value)


def settings_in(address: str) -> dict[str, object]:
    """Return what an address says; numbers as numbers."""

    def number(text: str) -> object:
        parts = text.split("_")
        try:
            return [pytest.approx(float(part), rel=1e-6) for part in parts]
        except ValueError:
            return text

    query = address.partition("#")[2].partition(":")[2]
    return {
        name: number(text)
        for name, text in parse_qsl(query, keep_blank_values=True)
    }


@pytest.mark.parametrize("name", OPEN)
def test_the_contract(show, name):
    widget = make(name)
    page = show(widget)
    explorer = explorer_of(page)
    first = look(page)
    expect_accessible_and_inside(page)
    page.set_viewport_size({"width": 390, "height": 1000})
    page.evaluate("document.documentElement.dataset.theme = 'dark'")

    controls = controls_of(explorer)
    seen, heights = [], {}
    for control in controls:
        seen += expect_control_counts(widget, explorer, control, heights)
        # One that has taken others along does not take them back.
        if look(page) != first:
            start_again(page, first)
    # A raised digit from another font makes its line a pixel higher.
    spread = max(heights.values()) - min(heights.values()) if heights else 0
    assert spread <= 2 or name in GROWS, heights
    expect_computed(name, seen)
    start_again(page, first)
    start = explorer.evaluate(LOOK)["picture"]

    for control in controls:
        for far in far_from_here(control)[:1]:
            move(control, far)
    expect_accessible_and_inside(page)
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    assert accessibility_faults(page, COLOURS) == []
    expect(explorer.locator("[aria-live=polite]").first).to_have_text(
        explorer.locator(".vitedu-reading").text_content()
    )
    start_again(page, first)
    if name not in LEAVES_TRACES:
        assert explorer.evaluate(LOOK)["picture"] == start

    fragment, linked = expect_links_work(page, widget, first)
    expect_hostile_addresses_ignored(page, widget, first)
    expect_quiet_end(page)
    changed = make(name, **others_of(widget))
    assert look(show(changed, width=390)) == linked != first, fragment


def start_again(page: Page, first: dict) -> None:
    press(page, "Start again")
    # A mouse that rests over a mark would choose it.
    page.mouse.move(0, 0)
    expect(page.get_by_text("as they were at the start")).to_be_visible()
    assert look(page) == first


def expect_control_counts(widget, explorer, control, heights) -> list[dict]:
    """Move one control to its ends, by keys if it is a slider, and back."""
    page, label = explorer.page, label_of(control)
    assert label
    value, here = control.input_value(), explorer.evaluate(LOOK)
    looks, seen = [], []
    ways = far_from_here(control)
    for far in ways:
        if is_slider(control):
            end = far == ways[0]
            control.press("End" if end else "Home")
            expect(control).to_have_value(far)
            before = look(page)
            control.press("ArrowRight" if end else "ArrowLeft")
            assert look(page) == before, label
            expect_python_takes(widget, before)
        else:
            move(control, far)
        looks.append(explorer.evaluate(LOOK))
        seen.append(published(explorer))
        heights[label, far] = explorer.bounding_box()["height"]
        assert overflow(page) == 0, (label, far)
    move(control, value)
    for kind, without in (
        ("picture", WITHOUT_PICTURE),
        ("reading", WITHOUT_WORDS),
    ):
        changes = any(other[kind] != here[kind] for other in looks)
        assert changes == (label not in without), (label, kind)
    return seen


def expect_python_takes(widget: Explorer, shown: dict) -> None:
    for trait, kind in widget.traits().items():
        value = shown.get(camel(trait))
        if isinstance(kind, Number | Integer) and value is not None:
            kind.validate(widget, value)


# What stands on the page, `it`, computed again in Node from its settings.
MATHS = {
    "mask editor": """readings({
      ...it, scores: Float64Array.from(it.scores, Number),
      mask: Uint8Array.from(it.mask),
      fillValue: it.fillValue < 0 ? "-1e9" : it.fillValue,
    })""",
    "model counter": "it.fault ? {} : countModel(it)",
    "positional encoding": "readings(makeTable(it), it.position, it.other)",
    "softmax scaling": """readings(
      makeDraw(it.seed), it.headDim, it.numKeys, it.scale)""",
}


def expect_computed(name: str, seen: list[dict]) -> None:
    if name not in MATHS:
        return
    script = f"{name.replace(' ', '_')}_maths"
    computed = run(script, f"seen.map((it) => {MATHS[name]})", seen=seen)
    assert len(max(computed, key=len)) > 4
    for it, expected in zip(seen, computed, strict=True):
        for figure, value in expected.items():
            if isinstance(value, dict):
                value = list(value.values())
            found = [np.array(one, np.float64) for one in (it[figure], value)]
            np.testing.assert_allclose(*found, atol=1e-9, err_msg=figure)


def expect_links_work(page: Page, widget: Explorer, first) -> tuple:
    """An address opens other settings, and is copied as it was."""
    query = urlencode({k: written(v) for k, v in others_of(widget).items()})
    fragment = f"#{id_of(widget)}:{query}"
    page.goto(page.url.partition("#")[0] + fragment)
    page.reload()
    expect(explorer_of(page)).to_be_focused()
    linked = look(page)
    page.evaluate(CLIPBOARD)
    press(page, "Copy link")
    expect(page.get_by_text("The link is copied.")).to_be_visible()
    copied = page.evaluate("window.copied")
    assert copied.startswith(page.url.partition("#")[0] + "#")
    assert settings_in(copied) == settings_in(fragment)
    start_again(page, first)
    return fragment, linked


def expect_hostile_addresses_ignored(page, widget, first) -> None:
    names = [*widget.remembers, "_esm", "__proto__"]
    for text in HOSTILE:
        go(page, f"#{id_of(widget)}:{urlencode(dict.fromkeys(names, text))}")
        expect(page.locator(".vitedu-said")).to_contain_text(
            f"{', '.join(widget.remembers)}, an unknown setting"
        )
        assert look(page) == first
    assert page.evaluate("window.hurt") is None


def expect_quiet_end(page: Page) -> None:
    """It can be hidden and taken down."""
    complaints: list[str] = []

    def hear(message) -> None:
        complaints.append(message.text)

    page.on("console", hear)
    page.locator("main").evaluate("node => { node.style.display = 'none'; }")
    page.evaluate(TWO_FRAMES)
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator(EXPLORER)).to_have_count(0)
    page.remove_listener("console", hear)
    assert complaints == []


@pytest.mark.soak
@each_look
@pytest.mark.parametrize("name", OPEN)
def test_every_control_at_all_ends_and_in_two_views(show, name, theme, width):
    page = show(make(name), views=2, theme=theme, width=width)
    first, second = page.locator(EXPLORER).all()
    pairs = zip(controls_of(first), controls_of(second), strict=True)
    for control, other in pairs:
        # Not the speed at which one looks at it.
        for value in far_from_here(control) * (label_of(control) != "Speed"):
            move(control, value)
            expect_accessible_and_inside(page)
            expect(other).to_have_value(control.input_value())
            assert published(second) == published(first), label_of(control)


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
    "patch cutter": (
        ".patch",
        {"patch": 3},
        "Right 4 Right 5 Left 4 Up 4 Down 9 Down 14 Down 14 Right 14",
    ),
    "follow sentence": (
        ".line.tgt [role=radio]",
        {"step": 1},
        "Right 2 Right 2 Left 1 Home 0 Left 0 End 2",
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
def test_keys_and_taps_choose_a_mark_and_stop_at_the_ends(show, name):
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
    marks.nth(1).tap()
    expect_chosen(marks, 1)


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


@pytest.mark.parametrize("name", OPEN)
def test_it_lives_with_what_its_chapter_gives_it(open_page, name):
    page = open_page(f"embed/{name.replace(' ', '-')}.html")
    start_explorers(page)
    explorer = explorer_of(page)
    before = explorer.evaluate(LOOK)["picture"]
    looks = []
    for control in controls_of(explorer)[:2]:
        for value in far_from_here(control):
            move(control, value)
            looks.append(explorer.evaluate(LOOK)["picture"])
    if not looks:
        explorer.get_by_role("radio").first.press(" ")
        page.evaluate(TWO_FRAMES)
        looks = [explorer.evaluate(LOOK)["picture"]]
    assert any(look != before for look in looks)


LINE = ["path", {"d": "M0 0h9"}]
PICTURES = {
    "empty": [],
    "a line": [LINE],
    "a longer line": [["path", {"class": "long", "d": "M0 0h99"}]],
    "a line and a text": [LINE, ["text", {"x": 1, "text": "one"}]],
    "a text and a line": [["text", {"text": "two"}], LINE],
    "a text without words": [["text", {"x": 1}]],
    "in a group": [["g", {}, ["text", {"text": "1"}], LINE]],
    "a smaller group": [
        ["g", {"class": "small"}, ["text", {"text": "2"}]],
        ["circle", {"r": 3}],
    ],
}
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


def test_a_picture_keeps_elements_and_looks_as_a_new_one(pages):
    with pages.one() as page:
        page.add_script_tag(path=ROOT / "vitedu/widgets/common.js")
        for before, after in product(PICTURES.values(), repeat=2):
            found = page.evaluate(RENEW, [before, after])
            assert found["right"] == [True, True], (before, after)
            assert found["kept"] == (kind(before) == kind(after)), before
