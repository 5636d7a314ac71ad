"""AssumedHeads in the browser: what it is told, what it reads then."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from explorers import assumed_heads as make
from explorers import digit_model, followed
from mounted import expect_published, explorer_of, published
from playwright.sync_api import Locator, Page, expect

from vitedu.data.digits import digits
from vitedu.vit import VisionTransformer

DATA = digits()


@torch.no_grad()
def logits(heads: int) -> np.ndarray:
    """Return what the weights answer all samples with so many heads."""
    trained = digit_model()
    model = VisionTransformer(replace(trained.config, num_heads=heads)).eval()
    model.load_state_dict(trained.state_dict())
    pixels = torch.tensor(followed()["samples"] / 16).float()[:, None]
    return model((pixels - DATA.mean) / DATA.std).numpy()


def ready(page: Page) -> Locator:
    explorer = explorer_of(page)
    expect(explorer).to_have_attribute("aria-busy", "false")
    return explorer


@pytest.mark.parametrize("name", ["2 heads", "12 heads", "3 heads, the truth"])
def test_it_reads_with_as_many_heads_as_it_is_told(show, name):
    page = show(make(digit=3))
    ready(page)
    heads = int(name.split()[0])
    page.get_by_role("button", name=name, exact=True).click()
    expect_published(explorer_of(page), heads=heads)
    shown = published(ready(page))
    expected, truth = logits(heads), logits(3)
    said, labels = expected.argmax(-1), np.array(followed()["labels"])
    assert shown["said"] == said.tolist()
    off = np.abs(expected[3] - truth[3]).max()
    assert shown["off"] == pytest.approx(off, abs=2e-4)
    assert (shown["off"] == 0) == (heads == 3)
    wrong = page.locator(".tile.wrong")
    expect(wrong).to_have_count(int((said != labels).sum()))
    reading = page.locator(".vitedu-reading").text_content()
    right = (said == labels).sum()
    assert f"reads {right} of {len(labels)} test digits right" in reading
    arrays = len(followed()["layout"])
    assert f"{arrays} of {arrays} arrays fit" in reading


def test_every_number_of_heads_that_was_tried_has_its_share(show):
    page = show(make())
    labels = np.array(followed()["labels"])
    for heads, name in ((2, "2 heads"), (12, "12 heads"), (1, "1 head")):
        page.get_by_role("button", name=name, exact=True).click()
        expect_published(explorer_of(page), heads=heads)
        right = (logits(heads).argmax(-1) == labels).sum()
        assert published(ready(page))["right"] == right
    rows = page.locator(".by-heads tr")
    expect(rows).to_have_count(6)
    shares = page.locator(".by-heads td.number").all_text_contents()
    assert [share == "not yet" for share in shares] == [
        heads in (4, 6) for heads in (1, 2, 3, 4, 6, 12)
    ]
    expect(page.locator(".by-heads .chosen th")).to_have_text("1 head")
    expect(page.locator(".by-heads .truth th")).to_have_text("3 heads")


def test_a_tile_is_picked_by_a_click_and_by_the_slider(show):
    page = show(make())
    explorer = ready(page)
    tiles = page.locator(".tiles")
    box = tiles.bounding_box()
    place = {"x": 4.5 / 24 * box["width"], "y": 0.5 * box["height"]}
    tiles.click(position=place)
    expect_published(explorer, digit=4)
    page.get_by_role("slider", name="Test image").press("ArrowRight")
    expect_published(explorer, digit=5)
    label = followed()["labels"][5]
    expect(page.locator(".of-answer .vitedu-panel-title")).to_have_text(
        f"What it reads in this {label}"
    )
