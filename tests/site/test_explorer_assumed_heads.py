"""AssumedHeads in the browser: what it is told, what it reads then."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from explorers import assumed_heads as make
from explorers import digit_model, followed
from mounted import expect_published, explorer_of, press, published
from playwright.sync_api import expect

from vitedu.data.digits import digits
from vitedu.vit import VisionTransformer


@torch.no_grad()
def logits(heads: int) -> np.ndarray:
    """Return what the weights answer all samples with so many heads."""
    trained, data = digit_model(), digits()
    model = VisionTransformer(replace(trained.config, num_heads=heads)).eval()
    model.load_state_dict(trained.state_dict())
    pixels = torch.tensor(followed()["samples"] / 16).float()[:, None]
    return model((pixels - data.mean) / data.std).numpy()


def test_it_reads_with_as_many_heads_as_it_is_told(show):
    page = show(make(heads=2))
    explorer = explorer_of(page)
    box = page.locator(".tiles").bounding_box()
    place = {"x": 2.5 / 24 * box["width"], "y": 0.5 * box["height"]}
    page.locator(".tiles").click(position=place)
    expect_published(explorer, digit=2)
    labels, truth = np.array(followed()["labels"]), logits(3)
    title = page.locator(".of-answer .vitedu-panel-title")
    expect(title).to_have_text(f"What it predicts for this {labels[2]}")
    arrays = len(followed()["layout"])
    reading = page.locator(".vitedu-reading")
    for heads in (2, 12, 3):
        name = "3 heads, the truth" if heads == 3 else f"{heads} heads"
        press(page, name)
        expect_published(explorer, heads=heads)
        expect(explorer).to_have_attribute("aria-busy", "false")
        shown, expected = published(explorer), logits(heads)
        said = expected.argmax(-1)
        right = int((said == labels).sum())
        assert (shown["said"], shown["right"]) == (said.tolist(), right)
        off = np.abs(expected[2] - truth[2]).max()
        assert shown["off"] == pytest.approx(off, abs=2e-4)
        assert (shown["off"] == 0) == (heads == 3)
        expect(page.locator(".tile.wrong")).to_have_count(len(labels) - right)
        for part in (
            f"classifies {right} of {len(labels)} test digits correctly",
            f"{arrays} of {arrays} arrays fit",
            f"is read as a {said[2]}, with",
        ):
            expect(reading).to_contain_text(part)
    shares = page.locator(".by-heads td.number").all_text_contents()
    untried = [share == "not yet" for share in shares]
    assert untried == [heads in (1, 4, 6) for heads in (1, 2, 3, 4, 6, 12)]
    expect(page.locator(".by-heads .chosen.truth th")).to_have_text("3 heads")
