"""Time of greedy search without a cache against that with one.

Both write 64 tokens for each sentence, in turn, in one process and one
thread, and only the ratio counts; above 1 the cache is faster. It is the
processor's time, which other programs change little. No sentence ends early:
the end has the logit 0, and some other token has more. Run it with:
    python -m benchmarks.decoding
"""

import statistics
import time

import torch

from vitedu.config import TransformerConfig
from vitedu.decoding import greedy_search
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


def main() -> None:
    """Print one line per model and batch."""
    torch.set_num_threads(1)
    print("median time without / with cache")
    for name, (config, batches) in CASES.items():
        torch.manual_seed(0)
        model = Transformer(config)
        with torch.no_grad():
            model.generator.weight[EOS_ID].zero_()
        for batch in batches:
            case = f"{name}, batch {batch}"
            print(f"{case:40} {ratio(model, batch):5.1f}", flush=True)


def ratio(model: Transformer, batch: int) -> float:
    """Time both in turn; return the ratio of their medians."""
    src = torch.randint(3, model.config.src_vocab_size, (batch, LENGTH))
    times: dict[bool, list[float]] = {False: [], True: []}
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
    return statistics.median(times[False]) / statistics.median(times[True])


if __name__ == "__main__":
    main()
