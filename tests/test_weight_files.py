"""Files of weights: no code runs, no claim is believed."""

import os
import pickle
import struct
import tracemalloc
import zipfile
from argparse import Namespace
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import draw, refuses
from safetensors.torch import load_file, save_file
from torch import nn

from vitedu.pretrained.weight_files import convert_pickled, open_weights

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


# What a pickled file is converted to.

WEIGHTS = {"cls_token": draw(1, 1, 3), "blocks.0.norm1.weight": draw(3)}
OTHERS = {name: tensor + 1 for name, tensor in WEIGHTS.items()}


def put_before(prefix, weights):
    return {f"{prefix}{name}": tensor for name, tensor in weights.items()}


class Setting:
    """Of some other program, which this one does not have."""

    def __init__(self):
        self.rate = 0.1


PICKLED = {
    "weights": WEIGHTS,
    "MAE": {"model": WEIGHTS, "optimizer": {"state": {0: {"m": draw(2)}}}},
    "timm": {
        "state_dict": OTHERS,
        "state_dict_ema": WEIGHTS,
        "args": Namespace(output=Path("runs"), setting=Setting()),
        "metric": np.float64(0.5),
    },
    "EMA": {"model": OTHERS, "model_ema": WEIGHTS},
    "no EMA": {"model": WEIGHTS, "model_ema": None, "epoch": 3},
    "DINO": {
        "student": put_before("module.backbone.", OTHERS),
        "teacher": put_before("backbone.", WEIGHTS)
        | {"head.mlp.0.weight": draw(3)},
        "args": Namespace(arch="vit_small"),
    },
    "Lightning": {
        "state_dict": put_before("model.", WEIGHTS),
        "hyper_parameters": {"rate": 0.1},
    },
    "compiled": {"state_dict": put_before("module._orig_mod.", WEIGHTS)},
    "flat": {
        "state_dict": put_before("student.", OTHERS)
        | put_before("teacher.", WEIGHTS)
    },
    "parameters": {"model": {k: nn.Parameter(v) for k, v in WEIGHTS.items()}},
    "shared": {"model": WEIGHTS | {"cls_token": WEIGHTS["cls_token"][:]}},
}


@pytest.mark.parametrize("name", PICKLED)
def test_a_pickled_file_is_converted_as_the_refusal_says(tmp_path, name):
    old, new = tmp_path / "old.pth", tmp_path / "new.safetensors"
    torch.save(PICKLED[name], old)
    with pytest.raises(ValueError, match="Convert a file that you trust") as e:
        read(old)
    exec(str(e.value).split("trust: ")[1], {"old": old, "new": new})
    found = load_file(new)
    assert found.keys() == WEIGHTS.keys()
    for key, tensor in WEIGHTS.items():
        assert torch.equal(found[key], tensor)


def test_a_conversion_does_not_replace_what_it_reads(tmp_path):
    old = tmp_path / "old.pth"
    torch.save(PICKLED["DINO"], old)
    before = old.read_bytes()
    with refuses(ValueError, f"new must end in .safetensors, got {old}"):
        convert_pickled(old, old)
    assert old.read_bytes() == before


def test_a_conversion_says_what_it_takes(tmp_path):
    old, new = tmp_path / "old.pth", tmp_path / "new.safetensors"
    torch.save(PICKLED["DINO"], old)
    assert convert_pickled(old, str(new)) == (
        "taken: 2 weights under teacher.backbone; left out: student, head"
    )
    torch.save(WEIGHTS, old)
    assert convert_pickled(old, new) == "taken: 2 weights; left out: none"


class Caller:
    """Call a function when it is unpickled."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("how", ["touch", "system", "eval"])
def test_a_conversion_executes_nothing(tmp_path, zipped, how):
    old, trace = tmp_path / "old.pth", tmp_path / "executed"
    call = {
        "touch": (Path.touch, trace),
        "system": (os.system, f"touch {trace}"),
        "eval": (eval, f"open({str(trace)!r}, 'w')"),
    }[how]
    torch.save(
        {"model": WEIGHTS, "args": Caller(*call)},
        old,
        _use_new_zipfile_serialization=zipped,
    )
    with suppress(ValueError):
        convert_pickled(old, tmp_path / "new.safetensors")
    assert not trace.exists()


WITHIN_ITSELF: dict = {}
WITHIN_ITSELF["model"] = WITHIN_ITSELF


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (nn.Linear(2, 2), "old must hold weights by name, got"),
        ([draw(2)], "old must hold weights by name, got"),
        ({"epoch": 3}, "old must hold weights by name, got"),
        (WITHIN_ITSELF, "old must be a whole file of torch.save"),
        (None, "old must be a whole file of torch.save"),
    ],
)
def test_a_file_without_weights_is_not_converted(tmp_path, content, message):
    old, new = tmp_path / "old.pth", tmp_path / "new.safetensors"
    if content is None:
        old.write_bytes(b"PK\x03\x04" + bytes(99))
    else:
        torch.save(content, old)
    with refuses(ValueError, message):
        convert_pickled(old, new)
    assert not new.exists()
