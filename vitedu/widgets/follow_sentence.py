"""A sentence, followed through the whole translator, word by word."""

from typing import Any

import traitlets

from vitedu.widgets.base import Choice, Integer, index_below
from vitedu.widgets.translation import TranslationExplorer

STAGES = (
    "signs",
    "sign positions",
    "memory",
    "words",
    "word positions",
    "norm",
    "query",
    "key",
    "value",
    "scores",
    "mask",
    "softmax",
    "mix",
    "projection",
    "sum",
    "forward norm",
    "hidden",
    "active",
    "narrowed",
    "forward sum",
    "last",
    "logits",
    "chances",
)
# The end of a sentence, which one may force like a word.
END = "end"
# Of the page, for the longest sentence that it writes.
_MOST_WORDS = 24
_LAST = -1


class FollowSentence(TranslationExplorer):
    """Type a number, and follow it through the translator, step by step.

    The model runs in the page. What is shown can be set and linked at any
    time; all of it counts from 0.

    Args:
        weights: As `page_weights.page_weights` returns it, like `layout` and
            `config`.
        src_words: The words of the source vocabulary, without special tokens;
            the Chinese digits and 十百千万 among them.
        tgt_words: The words of the target vocabulary.
        view: What to show at first: `number`; `method` ("greedy", "beam" or
            "sample"), with `beam_size` (1 to 4), `temperature` (0.1 to 3)
            and `seed` of a sample; `begins`, words that the sentence is made
            to begin with, where "end" ends it; `step`, the word that is being
            written; `attention` ("cross", "encoder" or "decoder"), `layer` and
            `head`; `stage`, one of `STAGES`; `row` (-1 is the last) and
            `column`, the number in the stage that is worked out.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other, a view that does
            not exist, or a change of what the explorer is made of.
    """

    files = "follow_sentence"
    remembers = (
        "number",
        "method",
        "beam_size",
        "temperature",
        "seed",
        "begins",
        "step",
        "attention",
        "layer",
        "head",
        "stage",
        "row",
        "column",
    )

    beam_size = Integer(3, low=1, high=4)
    begins = traitlets.List(traitlets.Unicode()).tag(sync=True)
    # A shorter sentence shows its last word instead.
    step = Integer(0, low=0, high=_MOST_WORDS - 1)
    attention = Choice("cross", "encoder", "decoder")
    layer = Integer(0, low=0, high=63)
    head = Integer(0, low=0, high=63)
    stage = Choice("softmax", *(one for one in STAGES if one != "softmax"))
    row = Integer(_LAST, low=_LAST, high=_MOST_WORDS - 1)
    column = Integer(0, low=0, high=4095)

    def _offered(self) -> dict[str, dict[str, Any]]:
        sizes = {
            name: {"high": self._size(name) - 1} for name in ("layer", "head")
        }
        words = {
            "options": [*self.tgt_words, END],
            "repeats": True,
            "high": _MOST_WORDS,
        }
        return sizes | {"begins": words}

    @traitlets.validate("layer", "head")
    def _check_index(self, proposal: Any) -> int:
        return index_below(self._size(proposal["trait"].name), proposal)

    @traitlets.validate("begins")
    def _check_begins(self, proposal: Any) -> list[str]:
        words = proposal["value"]
        known = [*self.tgt_words, END]
        for word in words:
            if word not in known:
                raise ValueError(
                    f'begins must hold words of tgt_words or "{END}", '
                    f"got {word!r}"
                )
        if len(words) > _MOST_WORDS or END in words[:-1]:
            raise ValueError(
                f"begins must have at most {_MOST_WORDS} words, and none "
                f'after "{END}", got {words}'
            )
        return words

    def _size(self, name: str) -> int:
        return self.config[f"num_{name}s"]
