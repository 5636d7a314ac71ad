"""What the scripts of chapter 17 do beside training."""

import pytest
import torch
from sklearn.linear_model import Ridge

from experiments import transfer
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
