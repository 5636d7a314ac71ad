"""Restore what an answer may change for all code that runs after it."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitedu.book import progress


@contextmanager
def nothing_left_behind() -> Iterator[list[str]]:
    """Restore what code can change for all code that runs after it.

    Random states are restored without a word, since code may draw random
    numbers. Settings of PyTorch, and functions of PyTorch, einops and the book
    that were replaced, are also restored, and named.

    Yields:
        A list, empty at first; afterwards it names what the code had changed.
    """
    # The first optimiser imports it, and it replaces `torch.manual_seed`.
    import torch._dynamo

    draws = random.getstate(), np.random.get_state(), torch.get_rng_state()
    settings = {name: get() for name, (get, _) in _SETTINGS.items()}
    rooms = {room: dict(vars(room)) for room in _rooms()}
    changed: list[str] = []
    try:
        yield changed
    finally:
        for name, (get, put) in _SETTINGS.items():
            if get() != settings[name]:
                changed.append(name)
                put(settings[name])
        for room, before in rooms.items():
            changed += _put_back(room, before)
        random.setstate(draws[0])
        np.random.set_state(draws[1])
        torch.set_rng_state(draws[2])


def _rooms() -> Iterator[ModuleType | type]:
    """Yield the modules and classes whose functions a cell may replace."""
    yield from (torch, Tensor, nn, F, nn.Module, nn.Linear, nn.LayerNorm)
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] not in ("vitedu", "einops") or module is None:
            continue
        if module is progress:  # it remembers what the reader has tried
            continue
        yield module
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name:
                yield value


def _put_back(
    room: ModuleType | type, before: dict[str, object]
) -> Iterator[str]:
    now = dict(vars(room))
    for name in before.keys() | now.keys():
        old, new = before.get(name), now.get(name)
        # A module that was imported meanwhile is no change.
        if old is new or not (callable(old) or callable(new)):
            continue
        if name in before:
            setattr(room, name, old)
        elif isinstance(room, type):
            delattr(room, name)
        else:
            continue
        yield f"`{room.__name__}.{name}`"


_SETTINGS = {
    "whether gradients are recorded": (
        torch.is_grad_enabled,
        torch.set_grad_enabled,
    ),
    "the default type of numbers": (
        torch.get_default_dtype,
        torch.set_default_dtype,
    ),
    "whether algorithms are deterministic": (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
    ),
    "the number of threads": (torch.get_num_threads, torch.set_num_threads),
}
