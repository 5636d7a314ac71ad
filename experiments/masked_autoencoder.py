"""Train the masked autoencoder of chapter 23, and keep it.

The page takes 300 steps before the reader's eyes, and goes on with this
network, which has taken 1,200. It is rounded to half precision, as it travels
with the page. Run it with:
    python -m experiments.masked_autoencoder
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from experiments.without_labels import CONFIG, batches
from vitedu.book.notebook import set_up
from vitedu.book.page_weights import rounded_to_half
from vitedu.objectives.masked_autoencoder import (
    MaskedAutoencoder,
    random_hidden,
)
from vitedu.training.descent import minimise

WEIGHTS = (
    Path(__file__).parent.parent / "book/data/masked-autoencoder.safetensors"
)


def main() -> None:
    """Train, and write the weights."""
    set_up()
    model = rounded_to_half(trained())
    save_file(model.half().state_dict(), WEIGHTS)


def trained() -> MaskedAutoencoder:
    """Train as the page does, for longer."""
    torch.manual_seed(0)
    model = MaskedAutoencoder(CONFIG, decoder_width=32)
    batch, draw = batches(64, seed=0)

    def loss(step: int) -> Tensor:
        images = batch()
        hidden = random_hidden(64, CONFIG.num_patches, generator=draw)
        return model.loss(images, hidden)

    minimise(model, loss, 1200, learning_rate=3e-3)
    return model


if __name__ == "__main__":
    main()
