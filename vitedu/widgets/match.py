"""A scene and a sentence, and how well two encoders match them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import (
    Array,
    Choice,
    Explorer,
    Flag,
    Integer,
    Later,
    Number,
    index_below,
)

SAID = ("left of", "right of", "above", "below")
_MOST_DRAWINGS = 16


class Match(Explorer):
    """Compose a scene and a sentence, and see how well they match.

    Two encoders run in the page, which loads their weights when the reader
    comes to the explorer. The composed pair is the first of a batch of six;
    the second is the mirror image of its scene, with the sentence of that.

    `matched_scenes.scenes_to_match` makes the first eight arguments. They are
    fixed; what the explorer shows can be set and linked at any time.

    Args:
        data: The weights of both pairs of encoders in a row, in half
            precision.
        networks: Of "plain" and "near", ``{"layout": ..., "config": ...}``.
        words: Those that the encoders know, by their number.
        samples: Images of the ten digits, (digit, drawing, 8, 8), with ink
            from 0 to 16.
        corners: Where the digits of a scene begin, (drawing, relation, digit,
            2): row and column.
        others: Scenes that fill the batch, (first, second, relation) each.
        unseen: Pairs of digits that never occur in training.
        measured: How often the true sentence is preferred to the swapped one,
            of each weights and relation.
        view: What to show at first: the scene, `first` and `second`, digits,
            and `relation`; the sentence, `said_first`, `said` and
            `said_second`; `swap`, whether left and right (above and below)
            change places in it; `weights`, trained on any scenes ("plain") or
            with mirror images in each batch ("near"); `temperature`, which
            divides cosines, in [0.01, 1]; `bias` of the sigmoids, in
            [-20, 0]; `show`, what is in the cells; `drawing`, which images
            and locations, from 0.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A view that does not exist, or a change of what the
            explorer is made of.
    """

    files = "match"
    remembers = (
        "first",
        "relation",
        "second",
        "said_first",
        "said",
        "said_second",
        "swap",
        "weights",
        "temperature",
        "bias",
        "show",
        "drawing",
    )

    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    networks = traitlets.Dict().tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    samples = Array("10 drawing 8 8", dtype="uint8")
    corners = Array("drawing 2 2 2", dtype="uint8")
    others = traitlets.List().tag(sync=True)
    unseen = traitlets.List().tag(sync=True)
    measured = traitlets.List().tag(sync=True)

    first = Integer(2, low=0, high=9)
    relation = Choice("left of", "above")
    second = Integer(7, low=0, high=9)
    said_first = Integer(2, low=0, high=9)
    said = Choice(*SAID)
    said_second = Integer(7, low=0, high=9)
    swap = Flag(False)
    weights = Choice("plain", "near")
    temperature = Number(0.07, low=0.01, high=1.0)
    bias = Number(-10.0, low=-20.0, high=0.0)
    show = Choice("cosines", "rows", "columns", "yes")
    drawing = Integer(0, low=0, high=_MOST_DRAWINGS - 1)

    def __init__(
        self,
        data: bytes,
        networks: Mapping[str, Any],
        words: Sequence[str],
        samples: np.ndarray,
        corners: np.ndarray,
        others: Sequence[Sequence[int]],
        unseen: Sequence[Sequence[int]],
        measured: Sequence[Mapping[str, Any]],
        **view: Any,
    ) -> None:
        super().__init__(
            later={"weights": Later(data=data)},
            networks=dict(networks),
            words=list(words),
            samples=samples,
            corners=corners,
            others=[list(scene) for scene in others],
            unseen=[list(pair) for pair in unseen],
            measured=[dict(one) for one in measured],
            **view,
        )
        if self.samples.shape[1] != len(self.corners):
            raise ValueError(
                "samples must have a drawing for each of the "
                f"{len(self.corners)} corners, got {self.samples.shape[1]}"
            )

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {"drawing": {"high": len(self.corners) - 1}}

    @traitlets.validate(
        "later",
        "networks",
        "words",
        "samples",
        "corners",
        "others",
        "unseen",
        "measured",
    )
    def _check_made_of(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("drawing")
    def _check_drawing(self, proposal: Any) -> int:
        return index_below(len(self.corners), proposal)
