"""A digit, followed through every step of a Vision Transformer."""

from typing import Any

import traitlets

from vitedu.widgets.base import Choice, Flag, Integer, index_below
from vitedu.widgets.digit_network import DrawingExplorer, NetworkExplorer

STAGES = (
    "pixels",
    "patches",
    "tokens",
    "positions",
    "norm1",
    "query",
    "key",
    "value",
    "scores",
    "softmax",
    "heads",
    "projection",
    "attention sum",
    "norm2",
    "hidden",
    "gelu",
    "narrowed",
    "block sum",
    "norm",
    "logits",
    "answer",
)
_MOST = 64


class FollowDigit(DrawingExplorer, NetworkExplorer):
    """Draw a digit, and open every stage of the network that reads it.

    The network runs in the page, which loads its weights when the reader
    comes to the explorer; the small form loads them when the reader touches
    it. What the explorer is made of is fixed; what it shows can be set and
    linked at any time. All of these count from 0.

    `followed_digits.followed_digits` makes the first six arguments.

    Args:
        weights: All weights of the network in a row, in half precision.
        layout: For each name in the network, ``[where it begins, *shape]``.
        config: Everything else that the page has to know.
        samples: Images to start from, (image, 8, 8), with ink from 0 to 16.
        labels: Which digit each of them is.
        answers: What the network answers for each of them, (image, 10).
        small: Whether to show only the drawing and the answers.
        view: What to show at first: `digit`, one of the samples, or -1 for
            `picture`, (8, 8) with ink from 0 to 16; `stage`, one of
            `STAGES`; `block` and `head`; `row` and `column`, the number in the
            stage that is computed in full (the last one, where the stage has
            fewer); `off`, what is switched off: "positions", "scale",
            "residuals", "block 2", "head 2 5" (head 5 of block 2).

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; a view that does
            not exist.
    """

    files = "follow_digit"
    remembers = (
        "digit",
        "picture",
        "stage",
        "block",
        "head",
        "row",
        "column",
        "off",
    )

    small = Flag(False)

    stage = Choice(*STAGES)
    block = Integer(0, low=0, high=_MOST - 1)
    head = Integer(0, low=0, high=_MOST - 1)
    row = Integer(0, low=0, high=127)
    column = Integer(0, low=0, high=511)
    off = traitlets.List(traitlets.Unicode()).tag(sync=True)

    # The small form has no place for what an address asks for.
    @traitlets.default("_schema")
    def _settings(self) -> dict[str, dict[str, Any]]:
        return {} if self.small else super()._settings()

    def _offered(self) -> dict[str, dict[str, Any]]:
        return super()._offered() | {
            "block": {"high": self.config["num_layers"] - 1},
            "head": {"high": self.config["num_heads"] - 1},
            "off": {"options": self._parts()},
        }

    def _parts(self) -> list[str]:
        blocks = range(self.config["num_layers"])
        heads = range(self.config["num_heads"])
        known = ["positions", "scale", "residuals"]
        known += [f"block {block}" for block in blocks]
        return known + [
            f"head {block} {head}" for block in blocks for head in heads
        ]

    @traitlets.validate("small")
    def _check_small(self, proposal: Any) -> Any:
        return self._only_once(proposal)

    @traitlets.validate("block", "head")
    def _check_index(self, proposal: Any) -> int:
        sizes = {
            "block": self.config["num_layers"],
            "head": self.config["num_heads"],
        }
        return index_below(sizes[proposal["trait"].name], proposal)

    @traitlets.validate("off")
    def _check_off(self, proposal: Any) -> list[str]:
        for name in proposal["value"]:
            if name not in self._parts():
                raise ValueError(
                    'off must name "positions", "scale", "residuals", '
                    '"block 0" or "head 0 0", within the network, '
                    f"got {name!r}"
                )
        return proposal["value"]
