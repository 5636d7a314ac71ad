"""The caches of step-by-step decoding."""

import torch
from helpers import assert_all_close, draw, refuses

from vitedu.cache import DecoderCache, KeyValueCache


def filled():
    cache = KeyValueCache()
    cache.append(draw(2, 3, 5, 7), draw(2, 3, 5, 11, seed=1))
    return cache


def test_append_returns_all_so_far():
    cache = filled()
    assert len(KeyValueCache()) == 0
    new = draw(2, 3, 2, 7, seed=2), draw(2, 3, 2, 11, seed=3)
    k, v = cache.append(*new)
    assert len(cache) == 7
    assert_all_close(
        (k, v),
        (
            torch.cat([draw(2, 3, 5, 7), new[0]], dim=2),
            torch.cat([draw(2, 3, 5, 11, seed=1), new[1]], dim=2),
        ),
    )
    assert cache.kept()[0] is k


def test_select_takes_rows_in_the_order_asked_for():
    cache = filled()
    before = cache.kept()
    cache.select(torch.tensor([1, 1, 0]))
    for old, new in zip(before, cache.kept(), strict=True):
        assert torch.equal(new, torch.stack([old[1], old[1], old[0]]))
    KeyValueCache().select(torch.tensor([0]))  # nothing kept, nothing to do


def test_a_decoder_selects_in_every_block():
    cache = DecoderCache(3)
    for own, other in cache.blocks:
        own.append(draw(2, 3, 5, 7), draw(2, 3, 5, 7))
        other.append(draw(2, 3, 4, 7), draw(2, 3, 4, 7))
    assert len(cache) == 5
    assert len(DecoderCache(2)) == 0
    cache.select(torch.tensor([1]))
    for pair in cache.blocks:
        for kept in pair:
            assert len(kept.kept()[0]) == 1


def test_an_empty_cache_holds_nothing():
    with refuses(ValueError, "cache must hold keys and values, it is empty"):
        KeyValueCache().kept()
