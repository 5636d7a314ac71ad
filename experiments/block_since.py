"""What each later change of the block does on the tasks of this book.

Chapter 22 reads the result file. Three tasks: handwritten digits as in
chapter 14, numerals as in chapter 9, and the task of chapter 2, to name the
digit three places before, on sequences longer than those of the training.
Each change is made alone, with the recipe as it was, and then together: for
digits as in `ViTConfig.modern`, which has no parallel branches and four heads
of keys and values, for numerals all that were tried.
Runs that the file has are not made again. Run it, on a quiet machine, with:
    python -m experiments.block_since
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

from experiments.digits_five_seeds import trained
from experiments.runs import read_runs, write_runs
from experiments.translator_seeds import TASK, mistakes
from vitedu.attention import rotate, scaled_dot_product_attention
from vitedu.book.notebook import set_up
from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.data.digits import digits
from vitedu.data.numerals import numeral_task
from vitedu.data.sequences import pair_batches
from vitedu.layers import swiglu_width
from vitedu.masks import causal_mask, sliding_window_mask
from vitedu.positions import (
    SinusoidalPositionEncoding,
    rotary_angles,
    with_alibi,
)
from vitedu.training.loop import fit
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

SEEDS = range(5)
NO_BIASES = dict.fromkeys(("qkv_bias", "proj_bias", "ff_bias"), False)


def block_changes(d_ff: int) -> dict[str, dict]:
    """Return the changes that are made to images and to numerals alike.

    Args:
        d_ff: The width of the feed-forward network that a gate takes over.
    """
    return {
        "rms": {"norm": "rms"},
        "swiglu": {"activation": "swiglu", "d_ff": swiglu_width(d_ff)},
        "one kv head": {"num_kv_heads": 1},
        "qk norm": {"qk_norm": True},
    }


IMAGE_CHANGES = {
    "none": {},
    "rotary": {"positions": "rotary", "class_token_std": 0.02},
    **block_changes(ViTConfig.digits().d_ff),
    "no biases": NO_BIASES,
    "parallel": {"parallel": True},
}
NUMERAL_CHANGES = {
    "none": {},
    **block_changes(TransformerConfig.numerals().d_ff),
}
PLACES = (
    *("sinusoidal", "rotary", "alibi"),
    *("sinusoidal, window", "rotary, window"),
)
SEEN, LONG = 16, 64
RESULT = Path(__file__).parent.parent / "book/data/block-since.json"
FACTS = {"script": "experiments/block_since.py"}


def main() -> None:
    """Make the runs that are missing, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--task", choices=("places", "digits", "numerals"))
    only = parser.parse_args().task
    set_up()
    runs = read_runs(RESULT)
    known = {(run["task"], run["change"], run["seed"]) for run in runs}
    for seed in SEEDS:
        for task, changes, measure in (
            ("places", dict.fromkeys(PLACES), places_run),
            ("digits", IMAGE_CHANGES | {"all": None}, digits_run),
            ("numerals", NUMERAL_CHANGES | {"all": None}, numerals_run),
        ):
            if only not in (None, task):
                continue
            for change in changes:
                if (task, change, seed) in known:
                    continue
                run = {"task": task, "change": change, "seed": seed}
                runs.append(run | measure(change, seed))
                print(runs[-1], flush=True)
                write_runs(RESULT, in_order(runs), **FACTS)


def in_order(runs: list[dict]) -> list[dict]:
    """Sort runs by task, seed and change, whenever they were made."""
    orders = {
        "places": PLACES,
        "digits": (*IMAGE_CHANGES, "all"),
        "numerals": (*NUMERAL_CHANGES, "all"),
    }
    tasks = list(orders)
    return sorted(
        runs,
        key=lambda run: (
            tasks.index(run["task"]),
            run["seed"],
            orders[run["task"]].index(run["change"]),
        ),
    )


def digits_config(change: str) -> ViTConfig:
    """Return the ViT of chapter 14 with one change, or with "all"."""
    if change == "all":
        return ViTConfig.modern()
    return ViTConfig.digits(**IMAGE_CHANGES[change])


