"""Train the digit ViT and the small CNN with five seeds, one split.

Chapters 14 and 16 read the result file. Run it, on a quiet machine, with:
    python -m experiments.digits_five_seeds
"""

import json
import time
from pathlib import Path

import torch
from torch import nn

from vitedu.analysis.attention_maps import (
    attention_distance,
    capture_attention,
)
from vitedu.book.notebook import set_up
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Augment, Digits, batches, digits
from vitedu.training.baselines import SmallCNN
from vitedu.training.loop import accuracy, fit
from vitedu.vit import VisionTransformer

SEEDS = range(5)
RESULT = Path(__file__).parent.parent / "book/data/digits-five-seeds.json"


def main() -> None:
    """Train, measure, write the result file."""
    set_up()
    data = digits()
    runs = []
    for seed in SEEDS:
        run = one_seed(data, seed)
        runs.append(run)
        print({k: v for k, v in run.items() if k != "attention_distance"})
    result = {
        "script": "experiments/digits_five_seeds.py",
        "torch": torch.__version__.split("+")[0],
        "threads": torch.get_num_threads(),
        "test_images": len(data.test_labels),
        "runs": runs,
    }
    temporary = RESULT.with_suffix(".part")
    temporary.write_text(json.dumps(result, indent=1) + "\n")
    temporary.replace(RESULT)


def one_seed(data: Digits, seed: int) -> dict:
    """Train both networks from one seed and look into the ViT."""
    torch.manual_seed(seed)
    config = ViTConfig.digits()
    vit = VisionTransformer(config)
    vit_accuracy, vit_seconds = trained(vit, data, seed)
    with torch.no_grad(), capture_attention(vit) as maps:
        vit(data.test_images)
    torch.manual_seed(seed)
    cnn_accuracy, cnn_seconds = trained(SmallCNN(), data, seed)
    return {
        "seed": seed,
        "vit_accuracy": vit_accuracy,
        "vit_seconds": round(vit_seconds, 1),
        "cnn_accuracy": cnn_accuracy,
        "cnn_seconds": round(cnn_seconds, 1),
        "attention_distance": [
            attention_distance(
                layer,
                grid_size=config.grid_size,
                patch_size=config.patch_size,
            ).tolist()
            for layer in maps.values()
        ],
    }


def trained(model: nn.Module, data: Digits, seed: int) -> tuple[float, float]:
    """Train in place; return the test accuracy and the seconds it took."""
    loader = batches(
        data.train_images,
        data.train_labels,
        batch_size=32,
        seed=seed,
        augment=Augment(empty=data.empty),
    )
    start = time.perf_counter()
    fit(model, loader, TrainConfig.digits())
    seconds = time.perf_counter() - start
    return accuracy(model, data.test_images, data.test_labels), seconds


if __name__ == "__main__":
    main()
