"""What every explorer does, whatever it shows."""

import pytest
import test_explorer_attention_distance as attention_distance
import test_explorer_decoding_steps as decoding_steps
import test_explorer_head_viewer as head_viewer
import test_explorer_norm_axes as norm_axes
import test_explorer_patch_cutter as patch_cutter
import test_explorer_translator as translator
from mounted import EXPLORER
from playwright.sync_api import expect

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
