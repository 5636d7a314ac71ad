"""What the explorer of hidden patches computes, against `vitedu`."""

import numpy as np
import pytest
import torch
from explorers import guessing_model, hide_and_guess, hiding
from helpers import refuses
from javascript import numbers, run
from torch import Tensor

from vitedu.book.hidden_patches import pictures_to_hide
from vitedu.config import ViTConfig
from vitedu.objectives.masked_autoencoder import MaskedAutoencoder
from vitedu.patches import patchify, unpatchify
from vitedu.vit import VisionTransformer

SCRIPTS = "matrices follow_digit_maths hide_and_guess_maths"
GUESSER = """const fillIn = makeGuesser(
  new DataView(Uint8Array.from(Buffer.from(sent.weights, "base64")).buffer),
  sent.layout, sent.config);
"""
MEAN, STD = 0.3, 0.4
PIXELS = torch.tensor(hiding()["samples"] / 255).float()[:, None]
# What is hidden, as the page calls it.
MASKS = {
    "a few": "hiddenAtRandom(6, 3)",
    "most": "hiddenAtRandom(37, 1)",
    "all but one": "hiddenAtRandom(48, 2)",
    "all but one of them": "hiddenAtRandom(1, 5)",
    "the left": "onTheLeft()",
    "all but the middle": "allButTheMiddle()",
}


def in_page(code: str, **given):
    sent = {name: hiding()[name] for name in ("weights", "layout", "config")}
    return run(
        SCRIPTS,
        f"(() => {{ {GUESSER} return {code}; }})()",
        sent=sent,
        **given,
    )


def mask_of(found: list[bool]) -> Tensor:
    return torch.tensor(found, dtype=torch.bool)[None]


@pytest.mark.parametrize("name", MASKS)
@torch.no_grad()
def test_the_page_fills_in_what_the_library_does(name):
    images = (PIXELS - MEAN) / STD
    hidden, found = in_page(
        f"""[{MASKS[name]}, pictures.map((pixels) =>
          fillIn(Float32Array.from(pixels), {MASKS[name]}))]""",
        pictures=PIXELS.flatten(1).tolist(),
    )
    mask = mask_of(hidden).expand(len(images), -1)
    expected = guessing_model().fill_in(images, mask) * STD + MEAN
    np.testing.assert_allclose(
        numbers(found, *PIXELS.shape), expected, atol=2e-5
    )
    assert (expected - PIXELS).abs().max() > 0.1


@torch.no_grad()
def test_where_nothing_is_seen_the_class_token_alone_is_read():
    found = in_page(
        """pictures.map((pixels) =>
          fillIn(Float32Array.from(pixels), hiddenAtRandom(49, 1)))""",
        pictures=PIXELS.flatten(1).tolist(),
    )
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
    for one in found:
        np.testing.assert_allclose(one, expected, atol=2e-5)


def test_where_nothing_is_hidden_the_picture_stays():
    pixels = PIXELS[0].flatten()
    found = in_page(
        "fillIn(Float32Array.from(pixels), hiddenAtRandom(0, 1))",
        pixels=pixels.tolist(),
    )
    np.testing.assert_array_equal(np.float32(found), pixels)


def test_patches_hidden_at_random_are_as_many_as_asked_and_nested():
    found = run(
        SCRIPTS,
        """seeds.map((seed) => Array.from({ length: 50 }, (_, count) =>
          hiddenAtRandom(count, seed)))""",
        seeds=list(range(1, 100)),
    )
    masks = np.array(found)
    np.testing.assert_array_equal(masks.sum(-1), [range(50)] * 99)
    assert (masks[:, 1:] >= masks[:, :-1]).all()
    assert len({tuple(mask) for mask in masks[:, 25].tolist()}) == 99


def test_it_opens_with_what_its_seed_draws():
    widget = hide_and_guess()
    drawn = run(SCRIPTS, "hiddenAtRandom(37, seed)", seed=widget.seed)
    np.testing.assert_array_equal(widget.hidden, drawn)


def test_the_named_masks_leave_what_they_say():
    left, outside = (
        np.array(mask).reshape(7, 7)
        for mask in run(SCRIPTS, "[onTheLeft(), allButTheMiddle()]")
    )
    assert left[:, :4].all()
    assert not left[:, 4:].any()
    assert not outside[2:5, 2:5].any()
    assert outside.sum() == 40


