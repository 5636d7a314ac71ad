"""Write the target sentence: greedy search, sampling, beam search."""

from collections.abc import Callable

import torch
from jaxtyping import Int
from torch import Tensor

from vitedu import require
from vitedu.decoding.beams import (
    Hypotheses,
    NBest,
    collect,
    length_divisor,
)
from vitedu.decoding.prefixes import Prefixes, Step, searching
from vitedu.transformer import Transformer

__all__ = [
    "Hypotheses",
    "Step",
    "beam_search",
    "greedy_search",
    "length_divisor",
    "sample_tokens",
]


def greedy_search(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    cache: bool = True,
    record: Callable[[Step], None] | None = None,
) -> Hypotheses:
    """Append the most likely next token until every sentence has ended.

    Nothing more is computed for a sentence that has ended. The model runs in
    evaluation mode, without gradients; afterwards its mode is as before.

    Args:
        model: A Transformer.
        src: Source sentences as ids, padded to one length.
        bos_id: The token each target sentence begins with.
        eos_id: The token that ends it.
        max_len: Most tokens to generate, the end included.
        cache: Keep keys and values from step to step. False computes
            everything again at each step, which gives the same result more
            slowly.
        record: Called with a `Step` before each choice.

    Returns:
        One hypothesis per sentence.

    Raises:
        TypeError: `model` is not a Transformer, ids that are not integers.
        ValueError: Ids outside the vocabulary; `bos_id`, `eos_id` and padding
            not all different; a sentence of padding only; `max_len` below 1 or
            beyond learned positions.

    Source: Sutskever et al. 2014, section 3.2, with a beam of 1.
    Derived in: 10-decoding
    """
    with searching(
        model, src, bos_id, eos_id, max_len, cache, record
    ) as prefixes:
        return _write(prefixes, lambda following: following.argmax(dim=-1))


def sample_tokens(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    cache: bool = True,
    record: Callable[[Step], None] | None = None,
) -> Hypotheses:
    """Sample each next token with the probability that the model gives it.

    Args:
        model: As in `greedy_search`, like all arguments not named here.
        generator: Source of the random numbers: the same state gives the same
            samples.
        temperature: Divides the log probabilities before sampling, above 0.
            Towards 0 this becomes greedy search; 1 leaves the model as it is;
            higher values bring the probabilities closer together.
        top_k: Sample among this many most likely tokens; None means all.

    Returns:
        One hypothesis per sentence. `log_probs` are the model's, whatever
        `temperature` and `top_k` are.

    Raises:
        TypeError, ValueError: As for `greedy_search`; a `generator` that is
            not one, a `temperature` or a `top_k` outside its range.

    Source: Ackley et al. 1985, section 2 (temperature); Fan et al. 2018,
        section 5.4 (`top_k`).
    Derived in: 10-decoding
    """
    if not isinstance(generator, torch.Generator):
        raise TypeError(
            "generator must be a torch.Generator, "
            f"got {type(generator).__name__}"
        )
    require.number("temperature", temperature, above=0)
    if top_k is not None:
        require.positive_int("top_k", top_k)

    def choose(following: Tensor) -> Tensor:
        if top_k is not None:
            kept, tokens = following.topk(top_k)
            nothing = torch.full_like(following, -torch.inf)
            following = nothing.scatter(1, tokens, kept)
        # The likeliest at 0, and no 0 / 0 however small the temperature is.
        gaps = following - following.amax(dim=-1, keepdim=True)
        limits = torch.finfo(gaps.dtype)
        divisor = min(max(temperature, limits.tiny), limits.max)
        chances = (gaps / divisor).softmax(dim=-1)
        return chances.multinomial(1, generator=generator)[:, 0]

    with searching(
        model, src, bos_id, eos_id, max_len, cache, record
    ) as prefixes:
        if top_k is not None and top_k > prefixes.num_choices:
            raise ValueError(
                f"top_k must be at most {prefixes.num_choices}, the words "
                f"without padding, got {top_k}"
            )
        return _write(prefixes, choose)


