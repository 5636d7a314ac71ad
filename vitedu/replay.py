"""A cell that runs again draws the random numbers that it drew first."""

import random
from typing import Any

import numpy as np
import torch
from IPython import get_ipython

_first: dict[tuple[int, str], tuple] = {}
_seed = 0


def replay_draws(seed: int) -> None:
    """From now on, begin each cell with the draws of its first run.

    Who runs a cell again, or interrupts it and then runs it again, gets the
    same numbers as who runs the chapter once from top to bottom. That holds
    for the generators of Python, NumPy and PyTorch, and for those of PyTorch
    that have a name in the notebook. Outside of notebooks nothing happens.

    Args:
        seed: What the generators were seeded with; with another one than
            before, all cells begin anew.
    """
    global _seed
    _seed = seed
    if (shell := get_ipython()) is not None:
        shell.events.register("pre_run_cell", _begin)


def _begin(info: Any) -> None:
    # Editors name cells; elsewhere a cell is known by its code.
    cell = _seed, getattr(info, "cell_id", None) or info.raw_cell
    names = get_ipython().user_ns
    if cell not in _first:
        _first[cell] = _states(names)
        return
    python, numpy, pytorch, own = _first[cell]
    random.setstate(python)
    np.random.set_state(numpy)
    torch.set_rng_state(pytorch)
    for name, state in own.items():
        if isinstance(names.get(name), torch.Generator):
            names[name].set_state(state)


def _states(names: dict[str, Any]) -> tuple:
    own = {
        name: value.get_state()
        for name, value in names.items()
        if isinstance(value, torch.Generator)
    }
    return (
        random.getstate(),
        np.random.get_state(),
        torch.get_rng_state(),
        own,
    )
