"""Pre-train on canvases of 0 to 4, transfer to a few images of 5 to 9.

Chapter 17 uses the functions and the result file. A run that the file holds
already is not repeated. Run it, on a quiet machine, with:
    python -m experiments.transfer
"""

from concurrent.futures import ProcessPoolExecutor, as_completed
from copy import deepcopy
from functools import cache
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.amount_of_data import (
    MEAN,
    RATES,
    SEEN,
    SHORT,
    STD,
    make,
    trained,
)
from experiments.runs import read_runs, write_runs
from vitedu.config import TrainConfig
from vitedu.data.canvases import Canvases
from vitedu.data.digits import batches, digits
from vitedu.training.loop import accuracy, fit

CLASSES = 5
SHOTS = (1, 5, 20, 100)
"""Labelled images of each new class."""
TUNING_RATES = (1e-3, 4e-3)
STEPS = 150
TARGETS = ("plain", "canvas")
STARTS = [
    ("ViT", SHORT),
    ("ViT", SEEN),
    ("ViT", 0),
    ("CNN", SEEN),
    ("CNN", 0),
]
"""Networks, and how many images they have seen before the transfer."""
SEEDS = range(3)
RESULT = Path(__file__).parent.parent / "book/data/transfer.json"
FACTS = {
    "script": "experiments/transfer.py",
    "steps": STEPS,
    "rates": TUNING_RATES,
}


def canvases(
    part: str, count: int, seed: int, *, known: bool
) -> tuple[Tensor, Tensor]:
    """Make canvases of the known digits 0 to 4, or of the new ones 5 to 9.

    The labels count from 0 in both cases. The bits are of all ten digits.
    """
    source = Canvases(part=part, seed=seed)
    # The classes are drawn alike: a little more than twice as many will do.
    images, labels = source.batch(range(2 * count + 2000))
    chosen = ((labels < CLASSES) == known).nonzero().flatten()[:count]
    return (images[chosen] - MEAN) / STD, labels[chosen] % CLASSES


def plain_digits(part: str) -> tuple[Tensor, Tensor]:
    """Return all digits 5 to 9, in the middle of an empty canvas each."""
    data = digits()
    images = data.pixels(getattr(data, f"{part}_images"))
    labels = getattr(data, f"{part}_labels")
    chosen = labels >= CLASSES
    large = F.interpolate(
        images[chosen], size=(16, 16), mode="bicubic", antialias=True
    )
    canvas = F.pad(large.clamp(0, 1), [8, 8, 8, 8])
    return (canvas - MEAN) / STD, labels[chosen] - CLASSES


@cache
def task(target: str, part: str) -> tuple[Tensor, Tensor]:
    """Return what there is of the new digits: "plain" or on a "canvas"."""
    if target == "plain":
        return plain_digits(part)
    return canvases(part, 1000, seed=2000, known=False)


def drawn(target: str, seed: int, part: slice) -> tuple[Tensor, Tensor]:
    """Shuffle the training images; return the same part of each new class."""
    images, labels = task(target, "train")
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(labels), generator=generator)
    chosen = torch.cat(
        [order[labels[order] == name][part] for name in range(CLASSES)]
    )
    return images[chosen], labels[chosen]


