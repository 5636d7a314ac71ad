"""Training state on disk: safe to read, never half-written."""

import json
import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from vitedu import require
from vitedu.atomic_files import damage_named, write_whole

FORMAT = "vitedu-checkpoint-3"


def write_checkpoint(
    path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]
) -> None:
    """Write tensors and JSON-able facts to one safetensors file.

    The file appears whole or not at all, as `write_whole` writes it. It also
    holds a checksum, which the format itself does not provide.

    Raises:
        ValueError: There is something at `path` that is not a file.
        OSError: The folder does not exist, is read-only or full; in that case
            an older file at `path` is untouched.
    """
    path = require.path("path", path)
    # A copy each: tensors that share memory are refused by the format.
    tensors = {
        name: tensor.cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
    header = {"format": FORMAT, "facts": json.dumps(facts)}
    header["crc32"] = _checksum(tensors, header["facts"])
    write_whole(path, save(tensors, metadata=header))


def read_checkpoint(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_checkpoint` wrote. Nothing in the file is executed.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not a checkpoint of this book, or is damaged.
    """
    path = require.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a checkpoint, got {path}")
    with (
        damage_named(path, "safetensors"),
        safe_open(path, framework="pt") as file,
    ):
        header = file.metadata() or {}
        names = file.keys()
        tensors = {name: file.get_tensor(name) for name in names}
    if header.get("format") != FORMAT:
        raise ValueError(
            f"path must be a checkpoint with format {FORMAT!r}, "
            f"got {path} with format {header.get('format')!r}"
        )
    with damage_named(path, "safetensors"):
        if _checksum(tensors, header["facts"]) != header["crc32"]:
            raise ValueError("the checksum is another")
        return tensors, dict(json.loads(header["facts"]))


def _checksum(tensors: dict[str, Tensor], facts: str) -> str:
    """Return a number that changes with any byte, name or shape."""
    found = zlib.crc32(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        found = zlib.crc32(f"{name} {_kind(tensor)}".encode(), found)
        flat = tensor.reshape(-1).view(torch.uint8)
        found = zlib.crc32(flat.numpy(), found)
    return str(found)


def check_same_weights(
    expected: dict[str, Tensor], found: dict[str, Tensor], path: Path
) -> None:
    """Require weights with the same names, shapes and dtypes.

    Args:
        expected: The weights of the model.
        found: The weights of the checkpoint.
        path: Where the checkpoint is, for the message.

    Raises:
        ValueError: The weights differ; the message lists all differences.
    """
    missing = sorted(expected.keys() - found.keys())
    extra = sorted(found.keys() - expected.keys())
    differing = [
        f"{name} {_kind(found[name])} for {_kind(value)}"
        for name, value in expected.items()
        if name in found and _kind(found[name]) != _kind(value)
    ]
    if missing or extra or differing:
        raise ValueError(
            f"checkpoint {path} must hold the weights of this model; "
            f"missing: {missing}, extra: {extra}, of another kind: "
            f"{differing}"
        )


def _kind(tensor: Tensor) -> str:
    return f"{tuple(tensor.shape)} {tensor.dtype}"
