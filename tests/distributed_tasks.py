"""What the processes of test_distributed do.

A module of its own, without pytest: each process has to import it.
"""

import contextlib
import io
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.data.digits import Augment, batches
from vitedu.data.numerals import numeral_pairs
from vitedu.data.sequences import pair_batches
from vitedu.training.loop import fit
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

NUMBERS = [3, 12005, 40, 7, 110, 99, 512, 0, 61, 8, 1000, 70_000, 23]


class Stopped(Exception):
    """Stands for a power cut."""


def join(task, number: int, count: int, store: Path, *args):
    """Do a task as process `number` of `count`; return result or error."""
    dist.init_process_group(
        "gloo", init_method=store.as_uri(), rank=number, world_size=count
    )
    try:
        # One that stops at once would fail the others while they connect.
        dist.barrier()
        return task(*args)
    except Exception as error:
        return error
    finally:
        dist.destroy_process_group()


def translator(
    dropout: float = 0.0,
    dtype=torch.float64,
    seed: int = 0,
    numbers: list[int] = NUMBERS,
) -> Transformer:
    """Make a small Transformer for some numbers."""
    pairs = numeral_pairs(numbers)
    torch.manual_seed(seed)
    config = TransformerConfig(
        src_vocab_size=len(pairs.src_vocabulary),
        tgt_vocab_size=len(pairs.tgt_vocabulary),
        tie_source=False,
        d_model=14,
        num_layers=1,
        num_heads=2,
        d_ff=11,
        dropout=dropout,
    )
    return Transformer(config).to(dtype)


def sentences(kind: str) -> DataLoader:
    """Load batches of 5 pairs; "rows" ends with 3, one of which is empty."""
    pairs = numeral_pairs(NUMBERS)
    if kind == "pairs":
        return pair_batches(pairs, batch_size=5, seed=0)
    labels = pairs.tgt_labels.clone()
    labels[-1] = 0
    data = TensorDataset(pairs.src, pairs.tgt_input, labels)
    return DataLoader(data, batch_size=5)


def standing_still(num_epochs: int, accumulation: int) -> TrainConfig:
    """Return steps so small that the gradients stay those of the start."""
    return TrainConfig(
        num_epochs=num_epochs,
        learning_rate=1e-30,
        warmup=0.5,
        label_smoothing=0.1,
        max_grad_norm=1e9,
        pad_id=0,
        accumulation=accumulation,
    )


def gradients(kind: str, accumulation: int, dtype) -> tuple[list, dict]:
    """Return the losses and the gradients of the last batch."""
    model = translator(dtype=dtype)
    history = fit(model, sentences(kind), standing_still(2, accumulation))
    found = {name: p.grad.clone() for name, p in model.named_parameters()}
    return history.loss, found


def stop_after(epochs: int | None, counts: list | None = None):
    """Return a measurement that draws numbers, and ends the run."""
    seen = [] if counts is None else counts

    def evaluate(model: nn.Module) -> dict[str, Tensor]:
        if len(seen) == epochs:
            raise Stopped(f"after {epochs}")
        seen.append(1)
        return {"drawn": torch.rand(())}

    return evaluate


def translate(path: Path | None, stop: int | None) -> tuple:
    """Train without dropout; return the history and the weights."""
    model = translator()
    config = TrainConfig(num_epochs=4, learning_rate=1e-2, pad_id=0)
    torch.manual_seed(5)
    history = fit(
        model,
        sentences("pairs"),
        config,
        evaluate=stop_after(stop),
        checkpoint=path,
    )
    return history, model.state_dict()


