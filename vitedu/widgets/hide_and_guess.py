"""Hide patches of a picture, and let a masked autoencoder guess them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import (
    Array,
    Explorer,
    Integer,
    Later,
    checked_words,
    index_below,
)

_MOST_SAMPLES = 64
# What the page draws with the seed 1, row by row.
_AT_FIRST = "1110011 0101111 1111101 1111011 1101010 0101111 1011111"


class HideAndGuess(Explorer):
    """Hide patches of a picture, and see what a network puts there.

    A masked autoencoder runs in the page, which loads its weights when the
    reader comes to the explorer. It sees the visible patches, and predicts the
    others at every change.

    `hidden_patches.pictures_to_hide` makes the first five arguments. They are
    fixed; what the explorer shows can be set and linked at any time.

    Args:
        weights: All weights of the network in a row, in half precision.
        layout: For each name in the network, ``[where it begins, *shape]``.
        config: Everything else that the page has to know.
        samples: Pictures to choose from, (image, 28, 28), from 0 to 255.
        names: What each of them shows.
        view: What to show at first: `picture`, one of the samples, from 0;
            `hidden`, which of its 49 patches are hidden, row by row, (49,) of
            True and False; `seed` of the random order in which patches are
            hidden.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "hide_and_guess"
    remembers = ("picture", "hidden", "seed")

    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    layout = traitlets.Dict().tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    samples = Array("sample 28 28", dtype="uint8")
    names = traitlets.List(traitlets.Unicode()).tag(sync=True)

    picture = Integer(0, low=0, high=_MOST_SAMPLES - 1)
    hidden = Array(
        "49",
        dtype="bool",
        default=[bit == "1" for bit in _AT_FIRST.replace(" ", "")],
    )
    seed = Integer(1, low=1, high=99)

    def __init__(
        self,
        weights: bytes,
        layout: Mapping[str, Sequence[int]],
        config: Mapping[str, Any],
        samples: np.ndarray,
        names: Sequence[str],
        **view: Any,
    ) -> None:
        super().__init__(
            later={"weights": Later(data=weights)},
            layout=dict(layout),
            config=dict(config),
            samples=samples,
            names=checked_words("names", names),
            **view,
        )
        if len(self.names) != len(self.samples):
            raise ValueError(
                "names must have one entry for each of the "
                f"{len(self.samples)} samples, got {len(self.names)}"
            )

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {"picture": {"high": len(self.samples) - 1}}

    @traitlets.validate("later", "layout", "config", "samples", "names")
    def _check_made_of(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("picture")
    def _check_picture(self, proposal: Any) -> int:
        return index_below(len(self.samples), proposal)
