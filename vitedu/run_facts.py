"""What a training run is made of, in words that two runs can compare."""

import re
import zlib
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

from vitedu.config import TrainConfig
from vitedu.randomness import Randomness

_PLAIN = bool | int | float | str | tuple | type(None)
_SHOWN, _LONGEST = 5, 100  # differences in a message, letters of each


def describe_run(
    model: nn.Module,
    loader: DataLoader,
    config: TrainConfig,
    randomness: Randomness,
) -> dict[str, str]:
    """Return what has to be the same when a run goes on, name by name.

    Of the model: its classes, its config and the plain attributes of every
    module, such as rates and numbers of heads. Of the data: how many there
    are, the seeds of the loader's generators, and the first batch that all
    generators give from one seed. Of the run: its config.

    Raises:
        ValueError: That batch is not the same when it is drawn again.
    """
    found = {f"config.{k}": repr(v) for k, v in asdict(config).items()}
    for name, module in model.named_modules():
        found |= _module(f"model.{name}".rstrip("."), module)
    trained = [parameter.requires_grad for parameter in model.parameters()]
    found["model, parameters"] = f"{sum(trained)} of {len(trained)} trained"
    return found | _data(loader, randomness)


def check_same_run(
    expected: dict[str, str], found: dict[str, str], path: Path
) -> None:
    """Require two descriptions to be the same.

    Args:
        expected: Of the run that goes on.
        found: Of the checkpoint.
        path: Where the checkpoint lies, for the message.

    Raises:
        ValueError: They differ; the first differences are named.
    """
    names = [
        name
        for name in expected | found
        if expected.get(name) != found.get(name)
    ]
    if not names:
        return
    shown = "; ".join(
        f"{name} is {found.get(name, 'nothing')[:_LONGEST]} there, "
        f"got {expected.get(name, 'nothing')[:_LONGEST]}"
        for name in names[:_SHOWN]
    )
    more = len(names) - _SHOWN
    raise ValueError(
        f"model, loader and config must be those of the checkpoint {path}: "
        + shown
        + (f"; and {more} more differ" if more > 0 else "")
    )


def _module(place: str, module: nn.Module) -> dict[str, str]:
    # Blocks that compute themselves again compute the same.
    kind = type(module).__name__.removeprefix("_Recomputing")
    found = {place: kind}
    for name, value in vars(module).items():
        if name.startswith("_") or name == "training":
            continue
        if isinstance(value, _PLAIN):
            found[f"{place}.{name}"] = _words(value)
        elif is_dataclass(value) and not isinstance(value, type):
            for field in fields(value):
                inner = getattr(value, field.name)
                found[f"{place}.{name}.{field.name}"] = _words(inner)
    return found


def _words(value: object) -> str:
    """Return the representation of a value without its place in memory."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _data(loader: DataLoader, randomness: Randomness) -> dict[str, str]:
    reads = []
    for _ in range(2):
        with randomness.all_from(seed=0):
            reads.append(_tensors(next(iter(loader), None)))
    first, again = ([_checksum(x) for x in read] for read in reads)
    if first != again:
        raise ValueError(
            "loader must draw from torch, random, numpy.random or a "
            "torch.Generator of its own, which a checkpoint can bring back, "
            "got one that gives another first batch from the same seeds"
        )
    found = {
        f"{name}, seed": repr(generator.initial_seed())
        for name, generator in randomness.own.items()
    }
    if hasattr(loader.dataset, "__len__"):
        found["loader.dataset, length"] = repr(len(loader.dataset))
    found["loader, batches"] = repr(len(loader))
    for number, tensor in enumerate(reads[0]):
        found[f"loader, first batch [{number}]"] = _digest(tensor)
    return found


def _tensors(batch: object) -> list[Tensor]:
    items = batch if isinstance(batch, tuple | list) else [batch]
    return [x.cpu() for x in items if isinstance(x, Tensor)]


def _checksum(tensor: Tensor) -> int:
    flat = tensor.contiguous().reshape(-1).view(torch.uint8)
    return zlib.crc32(flat.numpy())


def _digest(tensor: Tensor) -> str:
    """Return what a tensor holds; of fractions no more than all agree on.

    Another machine may round an augmented image in another way.
    """
    kind = f"{tuple(tensor.shape)} {tensor.dtype}"
    if not tensor.is_floating_point():
        return f"{kind}, checksum {_checksum(tensor)}"
    numbers = tensor.double().flatten()
    weights = torch.linspace(0, 1, len(numbers), dtype=torch.float64)
    # Sums without cancellation: of sizes, and of what is positive, by place.
    sizes, places = numbers.abs().mean(), numbers.clamp(min=0) @ weights
    return f"{kind}, means {sizes:.4g} and {places / len(numbers):.4g}"
