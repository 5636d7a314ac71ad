"""Clothes: small grey images of ten classes, a part of Fashion-MNIST."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

# What the labels 0 to 9 mean.
CLASSES = (
    "T-shirt",
    "trousers",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)

_FILE = Path(__file__).with_name("fashion.npz")
_SHA256 = "0a6b3b63049f8453c37515624f7374d1c1a87e45c91007d7ed7c4ad5e955ed2a"


@dataclass(frozen=True, kw_only=True)
class Fashion:
    """Pictures of clothes, in a training and a test part.

    Within a class the order is random, so the first images of each are as good
    a sample as any.

    Attributes:
        train_images: (image, 1, 28, 28), in [0, 1]; 0 is the background.
        train_labels: (image,), 0 to 9; `CLASSES` has their names.
        test_images: (image, 1, 28, 28), in [0, 1].
        test_labels: (image,), 0 to 9.
    """

    train_images: Float[Tensor, "train 1 28 28"]
    train_labels: Int[Tensor, " train"]
    test_images: Float[Tensor, "test 1 28 28"]
    test_labels: Int[Tensor, " test"]


def fashion() -> Fashion:
    """Load 4,000 pictures of Fashion-MNIST that come with the library.

    300 of each class are from the training files of the collection, 100 of
    each from its test files. `tools/fashion.py` selected them.

    One sample: training image 0 shows trousers. Row 14 of its 28 crosses both
    legs, 6 pixels each, with 2 black ones in between.

    Raises:
        FileNotFoundError: The file is not where the library was installed.
        ValueError: It is not the file of this version, but a damaged,
            truncated or different one, which is then not unpacked.

    Source: Xiao, Rasul and Vollgraf 2017; MIT licence, Zalando SE.
    Deviates: The collection has 6,000 and 1,000 of each class.

    >>> data = fashion()
    >>> CLASSES[data.train_labels[0]]
    'trousers'
    >>> (data.train_images[0, 0, 14, 7:21] * 255).int().tolist()
    [113, 250, 206, 199, 214, 221, 0, 0, 255, 224, 221, 205, 234, 20]
    """
    content = _FILE.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != _SHA256:
        raise ValueError(
            f"{_FILE} must have the SHA-256 digest {_SHA256}, got {digest}; "
            "install the library anew"
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        parts = {name: torch.from_numpy(arrays[name]) for name in arrays}
    return Fashion(
        train_images=parts["train_images"][:, None] / 255,
        train_labels=parts["train_labels"].long(),
        test_images=parts["test_images"][:, None] / 255,
        test_labels=parts["test_labels"].long(),
    )
