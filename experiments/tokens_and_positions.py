"""Train small ViTs that read and place their tokens in different ways.

Runs judged by the test images train with all training images. Each way to
read is also trained at each learning rate without some of them, the
validation images, which choose its rate: the test images take no part in that.
Chapter 12 reads the result file and repeats a few of its runs. A run that the
file holds already is not repeated. Run it, on a quiet machine, with:
    python -m experiments.tokens_and_positions
"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from experiments.runs import read_runs, write_runs
from vitedu.analysis.attention_maps import patch_distances, position_similarity
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Digits, batches, digits
from vitedu.positions import SinusoidalPositionEncoding, interpolate_positions
from vitedu.training.loop import accuracy, fit
from vitedu.vit import VisionTransformer

SMALL = ViTConfig.digits(
    d_model=32, num_layers=2, num_heads=4, d_ff=64, drop_path=0.0
)
SEEDS = range(5)
SIDES = (10, 12, 16)
READS = {
    "class token": {},
    "mean, no class token": {"pool": "mean"},
    "mean, no class token, norm after": {"pool": "mean", "pool_norm": "after"},
    "mean of the patches": {"pool": "mean_patches"},
    "mean of all": {"pool": "mean_all"},
}
POSITIONS = {
    "none": {"positions": "none"},
    "learned 0.02": {"position_std": 0.02},
    "learned 0.5": {"position_std": 0.5},
    "learned 2": {"position_std": 2.0},
    "sinusoidal 1-D": {},
    "sinusoidal 2-D": {"positions": "sinusoidal"},
}
USUAL = {
    "reads": "class token",
    "positions": "learned 0.5",
    "learning_rate": 4e-3,
    "num_epochs": 5,
}
RATES = (1e-3, 4e-3, 1.6e-2)
READS_AND_RATES = (("reads", "learning_rate"), list(product(READS, RATES)))


def settings_of(*grids: tuple[tuple[str, ...], list[tuple]]) -> list[dict]:
    """Return the settings of all runs: each seed, each point of each grid."""
    return [
        USUAL | dict(zip(names, values, strict=True)) | {"seed": seed}
        for seed in SEEDS
        for names, grid in grids
        for values in grid
    ]


WANTED = settings_of(
    READS_AND_RATES,
    (("reads",), [("one patch",)]),
    (("positions", "num_epochs"), list(product(POSITIONS, (5, 15)))),
)
TO_CHOOSE = settings_of(READS_AND_RATES)
VALIDATION_IMAGES = 360
RESULT = Path(__file__).parent.parent / "book/data/tokens-and-positions.json"
FACTS = {
    "script": "experiments/tokens_and_positions.py",
    "test_images": 360,
    "validation_images": VALIDATION_IMAGES,
}


class ReadsOnePatch(VisionTransformer):
    """The head reads a patch near the middle instead of the class token."""

    def pool(self, tokens: Tensor, patch_mask: Tensor | None = None) -> Tensor:
        return tokens[:, self.num_prefix_tokens + 5]


def small_vit(
    reads: str = "class token", positions: str = "learned 0.5"
) -> VisionTransformer:
    """Make a ViT for 8 x 8 digits, with 4 x 4 patches."""
    kind, options = ReadsOnePatch, {}
    if reads != "one patch":
        kind, options = VisionTransformer, READS[reads]
    model = kind(replace(SMALL, **options, **POSITIONS[positions]))
    if positions == "sinusoidal 1-D":
        model.pos_embed = SinusoidalPositionEncoding(SMALL.d_model)
    return model


def trained(
    data: Digits,
    *,
    reads: str,
    positions: str,
    learning_rate: float,
    num_epochs: int,
    seed: int,
) -> VisionTransformer:
    """Train one network from one seed, without augmentation."""
    torch.manual_seed(seed)
    model = small_vit(reads, positions)
    loader = batches(
        data.train_images, data.train_labels, batch_size=32, seed=seed
    )
    recipe = TrainConfig(
        num_epochs=num_epochs, learning_rate=learning_rate, decay_all=True
    )
    fit(model, loader, recipe)
    return model


def without_validation(data: Digits, seed: int) -> Digits:
    """Set training images aside by a seed, in place of the test images."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(data.train_labels), generator=generator)
    judge, train = order.tensor_split([VALIDATION_IMAGES])
    return replace(
        data,
        train_images=data.train_images[train],
        train_labels=data.train_labels[train],
        test_images=data.train_images[judge],
        test_labels=data.train_labels[judge],
    )


