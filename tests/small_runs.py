"""Small trainings that several test modules start."""

import torch
from distributed_tasks import translator
from helpers import draw
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Augment, batches
from vitedu.data.numerals import numeral_pairs
from vitedu.data.sequences import pair_batches
from vitedu.training.loop import accuracy
from vitedu.vit import VisionTransformer

CONFIG = TrainConfig(
    num_epochs=4, learning_rate=3e-3, label_smoothing=0.1, layer_decay=0.8
)


SIZES = {
    "image_size": 8,
    "patch_size": 4,
    "num_channels": 1,
    "num_classes": 10,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 16,
}


RATES = {"dropout": 0.1, "attention_dropout": 0.1, "drop_path": 0.1}


def make_model(seed=0, **changes):
    torch.manual_seed(seed)
    return VisionTransformer(ViTConfig(**(SIZES | RATES | changes)))


def make_loader(data, *, images=64, draws=0, **changes):
    """Load 16 images at a time; `draws` from the generator are gone."""
    options = {
        "batch_size": 16,
        "seed": 0,
        "augment": Augment(empty=data.empty),
    }
    loader = batches(
        data.train_images[:images],
        data.train_labels[:images],
        **(options | changes),
    )
    torch.rand(draws, generator=loader.generator)
    return loader


def evaluator(data):
    """Return a measurement that also draws from the global generator."""

    def evaluate(model):
        torch.rand(3)
        return {
            "accuracy": accuracy(
                model, data.test_images[:50], data.test_labels[:50]
            )
        }

    return evaluate


def assert_same_state(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def linear_problem():
    torch.manual_seed(0)
    model = nn.Linear(5, 3).double()
    inputs, targets = draw(7, 5), torch.tensor([0, 1, 2, 0, 1, 2, 0])
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=7)
    return model, loader, inputs, targets


TRANSLATION = TrainConfig(
    num_epochs=5, warmup=0.4, label_smoothing=0.1, pad_id=0, decay_all=True
)


def translation(dropout=0.0, seed=0):
    """Return a small Transformer and a loader of 11 sentence pairs in 3s."""
    numbers = [3, 12005, 40, 7, 110, 99, 512, 0, 61, 8, 1000]
    model = translator(dropout, seed=seed, numbers=numbers)
    loader = pair_batches(numeral_pairs(numbers), batch_size=3, seed=0)
    torch.rand(seed, generator=loader.generator)
    return model, loader