def beam_search(
    model: Transformer,
    src: Int[Tensor, "batch src"],
    *,
    bos_id: int,
    eos_id: int,
    max_len: int,
    beam_size: int,
    length_penalty: float = 0.6,
    cache: bool = True,
    record: Callable[[Step], None] | None = None,
) -> Hypotheses:
    """Follow several prefixes of each sentence at once.

    Each step ranks all prefixes with one more token. Of the first `beam_size`,
    those that end are finished. The first `beam_size` that do not end
    continue. In the last step all end. A sentence stops early when it has
    `beam_size` finished hypotheses and no prefix can still overtake one of
    them.

    Args:
        model: As in `greedy_search`, like all arguments not named here.
        beam_size: Number of prefixes that continue, and of hypotheses to
            return; at most the number of different sequences of up to
            `max_len` tokens.
        length_penalty: The exponent `alpha` of `length_divisor`, in [0, 50).

    Returns:
        The `beam_size` best hypotheses of each sentence.

    Raises:
        TypeError, ValueError: As for `greedy_search`; a `beam_size` or a
            `length_penalty` outside its range.

    Source: Wu et al. 2016, section 7; Vaswani et al. 2017, section 6.1, with
        4 prefixes and an exponent of 0.6.
    Deviates: No coverage penalty, and no prefix is dropped for being far
        behind. Wu et al. stop by other rules.
    Derived in: 10-decoding
    """
    require.positive_int("beam_size", beam_size)
    require.number("length_penalty", length_penalty, at_least=0, below=50)
    with searching(
        model, src, bos_id, eos_id, max_len, cache, record
    ) as prefixes:
        _check_beam_size(beam_size, prefixes.num_choices - 1, max_len)
        return _follow(prefixes, beam_size, length_penalty)


def _write(
    prefixes: Prefixes, choose: Callable[[Tensor], Tensor]
) -> Hypotheses:
    """Append the chosen tokens until every sentence has ended."""
    found = [NBest() for _ in range(len(prefixes))]
    while len(prefixes):
        following = prefixes.predict()
        tokens = choose(following)[:, None]
        log_probs = prefixes.log_probs[:, None] + following.gather(1, tokens)
        rows = torch.arange(len(prefixes), device=tokens.device)[:, None]
        ends = prefixes.ends(tokens)
        _keep(found, prefixes, ends, rows, tokens, log_probs)
        prefixes.extend(rows[~ends], tokens[~ends], log_probs[~ends])
    return _collect(found, prefixes)


def _follow(prefixes: Prefixes, beam_size: int, alpha: float) -> Hypotheses:
    """Extend several prefixes per sentence until none can win any more."""
    found = [NBest(beam_size, alpha) for _ in range(len(prefixes))]
    while len(prefixes):
        rows, tokens, log_probs = _rank(prefixes, 2 * beam_size)
        ends = prefixes.ends(tokens)
        _keep(found, prefixes, ends[:, :beam_size], rows, tokens, log_probs)
        going = ~ends & ((~ends).cumsum(dim=1) <= beam_size)
        best = log_probs.masked_fill(~going, -torch.inf).amax(dim=1).tolist()
        for i, sentence in enumerate(prefixes.sentences[rows[:, 0]].tolist()):
            if found[sentence].out_of_reach(best[i], prefixes.max_len):
                going[i] = False
        prefixes.extend(rows[going], tokens[going], log_probs[going])
    return _collect(found, prefixes)


def _rank(prefixes: Prefixes, count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the most likely prefixes with one more token, for each sentence.

    Returns:
        The row of the prefix, the token, the log probability of both, each
        (sentence, rank). There may be fewer than `count`. Of 2 * beam_size at
        most half end, one for each prefix, so enough remain that can continue.
    """
    totals = prefixes.log_probs[:, None] + prefixes.predict()
    vocab_size = totals.shape[1]
    width = len(prefixes) // len(prefixes.sentences.unique())
    count = min(count, width * prefixes.num_choices)
    log_probs, places = totals.view(-1, width * vocab_size).topk(count)
    first = torch.arange(0, len(prefixes), width, device=totals.device)
    rows = first[:, None] + places // vocab_size
    return rows, places % vocab_size, log_probs


def _keep(
    found: list[NBest],
    prefixes: Prefixes,
    ends: Tensor,
    rows: Tensor,
    tokens: Tensor,
    log_probs: Tensor,
) -> None:
    """Add the finished hypotheses; tensors are (sentence, rank)."""
    for place in map(tuple, ends.nonzero().tolist()):
        row = rows[place]
        sentence = torch.cat([prefixes.tokens[row, 1:], tokens[place][None]])
        found[prefixes.sentences[row]].add(sentence, log_probs[place].item())


def _collect(found: list[NBest], prefixes: Prefixes) -> Hypotheses:
    return collect(
        found,
        eos_id=prefixes.eos_id,
        pad_id=prefixes.pad_id,
        like=prefixes.log_probs,
    )


def _check_beam_size(beam_size: int, words: int, max_len: int) -> None:
    """Require that there are this many different sequences."""
    sequences = 1
    for _ in range(max_len):
        # The end, or a word and then any sequence that is one shorter.
        sequences = 1 + words * sequences
        if sequences >= beam_size:
            return
    raise ValueError(
        f"beam_size must be at most {sequences}, the number of sequences of "
        f"up to {max_len} tokens, got {beam_size}"
    )
