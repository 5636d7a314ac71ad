"""Train six models to copy letters, five of them with a fault.

Exercise 9.4 draws the runs of seed 0. The result file shows that other seeds
look alike. Run it with:
    python -m experiments.copier_curves
"""

from pathlib import Path

import torch
import torch.nn.functional as F

from experiments.runs import read_runs, write_runs
from vitedu.book.exercises.chapter_09 import COPIERS
from vitedu.book.notebook import set_up
from vitedu.config import TrainConfig, TransformerConfig
from vitedu.data.letters import copy_task
from vitedu.data.sequences import PairBatch, Pairs, pair_batches
from vitedu.decoding.search import greedy_search
from vitedu.training.loop import fit
from vitedu.transformer import Transformer

SEEDS = range(5)
FAULTS = {
    "healthy": {},
    "few pairs": {"known": 40},
    "no causal mask": {"sees_all": True},
    "no shift": {"reads_from": 1},
    "padding counted": {"pad_id": None},
    "rate too high": {"rate": 0.3},
}
SMALL = TransformerConfig(
    src_vocab_size=9,
    tgt_vocab_size=9,
    d_model=32,
    num_layers=1,
    num_heads=2,
    d_ff=64,
    dropout=0.0,
)
RESULT = Path(__file__).parent.parent / "book/data/copier-curves.json"
FACTS = {"script": "experiments/copier_curves.py"}


def main() -> None:
    """Train, measure, write the result file."""
    set_up()
    torch.set_num_threads(1)  # as the page does
    write_runs(
        RESULT,
        [
            {"fault": fault, "seed": seed} | one_run(seed, **FAULTS[fault])
            for seed in SEEDS
            for fault in FAULTS
        ],
        **FACTS,
    )


def by_letter(seed: int) -> dict[str, dict]:
    """Return the stored runs of a seed by their letters in exercise 9.4."""
    runs = {
        run["fault"]: run for run in read_runs(RESULT) if run["seed"] == seed
    }
    return {letter: runs[fault] for letter, fault in COPIERS.items()}


def one_run(
    seed: int,
    *,
    known: int = 600,
    sees_all: bool = False,
    reads_from: int = 0,
    pad_id: int | None = 0,
    rate: float = 0.02,
) -> dict:
    """Train a model; measure its losses, and how much it writes right.

    Args:
        seed: Of the letters, the weights and the order.
        known: How many different pairs it learns from.
        sees_all: Whether the decoder lacks its causal mask.
        reads_from: Step of the target at which the decoder begins to read;
            it has to say step 1 first.
        pad_id: What the loss leaves out.
        rate: Highest learning rate.
    """
    train, test = copy_task(
        num_train=600, num_test=100, num_symbols=6, lengths=(2, 5), seed=seed
    )

    def batch(pairs: Pairs) -> PairBatch:
        # All are filled up to 14 tokens, as it is often done.
        tgt = F.pad(pairs.tgt, (0, 15 - pairs.tgt.shape[1]))
        reads = tgt[:, reads_from : reads_from + 14]
        return PairBatch(pairs.src, reads, tgt[:, 1:])

    def on_unseen(model: Transformer) -> dict[str, float]:
        *inputs, labels = batch(test)
        left_out = -100 if pad_id is None else pad_id
        logits = model(*inputs).transpose(1, 2)
        loss = F.cross_entropy(logits, labels, ignore_index=left_out)
        return {"unseen": loss.item()}

    torch.manual_seed(seed)
    model = Transformer(SMALL)
    if sees_all:
        model.decoder.register_forward_pre_hook(_without_causal_mask)
    pairs = train[torch.arange(len(train)) % known]
    loader = pair_batches(pairs, batch_size=60, seed=seed)
    loader.collate_fn = batch
    recipe = TrainConfig(
        num_epochs=12, learning_rate=rate, pad_id=pad_id, decay_all=True
    )
    history = fit(model, loader, recipe, evaluate=on_unseen)
    return {
        "training": _rounded(history.loss),
        "unseen": _rounded(history.metrics["unseen"]),
        "written": _written(model, test),
    }


def _written(model: Transformer, test: Pairs) -> float:
    found = greedy_search(model, test.src, bos_id=1, eos_id=2, max_len=6)
    return sum(
        test.tgt_vocabulary.decode(ids) == letters
        for ids, (_, letters) in zip(found.best, test.words, strict=True)
    ) / len(test)


def _rounded(losses: list[float]) -> list[float]:
    return [round(loss, 4) for loss in losses]


def _without_causal_mask(decoder: object, inputs: tuple) -> tuple:
    x, memory, mask, *rest = inputs
    # The last step may see all but the padding; now all steps may.
    return x, memory, mask[:, :, -1:], *rest


if __name__ == "__main__":
    main()
