"""What a page needs to hide patches of images and have them predicted."""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vitedu import require
from vitedu.book.followed_digits import check_config
from vitedu.book.page_weights import page_weights
from vitedu.objectives.masked_autoencoder import MaskedAutoencoder

# The pictures that the explorer shows, and their patches.
SIDE, PATCH = 28, 4


def pictures_to_hide(
    model: MaskedAutoencoder,
    images: Float[Tensor, "image 1 28 28"],
    names: Sequence[str],
    *,
    mean: float,
    std: float,
) -> dict[str, Any]:
    """Return keyword arguments of the explorer `HideAndGuess`.

    Args:
        model: A model for grey images of 28 x 28 pixels in patches of 4 x 4,
            as `rounded_to_half` makes it.
        images: Images to start from, in [0, 1]; they are sent in steps of
            1/255.
        names: What each of them shows.
        mean: What was subtracted from the pixels for the training of `model`.
        std: What they were divided by after that.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: A config that differs from `ViTConfig.digits` in more than
            its sizes; patches that are normalised; weights that are not
            rounded; images with the wrong axes or with values outside [0, 1];
            not as many names as images; a `std` that is not above 0.
    """
    require.instance("model", model, MaskedAutoencoder)
    check_config(
        "model", model.config, image_size=SIDE, patch_size=PATCH, num_classes=0
    )
    require.number("mean", mean)
    require.number("std", std, above=0)
    _check_images(images, names)
    sent = page_weights(model)
    return sent | {
        "weights": sent["weights"].astype("<f2").tobytes(),
        "config": sent["config"] | {"mean": float(mean), "std": float(std)},
        "samples": (images[:, 0] * 255).round().to(torch.uint8).cpu().numpy(),
        "names": list(names),
    }


def _check_images(images: Tensor, names: Sequence[str]) -> None:
    require.floating("images", images)
    if images.shape[1:] != (1, SIDE, SIDE) or not len(images):
        raise ValueError(
            f"images must have the axes (image 1 {SIDE} {SIDE}), none empty, "
            f"got shape {tuple(images.shape)}"
        )
    # Written so that NaN fails too.
    if not ((images >= 0) & (images <= 1)).all():
        raise ValueError(
            f"images must lie in [0, 1], got {images.min().item()} to "
            f"{images.max().item()}"
        )
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"names must be a list of strings, got {names!r}")
    for name in names:
        require.instance("names", name, str)
    if len(names) != len(images):
        raise ValueError(
            f"names must have one entry for each of the {len(images)} images, "
            f"got {len(names)}"
        )