def few(target: str, shots: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw so many labelled training images of each new class."""
    return drawn(target, seed, slice(shots))


def validation(target: str, seed: int) -> tuple[Tensor, Tensor]:
    """Return the training images that `few` leaves: they choose the rate."""
    return drawn(target, seed, slice(max(SHOTS), None))


def fresh(name: str, seed: int) -> nn.Module:
    """Make a network that has seen nothing."""
    torch.manual_seed(seed)
    return make(name, CLASSES)


def pretrained(name: str, seen: int, seed: int) -> nn.Module:
    """Train on ever new canvases of the digits 0 to 4."""
    return trained(
        fresh(name, seed),
        *canvases("train", seen, seed, known=True),
        learning_rate=RATES[name],
        seen=seen,
        seed=seed,
    )


def head(model: nn.Module) -> nn.Linear:
    """Return the last linear map, which knows the classes."""
    return [part for part in model.modules() if isinstance(part, nn.Linear)][
        -1
    ]


def tuned(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    learning_rate: float,
    seed: int,
) -> nn.Module:
    """Train a copy, all weights, with a new head that starts at zero."""
    model = deepcopy(model)
    nn.init.zeros_(head(model).weight)
    nn.init.zeros_(head(model).bias)
    loader = batches(
        images, labels, batch_size=min(len(labels), 25), seed=seed
    )
    recipe = TrainConfig(
        num_epochs=-(-STEPS // len(loader)),
        learning_rate=learning_rate,
        decay_all=True,
    )
    fit(model, loader, recipe)
    return model


@torch.no_grad()
def features(model: nn.Module, images: Tensor) -> Tensor:
    """Return what the head reads, (image, feature)."""
    seen = []
    handle = head(model).register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0])
    )
    model.eval()(images)
    handle.remove()
    return seen[0]


def few_shot_linear(
    train: Tensor, labels: Tensor, test: Tensor, strength: float = 1.0
) -> Tensor:
    """Fit a linear map in closed form; return its guesses on the test.

    The targets are +1 for the right class and -1 for the others, in the
    sense of regularised least squares.

    Args:
        train: Features of the labelled images, (image, feature).
        labels: Their classes, of which none is without an image.
        test: Features of the others.
        strength: Weight of the squared weights against the squared errors,
            with each feature standardised.

    Source: Dosovitskiy et al. 2021, section 4.1.
    Deviates: The strength of the regularisation is ours; the paper's is not
        printed.
    """
    mean, std = train.mean(0), train.std(0) + 1e-6
    x = F.pad((train - mean) / std, [0, 1], value=1.0).double()
    y = 2.0 * F.one_hot(labels).double() - 1
    weight = torch.linalg.solve(
        x.mT @ x + strength * torch.eye(x.shape[1]), x.mT @ y
    )
    new = F.pad((test - mean) / std, [0, 1], value=1.0).double()
    return (new @ weight).argmax(dim=-1)


def share_right(guesses: Tensor, labels: Tensor) -> float:
    """Return the share of right guesses."""
    return (guesses == labels).double().mean().item()


def transferred(
    start: nn.Module, target: str, shots: int, seed: int
) -> dict[str, float | list[float]]:
    """Measure a start by fine-tuning, and by a linear map on its features.

    Fine-tuning is measured once for each learning rate, on the images that
    choose between them and on the test.
    """
    images, labels = few(target, shots, seed)
    test, right = task(target, "test")
    guesses = few_shot_linear(
        features(start, images), labels, features(start, test)
    )
    models = [
        tuned(start, images, labels, rate, seed) for rate in TUNING_RATES
    ]
    others = validation(target, seed)
    return {
        "linear": share_right(guesses, right),
        "validation": [accuracy(model, *others) for model in models],
        "tuned": [accuracy(model, test, right) for model in models],
    }


def runs_of(settings: dict) -> list[dict]:
    """Pre-train once, or not, and transfer with each number of images."""
    torch.set_num_threads(1)
    name, seen, seed = settings["model"], settings["seen"], settings["seed"]
    start = pretrained(name, seen, seed) if seen else fresh(name, seed)
    return [
        settings
        | {"target": target, "shots": shots}
        | transferred(start, target, shots, seed)
        for target, shots in product(TARGETS, SHOTS)
    ]


def place(run: dict) -> list:
    """Return where a run stands in the file."""
    start = [run["model"], run["seen"], run["seed"]]
    return [*start, run.get("target", ""), run.get("shots", 0)]


def main() -> None:
    """Train what the result file lacks, and write it after every run."""
    runs = read_runs(RESULT)
    done = [place(run)[:3] for run in runs]
    wanted = [
        {"model": name, "seen": seen, "seed": seed}
        for seed in SEEDS
        for name, seen in STARTS
    ]
    with ProcessPoolExecutor(2) as pool:
        jobs = [
            pool.submit(runs_of, settings)
            for settings in wanted
            if place(settings)[:3] not in done
        ]
        for job in as_completed(jobs):
            runs += job.result()
            write_runs(RESULT, sorted(runs, key=place), **FACTS)


if __name__ == "__main__":
    main()