@pytest.mark.parametrize("count", [1, 6, 37, 48, 49])
def test_how_far_a_guess_is_off(count):
    rng = np.random.default_rng(0)
    filled = rng.normal(0.5, 0.6, 784)
    pixels = PIXELS[1].flatten()
    hidden, clamped, found = run(
        SCRIPTS,
        """[hiddenAtRandom(count, 4), shown(filled),
          misses(pixels, shown(filled), hiddenAtRandom(count, 4))]""",
        filled=filled,
        pixels=pixels.tolist(),
        count=count,
    )
    np.testing.assert_array_equal(clamped, filled.clip(0, 1))
    mask = mask_of(hidden)
    right, guess = (
        patchify(torch.tensor(one).double().view(1, 1, 28, 28), 4)
        for one in (pixels.tolist(), clamped)
    )
    assert found["off"] == pytest.approx(
        (guess - right).abs()[mask].mean().item()
    )
    if count == 49:
        assert found["grey"] is None
    else:
        grey = right[~mask].mean()
        assert found["grey"] == pytest.approx(
            (grey - right).abs()[mask].mean().item()
        )


def test_nothing_hidden_is_never_off():
    pixels = PIXELS[1].flatten().tolist()
    code = "misses(pixels, pixels, hiddenAtRandom(0, 1))"
    found = run(SCRIPTS, code, pixels=pixels)
    assert found == {"off": None, "grey": None}


@pytest.mark.parametrize(
    ("start", "end", "places"),
    [
        ((0.5, 0.5), (0.5, 0.5), [0]),
        ((0.5, 0.5), (0.5, 4.2), [0, 1, 2, 3, 4]),
        ((6.5, 1.5), (3.5, 1.5), [43, 36, 29, 22]),
        ((2.5, 5.5), (2.5, 9.0), [19, 20]),
        ((1.5, 1.5), (3.5, 3.5), [8, 16, 24]),
        ((-3.0, 8.0), (-1.0, 9.0), []),
    ],
)
def test_a_fast_pointer_leaves_no_patch_out(start, end, places):
    found = run(
        SCRIPTS, "placesBetween(start, end)", start=list(start), end=list(end)
    )
    assert found == places


def test_pictures_travel_in_whole_steps():
    images = torch.full((1, 1, 28, 28), 0.2501)
    found = pictures_to_hide(guessing_model(), images, ["x"], mean=1, std=2)
    assert found["samples"].dtype == np.uint8
    assert (found["samples"] == 64).all()
    assert found["config"]["mean"] == 1.0
    assert found["names"] == ["x"]


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"model": None}, TypeError, "model must be a MaskedAutoencoder"),
        ({"images": PIXELS[:, 0]}, ValueError, "images must have the axes"),
        ({"images": PIXELS[:0]}, ValueError, "none empty, got shape (0, 1"),
        ({"images": PIXELS[..., 1:]}, ValueError, "got shape (4, 1, 28, 27)"),
        ({"images": PIXELS + 1}, ValueError, "images must lie in [0, 1]"),
        ({"images": PIXELS * torch.nan}, ValueError, "images must lie in"),
        ({"images": PIXELS.byte()}, TypeError, "images must hold floating"),
        ({"names": "abcd"}, TypeError, "names must be a list of strings"),
        ({"names": [1, 2, 3, 4]}, TypeError, "names must be a str, got int"),
        ({"names": ["a"]}, ValueError, "each of the 4 images, got 1"),
        ({"mean": "0"}, TypeError, "mean must be a number"),
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
        ({"norm_first": False}, "others in norm_first"),
        ({"activation": "relu"}, "others in activation"),
        ({"positions": "sinusoidal"}, "others in positions"),
    ],
)
def test_networks_that_the_page_cannot_run_are_refused(config, message):
    sizes = {"image_size": 28, "patch_size": 4, "num_classes": 0}
    other = MaskedAutoencoder(ViTConfig.digits(**sizes | config))
    with refuses(ValueError, message):
        pictures_to_hide(other, PIXELS, ["a"] * 4, mean=MEAN, std=STD)


def test_normalised_patches_and_a_lone_encoder_are_refused():
    given = {"images": PIXELS, "names": ["a"] * 4, "mean": MEAN, "std": STD}
    other = guessing_model(normalise_patches=True)
    with refuses(ValueError, "model must have normalise_patches=False"):
        pictures_to_hide(other, **given)
    alone = VisionTransformer(other.config)
    with refuses(TypeError, "model must be a MaskedAutoencoder, got Vision"):
        pictures_to_hide(alone, **given)
