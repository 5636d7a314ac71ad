"""Masks by hand: who sees whom, and what one wrong detail breaks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import (
    Array,
    Choice,
    Explorer,
    Flag,
    Integer,
    index_below,
)

TOKENS = ("<bos>", "I", "have", "a", "cat", "<pad>")
SCORES = (
    (0.5, 1.6, 0.9, -0.4, 2.0, 0.2),
    (0.3, 1.2, 1.9, 0.1, 2.4, -0.3),
    (-0.6, 1.7, 0.4, 0.8, 2.6, 0.5),
    (-1.1, 0.2, 1.3, 0.6, 2.9, -0.2),
    (-1.8, -0.9, -0.5, -1.2, -0.7, -1.4),
    (0.1, 0.4, -0.2, 0.3, 0.7, 1.5),
)
PAD = "<pad>"
PRESETS = ("causal and padding", "causal", "padding", "none")
METHODS = (
    "fill before softmax",
    "multiply before softmax",
    "multiply after softmax",
    "multiply after and renormalise",
)
FILL_VALUES = ("finfo.min and clear", "-inf", "finfo.min", "-1e9")
CONVENTIONS = (
    "vitedu",
    "F.scaled_dot_product_attention",
    "nn.MultiheadAttention",
    "additive",
    "integers",
)
FEWEST, MOST = 2, 8
LARGEST_SCORE = 5


class MaskEditor(Explorer):
    """Scores, a mask, masked scores and weights of a few tokens, to edit.

    What it shows (`mask`, `scores`, `method`, `fill_value`, `convention`,
    `handed_over`, `query`, `key`) can be set and linked at any time; how many
    tokens there are is fixed. The indices count from 0.

    Args:
        scores: The score of each query for each key, in [-5, 5], (query, key);
            from 2 to 8 of each.
        tokens: A word for each token, which labels its row and its column.
            "<pad>" is what the padding mask hides.
        mask: Boolean, True = may attend, (query, key); by default causal,
            without the padding.
        view: What to show at first, by the names above. `method` is one of
            `METHODS`, `fill_value` of `FILL_VALUES`, `convention` (how the
            mask is written) of `CONVENTIONS`. `handed_over` gives the mask,
            as it is written, to an attention layer that reads it another way.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arrays or words that do not fit each other, scores or
            indices out of range.
    """

    files = "mask_editor"
    remembers = (
        "scores",
        "mask",
        "method",
        "fill_value",
        "convention",
        "handed_over",
        "query",
        "key",
    )

    scores = Array("query key", default=SCORES)
    mask = Array("query key", dtype="bool")
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    method = Choice(*METHODS)
    fill_value = Choice(*FILL_VALUES)
    convention = Choice(*CONVENTIONS)
    handed_over = Flag(False)
    query = Integer(1, low=0, high=MOST - 1)
    key = Integer(1, low=0, high=MOST - 1)

    def __init__(
        self,
        scores: np.ndarray | None = None,
        tokens: Sequence[str] = TOKENS,
        *,
        mask: np.ndarray | None = None,
        **view: Any,
    ) -> None:
        words = _words(tokens)
        if scores is not None:
            view["scores"] = scores
        if mask is None:
            mask = preset("causal and padding", words)
        super().__init__(tokens=words, mask=mask, **view)
        _check_square("scores", self.scores, len(words))

    def _offered(self) -> dict[str, dict[str, Any]]:
        token = {"high": len(self.tokens) - 1}
        scores = {"low": -LARGEST_SCORE, "high": LARGEST_SCORE}
        return {"scores": scores, "query": token, "key": token}

    @traitlets.validate("tokens")
    def _check_tokens(self, proposal: Any) -> list[str]:
        return self._only_once(proposal)

    @traitlets.validate("scores")
    def _check_scores(self, proposal: Any) -> np.ndarray:
        scores = proposal["value"]
        _check_square("scores", scores, len(self.tokens))
        if np.abs(scores).max() > LARGEST_SCORE:
            raise ValueError(
                f"scores must lie in [-5, 5], got values from {scores.min()} "
                f"to {scores.max()}"
            )
        return scores

    @traitlets.validate("mask")
    def _check_mask(self, proposal: Any) -> np.ndarray:
        _check_square("mask", proposal["value"], len(self.tokens))
        return proposal["value"]

    @traitlets.validate("query", "key")
    def _check_index(self, proposal: Any) -> int:
        return index_below(len(self.tokens), proposal)


def preset(name: str, tokens: Sequence[str]) -> np.ndarray:
    """The mask that a button stands for, (query, key), True = may attend.

    Args:
        name: One of `PRESETS`.
        tokens: The words; "<pad>" is padding.
    """
    seen = np.ones((len(tokens), len(tokens)), dtype=bool)
    if "causal" in name:
        seen = np.tril(seen)
    if "padding" in name:
        seen = seen & np.array([token != PAD for token in tokens])
    return seen


def _words(tokens: Sequence[str]) -> list[str]:
    if isinstance(tokens, str):
        raise TypeError(f"tokens must be a list of words, got {tokens!r}")
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"tokens must be words, got {token!r}")
    if not FEWEST <= len(tokens) <= MOST:
        raise ValueError(
            f"tokens must be from {FEWEST} to {MOST} words, got {len(tokens)}"
        )
    return list(tokens)


def _check_square(name: str, array: np.ndarray, size: int) -> None:
    if array.shape != (size, size):
        raise ValueError(
            f"{name} must have the shape ({size}, {size}), a row and a column "
            f"for each of the tokens, got {array.shape}"
        )
