"""A ViT, a CNN and a linear model learn from 128 to 131,072 canvases.

Chapter 17 uses the functions and the result file. A run that the file holds
already is not repeated. Run it, on a quiet machine, with:
    python -m experiments.amount_of_data
"""

from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path

import torch
from einops import rearrange
from torch import Tensor, nn

from experiments.runs import read_runs, write_runs
from experiments.tokens_and_positions import at_size, enlarged
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.canvases import Canvases
from vitedu.data.digits import Augment, batches
from vitedu.training.baselines import SmallCNN
from vitedu.training.loop import accuracy, fit
from vitedu.vit import VisionTransformer

SEEN = 2**17
"""Images a network sees, repetitions included, whatever their number."""
SHORT = 2**14
"""The same in the short runs, which chapter 17 repeats on the page."""
BATCH = 64
SIZES = [2**exponent for exponent in range(7, 18, 2)]
FEW = 512
"""Number of images for the attempts to help the ViT."""
MEAN, STD = 0.135, 0.277
"""Of the pixels of training canvases."""
RATES = {"ViT": 4e-3, "CNN": 2e-2, "linear": 5e-4}
"""Highest learning rates, the best of three to four on other canvases."""
HELP = {
    "shifts": {"shift"},
    "augmentation": {"augment"},
    "regularisation": {"regularise"},
    "stem": {"stem"},
    "all three": {"augment", "regularise", "stem"},
    "no positions": {"bag"},
}
AUGMENT = {
    "shift": Augment(
        degrees=0, shift=3, stretch=0, shear=0, ink=0, empty=-MEAN / STD
    ),
    "augment": Augment(shift=3, empty=-MEAN / STD),
}
SEEDS = range(3)
RESULT = Path(__file__).parent.parent / "book/data/amount-of-data.json"
FACTS = {
    "script": "experiments/amount_of_data.py",
    "batch": BATCH,
    "test_images": 2000,
}


