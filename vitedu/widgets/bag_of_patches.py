"""Shuffle the patches of a digit before two Vision Transformers."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Array, Flag, Integer
from vitedu.widgets.digit_network import DrawingExplorer

NUM_PATCHES = 16


class BagOfPatches(DrawingExplorer):
    """Shuffle the patches of a digit, and see which network can still read it.

    Two networks run in the page, which loads their weights when the reader
    comes to the explorer. One has positions, the other has none. Each reads
    the digit in the order shown, and in 200 others.

    `followed_digits.digits_to_shuffle` makes the first five arguments. All of
    them, and `kept`, are fixed; what the explorer shows can be set and linked
    at any time.

    Args:
        weights: All weights of both networks in a row, in half precision.
        networks: Of "with" and "without" positions, ``{"layout": ...,
            "config": ...}``, as `FollowDigit` takes them.
        samples: Images to start from, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is.
        bag_reads: What the network without positions takes each for.
        kept: Whether these are the networks in `book/data`, of which the
            tour speaks.
        view: What to show at first: `digit`, one of the samples, or -1 for
            `picture`, (8, 8) with ink from 0 to 16; `seed` of the shuffle, 0
            for none; `swapped`, which of the shuffled patches is moved to each
            place by hand, (16,); `positions`, which network reads.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "bag_of_patches"
    remembers = ("digit", "picture", "seed", "swapped", "positions")

    by_sample = (*DrawingExplorer.by_sample, "bag_reads")

    networks = traitlets.Dict().tag(sync=True)
    bag_reads = traitlets.List(traitlets.Int()).tag(sync=True)
    kept = Flag(False)

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
            weights,
            samples,
            labels,
            networks=dict(networks),
            bag_reads=list(bag_reads),
            **view,
        )

    def _offered(self) -> dict[str, dict[str, Any]]:
        return super()._offered() | {"swapped": {"high": NUM_PATCHES - 1}}

    @traitlets.validate("networks", "bag_reads", "kept")
    def _check_networks(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("swapped")
    def _check_swapped(self, proposal: Any) -> np.ndarray:
        swapped = proposal["value"]
        if sorted(swapped.tolist()) != list(range(NUM_PATCHES)):
            raise ValueError(
                f"swapped must hold each of 0 to {NUM_PATCHES - 1} once, "
                f"got {swapped.tolist()}"
            )
        return swapped
