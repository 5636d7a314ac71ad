"""Several real processes train as one: the same steps, the same numbers."""

import itertools
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import distributed_tasks as tasks
import psutil
import pytest
import torch

from vitedu.training.checkpoints import read_checkpoint

soak = partial(pytest.param, marks=pytest.mark.soak)
PROGRAM = ["--num-epochs", "6", "--dropout", "0.1", "--batch-size", "200"]


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """Return a function that does a task in several processes.

    Three processes are started once: most of their time is PyTorch's import.
    """
    folder, numbers = tmp_path_factory.mktemp("stores"), itertools.count()

    def together(count, task, *args):
        store = folder / str(next(numbers))
        futures = [
            pool.submit(tasks.join, task, rank, count, store, *args)
            for rank in range(count)
        ]
        return [future.result(timeout=300) for future in futures]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(3, mp_context=spawn) as pool:
            together.pool = pool
            yield together


def assert_equal(found, expected, tolerance=0.0):
    assert found.keys() == expected.keys()
    for name, value in found.items():
        torch.testing.assert_close(
            value,
            expected[name],
            rtol=0,
            atol=tolerance,
            msg=lambda text, name=name: f"{name}: {text}",
        )


@pytest.mark.parametrize(
    ("kind", "count", "accumulation", "dtype", "tolerance"),
    [
        ("pairs", 2, 1, torch.float64, 1e-12),
        soak("rows", 2, 1, torch.float64, 1e-12),
        soak("rows", 3, 1, torch.float64, 1e-12),
        soak("rows", 2, 3, torch.float64, 1e-12),
        soak("rows", 3, 1, torch.float32, 1e-6),
    ],
)
def test_gradients_are_those_of_one_process(
    together, kind, count, accumulation, dtype, tolerance
):
    """Unequal shares, padding, and a share in which nothing counts."""
    loss, expected = tasks.gradients(kind, 1, dtype)
    assert max(grad.abs().max() for grad in expected.values()) > 0.01
    for losses, found in together(
        count, tasks.gradients, kind, accumulation, dtype
    ):
        assert losses == pytest.approx(loss, rel=tolerance)
        assert_equal(found, expected, tolerance)


@pytest.mark.soak
def test_a_run_goes_on_with_another_number_of_processes(together, tmp_path):
    path = tmp_path / "state"
    expected, weights = tasks.translate(None, None)
    with pytest.raises(tasks.Stopped):
        tasks.translate(path, 1)
    for error in together(2, tasks.translate, path, 1):
        assert repr(error) == "Stopped('after 1')"
    assert len(read_checkpoint(path)[1]["history"]["loss"]) == 2
    history, found = tasks.translate(path, None)
    assert history.loss == pytest.approx(expected.loss, rel=1e-9)
    assert_equal(found, weights, 1e-9)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("stop", "stop_step", "held"), [(1, None, (1, 0)), (None, 8, (1, 2))]
)
def test_resuming_is_exact_with_dropout_and_augmentation(
    together, tmp_path, stop, stop_step, held
):
    path = tmp_path / "state"
    whole = together(2, tasks.classify, None, None)
    assert whole[0][0] == whole[1][0]
    assert_equal(whole[0][1], whole[1][1])
    together(2, tasks.classify, path, stop, 0, stop_step)
    facts = read_checkpoint(path)[1]
    assert (len(facts["history"]["loss"]), facts["steps"]) == held
    # Other draws: the checkpoint has to bring the generators.
    for history, weights in together(2, tasks.classify, path, None, 9):
        assert history == whole[0][0]
        assert_equal(weights, whole[0][1])


@pytest.mark.soak
def test_each_process_reads_its_share_and_draws_by_itself(together, tmp_path):
    alone = tasks.witness(tmp_path)
    first, second = together(2, tasks.witness, tmp_path)
    starts = (0, 4, 8, 11, 15, 19, 22)
    orders = [alone["read"][a:b] for a, b in itertools.pairwise(starts)]
    whole = [i for order in orders for i in order[::2]]
    assert first["read"] == whole
    assert second["read"] == [i for order in orders for i in order[1::2]]
    assert first["drawn"] == alone["drawn"]
    assert len(second["drawn"]) == 6
    assert not set(first["drawn"]) & set(second["drawn"])


@pytest.mark.soak
def test_one_process_measures_and_writes_for_all(together, tmp_path):
    first, second = together(2, tasks.witness, tmp_path)
    assert (first["evaluations"], second["evaluations"]) == (2, 0)
    assert first["written"] == ["state"]
    assert second["written"] == []
    assert first["history"] == second["history"]
    assert len(set(first["history"].metrics["drawn"])) == 2


@pytest.mark.soak
@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("small", "each of the 2 processes a sample of every batch, got a ba"),
        ("whole batches", "loader must draw lists of indices"),
        ("stream", "loader must read data by their indices"),
        ("nothing counts", "targets must hold a place that counts in each"),
        ("other config", "model, loader and config must be those of"),
    ],
)
def test_all_processes_refuse(together, tmp_path, kind, message):
    path = tmp_path / "state"
    if kind == "other config":
        assert together(2, tasks.refuse, "", path) == [None, None]
    for error in together(2, tasks.refuse, kind, path):
        assert type(error) is ValueError
        assert message in str(error)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def undisturbed(together):
    """Run the program in two processes; return what it printed."""
    port = free_port()
    futures = [
        together.pool.submit(tasks.program, rank, 2, port, PROGRAM)
        for rank in range(2)
    ]
    return [future.result(timeout=300) for future in futures]


@pytest.mark.soak
def test_the_first_process_prints_for_all(undisturbed):
    printed, nothing = undisturbed
    epochs = [json.loads(line)["epoch"] for line in printed.splitlines()]
    assert epochs == [1, 2, 3, 4, 5, 6]
    assert nothing == ""


@pytest.mark.soak
def test_a_killed_process_is_started_again(undisturbed, tmp_path):
    path = tmp_path / "state"
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", "--max-restarts=2", "-m", "vitedu.train"]
    command += [*PROGRAM, "--checkpoint", str(path)]
    agent = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    try:
        victim = wait_for_epoch(agent, path)
        os.kill(victim, signal.SIGKILL)
        printed, complaints = agent.communicate(timeout=300)
    finally:
        agent.terminate()  # and its processes with it
        agent.wait()
    assert agent.returncode == 0, complaints
    assert f"(pid: {victim})" in complaints
    # One killed between a line and its checkpoint prints the line again.
    assert by_epoch(printed) == by_epoch(undisturbed[0])


def by_epoch(printed):
    """Return what was printed of each epoch, but for how long it took."""
    lines = [json.loads(line) for line in printed.splitlines()]
    return {line["epoch"]: line | {"seconds": 0} for line in lines}


def wait_for_epoch(agent, path):
    """Return the number of a process, once a checkpoint has been written."""
    for _ in range(30_000):
        if path.exists():
            return psutil.Process(agent.pid).children()[-1].pid
        assert agent.poll() is None, agent.stderr.read()
        time.sleep(0.01)
    raise TimeoutError
