"""A trained translator at work: what it writes, and where it looks."""

from typing import Any

import traitlets

from vitedu.widgets.base import Choice, Integer, index_below
from vitedu.widgets.translation import TranslationExplorer

MEAN = -1


class Translator(TranslationExplorer):
    """Type a number, see it translated, and where each head looks meanwhile.

    The model runs in the page. What is shown can be set and linked at any
    time; all of it counts from 0.

    Args:
        weights: As `page_weights.page_weights` returns it, like `layout` and
            `config`.
        src_words: The words of the source vocabulary, without marks; the
            Chinese digits and 十百千万 among them.
        tgt_words: Those of the target vocabulary.
        view: What to show at first: `number`, `attention` ("cross", "encoder"
            or "decoder"), `layer`, `head` (-1 is the mean of all) and
            `query`, the word that looks.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other, or a change of what
            the explorer is made of.
    """

    files = "translator"
    parts = (
        "choosing",
        "transformer_model",
        "numeral_words",
        "translation",
        "translator_lines",
        "translator_map",
    )
    remembers = ("number", "attention", "layer", "head", "query")

    attention = Choice("cross", "encoder", "decoder")
    layer = Integer(0, low=0, high=63)
    head = Integer(0, low=MEAN, high=63)
    # A shorter sentence shows its last word instead.
    query = Integer(0, low=0, high=63)

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {
            name: {"high": self._size(name) - 1} for name in ("layer", "head")
        }

    @traitlets.validate("layer", "head")
    def _check_index(self, proposal: Any) -> int:
        return index_below(self._size(proposal["trait"].name), proposal)

    def _size(self, name: str) -> int:
        return self.config[f"num_{name}s"]
