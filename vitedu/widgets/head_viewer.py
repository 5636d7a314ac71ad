"""Where each head of a layer looks from a chosen token."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import (
    Array,
    Explorer,
    Integer,
    checked_words,
    index_below,
)

MAX_HEADS = 8
MAX_LETTERS = 64
MAX_TOKENS = 24
FIXED = ("weights", "tokens", "targets")
# Of one look: four heads have colours of their own.
_SHOWN_AT_FIRST = 4
_UNLIMITED = 2**31 - 1
# Rounding to bfloat16 moves a sum by up to 2**-8.
_ROW_TOLERANCE = 4e-3


class HeadViewer(Explorer):
    """Lines from a token to the tokens it looks at, one colour per head.

    The arrays are fixed when the explorer is made; what it shows (`layer`,
    `query`, `heads`) can be set and linked at any time. All of these count
    from 0.

    Args:
        weights: Attention weights (head, query, key) or (layer, head, query,
            key); a row sums to 1. Up to 8 heads and 24 tokens.
        tokens: A word for each key; in self-attention each is also a query.
        targets: A word for each query, where queries and keys come from two
            sequences, as in cross-attention.
        view: What to show at first, by the names above; by default the first
            layer, the token in the middle and the first four heads.

    `of_letters` makes an explorer in which the reader types the tokens.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: An array whose shape or values do not fit the others.
    """

    files = "head_viewer"
    remembers = ("layer", "query", "heads", "word")

    weights = Array("layer head query key")
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    targets = traitlets.List(traitlets.Unicode()).tag(sync=True)

    layer = Integer(0, low=0, high=_UNLIMITED)
    query = Integer(0, low=0, high=_UNLIMITED)
    heads = traitlets.List().tag(sync=True)

    # Of an explorer that reads what is typed: see `of_letters`.
    letters = traitlets.Unicode("").tag(sync=True)
    asking = Array("head part component", default=[[[0.0]]])
    offering = Array("head part component", default=[[[0.0]]])
    words = traitlets.Dict().tag(sync=True)
    word = traitlets.Unicode("").tag(sync=True)

    _checked = False

    def __init__(
        self,
        weights: np.ndarray,
        tokens: Sequence[str],
        *,
        targets: Sequence[str] | None = None,
        **view: Any,
    ) -> None:
        if isinstance(weights, np.ndarray) and weights.ndim == 3:
            weights = weights[np.newaxis]
        if targets is not None:
            view["targets"] = checked_words("targets", targets)
        super().__init__(
            weights=weights, tokens=checked_words("tokens", tokens), **view
        )
        self._check_arrays()

    @classmethod
    def of_letters(
        cls,
        letters: str,
        asking: np.ndarray,
        offering: np.ndarray,
        words: dict[str, str],
        **view: Any,
    ) -> "HeadViewer":
        """Make one whose tokens are the letters of a word the reader types.

        The page computes the weights of one layer: the query of a token is the
        sum of a part for its letter and a part for its position, its key
        likewise, and the scores are scaled by the root of head_dim.

        Args:
            letters: All letters, each once.
            asking: Parts of queries (head, part, head_dim); the parts are
                those of the letters, then those of the positions.
            offering: Parts of keys, likewise.
            words: Words on buttons, by the names of the buttons; the first
                is shown at first.
            view: As for the class.

        Raises:
            TypeError: An argument of the wrong type.
            ValueError: A word that has an unknown letter, or does not fit the
                positions; arrays that do not fit the letters.
        """
        asking, offering = (np.asarray(part) for part in (asking, offering))
        if not words:
            raise ValueError("words must hold at least one word")
        _check_parts(letters, asking, offering)
        for word in words.values():
            _check_word(word, letters, asking.shape[1] - len(letters))
        first = next(iter(words.values()))
        weights = _weights_of(first, letters, asking, offering)
        return cls(
            weights.astype("float32"),
            list(first),
            letters=letters,
            asking=asking,
            offering=offering,
            words=words,
            word=first,
            **view,
        )

    def _offered(self) -> dict[str, dict[str, Any]]:
        layers, heads, queries, _ = self.weights.shape
        word: dict[str, Any] = {"options": [""]}
        if self.letters:
            queries = self.asking.shape[1] - len(self.letters)
            word = {"kind": "text", "letters": self.letters}
            word |= {"low": 2, "high": queries}
        return {
            "layer": {"high": layers - 1},
            "query": {"high": queries - 1},
            "heads": {"low": 0, "high": heads - 1},
            "word": word,
        }

    @traitlets.validate("word")
    def _check_typed(self, proposal: Any) -> str:
        if proposal["value"]:
            places = self.asking.shape[1] - len(self.letters)
            _check_word(proposal["value"], self.letters, places)
        return proposal["value"]

    @traitlets.default("query")
    def _middle(self) -> int:
        return self.weights.shape[2] // 2

    @traitlets.default("heads")
    def _first_heads(self) -> list[int]:
        return list(range(min(self.weights.shape[1], _SHOWN_AT_FIRST)))

    @traitlets.validate(*FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        value = self._only_once(proposal)
        self._check_arrays()
        return value

    @traitlets.validate("layer", "query")
    def _check_index(self, proposal: Any) -> int:
        self._check_arrays()
        axis = {"layer": 0, "query": 2}[proposal["trait"].name]
        size = self.weights.shape[axis]
        if proposal["trait"].name == "query" and self.word:
            size = len(self.word)
        return index_below(size, proposal)

    @traitlets.validate("heads")
    def _check_heads(self, proposal: Any) -> list[int]:
        self._check_arrays()
        heads = proposal["value"]
        for head in heads:
            if not isinstance(head, int) or isinstance(head, bool):
                raise TypeError(f"heads must be integers, got {head!r}")
        count = self.weights.shape[1]
        in_order = sorted(set(heads))
        if len(in_order) < len(heads) or not set(heads) <= set(range(count)):
            raise ValueError(
                f"heads must be different numbers in [0, {count - 1}], "
                f"got {heads}"
            )
        return in_order

    def _check_arrays(self) -> None:
        # Traitlets validates in no fixed order, once all traits are set:
        # whichever comes first has the arrays checked, so that they are
        # never blamed on the view.
        if not self._checked:
            _check_sizes(self)
            _check_rows(self.weights)
            self._checked = True


def _weights_of(
    word: str, letters: str, asking: np.ndarray, offering: np.ndarray
) -> np.ndarray:
    """The weights of a word, (head, query, key)."""
    ids = [letters.index(letter) for letter in word]
    places = len(letters) + np.arange(len(word))
    q, k = (part[:, ids] + part[:, places] for part in (asking, offering))
    scores = q @ k.swapaxes(1, 2) / q.shape[-1] ** 0.5
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def _check_parts(
    letters: str, asking: np.ndarray, offering: np.ndarray
) -> None:
    if not isinstance(letters, str):
        raise TypeError(f"letters must be a string, got {letters!r}")
    if len(set(letters)) < len(letters) or not 2 <= len(letters) <= (
        MAX_LETTERS
    ):
        raise ValueError(
            f"letters must be 2 to {MAX_LETTERS} different ones, "
            f"got {letters!r}"
        )
    places = asking.shape[1] - len(letters) if asking.ndim == 3 else 0
    if asking.shape != offering.shape or not 2 <= places <= MAX_TOKENS:
        raise ValueError(
            "asking and offering must have one shape, (head, part, "
            f"head_dim), with {len(letters)} letters and 2 to {MAX_TOKENS} "
            f"places as parts, got {asking.shape} and {offering.shape}"
        )


def _check_word(word: str, letters: str, places: int) -> None:
    if not isinstance(word, str):
        raise TypeError(f"word must be a string, got {word!r}")
    if not 2 <= len(word) <= places or not set(word) <= set(letters):
        raise ValueError(
            f"word must be 2 to {places} letters of {letters!r}, got {word!r}"
        )


def _check_sizes(made: HeadViewer) -> None:
    _, heads, queries, keys = made.weights.shape
    if heads > MAX_HEADS or max(queries, keys) > MAX_TOKENS:
        raise ValueError(
            f"weights must have at most {MAX_HEADS} heads and {MAX_TOKENS} "
            f"tokens, got shape {made.weights.shape}"
        )
    if len(made.tokens) != keys:
        raise ValueError(
            f"tokens must have {keys} entries, as weights has keys, "
            f"got {len(made.tokens)}"
        )
    if made.targets and len(made.targets) != queries:
        raise ValueError(
            f"targets must have {queries} entries, as weights has queries, "
            f"got {len(made.targets)}"
        )
    if not made.targets and queries != keys:
        raise ValueError(
            "weights must have as many queries as keys unless targets are "
            f"given, got shape {made.weights.shape}"
        )


def _check_rows(weights: np.ndarray) -> None:
    if weights.min() < 0:
        raise ValueError(f"weights must be at least 0, got {weights.min()}")
    totals = weights.sum(axis=-1, dtype=np.float64)
    worst = totals.flat[np.abs(totals - 1).argmax()]
    if abs(worst - 1) > _ROW_TOLERANCE:
        raise ValueError(
            "weights must have rows (the weights of one query) that sum to "
            f"1, got a row that sums to {worst}"
        )
