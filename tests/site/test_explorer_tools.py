"""What an explorer remembers: links to its settings, its start, its tour."""

import re
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from explorers import MAKERS, NEED_A_NETWORK
from mounted import (
    EXPLORER,
    TWO_FRAMES,
    expect_published,
    explorer_of,
    press,
    published,
    settle,
)
from moves import FEW, look, take_tour
from pages import ROOT, sampled
from playwright.sync_api import Locator, Page, expect
from translators import make_explorer

from experiments import amount_of_data
from experiments import match as kept_encoders
from experiments.digit_bag import WEIGHTS
from experiments.runs import read_runs
from vitedu.book.followed_digits import (
    deleted_digits,
    digits_to_shuffle,
    followed_digits,
)
from vitedu.book.matched_scenes import scenes_to_match
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
    Match,
    NormAxes,
    PatchCutter,
    SoftmaxScaling,
)
from vitedu.widgets.base import Explorer

# They show nothing before they have loaded a network.
OPEN = [name for name in MAKERS if name not in NEED_A_NETWORK]
# Its query would turn meanwhile.
STILL = {"attention plane": {"playing": False}}
# These have settings of every kind.
LINKED = ["follow sentence", "head viewer", "mask editor", "reverse trainer"]
CLIPBOARD = """Object.defineProperty(navigator, "clipboard", {
  value: { writeText: async (text) => { window.copied = text; } } })"""


def make(name: str, **settings: Any) -> Explorer:
    return MAKERS[name](**STILL.get(name, {}) | settings)


def id_of(widget: Explorer) -> str:
    return f"explorer-{widget.files.replace('_', '-')}"


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


def go(page: Page, fragment: str) -> None:
    page.evaluate("fragment => location.hash = fragment", fragment)
    page.evaluate(TWO_FRAMES)


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


# What the build and a page make of such values is compared in Node.
HOSTILE = ("<script>window.hurt = 1</script>", "9" * 10_000, "[1]")


def test_a_hostile_address_changes_nothing(show):
    widget = MaskEditor()
    page = show(widget)
    first = look(page)
    names = [*widget.remembers, "_esm", "__proto__"]
    for text in HOSTILE:
        go(page, f"#{id_of(widget)}:{urlencode(dict.fromkeys(names, text))}")
        expect(page.locator(".vitedu-said")).to_contain_text(
            f"{', '.join(widget.remembers)}, an unknown setting"
        )
        assert look(page) == first
    assert page.evaluate("window.hurt") is None


@pytest.mark.parametrize("name", sampled(OPEN, LINKED))
def test_a_link_opens_what_python_would(show, browser, name):
    widget = make(name)
    page = show(widget)
    first, address = look(page), page.url
    changes = others_of(widget)
    query = urlencode({key: written(v) for key, v in changes.items()})
    fragment = f"#{id_of(widget)}:{query}"

    second = browser.new_page()
    second.add_init_script(CLIPBOARD)
    second.goto(address + fragment)
    expect(explorer_of(second)).to_be_focused()
    shown = look(second)
    wanted = look(show(make(name, **changes)))
    assert shown == wanted != first

    press(second, "Copy link")
    expect(second.get_by_text("The link is copied.")).to_be_visible()
    copied = second.evaluate("window.copied")
    assert copied.startswith(address + "#")
    assert settings_in(copied) == settings_in(fragment)
    press(second, "Start again")
    expect(second.get_by_text("as they were at the start")).to_be_visible()
    assert look(second) == first
    second.close()


def two(show) -> tuple[Page, Locator, Locator]:
    """Show two explorers, one below the other, the second in two folds."""
    page = show(SoftmaxScaling(), MaskEditor())
    page.evaluate(
        """for (const depth of [1, 2]) {
          const fold = document.createElement("details");
          fold.append(document.querySelector("#explorer-mask-editor")
            .closest(".vitedu-widget, details"));
          document.querySelector("main").append(fold);
        }"""
    )
    softmax, masks = page.locator(EXPLORER).all()
    return page, softmax, masks


def test_an_address_leads_to_its_explorer_and_into_folds(show):
    page, softmax, masks = two(show)
    first = published(softmax)
    expect(masks).to_be_hidden()
    go(page, "#explorer-mask-editor:query=3&key=0")
    expect(masks).to_be_in_viewport()
    expect(masks).to_be_focused()
    assert published(masks)["query"] == 3
    assert published(softmax) == first
    page.keyboard.press("Tab")
    assert masks.evaluate("node => node.contains(document.activeElement)")


