"""What all searches for a target sentence have in common: growing prefixes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from vitedu import require
from vitedu.cache import DecoderCache
from vitedu.transformer import Transformer


@dataclass(frozen=True, kw_only=True)
class Step:
    """What a search knows when it is about to choose the next tokens.

    Each row is a prefix that is still growing. Finished sentences have none;
    beam search has several for each of the others, the most likely first.

    Attributes:
        prefixes: The tokens so far, the start token included.
        sentences: Which row of `src` each prefix translates.
        log_probs: Log probability of each prefix.
        next_log_probs: Log probability of each token that may come next; -inf
            for padding, which is never chosen.
    """

    prefixes: Int[Tensor, "row token"]
    sentences: Int[Tensor, " row"]
    log_probs: Float[Tensor, " row"]
    next_log_probs: Float[Tensor, "row vocab_size"]


class Prefixes:
    """The beginnings of target sentences, and what is needed to extend them.

    `searching` makes it. All rows have the same number of tokens.

    Attributes:
        tokens: The prefixes, the start token included.
        sentences: Which source sentence each row translates.
        log_probs: Log probability of each row.
        num_choices: Tokens that may come next: all but the padding.
        eos_id: The token that ends a sentence.
        pad_id: The token after the end.
        max_len: Most tokens of a sentence, the end included.
    """

    tokens: Int[Tensor, "row token"]
    sentences: Int[Tensor, " row"]
    log_probs: Float[Tensor, " row"]

    def __init__(
        self,
        model: Transformer,
        src: Int[Tensor, "batch src"],
        bos_id: int,
        eos_id: int,
        max_len: int,
        cache: bool,
        record: Callable[[Step], None] | None,
    ) -> None:
        config = model.config
        self.eos_id, self.pad_id = eos_id, config.tgt_pad_id
        self.num_choices, self.max_len = config.tgt_vocab_size - 1, max_len
        self.tokens = torch.full((len(src), 1), bos_id, device=src.device)
        self.sentences = torch.arange(len(src), device=src.device)
        self._model, self._record = model, record
        self._src, self._memory = src, model.encode(src)
        self._cache = DecoderCache(config.num_layers) if cache else None
        self.log_probs = self._memory.new_zeros(len(src))

    def __len__(self) -> int:
        """Count the prefixes that are still growing."""
        return len(self.tokens)

    def predict(self) -> Float[Tensor, "row vocab_size"]:
        """Return the log probability of each token that may come next.

        Raises:
            ValueError: The model's logits lead to NaN.
        """
        logits = self._model.decode(
            self.tokens, self._memory, self._src, self._cache
        )[:, -1]
        # Sums in half precision would rank sentences by their rounding.
        dtype = torch.promote_types(logits.dtype, torch.float32)
        following = logits.log_softmax(dim=-1, dtype=dtype)
        if following.isnan().any():
            raise ValueError("model must give finite logits, got NaN")
        following[:, self.pad_id] = -torch.inf
        if self._record is not None:
            self._record(
                Step(
                    prefixes=self.tokens,
                    sentences=self.sentences,
                    log_probs=self.log_probs,
                    next_log_probs=following,
                )
            )
        return following

    def ends(self, tokens: Int[Tensor, "*shape"]) -> Tensor:
        """Tell which of these next tokens would be the last of a sentence."""
        return (tokens == self.eos_id) | (self.tokens.shape[1] == self.max_len)

    def extend(
        self,
        rows: Int[Tensor, " new"],
        tokens: Int[Tensor, " new"],
        log_probs: Float[Tensor, " new"],
    ) -> None:
        """Continue these rows, in this order, each with one more token."""
        everyone = torch.arange(len(self), device=rows.device)
        if not torch.equal(rows, everyone):
            self.sentences = self.sentences[rows]
            self.tokens = self.tokens[rows]
            self._src, self._memory = self._src[rows], self._memory[rows]
            if self._cache is not None:
                self._cache.select(rows)
        self.tokens = torch.cat([self.tokens, tokens[:, None]], dim=1)
        self.log_probs = log_probs


@contextmanager
def searching(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    bos_id: int,
    eos_id: int,
    max_len: int,
    cache: bool,
    record: Callable[[Step], None] | None,
) -> Iterator[Prefixes]:
    """Start with one prefix per sentence, consisting only of the start token.

    Inside, the model is in evaluation mode and nothing has gradients.
    Afterwards each of its layers is back in its own mode, even after an error.

    Args:
        model: A Transformer.
        src: Source sentences as ids, padded to one length.
        bos_id: The token each target sentence begins with.
        eos_id: The token that ends it.
        max_len: Most tokens to generate, the end included.
        cache: Whether keys and values are kept from step to step.
        record: Called with each `Step`.

    Raises:
        TypeError, ValueError: As for `decoding.greedy_search`.
    """
    _check(model, src, bos_id, eos_id, max_len, cache)
    require.function("record", record, optional=True)
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield Prefixes(model, src, bos_id, eos_id, max_len, cache, record)
    finally:
        for module, training in modes:
            module.training = training


def _check(
    model: Transformer,
    src: Tensor,
    bos_id: int,
    eos_id: int,
    max_len: int,
    cache: bool,
) -> None:
    if not isinstance(model, Transformer):
        raise TypeError(
            f"model must be a Transformer, got {type(model).__name__}"
        )
    config = model.config
    require.ids("src", src, config.src_vocab_size)
    if src.numel() == 0 or (src == config.src_pad_id).all(dim=1).any():
        raise ValueError(
            "src must hold at least one token a sentence besides padding, "
            f"got shape {tuple(src.shape)}, {src.tolist()}"
        )
    names = {config.tgt_pad_id: "the padding"}
    for name, value in (("bos_id", bos_id), ("eos_id", eos_id)):
        require.integer(name, value, at_least=0)
        if value >= config.tgt_vocab_size:
            raise ValueError(
                f"{name} must be below {config.tgt_vocab_size}, the target "
                f"vocabulary, got {value}"
            )
        if value in names:
            raise ValueError(
                f"{name} must differ from {names[value]}, got {value}"
            )
        names[value] = name
    require.positive_int("max_len", max_len)
    if config.max_len is not None and max_len > config.max_len:
        raise ValueError(
            f"max_len must be at most {config.max_len}, the learned "
            f"positions, got {max_len}"
        )
    require.boolean("cache", cache)
