"""Train the digit ViT with one part of its recipe changed at a time.

Half of the training images train, the other half judges; the test images take
no part. Two settings are then trained in full as well, as chapter 14 trains,
and read the test images; nothing is chosen by that. Chapter 14 reads the
result file and repeats one of its runs. A run that the file holds already is
not repeated. Run it with:
    python -m experiments.digit_regularisation
"""

from itertools import product
from pathlib import Path

import torch

from experiments.runs import read_runs, write_runs
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Augment, Digits, batches, digits
from vitedu.training.loop import accuracy, fit
from vitedu.vit import VisionTransformer

SEEDS = range(5)
EPOCHS = 16
PLAIN = {"augment": False, "drop_path": 0.0, "label_smoothing": 0.0}
SETTINGS = {
    "recipe": {},
    "no augmentation": {"augment": False},
    "no DropPath": {"drop_path": 0.0},
    "no label smoothing": {"label_smoothing": 0.0},
    "no weight decay": {"weight_decay": 0.0},
    "with dropout 0.1": {"dropout": 0.1},
    "none of the four": PLAIN | {"weight_decay": 0.0},
    "warm-up of 1 %": {"warmup": 0.01},
    "positions at 0.02": {"position_std": 0.02},
    "4 wide heads": {"num_heads": 4},
}
FULL_SEEDS = range(3)
FULL = {
    "full recipe": {},
    "full recipe, positions at 0.02": SETTINGS["positions at 0.02"],
}
RESULT = Path(__file__).parent.parent / "book/data/digit-regularisation.json"
FACTS = {
    "script": "experiments/digit_regularisation.py",
    "epochs": EPOCHS,
}


def halves(data: Digits, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return which training images train and which judge, by a seed."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(data.train_labels), generator=generator)
    return order.chunk(2)


def one_run(setting: str, seed: int) -> dict:
    """Train from one seed on one thread; judge by other images."""
    torch.set_num_threads(1)
    changes = dict((SETTINGS | FULL)[setting])
    data = digits()
    if setting in FULL:
        trained = data.train_images, data.train_labels
        images, labels = data.test_images, data.test_labels
    else:
        changes["num_epochs"] = EPOCHS
        train, judge = halves(data, seed)
        trained = data.train_images[train], data.train_labels[train]
        images, labels = data.train_images[judge], data.train_labels[judge]
    augment = Augment(empty=data.empty)
    if not changes.pop("augment", True):
        augment = None
    names = TrainConfig.__dataclass_fields__
    recipe = {k: v for k, v in changes.items() if k in names}
    sizes = {k: v for k, v in changes.items() if k not in names}
    torch.manual_seed(seed)
    model = VisionTransformer(ViTConfig.digits(**sizes))
    loader = batches(*trained, batch_size=32, seed=seed, augment=augment)
    fit(model, loader, TrainConfig.digits(**recipe))
    with torch.no_grad():
        sure = model(images).softmax(dim=-1).amax(dim=-1)
    return {
        "setting": setting,
        "seed": seed,
        "right": round(accuracy(model, images, labels) * len(labels)),
        "confidence": round(sure.mean().item(), 4),
    }


def main() -> None:
    """Train what the result file lacks, and write it after every run."""
    runs = read_runs(RESULT)
    done = {(run["seed"], run["setting"]) for run in runs}
    order = [*SETTINGS, *FULL]
    wanted = *product(SEEDS, SETTINGS), *product(FULL_SEEDS, FULL)
    for seed, setting in wanted:
        if (seed, setting) not in done:
            runs.append(one_run(setting, seed))
            runs.sort(key=lambda r: (order.index(r["setting"]), r["seed"]))
            write_runs(RESULT, runs, **FACTS)


if __name__ == "__main__":
    main()
