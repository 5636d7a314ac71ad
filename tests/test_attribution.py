"""Rankings of patches: where they come from, and whether they hold."""

import pytest
import torch
from helpers import assert_all_close, draw, refuses
from torch import nn

from vitedu.analysis.attribution import deletion_test, gradient_saliency

# Two images of 3 x 2 patches of 2 x 5 pixels, 3 channels.
IMAGES = draw(2, 3, 6, 10)
LABELS = torch.tensor([1, 0])
SIZE = (2, 5)
IMPORTANCE = torch.tensor([0.0, 5.0, 1.0, 3.0, 2.0, 4.0]).double()


def cells(images):
    """Return the patches (batch, patch, values), by slices."""
    return torch.stack(
        [
            images[:, :, r : r + 2, c : c + 5].flatten(1)
            for r in (0, 2, 4)
            for c in (0, 5)
        ],
        dim=1,
    )


def linear(images):
    """Return logits in which each patch counts as IMPORTANCE says."""
    score = (cells(images).mean(dim=2) * IMPORTANCE).sum(dim=1)
    return torch.stack([score, 2 * score, torch.zeros_like(score)], dim=1)


def test_saliency_is_a_mean_of_absolute_values():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(180, 3), nn.Tanh()).double()
    step, expected = 1e-6, torch.zeros(2, 3, 6, 10).double()
    rows = torch.arange(2)
    for index in torch.cartesian_prod(*map(torch.arange, (3, 6, 10))).tolist():
        moved = IMAGES.clone()
        moved[:, *index] += step
        change = (model(moved) - model(IMAGES))[rows, LABELS] / step
        expected[:, *index] = change.detach()
    found = gradient_saliency(model, IMAGES, LABELS, patch_size=SIZE)
    wanted = cells(expected.abs()).mean(dim=2)
    assert_all_close((found,), (wanted,), tolerance=1e-7)
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    "function", [lambda x: torch.zeros(2, 3), nn.Linear(1, 3).double()]
)
def test_saliency_refuses_a_function_without_gradient(function):
    def constant(images):
        return function(torch.ones(2, 1).double())

    with refuses(ValueError, "function must be differentiable, but no"):
        gradient_saliency(constant, IMAGES, LABELS, patch_size=SIZE)


@pytest.fixture
def shown():
    """Return the images that a function was called with, and the function."""
    seen = []

    def watch(images):
        seen.append(images)
        return linear(images)

    return seen, watch


def test_the_fill_may_be_the_mean_of_each_channel(shown):
    seen, watch = shown
    deletion_test(watch, IMAGES, LABELS, draw(2, 6), patch_size=SIZE, draws=1)
    mean = IMAGES.mean(dim=(2, 3), keepdim=True).expand(2, 3, 6, 10)
    assert_all_close((seen[6],), (mean,))


@pytest.mark.parametrize("answer", ["logit", "probability"])
def test_the_curve_is_the_answer_for_the_label(answer):
    options = {"patch_size": SIZE, "counts": [0, 6], "fill": 0.5, "draws": 3}
    found = deletion_test(
        linear, IMAGES, LABELS, draw(2, 6), answer=answer, **options
    )
    blank = torch.full_like(IMAGES, 0.5)
    ends = [linear(images) for images in (IMAGES, blank)]
    if answer == "probability":
        ends = [logits.softmax(dim=1) for logits in ends]
    expected = torch.stack([x[[0, 1], LABELS] for x in ends], dim=1)
    assert found.counts == (0, 6)
    assert_all_close((found.ranked,), (expected,))
    assert_all_close((found.random,), (expected.expand(3, 2, 2),))
    loss = (expected[:, 0] - expected[:, 1]) / 2
    assert_all_close(
        (found.area, found.random_area), (loss, loss.expand(3, 2))
    )


def test_a_right_ranking_beats_chance_and_a_wrong_one_does_not():
    images = torch.ones(2, 3, 6, 10).double()
    options = {"patch_size": SIZE, "fill": 0, "answer": "logit", "draws": 20}
    right = gradient_saliency(linear, images, LABELS, patch_size=SIZE)
    best = deletion_test(linear, images, LABELS, right, **options)
    worst = deletion_test(linear, images, LABELS, -right, **options)
    assert (best.area >= best.random_area).all()
    assert (worst.area <= worst.random_area).all()
    assert (best.area > best.random_area.mean(dim=0)).all()
    # The losses add up to 5, 9, 12, 14, 15, 15 of 15: 70 in seven steps.
    assert_all_close(
        (best.area / best.ranked[:, 0],),
        (torch.full((2,), 2 / 3, dtype=torch.float64),),
    )


def test_a_model_in_training_mode_is_refused():
    model = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3))
    images, labels = torch.ones(2, 1, 4, 4), torch.tensor([0, 1])
    scores = torch.ones(2, 4)
    with refuses(ValueError, "got Sequential in training mode"):
        deletion_test(model, images, labels, scores, patch_size=2)
    deletion_test(model.eval(), images, labels, scores, patch_size=2)
