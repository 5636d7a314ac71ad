"""What every explorer does, whatever it shows."""

import pytest
import test_explorer_attention_distance as attention_distance
import test_explorer_decoding_steps as decoding_steps
import test_explorer_head_viewer as head_viewer
import test_explorer_norm_axes as norm_axes
import test_explorer_patch_cutter as patch_cutter
import test_explorer_translator as translator
from mounted import EXPLORER
from pages import ROOT
from playwright.sync_api import Locator, expect

from vitedu.widgets import (
    AttentionPlane,
    MaskEditor,
    ModelCounter,
    PositionalEncoding,
    SoftmaxScaling,
)

# The trainer of reversal is taken down in its own tests, while it trains.
MAKERS = {
    "attention distance": attention_distance.make,
    "attention plane": AttentionPlane,
    "decoding steps": decoding_steps.make,
    "head viewer": head_viewer.make,
    "mask editor": MaskEditor,
    "model counter": ModelCounter,
    "norm axes": norm_axes.make,
    "patch cutter": patch_cutter.make,
    "positional encoding": PositionalEncoding,
    "softmax scaling": SoftmaxScaling,
    "translator": translator.make,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_it_takes_itself_down(show, make):
    page = show(make())
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator(EXPLORER)).to_have_count(0)


# A picture that moves keeps its elements and changes what differs: all that
# does, and nothing of where it was may stay.
CONTENT = """root => {
  const content = (node) => node.nodeType === Node.TEXT_NODE ? node.data : [
    node.nodeName,
    Array.from(node.attributes, ({ name, value }) => name + value).sort(),
    node.matches("[aria-live]") ? [] : Array.from(node.childNodes, content),
  ];
  const [, state, parts] = content(root);
  const pictures = Array.from(root.querySelectorAll("svg"), content);
  return { state, parts, pictures };
}"""


@pytest.mark.parametrize("name", MAKERS)
def test_there_and_back_it_looks_as_before(show, name):
    page = show(MAKERS[name]())
    explorer = page.locator(EXPLORER)
    controls = explorer.locator("select, input[type=range]:enabled").all()
    values = [control.input_value() for control in controls]

    def look_after(control: Locator, value: str) -> dict:
        control.evaluate(MOVE, value)
        # A change is drawn in the first frame after it.
        page.evaluate(TWO_FRAMES)
        return explorer.evaluate(CONTENT)

    def go_back() -> dict:
        looks = list(map(look_after, controls, values))
        return looks[-1] if looks else explorer.evaluate(CONTENT)

    start = go_back()
    others = [
        look_after(control, value)
        for control in controls
        for value in far_from_here(control)
    ]
    end = go_back()
    # A patch that larger patches do not have is left for good.
    assert (end == start) == (name != "patch cutter")
    if controls and start["pictures"]:
        assert any(other["pictures"] != end["pictures"] for other in others)


TWO_FRAMES = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
MOVE = """(node, value) => {
  node.value = value;
  node.dispatchEvent(new Event("input"));
  node.dispatchEvent(new Event("change"));
}"""


def far_from_here(control: Locator) -> list[str]:
    """Return both ends of a slider, or all options of a choice."""
    if control.get_attribute("type") == "range":
        return [control.get_attribute("max"), control.get_attribute("min")]
    options = control.locator("option:enabled").all()
    return [option.get_attribute("value") for option in options]


LINE = ["path", {"d": "M0 0h9"}]
PICTURES = {
    "empty": [],
    "a line": [LINE],
    "a longer line": [["path", {"class": "long", "d": "M0 0h99"}]],
    "a line and a text": [LINE, ["text", {"x": 1, "text": "one"}]],
    "another text": [LINE, ["text", {"text": "two"}]],
    "a text and a line": [["text", {"x": 1, "text": "one"}], LINE],
    "a text without words": [["text", {"x": 1}]],
    "in a group": [
        ["g", {}, ["text", {"text": "1"}], ["text", {"text": "2"}], LINE]
    ],
    "a smaller group": [
        ["g", {"class": "small"}, ["text", {"text": "2"}]],
        ["circle", {"r": 3}],
    ],
    "an empty group": [["g", {}]],
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


@pytest.mark.parametrize("after", PICTURES)
def test_a_picture_keeps_elements_and_looks_as_a_new_one(browser, after):
    page = browser.new_page()
    page.add_script_tag(path=ROOT / "vitedu/widgets/common.js")
    for before in PICTURES.values():
        found = page.evaluate(RENEW, [before, PICTURES[after]])
        assert found["right"] == [True, True], before
        same = kind(before) == kind(PICTURES[after])
        assert found["kept"] == same, before
    page.close()
