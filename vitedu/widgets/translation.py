"""What explorers that run a trained translator of numerals share."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import (
    Array,
    Choice,
    Explorer,
    Integer,
    Number,
    checked_words,
)

LARGEST = 99_999_999
_FIXED = ("weights", "layout", "config", "src_words", "tgt_words")
_SIGNS = "零一二三四五六七八九十百千万"
# In front of the words: padding, beginning, end.
_NUM_MARKS = 3
# Of 77,777,777.
_MOST_SIGNS = 15


class TranslationExplorer(Explorer):
    """A trained Transformer that translates numerals in the page.

    Args:
        weights: As `page_weights.page_weights` returns it, like `layout` and
            `config`.
        src_words: The words of the source vocabulary, without special tokens;
            the Chinese digits and 十百千万 among them.
        tgt_words: The words of the target vocabulary.
        view: What to show at first: `number`; `method`, "greedy", "beam" or
            "sample", with the `temperature` (0.1 to 3) and the `seed` of a
            sample.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other, or a change of what
            the explorer is made of.
    """

    weights = Array("number", dtype="float16")
    layout = traitlets.Dict().tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    src_words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    tgt_words = traitlets.List(traitlets.Unicode()).tag(sync=True)

    number = Integer(12005, low=0, high=LARGEST)
    method = Choice("greedy", "beam", "sample")
    temperature = Number(1.0, low=0.1, high=3)
    seed = Integer(0, low=0, high=2**31 - 1)

    def __init__(
        self,
        weights: np.ndarray,
        layout: dict[str, list[int]],
        config: dict[str, Any],
        *,
        src_words: Sequence[str],
        tgt_words: Sequence[str],
        **view: Any,
    ) -> None:
        for name, value in (("layout", layout), ("config", config)):
            if not isinstance(value, dict):
                raise TypeError(
                    f"{name} must be a dict, as page_weights makes it, "
                    f"got {type(value).__name__}"
                )
        words = {
            "src_words": checked_words("src_words", src_words),
            "tgt_words": checked_words("tgt_words", tgt_words),
        }
        _check_words(config, **words)
        super().__init__(
            weights=weights, layout=layout, config=config, **words, **view
        )
        _check_layout(self)

    @traitlets.validate(*_FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        return self._only_once(proposal)


def _check_words(
    config: dict[str, Any], src_words: list[str], tgt_words: list[str]
) -> None:
    for name, words in (("src", src_words), ("tgt", tgt_words)):
        size = config.get(f"{name}_vocab_size")
        if size is None:
            raise ValueError(
                f"config must hold {name}_vocab_size, as page_weights makes "
                f"it, got {sorted(config)}"
            )
        if len(words) != size - _NUM_MARKS:
            raise ValueError(
                f"{name}_words must be the {size - _NUM_MARKS} words of the "
                f"vocabulary without its marks, got {len(words)}"
            )
    if config.get("tgt_pad_id") != 0:
        raise ValueError(
            "config must have tgt_pad_id = 0, as Vocabulary has it, "
            f"got {config.get('tgt_pad_id')}"
        )
    max_len = config.get("max_len")
    if max_len is not None and max_len < _MOST_SIGNS:
        raise ValueError(
            f"config must have a max_len of at least {_MOST_SIGNS}, the signs "
            f"of the longest number, got {max_len}"
        )
    missing = sorted(set(_SIGNS) - set(src_words))
    if missing:
        raise ValueError(
            f"src_words must hold the signs of Chinese numerals, {missing} "
            "are missing"
        )


def _check_layout(made: TranslationExplorer) -> None:
    ends = [start + prod(shape) for start, *shape in made.layout.values()]
    if max(ends, default=0) != len(made.weights):
        raise ValueError(
            f"layout must place {len(made.weights)} numbers, as weights has, "
            f"got {max(ends, default=0)}"
        )
