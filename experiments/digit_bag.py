"""Train the two small Vision Transformers of chapter 12, and keep them.

They differ in one thing: one has learned positions, the other has none. The
explorer of that chapter shuffles the patches of a digit before both. Another
processor adds in another order and ends at other answers, so these are kept,
rounded to half precision as they travel with the page. Run it with:
    python -m experiments.digit_bag
"""

from pathlib import Path

import torch

from experiments.tokens_and_positions import USUAL, trained
from vitedu.book.notebook import set_up
from vitedu.book.page_weights import rounded_to_half
from vitedu.data.digits import digits
from vitedu.pretrained.models import save_vit
from vitedu.training.loop import accuracy

FOLDER = Path(__file__).parent.parent / "book/data"
WEIGHTS = {
    "learned 0.5": FOLDER / "digit-vit-placed.safetensors",
    "none": FOLDER / "digit-vit-bag.safetensors",
}


def main() -> None:
    """Train, write the weights, say how many test digits are read right."""
    set_up()
    torch.set_num_threads(1)
    data = digits()
    for positions, path in WEIGHTS.items():
        settings = USUAL | {"positions": positions, "num_epochs": 15}
        model = rounded_to_half(trained(data, **settings, seed=0))
        save_vit(path, model.half())
        model = model.float().eval()
        right = accuracy(model, data.test_images, data.test_labels)
        print(f"positions {positions}: {right:.1%} of the test digits")


if __name__ == "__main__":
    main()
