"""Greedy search, sampling and beam search."""

import copy
import itertools
import math
from functools import cache

import pytest
import torch
from helpers import assert_all_close, refuses
from torch import nn

from vitedu.config import TransformerConfig
from vitedu.decoding.search import beam_search, greedy_search, sample_tokens
from vitedu.transformer import Transformer

# Five tokens to come next: the end and three others, one of them the
# beginning. Padding is never one of them.
SRC_PAD, PAD, BOS, EOS, VOCAB = 0, 2, 3, 1, 5
IDS = {"bos_id": BOS, "eos_id": EOS}
SIZES = {
    "src_vocab_size": 7,
    "tgt_vocab_size": VOCAB,
    "src_pad_id": SRC_PAD,
    "tgt_pad_id": PAD,
    "tie_source": False,
    "tie_output": False,
    "embedding_scale": "none",
    "norm_first": True,
    "d_model": 6,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 11,
    "dropout": 0.5,
}
# Different lengths; the last column is padding for all.
SRC = torch.tensor([[5, 3, 2, 6, 0], [4, 1, 0, 0, 0], [6, 6, 1, 0, 0]])
ALPHAS = (0.0, 0.6, 1.0, 2.5)
VARIANTS = (
    {},
    {"positions": "learned", "max_len": 11, "tie_output": True},
    {"positions": "none", "norm_first": False},
)
SEARCHES = {
    "greedy": greedy_search,
    "sample": lambda *args, **options: sample_tokens(
        *args, generator=torch.Generator().manual_seed(0), **options
    ),
    "beam": lambda *args, **options: beam_search(
        *args, beam_size=3, **options
    ),
}
each_search = pytest.mark.parametrize(
    "search", SEARCHES.values(), ids=SEARCHES
)
each_variant = pytest.mark.parametrize("index", range(len(VARIANTS)))


@cache
def make(seed=0, **changes):
    """Make a model in training mode whose next tokens depend on the last."""
    torch.manual_seed(seed)
    model = Transformer(TransformerConfig(**(SIZES | changes))).double()
    for parameter in model.parameters():
        if parameter.ndim > 1:
            nn.init.normal_(parameter)
    return model


def following(model, row, prefixes):
    """Return log probabilities of all next tokens, without any search.

    `row` is a source sentence, its padding is cut off; the prefixes are
    lists of one length, without the beginning.
    """
    tgt = torch.tensor([[BOS, *prefix] for prefix in prefixes])
    src = row[row != SRC_PAD].expand(len(tgt), -1)
    training = model.training
    with torch.no_grad():
        logits = model.eval()(src, tgt)
    model.train(training)
    return logits.log_softmax(dim=-1)


def log_probs(model, row, sequences):
    """Return the teacher-forced log probability of each sequence."""
    longest = max(map(len, sequences))
    padded = [x + [PAD] * (longest - len(x)) for x in sequences]
    table = following(model, row, [x[:-1] for x in padded])
    steps = table.gather(2, torch.tensor(padded)[:, :, None])[:, :, 0]
    lengths = torch.tensor([len(x) for x in sequences])
    steps[torch.arange(longest) >= lengths[:, None]] = 0
    return steps.sum(dim=1).tolist()


def rows_of(found):
    """Return each sentence's hypotheses as lists without padding."""
    return [
        [
            row[:length].tolist()
            for row, length in zip(ranked, lengths, strict=True)
        ]
        for ranked, lengths in zip(found.tokens, found.lengths, strict=True)
    ]


def steps_of(search, *args, **options):
    steps = []
    found = search(*args, **options, record=steps.append)
    return found, steps


def all_sequences(max_len):
    """Write down every sequence that ends, and those that are cut off."""
    words = [i for i in range(VOCAB) if i not in (PAD, EOS)]
    for length in range(max_len):
        for start in itertools.product(words, repeat=length):
            yield [*start, EOS]
    for full in itertools.product(words, repeat=max_len):
        yield [*full]


