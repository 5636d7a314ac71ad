"""Small translators for the tests of the explorers that run one."""

from functools import cache

import torch
import torch.nn.functional as F

from vitedu.book.page_weights import page_weights, rounded_to_half
from vitedu.config import TransformerConfig
from vitedu.data.numerals import (
    numeral_pairs,
    numeral_vocabularies,
    numeral_words,
)
from vitedu.transformer import Transformer
from vitedu.widgets.translation import TranslationExplorer

SRC, TGT = numeral_vocabularies()
SEARCH = {"bos_id": 1, "eos_id": 2, "max_len": 24}


def make_model(seed: int = 0, **changes) -> Transformer:
    """Make a model with random weights."""
    model = _untrained(
        seed, **{"num_layers": 3, "tie_output": False} | changes
    )
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.25 * torch.randn_like(weight)
    return rounded_to_half(model).eval()


@cache
def trained_model() -> Transformer:
    """Make a model that has learned most numbers below 100."""
    model = _untrained(0, norm_first=True, d_model=32, d_ff=64)
    pairs = numeral_pairs([n for n in range(100) if n % 10 != 6])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # matrices this small gain nothing from a second
    for _ in range(90):
        logits = model(pairs.src, pairs.tgt_input)
        loss = F.cross_entropy(
            logits.flatten(0, 1), pairs.tgt_labels.flatten(), ignore_index=0
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.set_num_threads(threads)
    return rounded_to_half(model).eval()


def _untrained(seed: int, **changes) -> Transformer:
    sizes = {
        "src_vocab_size": len(SRC),
        "tgt_vocab_size": len(TGT),
        "d_model": 22,
        "d_ff": 17,
        "num_heads": 2,
        "num_layers": 2,
        "tie_source": False,
        "dropout": 0.0,
    }
    torch.manual_seed(seed)
    return Transformer(TransformerConfig(**sizes | changes))


def make_explorer(
    kind: type[TranslationExplorer], model: Transformer, **view
) -> TranslationExplorer:
    """Give an explorer this model and the words of the numerals."""
    words = {"src_words": SRC.words, "tgt_words": TGT.words}
    return kind(**page_weights(model) | words | view)


def source(number: int) -> torch.Tensor:
    """Return a number as a batch of one source sentence."""
    return torch.tensor([SRC.encode(numeral_words(number)[0])])
