"""What a page needs to follow a digit through a Vision Transformer."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from vitedu import require
from vitedu.book.page_weights import page_weights
from vitedu.config import ViTConfig
from vitedu.data.digits import Digits, digits
from vitedu.vit import VisionTransformer

# Ink of a full pixel, as the data count it.
MOST_INK = 16
# Of the test images that the network misreads.
_MOST_MISREAD = 4
# What may differ from ViTConfig.digits; the rates count in training alone.
_FREE = (
    "d_model",
    "num_layers",
    "num_heads",
    "d_ff",
    "layer_norm_eps",
    "dropout",
    "attention_dropout",
    "activation_dropout",
    "embedding_dropout",
    "drop_path",
    "position_std",
    "weights_init",
)


@torch.inference_mode()
def followed_digits(model: VisionTransformer) -> dict[str, Any]:
    """Return keyword arguments of the explorer `FollowDigit`.

    With the network go test images to start from: of each digit the first
    that it reads right, and up to four that it misreads.

    Args:
        model: A network for the digits of chapter 14, as `rounded_to_half`
            makes it.

    Raises:
        TypeError: `model` is no VisionTransformer.
        ValueError: A config that asks for more than that of
            `ViTConfig.digits` in other sizes; weights that are not rounded.
    """
    require.instance("model", model, VisionTransformer)
    _check(model.config)
    sent = page_weights(model)
    data = digits()
    training = model.training
    answers = model.eval()(data.test_images).softmax(dim=-1)
    model.train(training)
    shown = _shown(answers.argmax(dim=-1), data.test_labels)
    return {
        "weights": sent["weights"].astype("<f2").tobytes(),
        "layout": sent["layout"],
        "config": sent["config"] | {"mean": data.mean, "std": data.std},
        "samples": _ink(data, shown),
        "labels": data.test_labels[shown].tolist(),
        "answers": answers[shown].numpy(),
    }


def _check(config: ViTConfig) -> None:
    usual = asdict(
        ViTConfig.digits(**{name: getattr(config, name) for name in _FREE})
    )
    others = [
        name for name, value in asdict(config).items() if value != usual[name]
    ]
    if others:
        raise ValueError(
            "model must have the config of ViTConfig.digits, sizes aside, "
            f"got others in {', '.join(others)}"
        )


def _shown(said: torch.Tensor, labels: torch.Tensor) -> list[int]:
    """Return which test images to show."""
    right = said == labels
    first = [
        places[0]
        for digit in range(10)
        if (places := torch.where(right & (labels == digit))[0].tolist())
    ]
    return first + torch.where(~right)[0].tolist()[:_MOST_MISREAD]


def _ink(data: Digits, shown: list[int]) -> np.ndarray:
    """Return images as the data have them: 0 to 16, (image, 8, 8)."""
    pixels = data.pixels(data.test_images[shown])[:, 0]
    return (pixels * MOST_INK).round().to(torch.uint8).numpy()