def ranked(scored, alpha, size):
    """Rank (tokens, log probability) by the paper's formula."""
    scored = [
        (total / ((5 + len(tokens)) / 6) ** alpha, total, tokens)
        for tokens, total in scored
    ]
    return sorted(scored, key=lambda item: -item[0])[:size]


def plain_beam(model, row, size, max_len):
    """Search with lists and never stop early; return what is finished."""
    live, done = [([], 0.0)], []
    for length in range(1, max_len + 1):
        table = following(model, row, [tokens for tokens, _ in live])[:, -1]
        longer = [
            ([*tokens, token], total + table[i, token].item())
            for i, (tokens, total) in enumerate(live)
            for token in range(VOCAB)
            if token != PAD
        ]
        longer.sort(key=lambda item: -item[1])
        last = length == max_len
        done += [x for x in longer[:size] if last or x[0][-1] == EOS]
        live = [x for x in longer if x[0][-1] != EOS][:size]
    return done


def assert_found(found, sentence, expected):
    """Compare the n-best list of a sentence with (score, total, tokens)."""
    scores, totals, tokens = zip(*expected, strict=True)
    assert rows_of(found)[sentence] == list(tokens)
    assert_all_close(
        (found.scores[sentence], found.log_probs[sentence]),
        (
            torch.tensor(scores, dtype=torch.float64),
            torch.tensor(totals, dtype=torch.float64),
        ),
    )


@pytest.mark.parametrize("max_len", [1, 2, 4])
def test_a_wide_beam_finds_the_best_of_all_sequences(max_len):
    sequences = list(all_sequences(max_len))
    wide_enough = {1: 4, 2: 4, 4: 36}[max_len]
    for seed, size in ((0, wide_enough), (1, len(sequences))):
        model = make(seed)
        scored = [
            list(zip(sequences, log_probs(model, row, sequences), strict=True))
            for row in SRC
        ]
        for alpha in ALPHAS:
            options = {"beam_size": size, "length_penalty": alpha}
            found = beam_search(model, SRC, **IDS, max_len=max_len, **options)
            for i in range(len(SRC)):
                assert_found(found, i, ranked(scored[i], alpha, size))


@each_variant
def test_a_narrow_beam_finds_what_a_plain_one_finds(index):
    stopped = set()
    for seed, size in itertools.product((6, 7), (1, 5)):
        model = make(seed, **VARIANTS[index])
        done = [plain_beam(model, row, size, 7) for row in SRC]
        for alpha in ALPHAS:
            options = {"beam_size": size, "length_penalty": alpha}
            found, steps = steps_of(
                beam_search, model, SRC, **IDS, max_len=7, **options
            )
            for i in range(len(SRC)):
                assert_found(found, i, ranked(done[i], alpha, size))
            if len(steps) < 7 or len(steps[-1].sentences.unique()) < 3:
                stopped.add(alpha)
    # The plain one never stops early. Both agree only if the rule is right.
    assert stopped >= {0.0, 0.6, 1.0}


@each_variant
def test_a_beam_of_one_without_penalty_is_greedy_search(index):
    for seed in range(5):
        model = make(seed, **VARIANTS[index])
        greedy = greedy_search(model, SRC, **IDS, max_len=9)
        found = beam_search(
            model, SRC, **IDS, max_len=9, beam_size=1, length_penalty=0
        )
        for name, value in vars(found).items():
            assert torch.equal(value, getattr(greedy, name)), name


@each_search
@each_variant
def test_the_cache_changes_nothing(search, index):
    model = make(7, **VARIANTS[index])
    results = [
        steps_of(search, model, SRC, **IDS, max_len=11, cache=cache)
        for cache in (True, False)
    ]
    (found, steps), (expected, expected_steps) = results
    assert torch.equal(found.tokens, expected.tokens)
    for step, other in zip(steps, expected_steps, strict=True):
        assert torch.equal(step.prefixes, other.prefixes)
        assert torch.equal(step.sentences, other.sentences)
        assert_all_close(
            (step.log_probs, step.next_log_probs),
            (other.log_probs, other.next_log_probs),
        )
    # It is told apart from a search that computes everything each time.
    sizes = []
    handle = model.generator.register_forward_hook(
        lambda _, inputs, out: sizes.append(out.shape[1])
    )
    search(model, SRC, **IDS, max_len=11)
    handle.remove()
    assert set(sizes) == {1}


