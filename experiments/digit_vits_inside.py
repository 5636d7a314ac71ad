"""Train the three Vision Transformers that chapter 16 looks into; keep them.

Another processor adds in another order and ends at other weights, so these
are kept, rounded to half precision. How far their heads look after 1 and 4
epochs goes into a result file. Run it with:
    python -m experiments.digit_vits_inside
"""

from itertools import count
from pathlib import Path

import torch

from experiments.runs import write_runs
from vitedu.analysis.attention_maps import (
    attention_distance,
    capture_attention,
)
from vitedu.book.notebook import set_up
from vitedu.book.page_weights import rounded_to_half
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Augment, Digits, batches, digits
from vitedu.pretrained.models import save_vit
from vitedu.training.loop import accuracy, fit
from vitedu.vit import VisionTransformer

SEEDS = range(3)
EPOCHS, LOOKS = 12, (1, 4)  # epochs
FOLDER = Path(__file__).parent.parent / "book/data"
WEIGHTS = {n: FOLDER / f"digit-vit-seed-{n}.safetensors" for n in SEEDS}
RESULT = FOLDER / "digit-vits-inside.json"
FACTS = {"script": "experiments/digit_vits_inside.py"}


def main() -> None:
    """Train; write the weights and how far the heads looked on the way."""
    set_up()
    data = digits()
    runs = []
    for seed, path in WEIGHTS.items():
        model, distances = trained(data, seed)
        model = rounded_to_half(model)
        save_vit(path, model.half())
        model = model.float().eval()
        right = accuracy(model, data.test_images, data.test_labels)
        print(f"seed {seed}: {right:.1%} of the test digits")
        runs.append({"seed": seed, "attention_distance": distances})
    write_runs(RESULT, runs, **FACTS)


def trained(
    data: Digits, seed: int
) -> tuple[VisionTransformer, dict[str, list[list[float]]]]:
    """Train with the recipe of chapter 14, but for 12 epochs.

    Returns:
        The network; by epoch, the distance of each head, (layer, head), in
        pixels, over the first 128 test images.
    """
    config = ViTConfig.digits()
    torch.manual_seed(seed)
    model = VisionTransformer(config)
    loader = batches(
        data.train_images,
        data.train_labels,
        batch_size=32,
        seed=seed,
        augment=Augment(empty=data.empty),
    )
    distances, epochs = {}, count(1)

    def evaluate(model: VisionTransformer) -> dict[str, float]:
        if (epoch := next(epochs)) in LOOKS:
            distances[str(epoch)] = distances_of(model, data.test_images[:128])
        return {}

    recipe = TrainConfig.digits(num_epochs=EPOCHS)
    fit(model, loader, recipe, evaluate=evaluate)
    return model, distances


def distances_of(
    model: VisionTransformer, images: torch.Tensor
) -> list[list[float]]:
    """Return the attention distance of each head, (layer, head)."""
    config = model.config
    with torch.no_grad(), capture_attention(model) as maps:
        model(images)
    return [
        [
            round(distance, 4)
            for distance in attention_distance(
                layer,
                grid_size=config.grid_size,
                patch_size=config.patch_size,
            ).tolist()
        ]
        for layer in maps.values()
    ]


if __name__ == "__main__":
    main()
