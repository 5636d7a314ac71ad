"""What a reader wrote ends in time and leaves nothing behind."""

import contextlib
import random
import threading
import time

import numpy as np
import pytest
import torch

from vitedu.trials import OutOfTime, nothing_left_behind, time_limit


def in_a_minute():
    """Be over one day, so that a broken limit fails and does not hang."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        yield


def loop():
    for _ in in_a_minute():
        pass


def stubborn():
    for _ in in_a_minute():
        with contextlib.suppress(Exception):
            loop()


def slow_tensors():
    for _ in in_a_minute():
        torch.ones(50, 50) @ torch.ones(50, 50)


@pytest.mark.parametrize("endless", [loop, stubborn, slow_tensors])
def test_a_loop_that_does_not_end_is_stopped(endless):
    with pytest.raises(OutOfTime), time_limit(0.2):
        endless()


def test_what_ends_in_time_is_left_alone():
    before = threading.active_count()
    with time_limit(60):
        result = sum(range(10))
    assert result == 45
    time.sleep(0.05)
    assert threading.active_count() == before


def test_an_error_passes():
    with pytest.raises(ZeroDivisionError), time_limit(60):
        _ = 1 / 0


def test_the_limit_is_over_with_its_block():
    for _ in range(200):
        try:
            # About as long as the limit: it strikes before, at and after.
            with time_limit(0.001):
                until = time.perf_counter() + 0.001
                while time.perf_counter() < until:
                    pass
        except OutOfTime:
            pass
        sum(range(1000))
    time.sleep(0.01)
    sum(range(100_000))


def test_random_states_are_put_back():
    def draws():
        return random.random(), np.random.rand(), torch.rand(1).item()

    state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    expected = draws()
    random.setstate(state[0])
    np.random.set_state(state[1])
    torch.set_rng_state(state[2])
    with nothing_left_behind() as changed:
        draws()
        torch.manual_seed(5)
    assert draws() == expected
    assert changed == []


@pytest.mark.parametrize(
    ("change", "get", "name"),
    [
        (
            lambda: torch.set_grad_enabled(False),
            torch.is_grad_enabled,
            "whether gradients are recorded",
        ),
        (
            lambda: torch.set_default_dtype(torch.float64),
            torch.get_default_dtype,
            "the default type of numbers",
        ),
        (
            lambda: torch.use_deterministic_algorithms(True),
            torch.are_deterministic_algorithms_enabled,
            "whether algorithms are deterministic",
        ),
        (
            lambda: torch.set_num_threads(torch.get_num_threads() + 1),
            torch.get_num_threads,
            "the number of threads",
        ),
    ],
)
def test_a_changed_setting_is_named_and_put_back(change, get, name):
    before = get()
    with nothing_left_behind() as changed:
        change()
        assert get() != before
    assert get() == before
    assert changed == [name]


def test_settings_are_put_back_after_an_error():
    def fails():
        with nothing_left_behind():
            torch.set_grad_enabled(False)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fails()
    assert torch.is_grad_enabled()
