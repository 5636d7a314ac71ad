"""Writing a sentence token by token: what goes on, what ends, what drops."""

from vitedu.widgets.base import Integer, Number
from vitedu.widgets.translation import TranslationExplorer


class DecodingSteps(TranslationExplorer):
    """Step through greedy search, beam search or sampling of a translation.

    The model runs in the page. What is shown can be set and linked at any
    time.

    Args:
        weights: As `page_weights.page_weights` returns it, like `layout` and
            `config`.
        src_words: The words of the source vocabulary, without special tokens;
            the Chinese digits and 十百千万 among them.
        tgt_words: The words of the target vocabulary.
        view: What to show at first: `number`, `method` ("greedy", "beam" or
            "sample"), `beam_size` (1 to 5), `length_penalty` (0 to 2),
            `temperature` (0.1 to 3) and `seed` of a sample, and `step`,
            counted from 0; the last step shows what has been found.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other, or a change of what
            the explorer is made of.
    """

    files = "decoding_steps"
    remembers = (
        "number",
        "method",
        "beam_size",
        "length_penalty",
        "temperature",
        "seed",
        "step",
    )

    beam_size = Integer(3, low=1, high=5)
    length_penalty = Number(0.6, low=0, high=2)
    # A search that ends earlier shows its last step instead.
    step = Integer(0, low=0, high=64)
