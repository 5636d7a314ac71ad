"""OwnPhotograph in the browser: what it loads, shows and never sends."""

import base64
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from mounted import (
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    press,
    published,
)
from networks import rounded, small_network
from pages import start_explorers
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from served import serving

from vitedu.analysis.attention_maps import capture_attention
from vitedu.book.page_network import pack_network
from vitedu.data.photographs import (
    IMAGENET,
    photograph,
    preprocess,
    read_image,
)
from vitedu.widgets import OwnPhotograph

CHAPTER = "chapters/20-real-vit.html"
START = "Try your own photograph (loads 22 MB once)"
# The small network has three layers and two heads.
LAST = 2
FINER = "32 \N{MULTIPLICATION SIGN} 32 patches"
GRIDS = re.compile("16|32")
REFUSED = "This file could not be used"


@pytest.fixture(scope="module")
def cat(tmp_path_factory) -> Path:
    """Write a photograph that is not square."""
    path = tmp_path_factory.mktemp("photographs") / "cat.png"
    pixels = (255 * photograph("cat")[:, :150, :200]).byte()
    Image.fromarray(pixels.permute(1, 2, 0).numpy()).save(path)
    return path


@pytest.fixture
def show(show: Callable, networks: Path) -> Callable[..., Page]:
    """Open explorers from disk, in a site that has the networks."""

    def open_one(name: str = "small", **how) -> Page:
        widget = OwnPhotograph(name)
        return show(widget, content_root=f"{networks.as_uri()}/", **how)

    return open_one


def start(page: Page) -> Page:
    """Load the network."""
    press(page, START)
    expect(page.get_by_role("button", name="Choose")).to_be_visible()
    return page


def give(page: Page, path: Path) -> None:
    """Choose a photograph."""
    field = page.locator(".vitedu-own-photograph input[type=file]").first
    field.set_input_files(path)


def expect_seen(page: Page, number: int = 1, layer: int = LAST) -> None:
    """Wait for the finer of both grids."""
    expect_published(explorer_of(page), coloured=f"{number} 32 {layer}")
    expect_published(explorer_of(page), grid=32)


def look(page: Page, cat: Path, number: int = 1, layer: int = LAST) -> None:
    """Give the photograph, and wait until it has been seen."""
    give(page, cat)
    expect_seen(page, number, layer)


@pytest.fixture
def torn(tmp_path) -> Path:
    """Write what only its name calls a photograph."""
    (tmp_path / "a.png").write_text("no picture")
    return tmp_path / "a.png"


def canvas(page: Page, name: str) -> np.ndarray:
    """Return the colours of a picture, (row, column, 3)."""
    side, data = page.locator(f".picture.{name} canvas").evaluate(
        """canvas => {
            const { width } = canvas;
            const context = canvas.getContext("2d");
            const { data } = context.getImageData(0, 0, width, width);
            return [width, Array.from(data)];
        }"""
    )
    return np.reshape(data, (side, side, 4))[..., :3]


def given_to(cat: Path, grid: int) -> torch.Tensor:
    return preprocess(read_image(cat), 4 * grid, normalisation=IMAGENET)


@torch.no_grad()
def seen(cat: Path, grid: int, layer: int) -> tuple:
    """Return the library's tokens after a layer, and its maps there."""
    model = small_network()
    model = rounded(model, pack_network(model))
    with capture_attention(model) as maps:
        features = model.layer_features(given_to(cat, grid)[None])
    return model.norm(features[layer])[0], maps[f"blocks.{layer}.attn"][0]


def expect_readings(page: Page, cat: Path) -> None:
    """Compare what the page says with what the library computes."""
    shown = published(explorer_of(page))
    patch = shown["patch"]
    tokens, maps = seen(cat, 32, shown["layer"])
    cosines = F.cosine_similarity(tokens[1:], tokens[1 + patch])
    token, *rest = maps[shown["head"], 1 + patch].tolist()
    largest = np.sort(rest)[::-1]
    half = np.searchsorted(np.cumsum(largest), sum(rest) / 2) + 1
    alike = int((cosines > 0.5).sum()) - 1
    for name, value in {
        "low": cosines.min().item(),
        "most": max(rest),
        "token": token,
    }.items():
        assert shown[name] == pytest.approx(value, abs=2e-4), name
    # One that lies at the limit may fall on either side.
    assert shown["half"] == pytest.approx(half, abs=1)
    assert shown["alike"] == pytest.approx(alike, abs=2)
    shares = (cosines - cosines.min()) / (1 - cosines.min())
    # Grey and dim where nothing is alike, glowing over its colours where all.
    photo = canvas(page, "photograph")
    dim = 0.3 * photo @ [[0.3], [0.59], [0.11]]
    lit = canvas(page, "similarity") - dim
    side = len(lit) // 32
    glow = lit.reshape(32, side, 32, side, 3).mean((1, 3, 4)).ravel()
    assert abs(glow[cosines.argmin()]) < 1
    row, column = (side * at for at in divmod(patch, 32))
    whole = 0.75 * photo + 0.5 * np.array([252, 250, 190]) - dim
    asked = np.s_[row : row + side, column : column + side]
    np.testing.assert_allclose(
        lit[asked], np.minimum(whole, 255 - dim)[asked], atol=1
    )
    assert np.corrcoef(glow, shares)[0, 1] > 0.95