def enlarged(images: Tensor, side: int) -> Tensor:
    """Draw the images with more pixels."""
    return F.interpolate(images, size=(side, side), mode="bilinear")


def stretched_as_a_row(weight: Tensor, count: int) -> Tensor:
    """Stretch positions as if the patches stood in one long row."""
    first, patches = weight.tensor_split([1], dim=1)
    row = F.interpolate(
        patches.mT, size=count, mode="linear", align_corners=True
    )
    return torch.cat([first, row.mT], dim=1)


def at_size(
    model: VisionTransformer, side: int, how: str
) -> VisionTransformer:
    """Return the same network for larger images: more patches, new places."""
    config = replace(model.config, image_size=side)
    larger, weights = VisionTransformer(config), model.state_dict()
    old = weights["pos_embed.weight"]
    if how == "grid":
        new = interpolate_positions(
            old,
            model.config.grid_size,
            config.grid_size,
            num_prefix_tokens=model.num_prefix_tokens,
        )
    else:
        new = stretched_as_a_row(old, config.num_patches)
    larger.load_state_dict(weights | {"pos_embed.weight": new})
    return larger.eval()


def neighbours_and_others(model: VisionTransformer) -> tuple[float, float]:
    """Return the mean cosine of positions side by side, and of the others."""
    count = model.config.num_patches
    alike = position_similarity(
        model.pos_embed.weight,
        grid_size=model.config.grid_size,
        num_prefix_tokens=model.num_prefix_tokens,
    ).reshape(count, count)
    apart = patch_distances(model.config.grid_size, 1)
    return alike[apart == 1].mean().item(), alike[apart > 1].mean().item()


def one_run(data: Digits, settings: dict) -> dict:
    """Train, and measure what the chapter needs."""
    model = trained(data, **settings)
    right = accuracy(model, data.test_images, data.test_labels)
    run = settings | {"accuracy": right}
    if settings["positions"].startswith("learned"):
        run["neighbours"], run["others"] = neighbours_and_others(model)
    if settings == USUAL | {"num_epochs": 15, "seed": settings["seed"]}:
        for how in ("grid", "row"):
            run[how] = [larger(model, data, side, how) for side in SIDES]
            run[f"{how}, tuned"] = larger(model, data, 12, how, tune=True)
    return run


def validation_run(data: Digits, settings: dict) -> dict:
    """Train without the validation images, and let them judge."""
    split = without_validation(data, settings["seed"])
    model = trained(split, **settings)
    right = accuracy(model, split.test_images, split.test_labels)
    return settings | {"validation": right}


def larger(
    model: VisionTransformer,
    data: Digits,
    side: int,
    how: str,
    tune: bool = False,
) -> float:
    """Return the accuracy on larger images, perhaps after one epoch."""
    grown = at_size(model, side, how)
    if tune:
        images = enlarged(data.train_images, side)
        loader = batches(images, data.train_labels, batch_size=32, seed=0)
        fit(grown, loader, TrainConfig(num_epochs=1, decay_all=True))
    return accuracy(grown, enlarged(data.test_images, side), data.test_labels)


def main() -> None:
    """Train what the result file lacks, and write it after every run."""
    torch.set_num_threads(1)
    data = digits()
    runs = read_runs(RESULT)
    for judge, wanted, measure in (
        ("accuracy", WANTED, one_run),
        ("validation", TO_CHOOSE, validation_run),
    ):
        for settings in wanted:
            if not any(
                judge in run and settings.items() <= run.items()
                for run in runs
            ):
                runs.append(measure(data, settings))
                write_runs(RESULT, runs, **FACTS)


if __name__ == "__main__":
    main()
