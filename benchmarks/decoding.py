"""Time of greedy search with a key/value cache against that without.

Both write 64 tokens for each sentence, in turn, in one process and one
thread. It is the processor's time, which other programs change little. No
sentence ends early: the end has the logit 0, and some other token has more.
"""

import statistics
import time
from collections.abc import Iterator

import torch

from benchmarks.table import Row
from vitedu.config import TransformerConfig
from vitedu.decoding.search import greedy_search
from vitedu.transformer import Transformer

ROUNDS = 3
LENGTH = 64
EOS_ID = 2
SMALL = TransformerConfig(
    src_vocab_size=64,
    tgt_vocab_size=64,
    d_model=128,
    num_layers=2,
    num_heads=4,
    d_ff=256,
)
BASE = TransformerConfig.base()
CASES = {
    "small (128 wide, 2 blocks)": (SMALL, (1, 4, 16)),
    "base (512 wide, 6 blocks)": (BASE, (1, 4)),
}


def rows() -> Iterator[Row]:
    """Yield one row per model and batch."""
    torch.set_num_threads(1)
    for name, (config, batches) in CASES.items():
        torch.manual_seed(0)
        model = Transformer(config)
        with torch.no_grad():
            model.generator.weight[EOS_ID].zero_()
        for batch in batches:
            with_cache, without = seconds(model, batch)
            yield Row(
                what=f"{name}, batch {batch}",
                ours=with_cache,
                peer="no cache",
                theirs=without,
                unit="s",
            )


def seconds(model: Transformer, batch: int) -> tuple[float, float]:
    """Time both in turn; return the medians with a cache and without."""
    src = torch.randint(3, model.config.src_vocab_size, (batch, LENGTH))
    times: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(ROUNDS):
        for cache, kept in times.items():
            start = time.process_time()
            found = greedy_search(
                model,
                src,
                bos_id=1,
                eos_id=EOS_ID,
                max_len=LENGTH,
                cache=cache,
            )
            kept.append(time.process_time() - start)
            if found.ended.any():
                raise RuntimeError("a sentence has ended before its time")
    return statistics.median(times[True]), statistics.median(times[False])
