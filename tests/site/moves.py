"""How the controls of an explorer are moved, and what it then looks like."""

import re
from itertools import pairwise

from mounted import explorer_of, press, published, settle
from playwright.sync_api import Locator, Page, expect

PAGES = {
    "attention-plane": "book/index.html",
    "positional-encoding": "chapters/02-positional-encoding.html",
    "reach": "chapters/01-why-attention.html",
    "ring": "chapters/19-scaling-out.html",
    "softmax-scaling": "chapters/03-scaled-dot-product-attention.html",
    "mask-editor": "chapters/04-masking.html",
    "head-viewer": "chapters/05-multi-head-attention.html",
    "norm-axes": "chapters/06-residuals-norms-feed-forward.html",
    "own-photograph": "chapters/20-real-vit.html",
    "reverse-trainer": "chapters/07-encoder.html",
    "decoding-steps": "chapters/10-decoding.html",
    "patch-by-patch": "chapters/13-vision-transformer.html",
    "patch-cutter": "chapters/11-patches.html",
    "hide-and-guess": "chapters/23-without-labels.html",
    "match": "chapters/23-without-labels.html",
    "collapse": "chapters/23-without-labels.html",
    "how-many-images": "chapters/17-data-and-transfer.html",
    "model-counter": "chapters/15-counting.html",
    "attention-distance": "chapters/16-looking-inside.html",
    "ask-patch": "chapters/20-real-vit.html",
    "bag-of-patches": "chapters/12-class-token-and-positions.html",
    "assumed-heads": "chapters/18-pretrained-weights.html",
    "delete-patches": "chapters/16-looking-inside.html",
    "teach-it": "chapters/21-fine-tuning.html",
    "training": "chapters/14-training-a-vit.html",
    "follow-digit": "chapters/14-training-a-vit.html",
    "follow-sentence": "chapters/09-transformer.html",
    "rotary-pairs": "chapters/22-the-block-since.html",
}
# These have every kind of control, picture and mark; `make soak` asks the
# others what `make test` asks of these.
FEW = [
    *("ask patch", "follow digit", "follow sentence", "head viewer"),
    *("mask editor", "model counter", "reverse trainer", "softmax scaling"),
]
MOVE = """(node, value) => {
  node.value = value;
  node.dispatchEvent(new Event("input"));
  node.dispatchEvent(new Event("change"));
}"""
# A picture that moves keeps its elements and changes what differs: all that
# does, and nothing of where it was may stay.
LOOK = """root => {
  const content = (node) => node.nodeType === Node.TEXT_NODE ? node.data : [
    node.nodeName, node.toDataURL?.(),
    Array.from(node.attributes, ({ name, value }) => name + value).sort(),
    node.matches("[aria-live]") ? [] : Array.from(node.childNodes, content),
  ];
  const all = (kind) => Array.from(root.querySelectorAll(kind), content);
  return {
    all: content(root), picture: all(".vitedu-panel"),
    reading: all(".vitedu-reading"),
  };
}"""


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
    if control.get_attribute("type") == "range":
        return [control.get_attribute("max"), control.get_attribute("min")]
    options = control.locator("option:enabled").all()
    return [option.get_attribute("value") for option in options]


def look(page: Page) -> dict[str, object]:
    """Return what the first explorer of a page publishes at rest."""
    settle(page)
    found = published(explorer_of(page))
    # What the focus leaves behind.
    found.pop("lmSuppressShortcuts", None)
    return found


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
# Without the row of the tour, and with what stands in fields.
SHOWN = """root => {
  const copy = root.cloneNode(true);
  copy.querySelector(".vitedu-tour").remove();
  const cells = Array.from(copy.querySelectorAll("td"),
    ({ textContent }) => textContent);
  const fields = Array.from(root.querySelectorAll("input, select"),
    ({ value, ariaValueText }) => [value, ariaValueText]);
  return [copy.textContent, ...cells, ...fields.flat()].join(" ");
}"""
# What a step speaks of, and the tour itself, as they stand in the window.
STAGED = """root => {
  const lit = root.querySelectorAll(".vitedu-lit");
  const [part, tour] = [lit[0], root.querySelector(".vitedu-tour")].map(
    (node) => node.getBoundingClientRect());
  return { lit: lit.length, top: part.top, bottom: part.bottom,
    room: tour.top };
}"""


def numbers_in(text: str) -> set[str]:
    return {found.replace(",", "") for found in NUMBER.findall(text)}


def expect_staged(explorer: Locator) -> None:
    """What a step speaks of is outlined, and nothing covers it."""
    staged = explorer.evaluate(STAGED)
    assert staged["lit"] == 1
    high = staged["bottom"] - staged["top"]
    if high < staged["room"] - 72:  # less the bar of the site
        assert staged["top"] >= 71, staged
        assert staged["bottom"] <= staged["room"], staged


def take_tour(page: Page) -> tuple[Locator, list[dict[str, object]]]:
    """Go through a tour, whose numbers have to be on display at each step.

    Returns:
        The tour, at its last step, and what the explorer published at each.
    """
    explorer = explorer_of(page)
    tour = page.get_by_role("group", name="Tour")
    press(page, "Take the tour")
    counts, looks = [], []
    while True:
        looks.append(look(page))
        expect_staged(explorer)
        said = tour.get_by_role("status").text_content()
        count, _, sentence = said.partition(": ")
        counts.append(count)
        assert numbers_in(sentence), said
        missing = numbers_in(sentence) - numbers_in(explorer.evaluate(SHOWN))
        assert not missing, said
        if tour.get_by_role("button", name="Next", exact=True).is_disabled():
            break
        press(tour, "Next")
    assert 4 <= len(looks) <= 6
    assert counts[-1] == f"{len(looks)} of {len(looks)}"
    assert all(a != b for a, b in pairwise(looks))
    expect(page.get_by_role("button", name="End the tour")).to_be_focused()
    return tour, looks
