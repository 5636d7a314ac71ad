"""What explorers that read digits with Vision Transformers share."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import Array, Explorer, Integer, Later, index_below

# Of the picture that the reader has drawn.
DRAWN = -1
MOST_INK = 16
_MOST_DIGITS = 64


class DigitExplorer(Explorer):
    """Test images of digits, for networks that read them in the page.

    The page loads the weights when the reader comes to the explorer.

    Args:
        weights: All weights of the networks in a row, in half precision.
        samples: Images to start from, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is.
        view: What to show at first: `digit`, one of the samples, from 0.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other, or a change of what
            the explorer is made of.
    """

    # What has an entry for each sample.
    by_sample: tuple[str, ...] = ("labels",)

    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    samples = Array("sample 8 8", dtype="uint8")
    labels = traitlets.List(traitlets.Int()).tag(sync=True)

    digit = Integer(0, low=0, high=_MOST_DIGITS - 1)

    def __init__(
        self,
        weights: bytes,
        samples: np.ndarray,
        labels: Sequence[int],
        **view: Any,
    ) -> None:
        super().__init__(
            later={"weights": Later(data=weights)},
            samples=samples,
            labels=list(labels),
            **view,
        )
        for name in self.by_sample:
            if len(getattr(self, name)) != len(self.samples):
                raise ValueError(
                    f"{name} must have one entry for each of the "
                    f"{len(self.samples)} samples, "
                    f"got {len(getattr(self, name))}"
                )

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {"digit": {"high": len(self.samples) - 1}}

    @traitlets.validate("later", "samples", "labels")
    def _check_made_of(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("digit")
    def _check_digit(self, proposal: Any) -> int:
        return index_below(len(self.samples), proposal)


class NetworkExplorer(DigitExplorer):
    """A trained Vision Transformer that reads digits in the page.

    `followed_digits.followed_digits` makes the arguments.

    Args:
        weights: All weights of the network in a row, in half precision.
        layout: For each name in the network, ``[where it begins, *shape]``.
        config: Everything else that the page has to know.
        samples: Images to start from, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is.
        answers: What the network answers for each of them, (image, 10).
        view: What to show at first.

    Raises:
        TypeError, ValueError: As `DigitExplorer` does.
    """

    by_sample = (*DigitExplorer.by_sample, "answers")

    layout = traitlets.Dict().tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    answers = Array("sample 10")

    def __init__(
        self,
        weights: bytes,
        layout: Mapping[str, Sequence[int]],
        config: Mapping[str, Any],
        samples: np.ndarray,
        labels: Sequence[int],
        answers: np.ndarray,
        **view: Any,
    ) -> None:
        super().__init__(
            weights,
            samples,
            labels,
            layout=dict(layout),
            config=dict(config),
            answers=answers,
            **view,
        )

    @traitlets.validate("layout", "config", "answers")
    def _check_network(self, proposal: Any) -> Any:
        return self._only_once(proposal)


class DrawingExplorer(DigitExplorer):
    """An explorer in which the reader may also draw a digit.

    Args:
        weights: As for `DigitExplorer`, and so are `samples` and `labels`.
        view: What to show at first: `digit`, one of the samples, from 0, or
            -1 for `picture`, (8, 8) with ink from 0 to 16.

    Raises:
        TypeError, ValueError: As `DigitExplorer` does.
    """

    digit = Integer(0, low=DRAWN, high=_MOST_DIGITS - 1)
    picture = Array("8 8", dtype="uint8", default=[[0] * 8] * 8)

    def _offered(self) -> dict[str, dict[str, Any]]:
        return super()._offered() | {"picture": {"high": MOST_INK}}

    @traitlets.validate("picture")
    def _check_picture(self, proposal: Any) -> np.ndarray:
        picture = proposal["value"]
        if picture.max() > MOST_INK:
            raise ValueError(
                f"picture must lie in [0, {MOST_INK}], got {picture.max()}"
            )
        return picture
