"""Files of weights: no code runs, no claim is believed."""

import pickle
import struct
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import draw, refuses
from safetensors.torch import save_file

from vitedu.pretrained.weight_files import open_weights

ARRAYS = {"cls": draw(1, 1, 7).numpy(), "head/kernel": draw(5, 11).numpy()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "weights"


def read(path):
    with open_weights(path) as file:
        return {
            name: (file.shape(name), file.read(name)) for name in file.names
        }


def write(path, kind, arrays=ARRAYS):
    if kind == "safetensors":
        tensors = {k: torch.from_numpy(v.copy()) for k, v in arrays.items()}
        save_file(tensors, path)
    else:
        with path.open("wb") as file:
            {"npz": np.savez, "packed": np.savez_compressed}[kind](
                file, **arrays
            )


def npy(header, data=b"", version=1):
    """Build an array file by hand."""
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header + data


def claims(shape, descr="<f4"):
    return f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}"


def put(path, content, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as file:
        file.writestr("cls.npy", content)


each_kind = pytest.mark.parametrize("kind", ["safetensors", "npz", "packed"])


@each_kind
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_numbers_are_read_into_the_default_precision(path, kind, dtype):
    arrays = {name: array.astype(dtype) for name, array in ARRAYS.items()}
    write(path, kind, arrays)
    found = read(path)
    assert found.keys() == ARRAYS.keys()
    for name, (shape, tensor) in found.items():
        assert shape == ARRAYS[name].shape
        assert tensor.dtype == torch.float32
        assert np.array_equal(tensor.numpy(), arrays[name].astype(np.float32))


@pytest.mark.parametrize("dtype", [">f4", "<f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_order_of_bytes_and_axes_is_read(path, dtype, order):
    array = np.asarray(ARRAYS["head/kernel"], dtype=dtype, order=order)
    write(path, "npz", {"cls": array})
    assert np.array_equal(read(path)["cls"][1].numpy(), array.astype("<f4"))


class Trap:
    """Leave a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


@pytest.mark.parametrize("name", ["a.pt", "a.pth", "a.bin", "a.pkl", "a"])
@pytest.mark.parametrize("how", ["pickle", "zip", "old"])
def test_pickles_are_refused_unread(tmp_path, name, how):
    path, trap = tmp_path / name, Trap(tmp_path / "executed")
    if how == "pickle":
        path.write_bytes(pickle.dumps(trap))
    else:
        zipped = how == "zip"
        torch.save(trap, path, _use_new_zipfile_serialization=zipped)
    with refuses(ValueError, f"got {path}, which is neither. Pickled"):
        read(path)
    assert not trap.path.exists()


def test_arrays_of_objects_are_refused_unread(path):
    trap = Trap(path.with_name("executed"))
    write(path, "npz", {"cls": np.array([trap], dtype=object)})
    with refuses(ValueError, "floating-point weights of 16, 32 or 64 bits"):
        read(path)
    with open_weights(path) as file, refuses(ValueError, "allow_pickle=False"):
        file.read("cls")
    assert not trap.path.exists()


@each_kind
@pytest.mark.parametrize("number", [np.nan, np.inf, 1e300])
def test_numbers_that_are_not_finite(path, kind, number):
    array = ARRAYS["cls"].copy()
    array[0, 0, 3] = number
    write(path, kind, {"cls": array})
    with refuses(ValueError, f"got {path} with infinity or NaN in cls"):
        read(path)


@pytest.mark.parametrize(
    "content",
    [
        npy(claims("(1000000, 1000000)").encode()),
        npy(claims("(10, 10)").encode()),
        npy(claims("(2,)").encode(), bytes(9)),
        npy(claims("(-2,)").encode(), bytes(8)),
        npy(claims("(2, 'x')").encode(), bytes(8)),
        npy(claims("(2,)", "x9").encode(), bytes(8)),
        npy(b"(" * 9000, bytes(8)),
        npy(b"1" + b"0" * 9000, bytes(8)),
        npy(b"\x00", bytes(8)),
        npy(claims("(2,)").encode(), bytes(8), version=3),
        npy(b" " * 50_000_000, version=2),
        bytes(50_000_000),
        b"",
    ],
    ids=range(13),
)
def test_an_array_that_lies_costs_nothing(path, content):
    put(path, content)
    tracemalloc.start()
    with refuses(ValueError, f"got {path}: "):
        read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10_000_000


@pytest.mark.parametrize(
    "header",
    [
        '{"cls":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}',
        '{"cls":{"dtype":"F32","shape":[2],"data_offsets":[0,800]}}',
        '{"cls":{"dtype":"F32","shape":[99999999999],"data_offsets":[0,8]}}',
        '{"cls":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}',
        '{"cls":{"dtype":"O","shape":[2],"data_offsets":[0,8]}}',
        '{"cls":' * 1000,
        "{",
    ],
)
def test_a_safetensors_header_that_lies(path, header):
    text = header.encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))
    with refuses(ValueError, f"got {path}: "):
        read(path)


def test_refuses_what_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with refuses(FileNotFoundError, f"file of weights, got {path}"):
            read(path)
