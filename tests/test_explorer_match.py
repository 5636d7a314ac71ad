"""What the explorer of scenes and sentences computes, against `vitedu`."""

import numpy as np
import pytest
import torch
from explorers import MEASURED, match, matching, matching_model
from helpers import refuses
from javascript import numbers, run, state_of
from torch import Tensor

from experiments import match as experiment
from experiments.runs import read_runs
from vitedu.book.matched_scenes import OTHERS, scenes_to_match
from vitedu.book.page_weights import page_weights, rounded_to_half
from vitedu.data.captions import (
    RELATIONS,
    WORDS,
    captions,
    encode_captions,
    paint_scenes,
    scene_corners,
    scenes,
)
from vitedu.objectives.contrastive import (
    ImagesAndCaptions,
    clip_loss,
    siglip_loss,
)

SCRIPTS = "matrices follow_digit_maths match_maths match"
VIEWED = """(async () => {
  const given = await givenBy(read, sent);
  return views.map((view) => {
    const found = compute(view, given);
    const { pixels, learned, rows, columns, yes, published } = found;
    return { ...published, said: say(found, given), pixels, learned, rows,
      columns, yes };
  });
})()"""


def viewed(*views: dict) -> list[dict]:
    """Return what the page computes and says with these settings."""
    widget = match()
    start = {name: getattr(widget, name) for name in widget.remembers}
    full = [start | view for view in views]
    return run(SCRIPTS, VIEWED, sent=state_of(widget), views=full)


def painted(drawn: Tensor, drawing: int = 0) -> Tensor:
    """Paint scenes with the images and locations that the page has."""
    parts = matching()
    canvas = torch.zeros(len(drawn), 1, 20, 20)
    for image, (*pair, relation) in zip(canvas, drawn.tolist(), strict=True):
        for digit, (row, column) in zip(
            pair, parts["corners"][drawing, relation].tolist(), strict=True
        ):
            ink = torch.tensor(parts["samples"][digit, drawing])
            image[0, row : row + 8, column : column + 8] = ink / 16
    return image_form(canvas)


def image_form(canvas: Tensor) -> Tensor:
    return 2 * canvas - 0.5


BATCH = torch.tensor(
    [(2, 7, 0), (7, 2, 0), *(x for x in OTHERS if {2, 7} != {*x[:2]})][:6]
)


@pytest.mark.parametrize(
    "view",
    [
        {"weights": "near", "temperature": 0.3, "bias": -2.5},
        {"drawing": 3, "swap": True, "temperature": 0.01},
    ],
)
@torch.no_grad()
def test_cosines_and_losses_are_those_of_the_library(view):
    settings = {"weights": "plain", "temperature": 0.07, "bias": -10.0} | view
    [found] = viewed(view)
    model = matching_model(int(settings["weights"] == "near"))
    images = painted(BATCH, view.get("drawing", 0))
    np.testing.assert_allclose(
        image_form(torch.tensor(found["pixels"])), images.flatten(1), atol=1e-6
    )
    said = captions(BATCH)
    both = ["a two left of a seven", "a two right of a seven"]
    said[0] = both[view.get("swap", False)]
    vectors = model.encode_images(images)
    cosines = vectors @ model.encode_captions(encode_captions(said)).mT
    np.testing.assert_allclose(
        numbers(found["cosines"], 6, 6), cosines, atol=1e-5
    )
    pair = vectors[0] @ model.encode_captions(encode_captions(both)).mT
    shown = found["said"]["own"], found["said"]["other"]
    assert shown == tuple(f"{x:.3f}".replace("-", "−") for x in pair.tolist())
    np.testing.assert_allclose(
        found["learned"], 1 / model.log_scale.exp(), rtol=1e-6
    )
    scaled = numbers(found["cosines"], 6, 6) / settings["temperature"]
    scaled = torch.tensor(scaled)
    biased = scaled + settings["bias"]
    for name, expected in (
        ("rows", scaled.softmax(1)),
        ("columns", scaled.softmax(0)),
        ("yes", biased.sigmoid()),
        ("clip", clip_loss(scaled)),
        ("siglip", siglip_loss(biased)),
    ):
        np.testing.assert_allclose(found[name], expected, rtol=1e-6, atol=1e-9)


