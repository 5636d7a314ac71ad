"""Train the Vision Transformer of chapter 14, and keep it.

The explorer of that chapter, and of the first page, follows a digit through
it. Another processor adds in another order and ends at a network with other
slips, so this one is kept, rounded to half precision as it travels with the
page. Run it with:
    python -m experiments.digit_vit
"""

from pathlib import Path

import torch

from vitedu.book.notebook import set_up
from vitedu.book.page_weights import rounded_to_half
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.digits import Augment, Digits, batches, digits
from vitedu.pretrained.models import save_vit
from vitedu.training.loop import accuracy, fit
from vitedu.vit import VisionTransformer

WEIGHTS = Path(__file__).parent.parent / "book/data/digit-vit.safetensors"


def main() -> None:
    """Train, write the weights, say how many test digits are read right."""
    set_up()
    torch.set_num_threads(1)  # as the page does
    data = digits()
    model = rounded_to_half(trained(data))
    save_vit(WEIGHTS, model.half())
    model = model.float().eval()
    right = accuracy(model, data.test_images, data.test_labels)
    print(f"{right:.1%} of the test digits")


def trained(data: Digits) -> VisionTransformer:
    """Train with the recipe and the seed of the chapter."""
    torch.manual_seed(0)
    model = VisionTransformer(ViTConfig.digits())
    loader = batches(
        data.train_images,
        data.train_labels,
        batch_size=32,
        seed=0,
        augment=Augment(empty=data.empty),
    )
    fit(model, loader, TrainConfig.digits())
    return model


if __name__ == "__main__":
    main()
