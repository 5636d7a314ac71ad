"""Train a model of the book from the command line, in one process or many.

One process: ``python -m vitedu.train --task digits``. One's own pictures, in
a folder for each class: ``python -m vitedu.train --folder DIR --out FILE``;
``python -m vitedu.predict FILE IMAGE...`` then names what a picture shows.

Two processes, each with its share of every batch:
``torchrun --nproc-per-node=2 -m vitedu.train``. With
``--max-restarts=2`` and a ``--checkpoint``, torchrun starts them again when
one dies, and the run goes on after the last whole epoch. On several machines,
set ``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` as well: PyTorch's launcher would
keep the addresses of the dead.
"""

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
import torch.distributed as dist
import tyro
from torch import nn
from torch.utils.data import DataLoader

from vitedu import require
from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.data.digits import batches, digits
from vitedu.data.image_folder import train_and_validation
from vitedu.data.numerals import numeral_task
from vitedu.data.sequences import pair_batches
from vitedu.decoding.search import greedy_search
from vitedu.pretrained.models import save_transformer, save_vit
from vitedu.training.activation_checkpointing import recompute_blocks
from vitedu.training.devices import choose_device
from vitedu.training.distributed import once_for_all, sum_over_processes
from vitedu.training.evaluation import evaluate_classifier
from vitedu.training.loop import History, accuracy, fit
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Train a model; print a line of JSON as each epoch ends.

    Attributes:
        task: A Vision Transformer reads handwritten digits, or a Transformer
            translates Chinese numerals into English.
        folder: Instead of that, a Vision Transformer tells the pictures of
            this folder apart: `DIR/class/*.jpg` and the like, or DIR/train and
            DIR/val with such folders. Without DIR/val a fifth of each class
            is set aside to validate.
        image_size: Side of the square that a picture of the folder becomes.
        patch_size: Side of its patches.
        workers: Processes that read pictures; 0 reads them in between.
        out: File for the trained model, with the names of its classes or the
            words of its languages.
        seed: Of the weights, the order of the data and the dropout.
        num_epochs: Passes over the data; None takes those of the chapter.
        batch_size: Samples a step, over all processes.
        learning_rate: The highest; None takes that of the chapter.
        dropout: Rate in all blocks. With 0, the result is the same for any
            number of processes, up to rounding.
        accumulation: Micro-batches a step, in each process.
        precision: Type of number to compute in; weights stay in float32.
        compile: Let torch.compile fuse the operations; needs a C++ compiler.
        recompute: Keep the inputs of each block alone, to save memory.
        device: Where to compute; auto takes CUDA, else MPS, else the CPU.
        checkpoint: File that holds the state after each epoch. If it exists,
            training goes on from it, and the epochs in it are not printed
            again.
        checkpoint_every: Steps from one write to the next within an epoch.
        keep_best: End with the weights of the epoch of highest accuracy.
    """

    task: Literal["digits", "numerals"] = "digits"
    folder: Path | None = None
    image_size: int = 64
    patch_size: int = 8
    workers: int = 0
    out: Path | None = None
    seed: int = 0
    num_epochs: int | None = None
    batch_size: int = 64
    learning_rate: float | None = None
    dropout: float = 0.0
    accumulation: int = 1
    precision: Literal["float32", "bfloat16"] = "float32"
    compile: bool = False
    recompute: bool = False
    device: Literal["cpu", "cuda", "mps", "auto"] = "cpu"
    checkpoint: Path | None = None
    checkpoint_every: int | None = None
    keep_best: bool = False

    def recipe(self, preset: Callable[..., TrainConfig]) -> TrainConfig:
        """Return a recipe with what was asked for changed."""
        changes = {
            "num_epochs": self.num_epochs,
            "learning_rate": self.learning_rate,
            "accumulation": self.accumulation,
            "precision": self.precision,
        }
        return preset(**{k: v for k, v in changes.items() if v is not None})


class _Task(NamedTuple):
    model: nn.Module
    loader: DataLoader
    config: TrainConfig
    evaluate: Callable[[nn.Module], dict[str, float]]
    save: Callable[[Path, nn.Module], None]


def _digits(options: TrainOptions, device: torch.device) -> _Task:
    data = digits()
    images, labels = data.test_images.to(device), data.test_labels.to(device)
    # Without depth that is dropped at random, unlike in the chapter.
    config = ViTConfig.digits(drop_path=0.0, dropout=options.dropout)
    return _Task(
        VisionTransformer(config),
        batches(
            data.train_images,
            data.train_labels,
            batch_size=options.batch_size,
            seed=options.seed,
        ),
        options.recipe(TrainConfig.digits),
        lambda model: {"accuracy": accuracy(model, images, labels)},
        partial(save_vit, class_names=[str(digit) for digit in range(10)]),
    )


def _folder(options: TrainOptions, device: torch.device) -> _Task:
    train, val = train_and_validation(
        options.folder, options.image_size, seed=options.seed
    )
    # A small model: a folder of one's own seldom holds many pictures.
    config = ViTConfig.digits(
        image_size=options.image_size,
        patch_size=options.patch_size,
        num_channels=3,
        num_classes=len(train.classes),
        drop_path=0.0,
        dropout=options.dropout,
    )
    loader = partial(
        DataLoader, batch_size=options.batch_size, num_workers=options.workers
    )
    to_validate = loader(val)

    def evaluate(model: VisionTransformer) -> dict[str, float]:
        found = evaluate_classifier(model, to_validate, top_k=(1,))
        return {"accuracy": found.accuracy[1]}

    return _Task(
        VisionTransformer(config),
        loader(
            train,
            shuffle=True,
            drop_last=len(train) >= options.batch_size,
            generator=torch.Generator().manual_seed(options.seed),
        ),
        options.recipe(
            partial(TrainConfig, num_epochs=30, learning_rate=2e-3)
        ),
        evaluate,
        partial(save_vit, class_names=train.classes),
    )


def _numerals(options: TrainOptions, device: torch.device) -> _Task:
    train, test = numeral_task(num_train=5000, num_test=200, zero_rate=0.3)
    src = test.src.to(device)

    def evaluate(model: Transformer) -> dict[str, float]:
        found = greedy_search(model, src, bos_id=1, eos_id=2, max_len=20)
        words = [test.tgt_vocabulary.decode(ids) for ids in found.best]
        right = [english for _, english in test.words]
        hits = sum(a == b for a, b in zip(words, right, strict=True))
        return {"accuracy": hits / len(right)}

    return _Task(
        Transformer(TransformerConfig.numerals(dropout=options.dropout)),
        pair_batches(train, batch_size=options.batch_size, seed=options.seed),
        options.recipe(TrainConfig.numerals),
        evaluate,
        partial(
            save_transformer,
            src_vocabulary=train.src_vocabulary,
            tgt_vocabulary=train.tgt_vocabulary,
        ),
    )


def _train(options: TrainOptions) -> None:
    """Train as the options say, with all processes that were started.

    Raises:
        TypeError, ValueError, FileNotFoundError, FloatingPointError: Options
            outside their range, a device that is not there, and what
            `vitedu.training.loop.fit` refuses.
    """
    require.seed("seed", options.seed)
    require.positive_int("batch_size", options.batch_size)
    require.integer("workers", options.workers, at_least=0)
    if options.out is not None and not options.out.parent.is_dir():
        raise FileNotFoundError(
            f"out must lie in a folder that exists, got {options.out}"
        )
    device = choose_device(options.device)
    with _process_group(device):
        torch.manual_seed(options.seed)
        random.seed(options.seed)
        np.random.seed(options.seed % 2**32)
        make = {"digits": _digits, "numerals": _numerals}[options.task]
        task = (_folder if options.folder else make)(options, device)
        model = task.model.to(device)
        if options.recompute:
            recompute_blocks(model)
        if options.compile:
            model.compile()
        fit(
            model,
            task.loader,
            task.config,
            evaluate=task.evaluate,
            checkpoint=options.checkpoint,
            checkpoint_every=options.checkpoint_every,
            keep_best=options.keep_best,
            progress=_printer(),
        )
        if options.out is not None:
            once_for_all(lambda: task.save(options.out, model))


def main(args: list[str] | None = None) -> None:
    """Run the program.

    Args:
        args: What stands behind its name; None takes the command line.

    Raises:
        SystemExit: Something was wrong; the first process says what.
    """
    first = _environment_rank() == 0
    options = tyro.cli(
        TrainOptions,
        prog="python -m vitedu.train",
        args=args,
        console_outputs=first,
    )
    try:
        _train(options)
    except (TypeError, ValueError, OSError, FloatingPointError) as error:
        raise SystemExit(f"error: {error}" if first else 1) from error


def _printer() -> Callable[[History], None]:
    """Return a function that prints the last epoch, and how long it took."""
    times = [time.perf_counter()]

    def report(history: History) -> None:
        line = {
            "epoch": history.num_epochs,
            "loss": history.loss[-1],
            "learning_rate": history.learning_rate[-1],
        }
        line |= {name: values[-1] for name, values in history.metrics.items()}
        times.append(time.perf_counter())
        line["seconds"] = round(times[-1] - times[-2], 1)
        print(json.dumps(line), flush=True)

    return report


def _environment_rank() -> int:
    return int(os.environ.get("RANK", 0))


def _attempt() -> str:
    """Return another name for every start of the processes on a machine.

    torchrun keeps its store when it starts them again, with the addresses of
    the dead, and PyTorch does not keep the attempts apart. Machines count
    their attempts by themselves, so several of them need a new store:
    ``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` in torchrun's environment.
    """
    alone = os.environ.get("GROUP_WORLD_SIZE", "1") == "1"
    count = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return f"attempt-{count if alone else 0}"


@contextmanager
def _process_group(device: torch.device) -> Iterator[None]:
    """Join the other processes, if torchrun or its like has started some."""
    if "RANK" not in os.environ:
        yield
        return
    if device.type == "mps":
        raise ValueError(
            "device must be 'cpu' or 'cuda' in several processes, got 'mps'"
        )
    if device.type == "cuda":
        torch.cuda.set_device(device)
    store, rank, count = next(dist.rendezvous("env://"))
    dist.init_process_group(
        "nccl" if device.type == "cuda" else "gloo",
        store=dist.PrefixStore(_attempt(), store),
        rank=rank,
        world_size=count,
    )
    try:
        # One that stops at once would fail the others while they connect.
        sum_over_processes(0, device)
        yield
    finally:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