def numerals_config(change: str) -> TransformerConfig:
    """Return the translator of chapter 9 with one change, or with "all"."""
    every = {k: v for x in NUMERAL_CHANGES.values() for k, v in x.items()}
    changes = every if change == "all" else NUMERAL_CHANGES[change]
    return TransformerConfig.numerals(**changes)


def digits_run(change: str, seed: int) -> dict:
    """Train a ViT on digits with one change; measure it on the test images."""
    torch.manual_seed(seed)
    model = VisionTransformer(digits_config(change))
    share, seconds = trained(model, digits(), seed)
    return {"right": share, **_cost(model, seconds)}


def numerals_run(change: str, seed: int) -> dict:
    """Train a translator with one change; measure what it writes right."""
    train, test = numeral_task(**TASK, seed=seed)
    torch.manual_seed(seed)
    model = Transformer(numerals_config(change))
    loader = pair_batches(train, batch_size=64, seed=seed)
    start = time.perf_counter()
    fit(model, loader, TrainConfig.numerals())
    seconds = time.perf_counter() - start
    right = 1 - len(mistakes(model, test)) / len(test)
    return {"right": right, **_cost(model, seconds)}


class DigitReader(nn.Module):
    """One causal attention that reads digits, the network of chapter 2.

    Args:
        places: How it knows where a digit stands, one of `PLACES`.
    """

    def __init__(self, places: str) -> None:
        super().__init__()
        self.tokens = nn.Embedding(10, 64)
        self.places = places
        self.embed = (
            SinusoidalPositionEncoding(64)
            if "sinusoidal" in places
            else nn.Identity()
        )
        self.qkv = nn.Linear(64, 3 * 64)
        self.head = nn.Linear(64, 10)

    def forward(
        self,
        x: torch.Tensor,
        record: Callable[[torch.Tensor], None] | None = None,
    ) -> torch.Tensor:
        """Return logits (batch, place, digit); `record` gets the weights."""
        tokens = self.embed(self.tokens(x))
        heads = self.qkv(tokens).unflatten(-1, (3, 4, 16))
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        if "rotary" in self.places:
            angles = rotary_angles(x.shape[1], 16)
            q, k = rotate(q, angles), rotate(k, angles)
        if self.places == "alibi":
            q, k = with_alibi(q, k)
        mask = (
            sliding_window_mask(x.shape[1], SEEN)
            if "window" in self.places
            else causal_mask(x.shape[1])
        )
        out = scaled_dot_product_attention(q, k, v, mask, record=record)
        return self.head(out.transpose(1, 2).flatten(2))


def places_run(places: str, seed: int) -> dict:
    """Train on 16 digits, read 64; measure each place."""
    draws = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = DigitReader(places)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    start = time.perf_counter()
    for _ in range(600):
        x = torch.randint(10, (64, SEEN), generator=draws)
        wanted = x.roll(3, dims=1)
        loss = F.cross_entropy(model(x)[:, 3:].transpose(1, 2), wanted[:, 3:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    seconds = time.perf_counter() - start
    exam = torch.Generator().manual_seed(2025)
    x = torch.randint(10, (500, LONG), generator=exam)
    seen: list[torch.Tensor] = []
    with torch.no_grad():
        hits = model(x, seen.append).argmax(dim=-1) == x.roll(3, dims=1)
    by_place = hits.double().mean(dim=0)
    # Of the last query, mean over sequences and heads, nearest key first.
    by_distance = seen[0][:, :, -1].mean(dim=(0, 1)).flip(0)
    return {
        "right": by_place[3:SEEN].mean().item(),
        "beyond": by_place[SEEN:].mean().item(),
        "by_place": [round(share, 3) for share in by_place[3:].tolist()],
        "by_distance": [round(x, 4) for x in by_distance.tolist()],
        **_cost(model, seconds),
    }


def _cost(model: nn.Module, seconds: float) -> dict:
    size = sum(p.numel() for p in model.parameters())
    return {"parameters": size, "seconds": round(seconds, 1)}


if __name__ == "__main__":
    main()
