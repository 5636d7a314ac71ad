"""What an explorer remembers: its address, the way back, its tour."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from explorers import MAKERS
from mounted import EXPLORER, explorer_of, published
from pages import ROOT
from playwright.sync_api import expect
from test_explorers import go, look, press
from translators import make_explorer

from experiments import amount_of_data
from experiments.digit_bag import WEIGHTS
from experiments.runs import read_runs
from vitedu.book.followed_digits import (
    deleted_digits,
    digits_to_shuffle,
    followed_digits,
)
from vitedu.data.digits import digits
from vitedu.data.photographs import ORIGINAL_VIT, photograph, preprocess
from vitedu.pretrained.models import config_of, load_transformer, load_vit
from vitedu.widgets import (
    BagOfPatches,
    DeletePatches,
    FollowDigit,
    FollowSentence,
    HowManyImages,
    MaskEditor,
    NormAxes,
    PatchCutter,
    SoftmaxScaling,
)
from vitedu.widgets.base import Explorer

FIVE = "#explorer-softmax-scaling:head_dim=5"


def test_addresses_lead_to_explorers_and_back_and_forward(show):
    page = show(SoftmaxScaling(), SoftmaxScaling(), MaskEditor())
    page.evaluate(
        """for (const depth of [1, 2]) {
          const fold = document.createElement("details");
          fold.append(document.querySelector("#explorer-mask-editor")
            .closest(".vitedu-widget, details"));
          document.querySelector("main").append(fold);
        }"""
    )
    softmax, second, masks = page.locator(EXPLORER).all()
    start = published(softmax)["headDim"]
    before = page.evaluate("history.length")
    go(page, FIVE)
    assert published(second)["headDim"] == start
    go(page, "#explorer-softmax-scaling-2:head_dim=7")
    assert published(second)["headDim"] == 7
    go(page, "#explorer-softmax-scaling:num_keys=7")
    page.get_by_label("head_dim", exact=True).first.press("End")
    # It lies in two folds.
    expect(masks).to_be_hidden()
    go(page, "#explorer-mask-editor:query=3&key=0")
    expect(masks).to_be_in_viewport()
    expect(masks).to_be_focused()
    page.keyboard.press("Tab")
    assert masks.evaluate("node => node.contains(document.activeElement)")
    # The reader's own movements leave no trace.
    assert page.evaluate("history.length") == before + 4
    seen = []
    for way in ("back", "back", "back", "forward", "forward"):
        page.evaluate(f"history.{way}()")
        page.wait_for_timeout(200)
        shown = published(softmax)
        seen.append((shown["headDim"], shown["numKeys"]))
    assert seen[0] == seen[-1] == (start, 7)
    assert seen[2] == (5, 16)
    assert published(masks)["query"] == 3


def test_links_copies_and_the_whole_screen(show):
    page = show(SoftmaxScaling())
    page.evaluate(
        f"""document.querySelector("h1").innerHTML =
          '<a href="{FIVE}">five</a>'"""
    )
    # A link that was followed already leads there again.
    head_dim = page.get_by_label("head_dim", exact=True)
    for _ in range(2):
        page.get_by_role("link", name="five").click()
        assert look(page)["headDim"] == 5
        head_dim.press("End")
        assert look(page)["headDim"] == 1024
    # Without a clipboard the link is the address of the page.
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
    )
    before = page.evaluate("history.length")
    head_dim.press("Home")
    press(page, "Copy link")
    expect(page.get_by_text("address of this page now")).to_be_visible()
    assert page.url.endswith("#explorer-softmax-scaling:head_dim=1")
    assert page.evaluate("history.length") == before
    press(page, "Full screen")
    leave = page.get_by_role("button", name="Leave full screen")
    expect(leave).to_be_visible()
    full = page.evaluate("document.fullscreenElement.id")
    assert full == "explorer-softmax-scaling"
    leave.click()
    expect(page.get_by_role("button", name="Full screen")).to_be_visible()


def front_page() -> Explorer:
    """Return the explorer of the first page of the book."""
    text = (ROOT / "book/index.md").read_text(encoding="utf-8")
    [cell] = [
        code
        for code in re.findall(r"```\{code-cell\}.*?\n(.*?)```", text, re.S)
        if "AttentionPlane(" in code
    ]
    names: dict[str, Any] = {}
    code = re.sub(r"^:.*\n|^---\n(.*\n)*?---\n", "", cell, flags=re.M)
    exec(code.replace("\nAttentionPlane(", "\nmade = AttentionPlane("), names)
    return names["made"]


def book_translator() -> Explorer:
    model, *_ = load_transformer(ROOT / "book/data/translator.safetensors")
    return make_explorer(FollowSentence, model, number=18_000_000, step=2)


def book_digits() -> Explorer:
    path = ROOT / "book/data/digit-vit.safetensors"
    return FollowDigit(**followed_digits(load_vit(path, config_of(path))))


def book_photograph() -> Explorer:
    pixels = ORIGINAL_VIT.undo(preprocess(photograph("china"))).clamp(0, 1)
    pixels = pixels.mul(255).round().byte().permute(1, 2, 0)
    return PatchCutter(pixels.numpy())


def book_batch() -> Explorer:
    data = digits()
    ink = (16 * data.pixels(data.test_images[:4])).round()[:, 0, 1:7]
    return NormAxes(ink.numpy())


def bag_of_chapter_12() -> Explorer:
    models = (load_vit(path, config_of(path)) for path in WEIGHTS.values())
    start = {"digit": 3, "seed": 7, "kept": True}
    return BagOfPatches(**digits_to_shuffle(*models), **start)


def deleted_of_book() -> Explorer:
    path = ROOT / "book/data/digit-vit.safetensors"
    parts = deleted_digits(load_vit(path, config_of(path)))
    return DeletePatches(**parts, digit=7, gone=1)


def images_of_book() -> Explorer:
    runs = read_runs(amount_of_data.RESULT)

    def percents(model: str, size: int, remedy: str | None = None) -> list:
        wanted = model, size, amount_of_data.SEEN, remedy
        names = "model", "num_images", "seen", "help"
        return [
            100 * run["test"]
            for run in runs
            if tuple(run.get(name) for name in names) == wanted
        ]

    sizes, few = amount_of_data.SIZES, amount_of_data.FEW
    remedies = [*amount_of_data.HELP]
    return HowManyImages(
        np.array(sizes),
        vit=np.array([percents("ViT", size) for size in sizes]),
        cnn=np.array([percents("CNN", size) for size in sizes]),
        remedies=np.array([percents("ViT", few, name) for name in remedies]),
        remedy_names=remedies,
        remedy_images=few,
    )


TOURS = {
    "ask patch": MAKERS["ask patch"],
    "assumed heads": MAKERS["assumed heads"],
    "attention distance": MAKERS["attention distance"],
    "attention plane": front_page,
    "bag of patches": bag_of_chapter_12,
    "decoding steps": MAKERS["decoding steps"],
    "delete patches": deleted_of_book,
    "follow digit": book_digits,
    "follow sentence": book_translator,
    "head viewer": MAKERS["head viewer"],
    "hide and guess": MAKERS["hide and guess"],
    "how many images": images_of_book,
    "mask editor": MAKERS["mask editor"],
    "model counter": MAKERS["model counter"],
    "norm axes": book_batch,
    "patch cutter": book_photograph,
    "positional encoding": MAKERS["positional encoding"],
    "reach": MAKERS["reach"],
    "reverse trainer": MAKERS["reverse trainer"],
    "ring": MAKERS["ring"],
    "rotary pairs": MAKERS["rotary pairs"],
    "softmax scaling": MAKERS["softmax scaling"],
    "training": MAKERS["training"],
}
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


def numbers_in(text: str) -> set[str]:
    return {found.replace(",", "") for found in NUMBER.findall(text)}


@pytest.mark.parametrize("name", TOURS)
def test_a_tour_says_numbers_that_are_shown_and_goes_back(show, name):
    page = show(TOURS[name]())
    explorer = explorer_of(page)
    tour = page.get_by_role("group", name="Tour")
    press(page, "Take the tour")
    steps, looks = [], []
    while True:
        looks.append(look(page))
        said = tour.get_by_role("status").text_content()
        count, _, sentence = said.partition(": ")
        steps.append(count)
        missing = numbers_in(sentence) - numbers_in(explorer.evaluate(SHOWN))
        assert not missing, said
        assert numbers_in(sentence), said
        if tour.get_by_role("button", name="Next", exact=True).is_disabled():
            break
        press(tour, "Next")
    assert 4 <= len(steps) <= 6
    assert steps[-1] == f"{len(steps)} of {len(steps)}"
    assert all(a != b for a, b in pairwise(looks))
    expect(page.get_by_role("button", name="End the tour")).to_be_focused()
    for seen in reversed(looks[:-1]):
        press(tour, "Back")
        assert look(page) == seen
    press(page, "End the tour")
    expect(tour).to_be_hidden()
    expect(page.get_by_role("button", name="Take the tour")).to_be_focused()


def test_a_tour_is_given_where_its_sentences_are_true(show):
    for name in (
        *("attention plane", "delete patches"),
        *("follow sentence", "how many images"),
    ):
        page = show(MAKERS[name]())
        expect(page.get_by_role("button", name="Start again")).to_be_visible()
        assert not page.get_by_role("button", name="Take the tour").count()