class ConvolutionalStem(nn.Sequential):
    """Three strided convolutions in the place of the patch embedding.

    Each halves the sides of the image, so that one token is left for each
    8 x 8 pixels; but it has seen the 15 x 15 pixels around them.

    Source: After Xiao et al. 2021, section 4.
    Deviates: They take one block out, to spend no more; we keep all.
    """

    def __init__(self, d_model: int) -> None:
        layers, inputs = [], 1
        for outputs in (16, 32, 64):
            layers += [
                nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False),
                nn.BatchNorm2d(outputs),
                nn.ReLU(),
            ]
            inputs = outputs
        super().__init__(*layers, nn.Conv2d(inputs, d_model, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Map (batch, 1, height, width) to (batch, patch, d_model)."""
        return rearrange(super().forward(images), "b d r c -> b (r c) d")


def canvases(part: str, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Make standardised images and their digits."""
    images, labels = Canvases(part=part, seed=seed).batch(range(count))
    return (images - MEAN) / STD, labels


@cache
def test_canvases() -> tuple[Tensor, Tensor]:
    """Make the images that judge all networks."""
    return canvases("test", FACTS["test_images"], seed=0)


def small_vit(
    num_classes: int = 10,
    *,
    regularise: bool = False,
    stem: bool = False,
    bag: bool = False,
) -> VisionTransformer:
    """Make a ViT for 32 x 32 pixels: 16 patches of 8 x 8, in a bag or not."""
    rate = 0.1 if regularise else 0.0
    config = ViTConfig(
        image_size=32,
        patch_size=8,
        num_channels=1,
        num_classes=num_classes,
        d_model=64,
        num_layers=4,
        num_heads=8,
        d_ff=128,
        positions="none" if bag else "learned",
        position_std=0.5,
        dropout=rate,
        drop_path=rate,
    )
    model = VisionTransformer(config)
    if stem:
        model.patch_embed = ConvolutionalStem(config.d_model)
    return model


def make(name: str, num_classes: int = 10) -> nn.Module:
    """Make a fresh network by its name, a key of `RATES`."""
    if name == "ViT":
        return small_vit(num_classes)
    if name == "CNN":
        # On half of the pixels a feature of its last map sees 20 x 20 of ours.
        cnn = SmallCNN(num_classes=num_classes, width=16)
        return nn.Sequential(nn.AvgPool2d(2), cnn)
    return nn.Sequential(nn.Flatten(), nn.Linear(32 * 32, num_classes))


def trained(
    model: nn.Module,
    images: Tensor,
    labels: Tensor,
    *,
    learning_rate: float,
    seen: int,
    seed: int,
    augment: Augment | None = None,
    regularise: bool = False,
) -> nn.Module:
    """Train until the network has seen so many images."""
    loader = batches(
        images, labels, batch_size=BATCH, seed=seed, augment=augment
    )
    recipe = TrainConfig(
        num_epochs=seen // len(images),
        learning_rate=learning_rate,
        weight_decay=0.2 if regularise else 0.05,
        label_smoothing=0.1 if regularise else 0.0,
        decay_all=True,
    )
    fit(model, loader, recipe)
    return model


def network(
    *,
    model: str,
    help: str | None = None,
    num_images: int,
    seen: int,
    seed: int,
) -> tuple[nn.Module, Tensor, Tensor]:
    """Train one network from one seed; return its training data, too."""
    images, labels = canvases("train", num_images, seed)
    helped = HELP.get(help, set())
    torch.manual_seed(seed)
    if helped:
        options = dict.fromkeys(helped - AUGMENT.keys(), True)
        fresh = small_vit(**options)
    else:
        fresh = make(model)
    trained(
        fresh,
        images,
        labels,
        learning_rate=RATES[model],
        seen=seen,
        seed=seed,
        augment=next(
            (AUGMENT[name] for name in helped & AUGMENT.keys()), None
        ),
        regularise="regularise" in helped,
    )
    return fresh, images, labels


def one_run(settings: dict) -> dict:
    """Train and judge on one thread, so that no run waits for another."""
    torch.set_num_threads(1)
    model, images, labels = network(**settings)
    run = settings | {
        "train": accuracy(model, images[:2000], labels[:2000]),
        "test": accuracy(model, *test_canvases()),
    }
    if settings["model"] == "ViT" and settings["num_images"] == SEEN:
        run |= elsewhere(model)
    return run


def elsewhere(model: VisionTransformer) -> dict[str, float]:
    """Judge with other positions, on the same and on larger images."""
    images, labels = test_canvases()
    found = {
        "shuffled": accuracy(
            with_positions(model, 32, "shuffled"), images, labels
        )
    }
    room = Canvases(part="test", side=48).batch(range(len(labels)))
    more_room = ((room[0] - MEAN) / STD, room[1])
    images_48 = (enlarged(images, 48), labels)
    train, train_labels = canvases("train", 2048, seed=1000)
    for how in ("grid", "row", "fresh"):
        grown = with_positions(model, 48, how)
        found[f"more room, {how}"] = accuracy(grown, *more_room)
        found[f"enlarged, {how}"] = accuracy(grown, *images_48)
        trained(
            grown,
            enlarged(train, 48),
            train_labels,
            learning_rate=1e-3,
            seen=2048,
            seed=0,
        )
        found[f"tuned, {how}"] = accuracy(grown, *images_48)
    return found


def with_positions(
    model: VisionTransformer, side: int, how: str
) -> VisionTransformer:
    """Return the ViT for images of another side, with other positions.

    The patches stay 8 x 8. "grid" and "row" stretch the learned positions,
    "fresh" draws new ones, "shuffled" deals the old ones out anew. The class
    token keeps its own.
    """
    changed = at_size(model, side, "row" if how == "row" else "grid")
    generator = torch.Generator().manual_seed(0)
    patches = changed.pos_embed.weight.detach()[:, 1:]
    if how == "fresh":
        patches.normal_(std=0.5, generator=generator)
    if how == "shuffled":
        order = torch.randperm(patches.shape[1], generator=generator)
        patches.copy_(patches[:, order])
    return changed


def wanted(seed: int) -> list[dict]:
    """List the runs of a seed, the cheap ones first."""
    common = {"seen": SEEN, "seed": seed}
    runs = [
        {"model": name, "num_images": FEW, "seen": SHORT, "seed": seed}
        for name in RATES
    ]
    runs += [
        {"model": name, "num_images": size, **common}
        for name in reversed(RATES)
        for size in reversed(SIZES)
    ]
    return runs + [
        {"model": "ViT", "help": name, "num_images": FEW, **common}
        for name in HELP
    ]


def place(run: dict) -> list:
    """Return where a run stands in the file."""
    return [
        list(RATES).index(run["model"]),
        [None, *HELP].index(run.get("help")),
        run["seen"],
        run["num_images"],
        run["seed"],
    ]


def main() -> None:
    """Train what the result file lacks, and write it after every run."""
    runs = read_runs(RESULT)
    missing = [
        settings
        for seed in SEEDS
        for settings in wanted(seed)
        if not any(place(settings) == place(run) for run in runs)
    ]
    with ProcessPoolExecutor(2) as pool:
        jobs = [pool.submit(one_run, settings) for settings in missing]
        for job in as_completed(jobs):
            runs.append(job.result())
            write_runs(RESULT, sorted(runs, key=place), **FACTS)


if __name__ == "__main__":
    main()
