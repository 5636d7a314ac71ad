"""The program ``python -m vitedu.train``, in one process."""

import io
import json
import runpy
import sys
from dataclasses import asdict

import pytest
import torch
from test_scaling import machine  # noqa: F401  a fixture

from vitedu import train
from vitedu.checkpoints import read_checkpoint
from vitedu.config import TrainConfig

FAST = ["--num-epochs", "2", "--batch-size", "479"]
RECIPE = ["--learning-rate", "0.002"]


def run(capsys, *args):
    train.main([*FAST, *args])
    return [json.loads(x) for x in capsys.readouterr().out.splitlines()]


def test_it_prints_an_epoch_a_line(capsys):
    lines = run(capsys, *RECIPE)
    assert [line["epoch"] for line in lines] == [1, 2]
    for line in lines:
        assert set(line) == {"epoch", "loss", "learning_rate", "accuracy"}
    assert lines[1]["loss"] < lines[0]["loss"]
    assert lines[0]["learning_rate"] < 0.002
    assert 0 <= lines[1]["accuracy"] <= 1


class Pipe(io.StringIO):
    """Standard output, and what a reader at its end has received."""

    received = ""

    def flush(self):
        self.received = self.getvalue()


def test_a_line_can_be_read_as_soon_as_its_epoch_ends(monkeypatch):
    pipe, lines = Pipe(), []

    def accuracy(*args):
        lines.append(pipe.received.count("\n"))
        return 0.5

    monkeypatch.setattr(sys, "stdout", pipe)
    monkeypatch.setattr(train, "accuracy", accuracy)
    train.main([*FAST, "--num-epochs", "3"])
    assert lines == [0, 1, 2]
    assert pipe.received.count("\n") == 3


def test_a_run_that_goes_on_prints_the_rest(capsys, tmp_path, monkeypatch):
    path, accuracy, seen = tmp_path / "state", train.accuracy, []

    def fail_once(*args):
        seen.append(1)
        if len(seen) == 2:
            raise OSError("no power")
        return accuracy(*args)

    whole = run(capsys)
    monkeypatch.setattr(train, "accuracy", fail_once)
    with pytest.raises(SystemExit, match="no power"):
        run(capsys, "--checkpoint", str(path))
    first = [json.loads(x) for x in capsys.readouterr().out.splitlines()]
    rest = run(capsys, "--checkpoint", str(path))
    assert [line["epoch"] for line in (*first, *rest)] == [1, 2]
    assert [*first, *rest] == whole


def test_the_seed_decides(capsys):
    first, again, other = (
        run(capsys, "--seed", seed, "--dropout", "0.1") for seed in "001"
    )
    assert first == again
    assert first != other


def test_options_reach_what_they_are_for(capsys, tmp_path, monkeypatch):
    compiled, recomputed = [], []
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda model: compiled.append(model)
    )
    monkeypatch.setattr(train, "recompute_blocks", recomputed.append)
    path = tmp_path / "state"
    args = ["--accumulation", "2", "--precision", "bfloat16", "--compile"]
    args += ["--recompute", "--checkpoint", str(path), *RECIPE]
    lines = run(capsys, *args)
    assert len(compiled) == len(recomputed) == 1
    tensors, facts = read_checkpoint(path)
    config = TrainConfig.digits(
        num_epochs=2,
        learning_rate=0.002,
        accumulation=2,
        precision="bfloat16",
    )
    found = {name: facts["run"][f"config.{name}"] for name in asdict(config)}
    assert found == {name: repr(x) for name, x in asdict(config).items()}
    assert "model.blocks.3.attn.qkv.weight" in tensors
    assert len(lines) == 2
    assert run(capsys, *args) == []


def test_it_translates(capsys, monkeypatch):
    task, asked = train.numeral_task, []

    def fewer(*, num_train, num_test, zero_rate):
        asked.append((num_train, num_test))
        return task(num_train=700, num_test=20, zero_rate=zero_rate)

    monkeypatch.setattr(train, "numeral_task", fewer)
    lines = run(capsys, "--task", "numerals", "--batch-size", "50")
    assert asked == [(5000, 200)]
    assert lines[1]["loss"] < lines[0]["loss"] < 4
    assert 0 <= lines[1]["accuracy"] < 1


def refused(capsys, *args):
    with pytest.raises(SystemExit) as error:
        run(capsys, *args)
    assert capsys.readouterr().out == ""
    return error.value.code


def test_it_says_what_is_wrong(capsys, tmp_path, machine):  # noqa: F811
    machine()
    assert refused(capsys, "--device", "cuda") == (
        "error: device must be one of ('cpu', 'auto') on this machine, "
        "got 'cuda': PyTorch sees no CUDA device"
    )
    path = tmp_path / "no" / "state"
    assert refused(capsys, "--checkpoint", str(path)) == (
        f"error: checkpoint must lie in a folder that exists, got {path}"
    )
    assert refused(capsys, "--accumulation", "0") == (
        "error: accumulation must be at least 1, got 0"
    )
    assert refused(capsys, "--seed", str(2**70)) == (
        f"error: seed must be below 2**64, got {2**70}"
    )
    assert refused(capsys, "--learning-rate", "nan").startswith(
        "error: learning_rate must be finite"
    )


def test_it_refuses_the_checkpoint_of_another_config(capsys, tmp_path):
    path = tmp_path / "state"
    run(capsys, "--checkpoint", str(path))
    message = refused(capsys, "--checkpoint", str(path), *RECIPE)
    assert message.startswith(
        "error: model, loader and config must be those of the checkpoint "
        f"{path}: config.learning_rate is 0.004 there, got 0.002"
    )


def test_it_says_so_of_an_unknown_option(capsys):
    with pytest.raises(SystemExit) as error:
        train.main(["--optimizer", "sgd"])
    assert error.value.code == 2
    assert "--optimizer" in capsys.readouterr().err


def test_other_processes_keep_silent(capsys, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(SystemExit) as error:
        train.main(["--device", "gpu"])
    assert error.value.code == 2
    assert capsys.readouterr() == ("", "")


def test_it_explains_itself(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train", "--help"])
    with (
        pytest.warns(RuntimeWarning, match="found in sys.modules"),
        pytest.raises(SystemExit) as error,
    ):
        runpy.run_module("vitedu.train", run_name="__main__")
    assert error.value.code == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "python -m vitedu.train" in text
    assert "Samples a step, over all processes." in text
