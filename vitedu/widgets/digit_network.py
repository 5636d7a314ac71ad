"""What the explorers share that run a Vision Transformer for digits."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import traitlets
from ipywidgets import widget_serialization

from vitedu.widgets.base import Array, Explorer, Later

MOST_DIGITS = 64


class DigitExplorer(Explorer):
    """A trained Vision Transformer that reads digits in the page.

    The page loads its weights when the reader comes to the explorer.
    `followed_digits.followed_digits` makes the arguments.

    Args:
        weights: All numbers of the network in a row, in half precision.
        layout: Of each name in the network, ``[where it begins, *shape]``.
        config: What else the page has to know.
        samples: Images to start from, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is.
        answers: What the network answers each of them, (image, 10).
        view: What to show at first.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other, or a change of what
            the explorer is made of.
    """

    later = traitlets.Dict().tag(sync=True, **widget_serialization)
    layout = traitlets.Dict().tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    samples = Array("sample 8 8", dtype="uint8")
    labels = traitlets.List(traitlets.Int()).tag(sync=True)
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
            later={"weights": Later(data=weights)},
            layout=dict(layout),
            config=dict(config),
            samples=samples,
            labels=list(labels),
            answers=answers,
            **view,
        )
        for name in self._by_sample():
            if len(getattr(self, name)) != len(self.samples):
                raise ValueError(
                    f"{name} must have one entry for each of the "
                    f"{len(self.samples)} samples, "
                    f"got {len(getattr(self, name))}"
                )

    def _by_sample(self) -> tuple[str, ...]:
        return "labels", "answers"

    @traitlets.validate(
        "later", "layout", "config", "samples", "labels", "answers"
    )
    def _check_made_of(self, proposal: Any) -> Any:
        return self._only_once(proposal)
