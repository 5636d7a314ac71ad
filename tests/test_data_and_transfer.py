"""What the scripts of chapter 17 do beside training."""

import pytest
import torch
from sklearn.linear_model import Ridge

from benchmarks import amount_of_data, transfer
from vitedu.data.canvases import Canvases
from vitedu.training.loop import accuracy


def test_the_linear_map_is_that_of_ridge_regression():
    generator = torch.Generator().manual_seed(0)
    train, test = (
        torch.randn(count, 7, generator=generator) * 3 + 1
        for count in (23, 5000)
    )
    labels = torch.randint(5, (23,), generator=generator)
    mean, std = train.mean(0), train.std(0) + 1e-6

    def with_one(x):
        return torch.cat([(x - mean) / std, torch.ones(len(x), 1)], dim=1)

    ridge = Ridge(alpha=20, fit_intercept=False, solver="cholesky")
    targets = 2 * torch.nn.functional.one_hot(labels, 5) - 1
    ridge.fit(with_one(train).double(), targets)
    expected = torch.from_numpy(ridge.predict(with_one(test).double()))
    found = transfer.few_shot_linear(train, labels, test, strength=20)
    assert torch.equal(found, expected.argmax(dim=1))
    assert len(found.unique()) > 1


def test_canvases_are_standardised_by_their_own_numbers():
    images, _ = amount_of_data.canvases("train", 4000, seed=7)
    assert abs(images.mean()) < 0.02
    assert abs(images.std() - 1) < 0.02


@pytest.mark.parametrize("known", [True, False])
def test_canvases_of_half_of_the_digits(known):
    images, labels = transfer.canvases("train", 40, seed=3, known=known)
    all_images, all_labels = Canvases(seed=3).batch(range(120))
    chosen = [i for i, y in enumerate(all_labels) if (y < 5) == known][:40]
    pixels = images * amount_of_data.STD + amount_of_data.MEAN
    torch.testing.assert_close(pixels, all_images[chosen])
    digit = labels + (0 if known else 5)
    assert torch.equal(digit, all_labels[chosen])


@pytest.mark.parametrize("target", transfer.TARGETS)
def test_a_few_of_each_class_and_others_for_another_seed(target):
    images, labels = transfer.few(target, 3, seed=0)
    assert labels.bincount().tolist() == [3] * 5
    assert images.flatten(1).unique(dim=0).shape[0] == 15
    other, _ = transfer.few(target, 3, seed=1)
    assert not torch.equal(images, other)
    more, _ = transfer.few(target, 5, seed=0)
    assert torch.equal(more[:3], images[:3])


@pytest.mark.parametrize("target", transfer.TARGETS)
def test_no_run_learns_from_the_images_that_choose_the_rate(target):
    images, labels = transfer.few(target, max(transfer.SHOTS), seed=1)
    others, names = transfer.validation(target, seed=1)
    everything, right = transfer.task(target, "train")
    both = torch.cat([images, others]).flatten(1).unique(dim=0)
    assert torch.equal(both, everything.flatten(1).unique(dim=0))
    assert torch.equal(torch.cat([labels, names]).bincount(), right.bincount())
    test = transfer.task(target, "test")[0].flatten(1)
    apart = torch.cat([others.flatten(1).unique(dim=0), test.unique(dim=0)])
    assert len(apart.unique(dim=0)) == len(apart)


def test_every_rate_is_judged_on_validation_and_test(monkeypatch):
    start = transfer.fresh("CNN", seed=0)
    monkeypatch.setattr(transfer, "tuned", lambda model, *_: model)
    found = transfer.transferred(start, "plain", 1, seed=2)
    for key, images in (
        ("validation", transfer.validation("plain", seed=2)),
        ("tuned", transfer.task("plain", "test")),
    ):
        assert found[key] == [accuracy(start, *images)] * 2
    assert found["validation"] != found["tuned"]


def test_a_new_head_starts_at_zero_and_the_start_is_kept():
    start = transfer.fresh("CNN", seed=0)
    before = {k: v.clone() for k, v in start.state_dict().items()}
    images, labels = transfer.few("plain", 2, seed=0)
    features = transfer.features(start, images)
    assert features.shape == (10, 32)
    torch.testing.assert_close(
        transfer.head(start)(features), start.eval()(images)
    )
    trained = transfer.tuned(start, images, labels, 1e-12, seed=0)
    assert transfer.head(start).weight.abs().max() > 0.1
    assert transfer.head(trained).weight.abs().max() < 1e-8
    for name, value in start.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_positions_for_other_images():
    model = amount_of_data.small_vit().eval()
    images = torch.randn(2, 1, 32, 32)
    with torch.no_grad():
        model.head.weight.normal_()
        before = model(images)
        shuffled = amount_of_data.with_positions(model, 32, "shuffled")
        rows, old = (m.pos_embed.weight[0] for m in (shuffled, model))
        assert torch.equal(rows[0], old[0])
        assert torch.equal(rows[1:].sort(0).values, old[1:].sort(0).values)
        assert not torch.allclose(shuffled(images), before)
        for how in ("grid", "row", "fresh"):
            grown = amount_of_data.with_positions(model, 48, how)
            assert grown(torch.randn(2, 1, 48, 48)).shape == (2, 10)
            assert torch.equal(grown.pos_embed.weight[:, 0], old[None, 0])
        assert torch.equal(model(images), before)


def test_the_stem_makes_a_token_of_each_patch():
    model = amount_of_data.small_vit(stem=True).eval()
    torch.manual_seed(0)
    image = torch.randn(1, 1, 32, 32, requires_grad=True)
    tokens = model.patch_embed(image)
    assert tokens.shape == (1, 16, 64)
    [gradient] = torch.autograd.grad(tokens[0, 5].sum(), image)
    seen = gradient[0, 0].nonzero()
    # Token 5 stands in row 1, column 1; its 15 x 15 pixels end with pixel 15.
    assert seen.min(0).values.tolist() == [1, 1]
    assert seen.max(0).values.tolist() == [15, 15]