def test_a_scene_that_is_among_the_others_is_not_repeated():
    first, second, relation = OTHERS[0]
    words = ("left of", "above")[relation]
    [found] = viewed({"first": second, "second": first, "relation": words})
    pixels = numbers(found["pixels"], 6, 400)
    assert len(np.unique(pixels, axis=0)) == 6


def test_the_reading_says_what_was_measured():
    views, expected = [], []
    for weights, right in (("plain", 104), ("near", 180)):
        for at, kind in enumerate(("left or right", "above or below")):
            words = RELATIONS[at][0]
            views.append({"weights": weights, "relation": words})
            expected.append(
                f"{kind}, these weights prefer the true sentence in "
                f"{right / 2 + at:.0f}% of 200 choices; a coin would be right "
                "in 50%."
            )
    for words, one in zip(expected, viewed(*views), strict=True):
        assert words in one["said"]["reading"]


# A scene of 2 left of 7, and what is said of it.
CLAIMS = {
    (2, "left of", 7): True,
    (7, "right of", 2): True,
    (2, "right of", 7): False,
    (7, "left of", 2): False,
    (2, "above", 7): None,
    (3, "left of", 7): None,
}


def test_it_knows_which_of_two_sentences_is_true():
    names = ("said_first", "said", "said_second")
    found = viewed(*(dict(zip(names, it, strict=True)) for it in CLAIMS))
    for is_true, one in zip(CLAIMS.values(), found, strict=True):
        reading = one["said"]["reading"]
        ahead = (one["before"] > one["after"]) == is_true
        winner = f"The {'true' if ahead else 'false'} sentence is ahead."
        if is_true is None:
            winner = "equally true or false of this scene"
        assert winner in reading
        assert f'with "{one["said"]["before"]}" and' in reading


def test_pairs_that_training_has_never_shown_are_named():
    new = {*map(tuple, scenes(unseen=True)[:, :2].tolist())}
    pairs = [(a, b) for a in range(10) for b in range(10)]
    found = viewed(*({"first": a, "second": b} for a, b in pairs))
    for (a, b), one in zip(pairs, found, strict=True):
        met = "has never shown" if (a, b) in new or a == b else "has shown"
        words = f"Training {met} these two digits together"
        assert words in one["said"]["reading"]


def test_the_locations_are_those_that_paint_scenes_takes():
    drawn = scenes()
    corners, images = (
        draw(drawn, generator=torch.Generator().manual_seed(3))
        for draw in (scene_corners, paint_scenes)
    )
    inside = torch.zeros_like(images, dtype=torch.bool)
    for image, begins in zip(inside, corners.tolist(), strict=True):
        for row, column in begins:
            image[0, row : row + 8, column : column + 8] = True
    assert (inside.sum(dim=(1, 2, 3)) == 128).all()
    assert (images[~inside] == 0).all()


def test_the_kept_results_are_those_of_the_kept_weights():
    runs = read_runs(experiment.RESULT)
    models = {name: experiment.kept(name) for name in experiment.WEIGHTS}
    for name, model in models.items():
        found = [{"weights": name} | run for run in experiment.asked(model)]
        stored = [run for run in runs if run["weights"] == name]
        for one, other in zip(found, stored, strict=True):
            # Another processor rounds otherwise where two are almost equal.
            assert abs(one["right"] - other["right"]) <= 3
            assert one | {"right": 0} == other | {"right": 0}
        page_weights(model)
    share = {run["weights"]: run["right"] / run["choices"] for run in runs}
    assert share["plain"] < 0.65
    assert share["near"] > 0.8


def test_what_does_not_fit_is_named():
    model = matching_model()
    unknown = ImagesAndCaptions(model.image.config, vocab_size=9, max_len=6)
    for plain, error, message in (
        (None, TypeError, "plain must be an ImagesAndCaptions"),
        (matching_model(num_registers=1), ValueError, "in num_registers"),
        (matching_model(patch_size=4), ValueError, "others in patch_size"),
        (
            rounded_to_half(unknown),
            ValueError,
            f"plain must know {len(WORDS)} words",
        ),
    ):
        with refuses(error, message):
            scenes_to_match(plain, model, MEASURED)
    with refuses(TypeError, "near must be an ImagesAndCaptions"):
        scenes_to_match(model, 3, MEASURED)