def classify(
    path: Path | None,
    stop: int | None,
    seed: int = 0,
    stop_step: int | None = None,
) -> tuple:
    """Train with dropout and augmentation, from draws that may differ.

    The run ends before evaluation `stop`, or in a step, counted from 1.
    """
    sizes = {"d_model": 12, "num_layers": 2, "num_heads": 3, "d_ff": 16}
    if dist.is_initialized():
        seed += dist.get_rank()
    torch.manual_seed(seed)
    model = VisionTransformer(ViTConfig.digits(dropout=0.1, **sizes))
    images = torch.rand(35, 1, 8, 8, generator=torch.Generator())
    loader = batches(
        images, torch.arange(35) % 10, batch_size=7, seed=0, augment=Augment()
    )
    torch.rand(seed, generator=loader.generator)
    parts = []

    def count(module: nn.Module, _: tuple) -> None:
        parts.extend([1] * module.training)
        if len(parts) == (stop_step or -1) * 2:
            raise Stopped(f"in step {stop_step}")

    model.register_forward_pre_hook(count)
    config = TrainConfig(num_epochs=3, learning_rate=1e-2, accumulation=2)
    history = fit(
        model,
        loader,
        config,
        evaluate=stop_after(stop),
        checkpoint=path,
        checkpoint_every=stop_step and 1,
    )
    return history, model.state_dict()


class Rows(Dataset):
    """Numbers their rows, and remembers which were read."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def __len__(self) -> int:
        return 11

    def __getitem__(self, row: int) -> tuple[Tensor, Tensor]:
        self.read.append(row)
        return torch.tensor([row / 11]), torch.tensor(row % 2)


class Witness(nn.Module):
    """A linear map that draws a number in each step, and remembers it."""

    def __init__(self) -> None:
        super().__init__()
        self.map = nn.Linear(1, 2)
        self.drawn: list[float] = []

    def forward(self, x: Tensor) -> Tensor:
        if self.training:
            self.drawn.append(torch.rand(()).item())
        return self.map(x)


def witness(folder: Path) -> dict:
    """Train; return what this process read, drew, measured and wrote."""
    torch.manual_seed(0)
    rows, model, calls = Rows(), Witness(), []
    # No generator of its own: the order comes from the global one.
    loader = DataLoader(rows, batch_size=4, shuffle=True)
    own = folder / str(dist.get_rank() if dist.is_initialized() else "alone")
    own.mkdir()
    history = fit(
        model,
        loader,
        TrainConfig(num_epochs=2),
        evaluate=stop_after(None, calls),
        checkpoint=own / "state",
    )
    return {
        "read": rows.read,
        "drawn": model.drawn,
        "evaluations": len(calls),
        "history": history,
        "written": [path.name for path in own.iterdir()],
    }


def refuse(kind: str, path: Path) -> None:
    """Train on what several processes cannot share, or should not."""
    pad_id, data = None, TensorDataset(torch.ones(7, 1), torch.ones(7).long())
    loader = DataLoader(data, batch_size=5)
    if kind == "small":
        loader = DataLoader(data, batch_size=6)
    if kind == "whole batches":
        loader = DataLoader(
            [tuple(data[:4]), tuple(data[4:])], batch_size=None
        )
    if kind == "stream":
        loader = DataLoader(Stream(), batch_size=5)
    if kind == "nothing counts":
        pad_id = 1
    epochs = 3 if kind == "other config" else 4
    config = TrainConfig(num_epochs=epochs, warmup=0.5, pad_id=pad_id)
    fit(nn.Linear(1, 2), loader, config, checkpoint=path)


class Stream(torch.utils.data.IterableDataset):
    """Rows without numbers."""

    def __len__(self) -> int:
        return 7

    def __iter__(self):
        return iter([(torch.ones(1), torch.tensor(1))] * 7)


def program(number: int, count: int, port: int, args: list[str]) -> str:
    """Run the program as torchrun starts it; return what it printed."""
    from vitedu.train import main

    os.environ |= {
        "RANK": str(number),
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
    }
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            main(args)
    except SystemExit as error:
        assert not dist.is_initialized()
        return f"exit {error.code}"
    finally:
        for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
            del os.environ[name]
    return printed.getvalue()
