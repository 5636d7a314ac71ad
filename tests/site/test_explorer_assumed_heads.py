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


def test_it_reads_with_as_many_heads_as_it_is_told(show):
    page = show(make(digit=3))
    ready(page)
    truth, labels = logits(3), np.array(followed()["labels"])
    for heads, name in ((2, "2 heads"), (3, "3 heads, the truth")):
        page.get_by_role("button", name=name, exact=True).click()
        expect_published(explorer_of(page), heads=heads)
        shown = published(ready(page))
        expected = logits(heads)
        said = expected.argmax(-1)
        assert shown["said"] == said.tolist()
        off = np.abs(expected[3] - truth[3]).max()
        assert shown["off"] == pytest.approx(off, abs=2e-4)
        assert (shown["off"] == 0) == (heads == 3)
        wrong = page.locator(".tile.wrong")
        expect(wrong).to_have_count(int((said != labels).sum()))
        reading = page.locator(".vitedu-reading").text_content()
        right = (said == labels).sum()
        assert shown["right"] == right
        assert f"reads {right} of {len(labels)} test digits right" in reading
        arrays = len(followed()["layout"])
        assert f"{arrays} of {arrays} arrays fit" in reading
    # Every number of heads that was tried has its share.
    shares = page.locator(".by-heads td.number").all_text_contents()
    assert [share == "not yet" for share in shares] == [
        heads in (4, 6, 12) for heads in (1, 2, 3, 4, 6, 12)
    ]
    expect(page.locator(".by-heads .chosen th")).to_have_text("3 heads")
    expect(page.locator(".by-heads .truth th")).to_have_text("3 heads")
    # A tile is picked by a click.
    tiles = page.locator(".tiles")
    box = tiles.bounding_box()
    place = {"x": 4.5 / 24 * box["width"], "y": 0.5 * box["height"]}
    tiles.click(position=place)
    expect_published(explorer_of(page), digit=4)
    expect(page.locator(".of-answer .vitedu-panel-title")).to_have_text(
        f"What it reads in this {labels[4]}"
    )