def test_sentences_that_have_ended_are_computed_no_further():
    found, steps = steps_of(greedy_search, make(7), SRC, **IDS, max_len=9)
    assert len(found.lengths.unique()) > 1
    for length, step in enumerate(steps, 1):
        going = (found.lengths[:, 0] >= length).nonzero()[:, 0]
        assert torch.equal(step.sentences, going)
        tokens = found.best[going, : length - 1]
        assert torch.equal(step.prefixes[:, 1:], tokens)
        assert (step.prefixes[:, 0] == BOS).all()


@pytest.mark.parametrize(
    ("temperature", "top_k"), [(1.0, None), (0.5, None), (2.0, 2)]
)
def test_samples_are_as_frequent_as_the_model_says(temperature, top_k):
    model, count = make(2), 4000
    sampled = sample_tokens(
        model,
        SRC[:1].expand(count, -1),
        **IDS,
        max_len=2,
        generator=torch.Generator().manual_seed(0),
        temperature=temperature,
        top_k=top_k,
    )
    drawn = [tuple(tokens) for [tokens] in rows_of(sampled)]
    expected = {}
    for tokens in all_sequences(2):
        table = following(model, SRC[0], [tokens[:-1]])[0].exp()
        table[:, PAD] = 0
        if top_k is not None:
            unlikely = table.argsort(dim=-1, descending=True)[:, top_k:]
            table.scatter_(1, unlikely, 0)
        table = table ** (1 / temperature)
        table /= table.sum(dim=-1, keepdim=True)
        expected[tuple(tokens)] = math.prod(
            table[i, token].item() for i, token in enumerate(tokens)
        )
    assert sum(expected.values()) == pytest.approx(1)
    for tokens, chance in expected.items():
        spread = math.sqrt(chance * (1 - chance) / count)
        assert abs(drawn.count(tokens) / count - chance) <= 4 * spread
    model_says = log_probs(model, SRC[0], [list(x) for x in drawn[:50]])
    assert sampled.log_probs[:50, 0].tolist() == pytest.approx(model_says)


@pytest.mark.parametrize(
    "options", [{"temperature": 1e-9}, {"temperature": 1e-320}, {"top_k": 1}]
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_coldest_sample_is_the_greedy_one(options, dtype):
    model = copy.deepcopy(make(7)).to(dtype)
    greedy = greedy_search(model, SRC, **IDS, max_len=9)
    found = sample_tokens(
        model,
        SRC,
        **IDS,
        max_len=9,
        generator=torch.Generator().manual_seed(0),
        **options,
    )
    assert torch.equal(found.tokens, greedy.tokens)
    assert found.log_probs.dtype == dtype


@each_search
def test_the_model_is_left_as_it_was(search):
    model = copy.deepcopy(make())
    model.encoder.eval()
    modes = [module.training for module in model.modules()]
    assert set(modes) == {True, False}

    def fail(step):
        assert not model.training
        assert not step.next_log_probs.requires_grad
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        search(model, SRC, **IDS, max_len=3, record=fail)
    found = search(model, SRC, **IDS, max_len=3)
    assert [module.training for module in model.modules()] == modes
    assert torch.is_grad_enabled()
    assert not found.scores.requires_grad


def test_logits_that_are_no_numbers_are_refused():
    model = copy.deepcopy(make())
    with torch.no_grad():
        model.generator.weight[2, 0] = torch.nan
    with refuses(ValueError, "model must give finite logits, got NaN"):
        greedy_search(model, SRC, **IDS, max_len=3)
