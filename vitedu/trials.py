"""Run what a reader wrote: it ends in time and leaves nothing behind."""

import ctypes
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from vitedu import require

# How long an answer may run; the slowest right ones take about one.
SECONDS = 20.0


class OutOfTime(BaseException):
    """An answer ran too long. No `except Exception` of it catches this."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Stop Python code that runs longer, wherever it is.

    It stops between two steps of the interpreter: one long call of a library,
    a pause among them, is waited for.

    Args:
        seconds: More than 0.

    Raises:
        OutOfTime: The time is over.
        TypeError, ValueError: `seconds` is no such number.
    """
    require.number("seconds", seconds, above=0)
    thread = threading.get_ident()
    lock, over = threading.Lock(), threading.Event()

    def stop() -> None:
        with lock:
            if not over.is_set():
                _throw(thread, ctypes.py_object(OutOfTime))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        with lock:
            over.set()
            # Thrown but not yet arrived: it would hit what comes next.
            _throw(thread, None)


def _throw(thread: int, error: ctypes.py_object | None) -> None:
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), error)


@contextmanager
def nothing_left_behind() -> Iterator[list[str]]:
    """Put back what code can change for everybody who runs after it.

    Random states are put back without a word, since code may draw. Other
    settings are put back, too, and named.

    Yields:
        A list, empty at first; afterwards it names the settings that the code
        had changed.
    """
    draws = random.getstate(), np.random.get_state(), torch.get_rng_state()
    settings = [get() for get, _, _ in _SETTINGS]
    changed: list[str] = []
    try:
        yield changed
    finally:
        for (get, put, name), value in zip(_SETTINGS, settings, strict=True):
            if get() != value:
                changed.append(name)
                put(value)
        random.setstate(draws[0])
        np.random.set_state(draws[1])
        torch.set_rng_state(draws[2])


_SETTINGS = [
    (
        torch.is_grad_enabled,
        torch.set_grad_enabled,
        "whether gradients are recorded",
    ),
    (
        torch.get_default_dtype,
        torch.set_default_dtype,
        "the default type of numbers",
    ),
    (
        torch.are_deterministic_algorithms_enabled,
        torch.use_deterministic_algorithms,
        "whether algorithms are deterministic",
    ),
    (torch.get_num_threads, torch.set_num_threads, "the number of threads"),
]