def subject(cat: Path) -> int:
    """Return the patch of 32 x 32 where the class token looks most.

    In the last block, over all heads and three by three patches, on the
    smaller grid, which is there first.
    """
    _, maps = seen(cat, 16, LAST)
    weights = maps[:, 0, 1:].mean(0)
    around = F.pad(weights.view(1, 1, 16, 16), (1, 1, 1, 1), mode="replicate")
    place = F.avg_pool2d(around, 3, 1).argmax().item()
    return (2 * (place // 16) + 1) * 32 + 2 * (place % 16) + 1


def test_from_disk_it_shows_what_the_library_computes(show, cat):
    page = show()
    expect(page.locator(".about")).to_contain_text("stays on this machine")
    start(page)
    look(page, cat)
    assert published(explorer_of(page))["kernel"] in ("relaxed", "simd")
    expect_accessible_and_inside(page)
    first = subject(cat)
    expect_published(explorer_of(page), patch=first)
    expect_readings(page, cat)
    shown = 255 * IMAGENET.undo(given_to(cat, 32)).permute(1, 2, 0)
    np.testing.assert_allclose(canvas(page, "photograph"), shown, atol=1)
    colours = canvas(page, "colours").reshape(-1, 3)
    assert len(np.unique(colours, axis=0)) > 500
    page.get_by_label("Layer", exact=True).press("Home")
    expect_seen(page, layer=0)
    page.get_by_label("Head", exact=True).press("End")
    page.locator(".picture.photograph").press("ArrowUp")
    expect_published(explorer_of(page), layer=0, head=1, patch=first - 32)
    expect_readings(page, cat)
    assert (canvas(page, "colours").reshape(-1, 3) != colours).any()
    expect(page.locator(".vitedu-reading")).to_contain_text(
        f"The patch in row {first // 32}, column {first % 32 + 1} of 32"
    )


def test_mouse_finger_and_keys_point_at_a_patch(show, cat):
    page = start(show(has_touch=True))
    look(page, cat)
    explorer = explorer_of(page)
    first = published(explorer)["patch"]
    box = page.locator(".picture.similarity").bounding_box()

    def place(row: int, column: int) -> tuple[float, float]:
        down, across = (
            (at + 0.5) / 32 * box[side]
            for at, side in ((row, "height"), (column, "width"))
        )
        return box["x"] + across, box["y"] + down

    page.mouse.move(*place(3, 7))
    expect_published(explorer, patch=3 * 32 + 7)
    # It only looked.
    page.mouse.move(1, 1)
    expect_published(explorer, patch=first)
    page.mouse.click(*place(4, 9))
    page.mouse.move(1, 1)
    expect_published(explorer, patch=4 * 32 + 9)
    page.touchscreen.tap(*place(30, 0))
    expect_published(explorer, patch=30 * 32)
    photo = page.locator(".picture.photograph")
    for key, patch in [
        ("ArrowLeft", 30 * 32),
        ("ArrowDown", 31 * 32),
        ("ArrowDown", 31 * 32),
        ("ArrowRight", 31 * 32 + 1),
    ]:
        photo.press(key)
        expect_published(explorer, patch=patch)
    for frame in page.locator(".picture .frame").all():
        where = frame.evaluate("node => [node.style.top, node.style.left]")
        assert where == ["96.875%", "3.125%"]


GIVEN = """(root, [kind, data]) => {
  const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const transfer = new DataTransfer();
  transfer.items.add(new File([bytes], "a.png", { type: "image/png" }));
  const how = { bubbles: true, cancelable: true };
  const event = kind === "paste"
    ? new ClipboardEvent(kind, { ...how, clipboardData: transfer })
    : new DragEvent(kind, { ...how, dataTransfer: transfer });
  return root.dispatchEvent(event);
}"""


def test_a_photograph_can_be_dropped_and_pasted(show, cat):
    page = show()
    data = base64.b64encode(cat.read_bytes()).decode()
    explorer = explorer_of(page)
    # Before the network is there, only what is no photograph is refused.
    assert not explorer.evaluate(GIVEN, ["drop", data])
    no_photograph = base64.b64encode(b"no picture").decode()
    assert not explorer.evaluate(GIVEN, ["drop", no_photograph])
    expect(page.locator(".fault")).to_contain_text(REFUSED)
    start(page)
    for number, kind in enumerate(("drop", "paste"), start=1):
        assert not explorer.evaluate(GIVEN, [kind, data])
        expect_seen(page, number)
    expect(page.get_by_role("button", name="Take")).to_have_count(0)
    assert page.locator("input[capture]").count() == 1


def test_a_finger_may_take_a_photograph(show, cat):
    page = show(is_mobile=True, has_touch=True, theme="dark", width=390)
    start(page)
    expect_accessible_and_inside(page)
    with page.expect_file_chooser() as chooser:
        press(page, "Take one")
    chooser.value.set_files(cat)
    expect_seen(page)
    expect_accessible_and_inside(page)


def test_a_wrong_file_is_refused_and_what_is_there_stays(show, cat, torn):
    page = start(show("slow"))
    fault, progress = page.locator(".fault"), page.locator(".progress")
    give(page, torn)
    expect(fault).to_contain_text(REFUSED)
    expect(progress).to_be_hidden()
    # While the network is at work.
    give(page, cat)
    expect(fault).to_be_empty()
    expect(progress).to_contain_text(FINER)
    give(page, torn)
    expect(fault).to_contain_text(REFUSED)
    expect(progress).to_be_visible()
    expect_seen(page, layer=9)
    expect(fault).to_contain_text(REFUSED)
    give(page, torn)
    expect(page.locator(".picture.photograph")).to_be_visible()


def test_a_run_can_be_cancelled_and_another_photograph_comes_first(show, cat):
    page = start(show("slow"))
    fault, progress = page.locator(".fault"), page.locator(".progress")
    give(page, cat)
    expect(progress).to_contain_text(FINER)
    press(page, "Cancel")
    expect(fault).to_have_text("Cancelled.")
    expect(progress).to_be_hidden()
    expect_published(explorer_of(page), grid=16)
    give(page, cat)
    expect(progress).to_contain_text(FINER)
    look(page, cat, number=3, layer=9)
    expect(fault).to_be_empty()


def test_photographs_leave_nothing_on_the_page_nor_does_it(show, cat):
    page = start(show())
    session = page.context.new_cdp_session(page)
    used = []
    for number in range(1, 5):
        look(page, cat, number)
        session.send("HeapProfiler.collectGarbage")
        heap = session.send("Runtime.getHeapUsage")
        used.append((heap["backingStorageSize"], heap["usedSize"]))
    # A photograph has 200 kB in arrays. What is compiled counts in objects.
    arrays, objects = zip(*used, strict=True)
    assert max(arrays) - arrays[0] < 10_000, used
    assert objects[-1] - objects[0] < 200_000, used
    assert len(page.workers) == 1
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator(".vitedu-explorer")).to_have_count(0)
    page.wait_for_function("true")
    assert page.workers == []


def test_without_a_network_it_says_so_or_can_be_asked_again(show):
    page = show("")
    expect(page.locator(".about")).to_have_text(
        "The network is not part of this build."
    )
    expect(page.get_by_role("button")).to_have_count(0)
    page = show("other")
    for _ in range(2):
        press(page, START)
        expect(page.locator(".fault")).to_contain_text(
            "The network could not be loaded"
        )


@pytest.fixture
def served(root: Path, networks: Path, browser: Browser) -> Iterator[Callable]:
    """Open it on a host, at an address, under the policy for that address."""
    with serving(
        root, networks, browser, lambda: OwnPhotograph("small")
    ) as open_one:
        yield open_one


def test_nothing_leaves_the_machine(served, cat):
    page = served(CHAPTER)
    start(page)
    asked = [url for url in page.asked if "_static/networks" in url]
    assert [Path(url).name for url in asked] == ["small.bin"]
    page.asked.clear()
    page.context.set_offline(True)
    look(page, cat)
    page.get_by_label("Layer", exact=True).press("Home")
    expect_seen(page, layer=0)
    page.locator(".picture.photograph").press("ArrowUp")
    expect_published(explorer_of(page), patch=subject(cat) - 32)
    assert page.asked == []
    assert page.console_errors == []
    assert page.requests_outside == []


def test_no_other_page_may_run_it(served):
    page = served("chapters/19-other.html")
    press(page, START)
    expect(page.locator(".fault")).to_contain_text("could not be loaded")
    assert any("connect-src" in error for error in page.console_errors)


def test_where_a_policy_forbids_the_kernel_javascript_computes(served, cat):
    page = served(CHAPTER, lambda text: text.replace("'wasm-unsafe-eval'", ""))
    start(page)
    assert published(explorer_of(page))["kernel"] == "plain"
    give(page, cat)
    expect(explorer_of(page)).to_have_attribute("data-grid", GRIDS)


def test_loading_can_be_cancelled(served):
    page = served(CHAPTER)
    stuck = []
    page.route("**/small.bin", lambda route: stuck.append(route))
    press(page, START)
    press(page, "Cancel")
    expect(page.locator(".fault")).to_have_text("Cancelled.")
    page.unroute("**/small.bin")
    start(page)
    assert len(stuck) == 1


def test_the_chapter_sees_a_photograph(open_page, root):
    page = open_page(CHAPTER)
    start_explorers(page)
    explorer = page.locator(".vitedu-own-photograph")
    start(page)
    give(page, root / "vitedu/data/cat.jpg")
    expect(explorer).to_have_attribute("data-grid", GRIDS)
    assert published(explorer)["kernel"] in ("relaxed", "simd")
