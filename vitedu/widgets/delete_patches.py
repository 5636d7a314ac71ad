"""Delete the patches of a digit, in the order of one map or another."""

from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Array, Choice, Integer
from vitedu.widgets.digit_network import NetworkExplorer

NUM_PATCHES = 16
ORDERS = ("ink", "rollout", "gradient", "random")


class DeletePatches(NetworkExplorer):
    """A digit loses its patches, and a network becomes less confident.

    The network runs in the page. Four orders compete: the darkest patch
    first, the one that attention rollout ranks highest, the one to which the
    answer reacts most, and a random one. What the explorer is made of is
    fixed; what it shows can be set and linked at any time.

    `followed_digits.deleted_digits` makes the first seven arguments.

    Args:
        weights: As for `NetworkExplorer`, and so are `layout`, `config`,
            `samples`, `labels` and `answers`.
        gradients: How strongly the answer to each sample reacts to each
            patch, (image, 16), as `gradient_saliency` says.
        view: What to show at first: `digit`, one of the samples, from 0;
            `order`, one of `ORDERS`; `gone`, how many patches are deleted;
            `seed` of the random order; `paint`, what replaces a deleted patch:
            "white", which is empty paper, or "grey", the mean of the image.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "delete_patches"
    remembers = ("digit", "order", "gone", "seed", "paint")

    by_sample = (*NetworkExplorer.by_sample, "gradients")

    gradients = Array("sample 16")

    order = Choice(*ORDERS)
    gone = Integer(0, low=0, high=NUM_PATCHES)
    seed = Integer(1, low=1, high=50)
    paint = Choice("white", "grey")

    @traitlets.validate("gradients")
    def _check_gradients(self, proposal: Any) -> np.ndarray:
        return self._only_once(proposal)