def test_back_and_forward_go_from_state_to_state(show):
    page, softmax, masks = two(show)
    start = published(softmax)["headDim"]
    before = page.evaluate("history.length")
    go(page, "#explorer-softmax-scaling:head_dim=5")
    go(page, "#explorer-softmax-scaling:num_keys=7")
    page.get_by_label("head_dim", exact=True).press("End")
    go(page, "#explorer-mask-editor:query=3")
    # The reader's own movements leave no trace.
    assert page.evaluate("history.length") == before + 3
    seen = []
    for way in ("back", "back", "forward"):
        page.evaluate(f"history.{way}()")
        page.wait_for_timeout(200)
        shown = published(softmax)
        seen.append((shown["headDim"], shown["numKeys"]))
    assert seen == [(start, 7), (5, 16), (start, 7)]
    assert published(masks)["query"] == 3


def test_a_link_that_was_followed_already_leads_there_again(show):
    page = show(SoftmaxScaling())
    page.evaluate(
        """document.querySelector("h1").innerHTML =
          '<a href="#explorer-softmax-scaling:head_dim=5">five</a>'"""
    )
    for _ in range(2):
        page.get_by_role("link", name="five").click()
        assert look(page)["headDim"] == 5
        page.get_by_label("head_dim", exact=True).press("End")
        assert look(page)["headDim"] == 1024


def test_of_two_alike_each_has_an_address(show):
    page = show(SoftmaxScaling(), SoftmaxScaling())
    go(page, "#explorer-softmax-scaling-2:head_dim=5")
    found = [published(one)["headDim"] for one in page.locator(EXPLORER).all()]
    assert found == [64, 5]


def test_without_a_clipboard_the_link_is_the_address_of_the_page(show):
    page = show(SoftmaxScaling(head_dim=5))
    page.evaluate(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined })"
    )
    before = page.evaluate("history.length")
    page.get_by_label("head_dim", exact=True).press("Home")
    press(page, "Copy link")
    expect(page.get_by_text("address of this page now")).to_be_visible()
    assert page.url.endswith("#explorer-softmax-scaling:head_dim=1")
    assert page.evaluate("history.length") == before


HIDDEN_ASIDE = "root => root.scrollWidth - root.clientWidth"


def height_of_words(page: Page) -> float:
    return page.locator(".vitedu-panel-title").first.bounding_box()["height"]


def test_full_screen_enlarges_type_until_the_browser_leaves_it(show):
    page = show(SoftmaxScaling(), width=1280)
    before = height_of_words(page)
    explorer = explorer_of(page)
    for leave in (
        lambda: press(page, "Leave full screen"),
        # As by Escape.
        lambda: page.evaluate("document.exitFullscreen()"),
    ):
        press(page, "Full screen")
        expect(explorer).to_contain_class("vitedu-large")
        full = page.evaluate("document.fullscreenElement.id")
        assert full == "explorer-softmax-scaling"
        assert height_of_words(page) == pytest.approx(1.5 * before, rel=0.05)
        leave()
        expect(explorer).not_to_contain_class("vitedu-large")
        assert height_of_words(page) == pytest.approx(before)


def test_an_address_enlarges_type_for_a_projector(show):
    page = show(SoftmaxScaling(), width=1280)
    before = height_of_words(page)
    page.goto(f"{page.url}?large#explorer-softmax-scaling:head_dim=5")
    expect_published(explorer_of(page), head_dim=5)
    assert height_of_words(page) == pytest.approx(1.5 * before, rel=0.05)


