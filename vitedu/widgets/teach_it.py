"""Classes of the reader's own, taught to a network that runs in the page."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Array, Integer, checked_words
from vitedu.widgets.loaded_network import LoadingExplorer

BLOCKS = 12
_MOST_CLASSES = 5
_MOST_PICTURES = 20
# Of a head that is loaded from a file.
_MOST_SHOWN = 20


class TeachIt(LoadingExplorer):
    """A head for classes of the reader's own, on a frozen ViT-S/14.

    The page loads the network on request, as `OwnPhotograph` does. Each
    picture passes through it once; a linear map on what the patches hold after
    a block is fitted as `vitedu.pretrained.probes.fit_ridge` does it, and
    judged by leave-one-out. Photographs stay where they are.

    `clothes_to_teach.clothes_to_teach` makes the first three arguments. They
    are fixed; `block` and `shown` can be set and linked at any time.

    Args:
        names: The classes of the built-in pictures, two to five.
        pictures: Pictures to teach them with, (class, picture, 28, 28), from
            0 to 255; two to twenty of each.
        unseen: Pictures to classify afterwards, (picture, 28, 28).
        network: As for `OwnPhotograph`, and so is `pack`.
        view: What to show at first: `block`, after which the features are
            taken, 0 for the one with the smallest leave-one-out error;
            `shown`, the class of the map, from 1 on, 0 for the most probable.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "teach_it"
    remembers = ("block", "shown")

    names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    pictures = Array("class picture 28 28", dtype="uint8")
    unseen = Array("picture 28 28", dtype="uint8")

    block = Integer(0, low=0, high=BLOCKS)
    shown = Integer(0, low=0, high=_MOST_SHOWN)

    def __init__(
        self,
        names: Sequence[str],
        pictures: np.ndarray,
        unseen: np.ndarray,
        network: str = "",
        *,
        pack: Callable[[], bytes] | None = None,
        **view: Any,
    ) -> None:
        super().__init__(
            network,
            pack=pack,
            names=checked_words("names", names),
            pictures=pictures,
            unseen=unseen,
            **view,
        )
        classes, each = self.pictures.shape[:2]
        if len({*self.names}) != classes or not 2 <= classes <= _MOST_CLASSES:
            raise ValueError(
                f"names must be 2 to {_MOST_CLASSES} different names, one for "
                f"each class of pictures, got {self.names} for {classes}"
            )
        if not 2 <= each <= _MOST_PICTURES:
            raise ValueError(
                f"pictures must have 2 to {_MOST_PICTURES} of each class, "
                f"got {each}"
            )

    @traitlets.validate("names", "pictures", "unseen")
    def _check_made_of(self, proposal: Any) -> Any:
        return self._only_once(proposal)
