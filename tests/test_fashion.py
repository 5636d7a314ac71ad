"""The pictures of clothes, and the program that has drawn them."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tools import fashion as program
from vitedu.data import fashion as module
from vitedu.data.fashion import CLASSES, fashion


class Trap:
    """Leave a file behind when it is unpickled."""

    def __reduce__(self):
        return (Path.touch, (Path("executed"),))


def packed(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_both_parts_have_as_many_of_each_class_and_no_image_twice():
    data = fashion()
    assert data.train_labels.bincount().tolist() == [300] * len(CLASSES)
    assert data.test_labels.bincount().tolist() == [100] * len(CLASSES)
    images = torch.cat([data.train_images, data.test_images])
    assert images.shape == (4000, 1, 28, 28)
    assert len(images.flatten(1).unique(dim=0)) == 4000
    assert images.aminmax() == (0, 1)
    # As if they were not in a random order: any hundred hold all classes.
    assert all(len(x.unique()) == 10 for x in data.train_labels.split(100))


@pytest.fixture
def folder(tmp_path):
    """Write a collection of 30 and 20 images a class.

    Row and column of one white pixel say which image it is.
    """
    for name, count in (("train", 300), ("t10k", 200)):
        labels = (np.arange(count) % 10).astype(np.uint8)
        images = np.zeros((count, 28 * 28), np.uint8)
        np.fill_diagonal(images, 255)
        for kind, magic, array in (
            ("images-idx3", program.IMAGES, images.reshape(-1, 28, 28)),
            ("labels-idx1", program.LABELS, labels),
        ):
            sizes = np.array(array.shape, ">u4").tobytes()
            path = tmp_path / f"{name}-{kind}-ubyte.gz"
            path.write_bytes(gzip.compress(magic + sizes + array.tobytes()))
    return tmp_path


@pytest.fixture
def few(monkeypatch):
    """Let fewer images be drawn."""
    counts = {"train": ("train", 9), "test": ("t10k", 4)}
    monkeypatch.setattr(program, "PARTS", counts)
    return counts


def test_the_library_reads_what_the_program_writes(
    folder, few, monkeypatch, capsys
):
    monkeypatch.setattr(program, "FILE", folder / "fashion.npz")
    monkeypatch.setattr(sys, "argv", ["fashion", str(folder)])
    program.main()
    monkeypatch.setattr(module, "_FILE", folder / "fashion.npz")
    monkeypatch.setattr(module, "_SHA256", capsys.readouterr().out.strip())
    data = fashion()
    for name, array in program.drawn(folder).items():
        found = getattr(data, name)
        factor = 255 if "images" in name else 1
        expected = torch.from_numpy(array).reshape(found.shape)
        assert torch.equal((found * factor).round().byte(), expected)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train-images-idx3-ubyte.gz", b"no gzip", "must be a whole Fashion"),
        (
            "t10k-labels-idx1-ubyte.gz",
            gzip.compress(program.LABELS + b"\0\0\0\7" + b"1"),
            "must be a whole Fashion",
        ),
        (
            "train-labels-idx1-ubyte.gz",
            gzip.compress(program.IMAGES + bytes(13)),
            "not b'",
        ),
    ],
    ids=["no-gzip", "too-few-labels", "images-as-labels"],
)
def test_a_damaged_file_of_the_collection_is_named(
    folder, few, name, content, message
):
    (folder / name).write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        program.drawn(folder)
    assert name in str(error.value)
