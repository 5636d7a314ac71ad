"""One pass over data: the numbers of scikit-learn, and a model left alone."""

import pytest
import torch
from helpers import draw, refuses
from sklearn.metrics import confusion_matrix, log_loss, top_k_accuracy_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from vitedu.training.evaluation import evaluate_classifier

CLASSES = 7
LOGITS = 3 * draw(53, CLASSES)
# Class 6 is never right, as it may be in a small test set.
TARGETS = torch.arange(53) * 5 % 6


def loader(inputs=LOGITS, targets=TARGETS, **options):
    return DataLoader(TensorDataset(inputs, targets), **options)


@pytest.mark.parametrize("batch_size", [1, 8, 53])
def test_the_numbers_are_those_of_scikit_learn(batch_size):
    found = evaluate_classifier(
        nn.Identity(), loader(batch_size=batch_size), top_k=(1, 2, 5)
    )
    labels, truth = list(range(CLASSES)), TARGETS.numpy()
    assert found.num_samples == 53
    assert found.accuracy == {
        k: pytest.approx(
            top_k_accuracy_score(truth, LOGITS.numpy(), k=k, labels=labels),
            abs=1e-12,
        )
        for k in (1, 2, 5)
    }
    assert 0 < found.accuracy[1] < found.accuracy[2] < found.accuracy[5] < 1
    shares = LOGITS.softmax(-1).numpy()
    expected = log_loss(truth, shares, labels=labels)
    assert found.cross_entropy == pytest.approx(expected, abs=1e-12)
    best = LOGITS.argmax(-1).numpy()
    table = torch.from_numpy(confusion_matrix(truth, best, labels=labels))
    assert torch.equal(found.confusion, table)
    assert found.confusion.dtype == torch.int64


class Watched(nn.Linear):
    def forward(self, x):
        assert not self.training
        assert not torch.is_grad_enabled()
        return super().forward(x)


@pytest.mark.parametrize("fails", [False, True])
def test_the_model_is_in_its_modes_again(fails):
    model = nn.Sequential(nn.BatchNorm1d(CLASSES), Watched(CLASSES, CLASSES))
    model = model.double().train()
    model[0].eval()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    targets = TARGETS + fails * CLASSES
    if fails:
        with refuses(ValueError, "class numbers from 0 to 6, got 7 to 7"):
            evaluate_classifier(model, loader(targets=targets))
    else:
        evaluate_classifier(model, loader(targets=targets, batch_size=5))
    assert [x.training for x in model.modules()] == [True, False, True]
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
        assert value.grad is None
