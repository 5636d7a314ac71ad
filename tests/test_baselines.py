"""What a Vision Transformer has to beat."""

import torch
import torch.nn.functional as F
from helpers import assert_all_close, draw
from torch import nn

from vitedu.training.baselines import (
    SmallCNN,
    logistic_regression_accuracy,
    majority_accuracy,
)


def test_majority_guesses_the_commonest_class_of_the_training_labels():
    train, test = torch.tensor([0, 3, 3, 1]), torch.tensor([3, 0, 0, 0, 3])
    assert majority_accuracy(train, test) == 0.4
    assert majority_accuracy(test, train) == 0.25


def test_logistic_regression_learns_what_a_line_can_separate():
    images = draw(500, 1, 2, 2).float()
    labels = (images.sum(dim=(1, 2, 3)) > 0).long()
    parts = images[:400], labels[:400], images[400:], labels[400:]
    assert logistic_regression_accuracy(*parts) > 0.95


def test_cnn_is_three_convolutions_a_pooling_a_mean_and_a_map():
    torch.manual_seed(0)
    model, x = SmallCNN(3, 11, width=5).double().eval(), draw(2, 3, 8, 8)
    convolutions = [m for m in model if isinstance(m, nn.Conv2d)]
    norms = [m for m in model if isinstance(m, nn.BatchNorm2d)]
    for norm in norms:
        nn.init.normal_(norm.running_mean)
        nn.init.uniform_(norm.running_var)

    def step(x, i):
        x = F.conv2d(x, convolutions[i].weight, padding=1)
        mean, var = norms[i].running_mean, norms[i].running_var
        x = (x - mean[:, None, None]) / (var[:, None, None] + 1e-5).sqrt()
        return x.clamp_min(0)

    hidden = F.max_pool2d(step(step(x, 0), 1), 2)
    expected = model[-1](step(hidden, 2).mean(dim=(2, 3)))
    assert [c.out_channels for c in convolutions] == [5, 10, 10]
    assert_all_close((model(x),), (expected,))
