"""TeachIt in the browser: teaching, classifying, files, limits."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from mounted import (
    each_look,
    expect_accessible_and_inside,
    expect_published,
    explorer_of,
    mounted,
    published,
)
from networks import rounded, small_network
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect
from torch.nn.functional import adaptive_avg_pool2d
from vitedu_book.networks import write_network

from vitedu.book.clothes_to_teach import KINDS, clothes_to_teach
from vitedu.book.page_network import pack_network
from vitedu.data.photographs import IMAGENET, photograph, preprocess, read_image
from vitedu.pretrained import probes
from vitedu.pretrained.probes import Probe, fit_ridge, load_probe, save_probe
from vitedu.widgets import TeachIt

FOLDER = "_static/networks"
SIDE = 64
BLOCKS = 3
SLOW = {"num_layers": 40}


@pytest.fixture(scope="module")
def networks(tmp_path_factory) -> Path:
    """Write a small network as a build does, and a slow one."""
    folder = tmp_path_factory.mktemp("site")
    for name, changes in (("small", {}), ("slow", SLOW)):
        packed = pack_network(small_network(**changes))
        write_network(folder / FOLDER, name, packed)
    return folder


@pytest.fixture
def show(
    browser: Browser, root: Path, networks: Path, tmp_path: Path
) -> Iterator[Callable[..., Page]]:
    """Open explorers from disk, in a site that has the networks."""
    stack = []

    def open_one(name: str = "small", **how) -> Page:
        opened = mounted(
            browser,
            root,
            tmp_path / "a.html",
            TeachIt(**clothes_to_teach(), network=name),
            content_root=f"{networks.as_uri()}/",
            **how,
        )
        stack.append(opened)
        return opened.__enter__()

    yield open_one
    for opened in stack:
        opened.__exit__(None, None, None)


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


def load(page: Page) -> Locator:
    page.get_by_role("button", name="Load the network").click()
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
    page.get_by_role("button", name="Use your own photographs").click()
    return load(page)


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
    page.get_by_role("button", name="Classify unseen picture 3").click()
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
        scale = parts.abs().max()
        np.testing.assert_allclose(
            np.array(shown["parts"]) / scale, parts[:, first] / scale, atol=5e-3
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
