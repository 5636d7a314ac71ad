"""What the explorer of hidden patches computes, against `vitedu`."""

import numpy as np
import pytest
import torch
from explorers import guessing_model, hide_and_guess, hiding
from helpers import refuses
from javascript import numbers, run, state_of

from vitedu.book.hidden_patches import pictures_to_hide
from vitedu.config import ViTConfig
from vitedu.objectives.masked_autoencoder import MaskedAutoencoder
from vitedu.patches import unpatchify

SCRIPTS = """matrices follow_digit_maths hide_and_guess_maths
hide_and_guess"""
MEAN, STD = 0.3, 0.4
PIXELS = torch.tensor(hiding()["samples"] / 255).float()[:, None]
# What is computed and said where some patches are hidden.
VIEWED = """(async () => {
  const given = await givenBy(read, sent);
  return masks.map((mask, picture) => {
    const hidden = encodeArray(
      { data: Uint8Array.from(mask), shape: [49] }, "bool");
    const found = compute({ picture, seed: 1, hidden }, given);
    return { ...found.published, filled: found.filled,
      reading: say(found).reading };
  });
})()"""


def viewed(*masks: np.ndarray) -> list[dict]:
    lists = [mask.astype(int).tolist() for mask in masks]
    return run(SCRIPTS, VIEWED, sent=state_of(hide_and_guess()), masks=lists)


@torch.no_grad()
def test_misses_and_words_are_those_of_what_is_hidden():
    one = np.arange(49) == 16
    masks = [np.arange(49) % 3 > 0, one, ~one]
    words = [
        "17 of 49 patches are visible, 32 are hidden.",
        "48 of 49 patches are visible, 1 is hidden.",
        "1 of 49 patches is visible, 48 are hidden.",
    ]
    each = zip(PIXELS, masks, words, viewed(*masks), strict=False)
    for picture, mask, said, found in each:
        right = picture[0].numpy()
        image = (picture[None] - MEAN) / STD
        hidden = torch.tensor(mask)[None]
        filled = guessing_model().fill_in(image, hidden) * STD + MEAN
        filled = filled[0, 0].clamp(0, 1).numpy()
        np.testing.assert_allclose(
            numbers(found["filled"], 28, 28), filled, atol=2e-5
        )
        pixels = mask.reshape(7, 7).repeat(4, 0).repeat(4, 1)
        off, grey = (
            np.abs(it - right)[pixels].mean()
            for it in (filled, right[~pixels].mean())
        )
        assert found["off"] == pytest.approx(off, abs=1e-4)
        assert found["grey"] == pytest.approx(grey, abs=1e-4)
        reading = found["reading"]
        assert reading.startswith(said)
        assert f"off by {found['off']:.2f} on average" in reading
        assert reading.endswith(f"would be off by {found['grey']:.2f}.")


def test_nothing_to_guess_and_nothing_to_guess_from():
    nothing, everything = viewed(np.zeros(49), np.ones(49))
    assert nothing["off"] == nothing["grey"] == "none"
    assert nothing["reading"] == (
        "All 49 patches are visible: nothing is left to predict."
    )
    np.testing.assert_allclose(
        nothing["filled"], PIXELS[0].flatten(), atol=1e-6
    )
    assert everything["grey"] == "none"
    assert everything["reading"].startswith("None of 49 patches is visible")


def test_what_is_seen_is_outlined():
    hidden = np.ones(49)
    hidden[16:18] = 0
    line = run(SCRIPTS, "outline(hidden)", hidden=hidden.tolist())
    assert line == "M2 2h1M2 3h1M2 2v1M3 2h1M3 3h1M4 2v1"


@torch.no_grad()
def test_where_nothing_is_seen_the_class_token_alone_is_read():
    (found,) = viewed(np.ones(49))
    # The library refuses that, but its layers can be asked one by one.
    model = guessing_model()
    x = model.encoder.embed(PIXELS[:1])[:, :1]
    for block in model.encoder.blocks:
        x = block(x)
    x = model.decoder_embed(model.encoder.norm(x))
    x = torch.cat([x, model.mask_token.expand(1, 49, -1)], dim=1)
    x = model.decoder_pos_embed(x)
    for block in model.decoder_blocks:
        x = block(x)
    guess = model.decoder_pred(model.decoder_norm(x))[:, 1:]
    expected = unpatchify(guess, 4, (7, 7)).flatten() * STD + MEAN
    expected = expected.clamp(0, 1)
    np.testing.assert_allclose(found["filled"], expected, atol=2e-5)


def test_it_opens_with_what_its_seed_draws():
    widget = hide_and_guess()
    drawn = run(SCRIPTS, "hiddenAtRandom(37, seed)", seed=widget.seed)
    np.testing.assert_array_equal(widget.hidden, drawn)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": None}, TypeError, "model must be a MaskedAutoencoder"),
        ({"images": PIXELS[:, 0]}, ValueError, "images must have the axes"),
        ({"images": PIXELS[:0]}, ValueError, "none empty, got shape (0, 1"),
        ({"images": PIXELS + 1}, ValueError, "images must lie in [0, 1]"),
        ({"names": "abcd"}, TypeError, "names must be a list of strings"),
        ({"names": ["a"]}, ValueError, "each of the 4 images, got 1"),
        ({"std": 0.0}, ValueError, "std must be above 0, got 0.0"),
    ],
)
def test_what_does_not_fit_is_named(changes, error, message):
    given = {"model": guessing_model(), "images": PIXELS, "names": ["a"] * 4}
    given |= {"mean": MEAN, "std": STD}
    with refuses(error, message):
        pictures_to_hide(**given | changes)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"image_size": 8, "patch_size": 2}, "in image_size, patch_size"),
        ({"num_registers": 1}, "others in num_registers"),
    ],
)
def test_networks_that_the_page_cannot_run_are_refused(config, message):
    sizes = {"image_size": 28, "patch_size": 4, "num_classes": 0}
    other = MaskedAutoencoder(ViTConfig.digits(**sizes | config))
    with refuses(ValueError, message):
        pictures_to_hide(other, PIXELS, ["a"] * 4, mean=MEAN, std=STD)
