"""Train the small Vision Transformers of chapter 18, and keep them.

Three read all digits: the chapter loads their files in right and in wrong
ways, and its explorer runs the second. Three are trunks, which know the
digits 0 to 4 and learn the others there. Run it with:
    python -m experiments.readers
"""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from vitedu.book.notebook import set_up
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Augment, batches, digits
from vitedu.pretrained.models import save_vit
from vitedu.training.loop import fit
from vitedu.vit import VisionTransformer

FOLDER = Path(__file__).parent.parent / "book/data"
CONFIG = ViTConfig.digits(d_model=32, num_layers=3, num_heads=8, d_ff=64)


def main() -> None:
    """Train from three seeds, and write the files."""
    set_up()
    data = digits()
    low = data.train_labels < 5
    for seed in range(3):
        reader = trained(
            CONFIG, data.train_images, data.train_labels, 12, seed
        )
        save_vit(FOLDER / f"reader-{seed}.safetensors", reader)
        trunk = trained(
            replace(CONFIG, num_classes=5),
            data.train_images[low],
            data.train_labels[low],
            8,
            seed,
        )
        save_vit(FOLDER / f"trunk-{seed}.safetensors", trunk)


def trained(
    config: ViTConfig, images: Tensor, labels: Tensor, epochs: int, seed: int
) -> VisionTransformer:
    """Train one network."""
    torch.manual_seed(seed)
    model = VisionTransformer(config)
    torch.manual_seed(seed)
    loader = batches(
        images,
        labels,
        batch_size=32,
        seed=seed,
        augment=Augment(empty=digits().empty),
    )
    fit(model, loader, TrainConfig.digits(num_epochs=epochs))
    return model


if __name__ == "__main__":
    main()
