"""One weight file, loaded with one number of heads or another."""

from typing import Any

import traitlets

from vitedu.widgets.base import Integer
from vitedu.widgets.digit_network import NetworkExplorer

_MOST = 4096


class AssumedHeads(NetworkExplorer):
    """Tell the loader of a network how many heads it has, rightly or wrongly.

    The network runs in the page, with the same weights for every number of
    heads, and reads all samples. What the explorer is made of is fixed; what
    it shows can be set and linked at any time.

    `followed_digits.followed_digits` makes the first six arguments, best with
    ``all_images=True``.

    Args:
        weights: As for `NetworkExplorer`, and so are `layout`, `config`, which
            has the true number of heads, `samples`, `labels` and `answers`.
        view: What to show at first: `heads`, a number that divides the width
            of the network, by default half of the true one; `digit`, one of
            the samples, from 0.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "assumed_heads"
    remembers = ("heads", "digit")

    heads = Integer(1, low=1, high=_MOST)
    digit = Integer(0, low=0, high=_MOST - 1)

    @traitlets.default("heads")
    def _half(self) -> int:
        true = self.config["num_heads"]
        return true // 2 if true % 2 == 0 else 1

    def _offered(self) -> dict[str, dict[str, Any]]:
        options = self._options()
        return super()._offered() | {
            "heads": {"options": options, "high": options[-1]}
        }

    def _options(self) -> list[int]:
        width = self.config["d_model"]
        return [n for n in range(1, width + 1) if width % n == 0]

    @traitlets.validate("heads")
    def _check_heads(self, proposal: Any) -> int:
        options, value = self._options(), proposal["value"]
        if value not in options:
            raise ValueError(f"heads must be one of {options}, got {value}")
        return value
