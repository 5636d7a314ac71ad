"""Several processes that train one model together."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset, Sampler

T = TypeVar("T")

# What a loader is told besides its data and the order in which they come.
_SETTINGS = (
    "collate_fn",
    "generator",
    "num_workers",
    "pin_memory",
    "timeout",
    "worker_init_fn",
    "multiprocessing_context",
    "prefetch_factor",
    "persistent_workers",
)


@contextmanager
def process_group(device: torch.device) -> Iterator[None]:
    """Join the other processes, if torchrun or a similar tool started any.

    Args:
        device: Where this process computes.

    Raises:
        ValueError: `device` is "mps", on which several processes cannot
            exchange tensors.
    """
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


def get_world_size() -> int:
    """Return how many processes work together; 1 without a process group."""
    together = dist.is_available() and dist.is_initialized()
    return dist.get_world_size() if together else 1


def get_rank() -> int:
    """Return the number of this process: 0 for the first or only one."""
    return dist.get_rank() if get_world_size() > 1 else 0


def once_for_all(action: Callable[[], T]) -> T:
    """Let the first process act for all, while the others wait.

    Args:
        action: What to do. Its result has to be picklable.

    Returns:
        The result of `action`, in every process.

    Raises:
        Exception: What `action` raised, in every process, because if only one
            stopped, the others would wait for it in vain.
    """
    if get_world_size() == 1:
        return action()
    outcome: list = [None, None]
    if get_rank() == 0:
        try:
            outcome[0] = action()
        except Exception as error:
            outcome[1] = error
    dist.broadcast_object_list(outcome)
    result, error = outcome
    if error is not None:
        raise error
    return result


def gather(own: T) -> list[T]:
    """Return what each process has, by rank; every process has to call it.

    Args:
        own: What this process has; it has to be picklable.
    """
    found = [own] * get_world_size()
    if len(found) > 1:
        dist.all_gather_object(found, own)
    return found


def sum_over_processes(number: float, device: torch.device) -> float:
    """Return the sum of a number over all processes.

    Args:
        number: What this process adds; integers are exact up to 2**53.
        device: Where the processes exchange tensors: the device of the model.
    """
    if get_world_size() == 1:
        return number
    found = torch.tensor(number, dtype=torch.float64, device=device)
    dist.all_reduce(found)
    return found.item()


@contextmanager
def replicated(model: nn.Module) -> Iterator[nn.Module]:
    """Yield what computes as `model` and averages gradients over processes.

    For a single process, that is the model itself. Otherwise the weights of
    the first process are copied to all. At the end the processes are released,
    and the model remains.
    """
    if get_world_size() == 1:
        yield model
        return
    replica = DistributedDataParallel(model)
    try:
        yield replica
    finally:
        # An error keeps the replica alive, by its traceback. What averages
        # must not be the last that holds the group of processes: when it goes
        # it waits, with Python's lock, for a thread that may want the lock
        # (https://github.com/pytorch/pytorch/issues/56297).
        del replica.reducer, replica.logger


def share_of_batches(loader: DataLoader) -> DataLoader:
    """Return a loader of the part of each batch that this process computes.

    All processes have to draw the same batches. Each reads only its own part
    of them: of n processes, number r takes samples r, r + n and so on. For a
    single process, the result is `loader` itself.

    Args:
        loader: Draws lists of indices, by its `batch_size`, a batch sampler
            or a sampler of lists.

    Raises:
        ValueError: The loader's data have no indices. During iteration: the
            loader does not draw lists of indices, or draws a batch with fewer
            samples than there are processes.
    """
    if get_world_size() == 1:
        return loader
    if isinstance(loader.dataset, IterableDataset):
        raise ValueError(
            "loader must read data by their indices, so that each process "
            f"can take its share, got {type(loader.dataset).__name__}"
        )
    settings = {name: getattr(loader, name) for name in _SETTINGS}
    batches = loader.batch_sampler or loader.sampler
    shares = _Shares(batches, loader.generator)
    if loader.batch_sampler is None:
        settings |= {"batch_size": None, "sampler": shares}
    else:
        settings["batch_sampler"] = shares
    return DataLoader(loader.dataset, **settings)


class _Shares(Sampler[list[int]]):
    """Draws the batches of all processes, and yields this one's share."""

    def __init__(
        self, batches: Sampler, generator: torch.Generator | None
    ) -> None:
        self.batches, self.generator = batches, generator

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        # The whole order first, which has to be the same everywhere.
        order = list(self.batches)
        _check_order(order)
        if get_rank() > 0:
            _draw_apart(self.generator)
        for batch in order:
            yield batch[get_rank() :: get_world_size()]


def _check_order(order: list) -> None:
    count = get_world_size()
    for batch in order:
        if not isinstance(batch, list | tuple):
            raise ValueError(
                "loader must draw lists of indices, so that each process can "
                f"take its share, got {batch!r}"
            )
        if len(batch) < count:
            raise ValueError(
                f"loader must give each of the {count} processes a sample of "
                f"every batch, got a batch of {len(batch)}"
            )


def _draw_apart(generator: torch.Generator | None) -> None:
    """Draw numbers other than the first process's, for different dropout.

    Those from `random` and NumPy differ as well, for different augmentation.
    """
    seed = _own_seed(torch.default_generator)
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)
    if generator is not None:
        generator.manual_seed(_own_seed(generator))


def _own_seed(generator: torch.Generator) -> int:
    drawn = torch.randint(
        2**62, (), generator=generator, device=generator.device
    )
    return drawn.item() + get_rank()


def _attempt() -> str:
    """Return a new name for every start of the processes on a machine.

    When torchrun restarts the processes, it keeps its store, with the
    addresses of the dead ones, and PyTorch does not keep the attempts apart.
    Each machine counts its own attempts, so several machines need a new store:
    ``TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`` in torchrun's environment.
    """
    alone = os.environ.get("GROUP_WORLD_SIZE", "1") == "1"
    count = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return f"attempt-{count if alone else 0}"
