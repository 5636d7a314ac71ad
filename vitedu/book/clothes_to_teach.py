"""The pictures that a page can teach a network with."""

from typing import Any

import torch

from vitedu.data.fashion import CLASSES, fashion

KINDS = ("sneaker", "bag", "ankle boot")
_EACH, _UNSEEN = 8, 2


def clothes_to_teach() -> dict[str, Any]:
    """Return the built-in pictures as keyword arguments of `TeachIt`.

    Of three classes of `fashion`, the first eight training images, and the
    first two test images to classify afterwards.
    """
    data = fashion()

    def first(images: torch.Tensor, labels: torch.Tensor, count: int) -> Any:
        rows = [
            images[labels == CLASSES.index(kind)][:count, 0] for kind in KINDS
        ]
        return torch.stack(rows).mul(255).round().byte().numpy()

    unseen = first(data.test_images, data.test_labels, _UNSEEN)
    return {
        "names": list(KINDS),
        "pictures": first(data.train_images, data.train_labels, _EACH),
        "unseen": unseen.transpose(1, 0, 2, 3).reshape(-1, 28, 28),
    }
