"""What a page needs to match scenes of digits and sentences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from vitedu import require
from vitedu.book.followed_digits import MOST_INK, check_config
from vitedu.book.page_weights import page_weights
from vitedu.data.captions import (
    MAX_WORDS,
    SIDE,
    WORDS,
    scene_corners,
    scenes,
)
from vitedu.data.digits import digits
from vitedu.objectives.contrastive import ImagesAndCaptions

DRAWINGS = 4
# Scenes that fill a batch, of pairs of digits that never occur in training.
OTHERS = ((1, 6, 1), (8, 3, 0), (5, 4, 1), (9, 0, 0), (6, 3, 0), (4, 9, 1))


def scenes_to_match(
    plain: ImagesAndCaptions,
    near: ImagesAndCaptions,
    measured: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Return keyword arguments of the explorer `Match`.

    Args:
        plain: Encoders of scenes of 20 x 20 pixels and their sentences,
            trained on any scenes, as `rounded_to_half` makes them.
        near: Others, trained on batches with mirror images.
        measured: How each answers, as `experiments/match.py` writes it:
            `weights`, "plain" or "near", `relation`, `choices`, `right`.

    Raises:
        TypeError: Either is not ImagesAndCaptions.
        ValueError: Encoders of other images or words; weights that are not
            rounded.
    """
    sent = {"plain": _sent("plain", plain), "near": _sent("near", near)}
    weights = [one.pop("weights") for one in sent.values()]
    for place in sent["near"]["layout"].values():
        place[0] += len(weights[0]) // 2
    return {
        "data": b"".join(weights),
        "networks": sent,
        "words": list(WORDS),
        "samples": _samples(),
        "corners": _corners(),
        "others": [list(scene) for scene in OTHERS],
        "unseen": scenes(unseen=True)[:, :2].unique(dim=0).tolist(),
        "measured": [dict(one) for one in measured],
    }


def _sent(name: str, model: ImagesAndCaptions) -> dict[str, Any]:
    """Return two encoders as a page takes them."""
    require.instance(name, model, ImagesAndCaptions)
    check_config(
        name,
        model.image.config,
        image_size=SIDE,
        patch_size=5,
        num_classes=0,
        drop_path=0.0,
    )
    found = model.words.num_embeddings, model.pos_embed.weight.shape[1]
    if found != (len(WORDS), MAX_WORDS):
        raise ValueError(
            f"{name} must know {len(WORDS)} words and sentences of "
            f"{MAX_WORDS}, got {found[0]} and {found[1]}"
        )
    sent = page_weights(model)
    return sent | {"weights": sent["weights"].astype("<f2").tobytes()}


def _samples() -> np.ndarray:
    """Return some test images of each digit, with ink from 0 to 16."""
    data = digits()
    shown = torch.stack(
        [
            torch.where(data.test_labels == digit)[0][:DRAWINGS]
            for digit in range(10)
        ]
    )
    pixels = data.pixels(data.test_images[shown.flatten()])[:, 0]
    ink = (pixels * MOST_INK).round().to(torch.uint8).numpy()
    return ink.reshape(10, DRAWINGS, 8, 8)


def _corners() -> np.ndarray:
    """Draw where the digits begin, (drawing, relation, digit, 2)."""
    ends = torch.tensor([[0, 1, relation] for relation in (0, 1)])
    found = scene_corners(
        ends.repeat(DRAWINGS, 1), generator=torch.Generator().manual_seed(0)
    )
    return found.reshape(DRAWINGS, 2, 2, 2).to(torch.uint8).numpy()
