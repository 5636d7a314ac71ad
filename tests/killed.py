"""A training run in a process of its own, there to be killed."""

import random
import threading
import time
from ctypes import c_int
from pathlib import Path

import numpy as np
import torch
import torch._dynamo  # An optimiser would load it at its first step.
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm.auto import tqdm

from vitedu.config import TrainConfig, ViTConfig
from vitedu.training.loop import fit
from vitedu.vit import VisionTransformer

# By default all forks share one lock, which a kill could leave locked.
tqdm.set_lock(threading.RLock())
EPOCHS = 4
STEPS = 3  # in an epoch
# Large enough that writing it takes a while.
CONFIG = ViTConfig.digits(
    d_model=128, num_layers=2, num_heads=4, d_ff=1024, dropout=0.1
)


def make_loader() -> DataLoader:
    """Return three batches of noise in another order in each epoch."""
    draws = torch.Generator().manual_seed(3)
    images = torch.randn(STEPS * 4, 1, 8, 8, generator=draws)
    labels = torch.arange(len(images)) % 10
    data = TensorDataset(images, labels)
    return DataLoader(data, 4, shuffle=True, generator=draws)


def train(path: Path, steps: c_int, every: int | None) -> None:
    """Train, or go on with training; count the steps begun.

    Everything but what the checkpoint brings is drawn by the clock.
    """
    torch.set_num_threads(1)
    fresh = not path.exists()
    seed = 5 if fresh else time.time_ns() % 2**32
    for start in (torch.manual_seed, random.seed, np.random.seed):
        start(seed)
    model = VisionTransformer(CONFIG)
    loader = make_loader()
    if not fresh:
        torch.rand(time.time_ns() % 997, generator=loader.generator)

    def count(module: nn.Module, inputs: tuple) -> None:
        steps.value += module.training

    model.register_forward_pre_hook(count)
    fit(
        model,
        loader,
        TrainConfig(num_epochs=EPOCHS),
        evaluate=lambda model: {"drawn": torch.rand(1)},
        checkpoint=path,
        checkpoint_every=every,
    )