@pytest.mark.parametrize("name", sampled(OPEN, FEW))
def test_full_screen_scrolls_down_only(show, name):
    page = show(make(name), width=1280)
    explorer = explorer_of(page)
    for width, height in ((1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        press(page, "Full screen")
        expect(explorer).to_contain_class("vitedu-large")
        settle(page)
        assert explorer.evaluate(HIDDEN_ASIDE) == 0
        press(page, "Leave full screen")


def test_whoever_asked_for_less_motion_starts_again_without_it(show):
    page = show(MAKERS["attention plane"](), reduced_motion="reduce")
    page.get_by_label("length of the query").press("End")
    press(page, "Start again")
    shown = look(page)
    assert (shown["angle"], shown["length"]) == (35, 2.5)
    assert shown["playing"] is False


KEPT = "() => Object.entries(localStorage).map(([, text]) => text)"


def come_back(page: Page, fragment: str = "") -> dict[str, object]:
    """Leave the page, open it again, and look."""
    settle(page)
    address = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(address + fragment)
    expect(page.locator(EXPLORER)).not_to_have_count(0)
    return look(page)


def test_who_comes_back_finds_an_explorer_as_it_was(show):
    page = show(SoftmaxScaling())
    first = look(page)
    page.get_by_label("head_dim", exact=True).press("End")
    left = look(page)
    assert come_back(page) == left != first
    assert page.evaluate(KEPT) == ["#explorer-softmax-scaling:head_dim=1024"]
    # An address that speaks of it wins; one of something else does not.
    asked = come_back(page, "#explorer-softmax-scaling:num_keys=7")
    assert (asked["headDim"], asked["numKeys"]) == (64, 7)
    assert come_back(page, "#elsewhere") == asked
    press(page, "Start again")
    assert look(page) == first
    assert page.evaluate(KEPT) == []
    assert come_back(page) == first


def test_what_was_kept_and_no_longer_fits_is_ignored(show):
    page = show(SoftmaxScaling(head_dim=9))
    page.get_by_label("head_dim", exact=True).press("End")
    settle(page)
    page.evaluate(
        """localStorage.setItem(Object.keys(localStorage)[0],
          "#explorer-softmax-scaling:head_dim=2000&gone=1&num_keys=7")"""
    )
    shown = come_back(page)
    assert (shown["headDim"], shown["numKeys"]) == (9, 7)
    assert page.evaluate(KEPT) == ["#explorer-softmax-scaling:num_keys=7"]
    expect(page.locator(".vitedu-said")).to_have_text("")


FULL = """Storage.prototype.setItem = () => {
  throw new DOMException("full", "QuotaExceededError"); }"""
FORBIDDEN = """Object.defineProperty(globalThis, "localStorage", { get() {
  throw new DOMException("forbidden", "SecurityError"); } })"""
FRAMED = """new MutationObserver(() => document.body?.classList.add("embed"))
  .observe(document, { childList: true, subtree: true })"""


WAYS = {"full": FULL, "forbidden": FORBIDDEN, "framed": FRAMED}


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_kept_where_there_is_no_room_no_leave_or_a_frame(show, way):
    page = show(SoftmaxScaling())
    first = look(page)
    page.add_init_script(WAYS[way])
    assert come_back(page) == first
    page.get_by_label("head_dim", exact=True).press("End")
    assert look(page)["headDim"] == 1024
    assert come_back(page) == first


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


def encoders_of_book() -> Explorer:
    models = (kept_encoders.kept(name) for name in kept_encoders.WEIGHTS)
    measured = read_runs(kept_encoders.RESULT)
    return Match(**scenes_to_match(*models, measured))


# Tours of what the book shows; the others are tours of anything.
TOURS = {name: MAKERS[name] for name in OPEN} | {
    "attention plane": front_page,
    "bag of patches": bag_of_chapter_12,
    "delete patches": deleted_of_book,
    "follow digit": book_digits,
    "follow sentence": book_translator,
    "how many images": images_of_book,
    "match": encoders_of_book,
    "norm axes": book_batch,
    "patch cutter": book_photograph,
}


@pytest.mark.parametrize("name", TOURS)
def test_a_tour_says_numbers_that_are_shown_and_goes_back(show, name):
    page = show(TOURS[name](), width=390)
    tour, looks = take_tour(page)
    for _ in looks[1:]:
        press(tour, "Back")
    assert look(page) == looks[0]
    press(page, "End the tour")
    expect(tour).to_be_hidden()
    expect(page.locator(".vitedu-lit")).to_have_count(0)
    expect(page.get_by_role("button", name="Take the tour")).to_be_focused()


def test_a_tour_is_given_where_its_sentences_are_true(show):
    names = "attention plane", "delete patches", "follow sentence"
    names += "how many images", "norm axes", "patch cutter"
    page = show(*(MAKERS[name]() for name in names))
    again = page.get_by_role("button", name="Start again")
    expect(again).to_have_count(len(names))
    expect(page.get_by_role("button", name="Take the tour")).to_have_count(0)
