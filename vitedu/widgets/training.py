"""Misread digits, which fade while networks are trained."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import (
    Array,
    Explorer,
    Integer,
    checked_words,
    index_below,
)
from vitedu.widgets.digit_network import MOST_INK

_MOST = 4096
# The largest value of each.
_LARGEST = {"images": MOST_INK, "labels": 9, "answers": 9}


class Training(Explorer):
    """All test digits after each epoch; correctly classified ones fade.

    The page computes only counts: the answers are those that networks gave
    while they were trained. What the explorer is made of is fixed; what it
    shows can be set and linked at any time.

    Args:
        images: Test digits, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is, (image,), from 0 to 9.
        answers: Which digit each network took them for at the end of each
            epoch, (network, epoch, image), from 0 to 9.
        names: A short name for each network.
        view: What to show at first: `epoch`, from 1; `network` and `image`,
            from 0.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A number outside its range; arguments that do not fit
            each other; a view that does not exist.
    """

    files = "training"
    remembers = ("network", "epoch", "image")

    images = Array("image 8 8", dtype="uint8")
    labels = Array("image", dtype="uint8")
    answers = Array("network epoch image", dtype="uint8")
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)

    network = Integer(0, low=0, high=_MOST - 1)
    epoch = Integer(1, low=1, high=_MOST)
    image = Integer(0, low=0, high=_MOST - 1)

    def __init__(
        self,
        images: np.ndarray,
        labels: np.ndarray,
        answers: np.ndarray,
        *,
        names: Sequence[str],
        **view: Any,
    ) -> None:
        super().__init__(
            images=images,
            labels=labels,
            answers=answers,
            names=checked_words("names", names),
            **view,
        )
        networks, _, count = self.answers.shape
        for name, size, of in (
            ("images", count, "image"),
            ("labels", count, "image"),
            ("names", networks, "network"),
        ):
            given = len(getattr(self, name))
            if given != size:
                raise ValueError(
                    f"{name} must have one entry for each {of} of answers, "
                    f"{size}, got {given}"
                )

    def _offered(self) -> dict[str, dict[str, Any]]:
        networks, epochs, count = self.answers.shape
        return {
            "network": {"high": networks - 1},
            "epoch": {"high": epochs},
            "image": {"high": count - 1},
        }

    @traitlets.validate("names")
    def _check_names(self, proposal: Any) -> list[str]:
        return self._only_once(proposal)

    @traitlets.validate("images", "labels", "answers")
    def _check_digits(self, proposal: Any) -> np.ndarray:
        digits, name = self._only_once(proposal), proposal["trait"].name
        if digits.max() > _LARGEST[name]:
            raise ValueError(
                f"{name} must lie in [0, {_LARGEST[name]}], got {digits.max()}"
            )
        return digits

    @traitlets.validate("network", "image")
    def _check_index(self, proposal: Any) -> int:
        networks, _, count = self.answers.shape
        sizes = {"network": networks, "image": count}
        return index_below(sizes[proposal["trait"].name], proposal)

    @traitlets.validate("epoch")
    def _check_epoch(self, proposal: Any) -> int:
        epoch, epochs = proposal["value"], self.answers.shape[1]
        if epoch > epochs:
            raise ValueError(f"epoch must lie in [1, {epochs}], got {epoch}")
        return epoch
