"""Checkpoints: whole or not at all, and safe to read."""

import os
import pickle
import random
from contextlib import suppress
from pathlib import Path

import pytest
import torch
from helpers import draw, refuses
from safetensors.torch import save_file

from vitedu.training.checkpoints import read_checkpoint, write_checkpoint

TENSORS = {
    "weight": draw(5, 7),
    "half": draw(3).half(),
    "brain": draw(3).bfloat16(),
    "count": torch.tensor(41),
    "bytes": torch.arange(11, dtype=torch.uint8),
    "none": torch.zeros(1, 0, 3),
}
FACTS = {"epochs": 3, "loss": [0.1, 1 / 3], "name": "ViT", "nothing": None}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "state.safetensors"


def test_what_was_written_is_read(path):
    write_checkpoint(path, TENSORS, FACTS)
    tensors, facts = read_checkpoint(path)
    assert facts == FACTS
    assert tensors.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


@pytest.mark.parametrize(("where", "name"), [(os, "fsync"), (Path, "replace")])
def test_a_write_that_fails_leaves_the_old_file(
    path, monkeypatch, where, name
):
    write_checkpoint(path, TENSORS, {"epoch": 1})
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(where, name, fail)
        with pytest.raises(OSError, match="no space left"):
            write_checkpoint(path, TENSORS, {"epoch": 2})
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_file_that_does_not_exist(path):
    with refuses(FileNotFoundError, f"path must be a checkpoint, got {path}"):
        read_checkpoint(path)


def test_a_pickle_is_refused_and_not_executed(path):
    class Trap:
        def __reduce__(self):
            return (Path.touch, (path.with_name("executed"),))

    path.write_bytes(pickle.dumps(Trap()))
    with refuses(ValueError, "path must be a whole safetensors file"):
        read_checkpoint(path)
    assert not path.with_name("executed").exists()


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
def test_weights_of_somebody_else(path, metadata):
    save_file(TENSORS, path, metadata=metadata)
    found = None if metadata is None else "pt"
    with refuses(
        ValueError,
        "path must be a checkpoint with format 'vitedu-checkpoint-3', "
        f"got {path} with format {found!r}",
    ):
        read_checkpoint(path)


def test_every_changed_byte_is_found(path):
    """Among names, facts and numbers alike: the checksum sees them all."""
    write_checkpoint(path, TENSORS, FACTS)
    whole, chance = path.read_bytes(), random.Random(0)
    for place in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        tensors, facts = TENSORS, FACTS
        with suppress(ValueError):
            tensors, facts = read_checkpoint(path)
        # A bit may turn one way to write a text into another.
        assert facts == FACTS
        assert tensors.keys() == TENSORS.keys()
        assert all(torch.equal(tensors[k], TENSORS[k]) for k in TENSORS)


def test_a_file_cut_anywhere_is_refused(path):
    write_checkpoint(path, TENSORS, FACTS)
    whole = path.read_bytes()
    for length in range(0, len(whole), 7):
        path.write_bytes(whole[:length])
        with refuses(ValueError, f"got {path}"):
            read_checkpoint(path)
