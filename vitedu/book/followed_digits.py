"""What a page needs to run Vision Transformers on handwritten digits."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from vitedu import require
from vitedu.analysis.attribution import gradient_saliency
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
def followed_digits(
    model: VisionTransformer, *, all_images: bool = False
) -> dict[str, Any]:
    """Return keyword arguments of the explorer `FollowDigit`.

    Test images to start from go with the network: the first of each digit that
    it classifies correctly, and up to four that it misreads.

    Args:
        model: A network for the digits of chapter 14, as `rounded_to_half`
            makes it.
        all_images: Whether to send all test images instead.

    Raises:
        TypeError: `model` is not a VisionTransformer.
        ValueError: A config that differs from `ViTConfig.digits` in more than
            its sizes; weights that are not rounded.
    """
    sent = _sent("model", model)
    data = digits()
    answers = _answers(model, data)
    shown = list(range(len(answers)))
    if not all_images:
        shown = _shown(answers.argmax(dim=-1), data.test_labels)
    return sent | {
        "samples": _ink(data, shown),
        "labels": data.test_labels[shown].tolist(),
        "answers": answers[shown].numpy(),
    }


@torch.inference_mode()
def digits_to_shuffle(
    placed: VisionTransformer, bag: VisionTransformer
) -> dict[str, Any]:
    """Return keyword arguments of the explorer `BagOfPatches`.

    Test images to start from go with the networks: the first of each digit
    that both classify correctly, and up to four that only the one with
    positions does.

    Args:
        placed: A network for the digits, as `rounded_to_half` makes it.
        bag: A network without positions.

    Raises:
        TypeError: Either is not a VisionTransformer.
        ValueError: A config that differs from `ViTConfig.digits` in more than
            its sizes, or that has positions in `bag`; weights that are not
            rounded.
    """
    sent = {
        "with": _sent("placed", placed),
        "without": _sent("bag", bag, positions="none"),
    }
    weights = [one.pop("weights") for one in sent.values()]
    for place in sent["without"]["layout"].values():
        place[0] += len(weights[0]) // 2
    data = digits()
    said, bag_said = (
        _answers(model, data).argmax(dim=-1) for model in (placed, bag)
    )
    known = torch.where(said == data.test_labels)[0]
    shown = known[_shown(bag_said[known], data.test_labels[known])].tolist()
    return {
        "weights": b"".join(weights),
        "networks": sent,
        "samples": _ink(data, shown),
        "labels": data.test_labels[shown].tolist(),
        "bag_reads": bag_said[shown].tolist(),
    }


def deleted_digits(model: VisionTransformer) -> dict[str, Any]:
    """Return keyword arguments of the explorer `DeletePatches`.

    Args:
        model: As for `followed_digits`.

    Raises:
        TypeError, ValueError: As `followed_digits` does.
    """
    sent = followed_digits(model)
    data = digits()
    pixels = torch.tensor(sent["samples"])[:, None] / MOST_INK
    training = model.training
    gradients = gradient_saliency(
        model.eval(),
        (pixels - data.mean) / data.std,
        torch.tensor(sent["answers"]).argmax(dim=-1),
        patch_size=model.config.patch_size,
    )
    model.train(training)
    return sent | {"gradients": gradients.numpy()}


def check_config(name: str, config: ViTConfig, **special: Any) -> None:
    """Require blocks that the scripts for digits can compute.

    Args:
        name: How a message calls the model.
        config: The config of the model.
        special: What has to differ from `ViTConfig.digits`.

    Raises:
        ValueError: A field that the pages do not know has another value.
    """
    free = {field: getattr(config, field) for field in _FREE}
    usual = asdict(ViTConfig.digits(**free | special))
    others = [
        field
        for field, value in asdict(config).items()
        if value != usual[field]
    ]
    if others:
        asked = ", ".join(f"{field}={it!r}" for field, it in special.items())
        raise ValueError(
            f"{name} must have the config of ViTConfig.digits({asked}), sizes "
            f"of layers aside, got others in {', '.join(others)}"
        )


def _sent(name: str, model: VisionTransformer, **usual: Any) -> dict[str, Any]:
    """Return a network as a page takes it."""
    require.instance(name, model, VisionTransformer)
    check_config(name, model.config, **usual)
    sent, data = page_weights(model), digits()
    return sent | {
        "weights": sent["weights"].astype("<f2").tobytes(),
        "config": sent["config"] | {"mean": data.mean, "std": data.std},
    }


def _answers(model: VisionTransformer, data: Digits) -> torch.Tensor:
    training = model.training
    answers = model.eval()(data.test_images).softmax(dim=-1)
    model.train(training)
    return answers


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
    """Return images in the form of the data: 0 to 16, (image, 8, 8)."""
    pixels = data.pixels(data.test_images[shown])[:, 0]
    return (pixels * MOST_INK).round().to(torch.uint8).numpy()
