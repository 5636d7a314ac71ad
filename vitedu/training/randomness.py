"""Everything that a training run draws random numbers from."""

import random

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler


class Randomness:
    """The generators of a run: their states, and how to restore them.

    They are the global ones of PyTorch, `random` and NumPy, the one of the
    device, and each `torch.Generator` that the loader, its samplers or its
    data hold as an attribute. In each epoch, a worker process is seeded with a
    number that one of these draws.

    Attributes:
        own: The generators of loader, samplers and data, by the place where
            each was first found.

    Args:
        loader: The batches of the run.
        device: Where the model is.
    """

    def __init__(self, loader: DataLoader, device: torch.device) -> None:
        self.own = _generators_of(loader)
        self.device = device

    def seeds(self) -> dict[str, int]:
        """Return the initial seeds of the loader, samplers and data."""
        return {name: own.initial_seed() for name, own in self.own.items()}

    def states(self) -> dict[str, Tensor]:
        """Return the current state of each generator."""
        found = {name: own.get_state() for name, own in self.own.items()}
        found["torch"] = torch.get_rng_state()
        found["random"] = _state_of_random()
        found["numpy"] = _state_of_numpy()
        if self.device.type != "cpu":
            found["device"] = _module(self.device).get_rng_state()
        return found

    def check(self, states: dict[str, Tensor]) -> None:
        """Require what `set_states` takes.

        Raises:
            KeyError, RuntimeError, TypeError, ValueError: A state is missing,
                or is not one.
        """
        torch.Generator().set_state(states["torch"])
        for name, own in self.own.items():
            torch.Generator(own.device).set_state(states[name])
        _set_random(states["random"], random.Random())
        _set_numpy(states["numpy"], np.random.RandomState())

    def set_states(self, states: dict[str, Tensor]) -> None:
        """Continue from these states; a missing or wrong one changes nothing.

        Raises:
            KeyError, RuntimeError, TypeError, ValueError: As `check`.
        """
        self.check(states)
        torch.set_rng_state(states["torch"])
        _set_random(states["random"], random)
        _set_numpy(states["numpy"], np.random)
        for name, own in self.own.items():
            own.set_state(states[name])
        if self.device.type != "cpu" and "device" in states:
            _module(self.device).set_rng_state(states["device"])


def _generators_of(loader: DataLoader) -> dict[str, torch.Generator]:
    found: dict[str, torch.Generator] = {}
    waiting, seen = [("loader", loader)], set()
    for place, owner in waiting:
        for name, value in getattr(owner, "__dict__", {}).items():
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, torch.Generator):
                found[f"{place}.{name}"] = value
            if isinstance(value, Sampler | Dataset):
                waiting.append((f"{place}.{name}", value))
    return found


def _state_of_random() -> Tensor:
    _, words, gauss = random.getstate()
    rest = [0, 0.0] if gauss is None else [1, gauss]
    return torch.tensor([*words, *rest], dtype=torch.float64)


def _set_random(state: Tensor, target) -> None:
    *words, has_gauss, gauss = state.tolist()
    rest = gauss if has_gauss else None
    target.setstate((3, tuple(map(int, words)), rest))


def _state_of_numpy() -> Tensor:
    _, words, *rest = np.random.get_state()
    return torch.tensor([*words.tolist(), *rest], dtype=torch.float64)


def _set_numpy(state: Tensor, target) -> None:
    *words, place, has_gauss, gauss = state.tolist()
    target.set_state(("MT19937", words, int(place), int(has_gauss), gauss))


def _module(device: torch.device):
    """Return the part of PyTorch that knows the generator of a device."""
    return torch.get_device_module(device)
