"""Shuffle the patches of a digit before two Vision Transformers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import (
    Array,
    Explorer,
    Flag,
    Integer,
    Later,
    index_below,
)
from vitedu.widgets.follow_digit import DRAWN, MOST_INK

NUM_PATCHES = 16
_FIXED = ("later", "networks", "samples", "labels", "bag_reads", "kept")


class BagOfPatches(Explorer):
    """Shuffle the patches of a digit, and see who can still read it.

    Two networks run in the page, which loads their weights when the reader
    comes to the explorer. One has positions, the other none. Either reads the
    digit in the order shown, and in 200 others.

    `followed_digits.digits_to_shuffle` makes the first five arguments. All of
    them, and `kept`, are fixed; what it shows can be set and linked at any
    time.

    Args:
        weights: All numbers of both networks in a row, in half precision.
        networks: Of "with" and "without" positions, ``{"layout": ...,
            "config": ...}``, as `FollowDigit` takes them.
        samples: Images to start from, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is.
        bag_reads: What the network without positions reads in each.
        kept: Whether these are the networks in `book/data`, of which the
            tour speaks.
        view: What to show at first: `digit`, one of the samples, or -1 for
            `picture`, (8, 8) with ink from 0 to 16; `seed` of the shuffle, 0
            for none; `swapped`, which of the shuffled patches comes to each
            place by hand, (16,); `positions`, which network reads.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "bag_of_patches"
    parts = (
        "later",
        "matrices",
        "follow_digit_maths",
        "follow_digit_ink",
        "digit_parts",
        "follow_digit_drawing",
        "bag_of_patches_maths",
    )
    remembers = ("digit", "picture", "seed", "swapped", "positions")

    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    networks = traitlets.Dict().tag(sync=True)
    samples = Array("sample 8 8", dtype="uint8")
    labels = traitlets.List(traitlets.Int()).tag(sync=True)
    bag_reads = traitlets.List(traitlets.Int()).tag(sync=True)
    kept = Flag(False)

    digit = Integer(0, low=DRAWN, high=63)
    picture = Array("8 8", dtype="uint8", default=[[0] * 8] * 8)
    seed = Integer(1, low=0, high=99)
    swapped = Array("16", dtype="uint8", default=range(NUM_PATCHES))
    positions = Flag(False)

    def __init__(
        self,
        weights: bytes,
        networks: Mapping[str, Any],
        samples: np.ndarray,
        labels: Sequence[int],
        bag_reads: Sequence[int],
        **view: Any,
    ) -> None:
        super().__init__(
            later={"weights": Later(data=weights)},
            networks=dict(networks),
            samples=samples,
            labels=list(labels),
            bag_reads=list(bag_reads),
            **view,
        )
        for name in ("labels", "bag_reads"):
            if len(getattr(self, name)) != len(self.samples):
                raise ValueError(
                    f"{name} must have one entry for each of the "
                    f"{len(self.samples)} samples, "
                    f"got {len(getattr(self, name))}"
                )

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {
            "digit": {"high": len(self.samples) - 1},
            "picture": {"high": MOST_INK},
            "swapped": {"high": NUM_PATCHES - 1},
        }

    @traitlets.validate(*_FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("digit")
    def _check_digit(self, proposal: Any) -> int:
        return index_below(len(self.samples), proposal)

    @traitlets.validate("picture")
    def _check_picture(self, proposal: Any) -> np.ndarray:
        picture = proposal["value"]
        if picture.max() > MOST_INK:
            raise ValueError(
                f"picture must lie in [0, {MOST_INK}], got {picture.max()}"
            )
        return picture

    @traitlets.validate("swapped")
    def _check_swapped(self, proposal: Any) -> np.ndarray:
        swapped = proposal["value"]
        if sorted(swapped.tolist()) != list(range(NUM_PATCHES)):
            raise ValueError(
                f"swapped must hold each of 0 to {NUM_PATCHES - 1} once, "
                f"got {swapped.tolist()}"
            )
        return swapped
