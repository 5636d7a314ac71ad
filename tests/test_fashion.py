"""The pictures of clothes, and the program that has drawn them."""

import gzip
import io
import pickle
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


WHOLE = module._FILE.read_bytes()
DAMAGED = {
    "empty": b"",
    "cut off": WHOLE[:-1],
    "a flipped bit": WHOLE[:999] + bytes([WHOLE[999] ^ 1]) + WHOLE[1000:],
    "pickle": pickle.dumps(Trap()),
    "pickle inside": packed(train_images=np.array([Trap()], object)),
    "other images": packed(train_images=np.zeros((2, 28, 28), np.uint8)),
}


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


@pytest.mark.parametrize("content", DAMAGED)
def test_another_file_is_refused_unread(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "fashion.npz"
    path.write_bytes(DAMAGED[content])
    monkeypatch.setattr(module, "_FILE", path)
    with pytest.raises(ValueError, match=r"fashion.npz must have the SHA-256"):
        fashion()
    assert [*tmp_path.iterdir()] == [path]


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


def test_so_many_of_each_class_are_drawn(folder, few):
    found = program.drawn(folder)
    for part, (_, count) in few.items():
        labels, images = found[f"{part}_labels"], found[f"{part}_images"]
        assert np.bincount(labels).tolist() == [count] * 10
        rows = images.reshape(-1, 28 * 28).argmax(axis=1)
        assert len({*rows}) == 10 * count
        assert (rows % 10 == labels).all()
        assert rows.max() >= 10 * count, "the first of each, not drawn"
        assert len({*labels[:10]}) > 1, "class by class"
    again = program.drawn(folder)
    assert all((again[name] == found[name]).all() for name in found)


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


def test_a_class_with_too_few_images_is_an_error(folder):
    with pytest.raises(ValueError, match="folder must have 300 of each"):
        program.drawn(folder)
