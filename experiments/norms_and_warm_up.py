"""Train pre-norm and post-norm stacks, with and without a warm-up.

Chapter 6 reads the result file and repeats most of three of its runs. A run
that the file holds already is not repeated. Run it, on a quiet machine, with:
    python -m experiments.norms_and_warm_up
"""

from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.runs import read_runs, write_runs
from vitedu.attention import MultiHeadAttention
from vitedu.layers import EncoderBlock, FeedForward

SYMBOLS, LENGTH, WIDTH = 8, 6, 32
STEPS, BATCH = 300, 16
GRID = {
    "depth": (6, 12, 24),
    "norm_first": (True, False),
    "warm_up": (0, 150),
    "learning_rate": (3e-4, 1e-3, 3e-3, 6e-3, 1e-2, 2e-2),
    "seed": range(5),
}
RESULT = Path(__file__).parent.parent / "book/data/norms-and-warm-up.json"
FACTS = {
    "script": "experiments/norms_and_warm_up.py",
    "steps": STEPS,
    "batch": BATCH,
}


class Reverser(nn.Module):
    """Read a row of symbols, say for each place what the reverse has there."""

    def __init__(
        self, depth: int, norm_first: bool, activation: str = "gelu"
    ) -> None:
        super().__init__()
        self.symbols = nn.Embedding(SYMBOLS, WIDTH)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH))
        blocks = (
            EncoderBlock(
                MultiHeadAttention(WIDTH, num_heads=4),
                FeedForward(WIDTH, 4 * WIDTH, activation=activation),
                norm_first=norm_first,
            )
            for _ in range(depth)
        )
        self.blocks = nn.Sequential(*blocks)
        # A pre-norm stack needs a norm at its end, a post-norm stack has one.
        self.norm = nn.LayerNorm(WIDTH) if norm_first else nn.Identity()
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.symbols(ids) + self.places
        return self.head(self.norm(self.blocks(x)))


def losses(
    *,
    depth: int,
    norm_first: bool,
    warm_up: int,
    learning_rate: float,
    seed: int,
    activation: str = "gelu",
    steps: int = STEPS,
) -> list[float]:
    """Train one network from one seed; return the loss of every step.

    The learning rate rises in equal steps during the warm-up and then stays.
    """
    torch.manual_seed(seed)
    model = Reverser(depth, norm_first, activation)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    found = []
    for step in range(steps):
        share = min(1.0, (step + 1) / max(warm_up, 1))
        optimizer.param_groups[0]["lr"] = learning_rate * share
        ids = torch.randint(SYMBOLS, (BATCH, LENGTH))
        logits = model(ids)  # (row, place, symbol)
        loss = F.cross_entropy(logits.mT, ids.flip(dims=[1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def final(found: list[float]) -> float:
    """Return the mean loss of the last 20 steps."""
    return sum(found[-20:]) / 20


def one_run(settings: dict) -> dict:
    """Train on one thread, so that runs side by side do not wait."""
    torch.set_num_threads(1)
    return settings | {"loss": final(losses(**settings))}


def main() -> None:
    """Train what the result file lacks, and write it after every run."""
    runs = read_runs(RESULT)
    done = [{k: v for k, v in run.items() if k != "loss"} for run in runs]
    wanted = [
        dict(zip(GRID, values, strict=True))
        for values in product(*GRID.values())
    ]
    with ProcessPoolExecutor(2) as pool:
        missing = [settings for settings in wanted if settings not in done]
        jobs = [pool.submit(one_run, settings) for settings in missing]
        for job in as_completed(jobs):
            runs.append(job.result())
            write_runs(
                RESULT,
                sorted(runs, key=lambda run: [run[name] for name in GRID]),
                **FACTS,
            )


if __name__ == "__main__":
    main()
