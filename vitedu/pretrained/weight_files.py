"""Weight files: names and shapes first, numbers later, never any code."""

import io
import math
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor
from torch.serialization import (
    get_unsafe_globals_in_checkpoint,
    safe_globals,
)

from vitedu import require
from vitedu.atomic_files import damage_named, write_whole
from vitedu.training.checkpoints import FORMAT

# What numpy writes before the numbers is far shorter.
_LONGEST_HEADER = 16_384
# Deflate packs no tighter than this, so a file cannot hold more than so many
# times its length.
_DEFLATE_LIMIT = 1032


@contextmanager
def open_weights(path: str | os.PathLike) -> Iterator["WeightFile"]:
    """Open a weight file without reading any of its numbers.

    The first bytes show what kind of file it is; the ending of its name plays
    no part.

    Raises:
        TypeError: `path` is not a path.
        FileNotFoundError: There is no such file.
        ValueError: The file is neither safetensors nor .npz, or is damaged.
            Pickled files are refused unread: reading one can run any code.
    """
    path = require.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file of weights, got {path}")
    with path.open("rb") as file:
        start = file.read(9)
    if start[8:] == b"{":
        with _whole(path):
            file = safe_open(path, framework="pt")
        with file:
            yield _Safetensors(path, file)
    elif start.startswith(b"PK\x03\x04"):
        with _whole(path):
            file = zipfile.ZipFile(path)
        with file:
            yield _Npz(path, file)
    else:
        raise _neither(path)


class WeightFile(ABC):
    """An open file of weights: `names`, the shape of each, its numbers.

    Attributes:
        path: Where the file is.
        names: What the weights are called in it.
        facts: What this library wrote beside the weights, as JSON; empty in
            other files.
    """

    path: Path
    names: frozenset[str]
    facts: str = ""

    def shape(self, name: str) -> tuple[int, ...]:
        """Read the sizes of one weight, not its numbers.

        Raises:
            ValueError: The weight is not an array of floating-point numbers.
        """
        shape, dtype, is_float = self._header(name)
        if not is_float:
            raise ValueError(
                "path must hold floating-point weights of 16, 32 or 64 bits, "
                f"got {self.path} with {name} of dtype {dtype}"
            )
        return shape

    def read(self, name: str) -> Tensor:
        """Read the numbers of one weight, in the precision of new models.

        Compare `shape` first, because the memory that a weight claims to need
        is allocated.

        Raises:
            ValueError: The file is damaged there, or a number is infinite or
                NaN.
        """
        tensor = self._numbers(name).to(torch.get_default_dtype())
        if not tensor.isfinite().all():
            raise ValueError(
                f"path must hold finite numbers, got {self.path} with "
                f"infinity or NaN in {name}"
            )
        return tensor

    @abstractmethod
    def _header(self, name: str) -> tuple[tuple[int, ...], str, bool]:
        """Return shape, dtype and whether the dtype is allowed."""

    @abstractmethod
    def _numbers(self, name: str) -> Tensor:
        """Return the numbers as they are."""


class _Safetensors(WeightFile):
    """The format checks by itself that its header fits the file's length."""

    def __init__(self, path: Path, file: safe_open) -> None:
        self.path, self._file = path, file
        self.names = frozenset(file.keys())
        header = file.metadata() or {}
        if header.get("format") == FORMAT:
            self.facts = header.get("facts", "")

    def _header(self, name: str) -> tuple[tuple[int, ...], str, bool]:
        with _whole(self.path):
            part = self._file.get_slice(name)
            shape, dtype = tuple(part.get_shape()), part.get_dtype()
        return shape, dtype, dtype in ("F16", "BF16", "F32", "F64")

    def _numbers(self, name: str) -> Tensor:
        with _whole(self.path):
            return self._file.get_tensor(name)


class _Npz(WeightFile):
    """A zip archive with one numpy array per member.

    A member can claim any size and unpack to a thousand times its length.
    So a header is read from only the first few bytes, and numbers only after
    their shape was found to be the expected one.
    """

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path, self._file = path, file
        self._members = {
            info.filename.removesuffix(".npy"): info
            for info in file.infolist()
        }
        self.names = frozenset(self._members)
        if not any(name.endswith(".npy") for name in file.namelist()):
            raise _neither(path)

    def _header(self, name: str) -> tuple[tuple[int, ...], str, bool]:
        with _whole(self.path):
            info = self._members[name]
            # The other ways to pack cannot be unpacked a bit at a time.
            if info.compress_type not in (
                zipfile.ZIP_STORED,
                zipfile.ZIP_DEFLATED,
            ):
                raise zipfile.BadZipFile(f"{name} is packed in a foreign way")
            with self._file.open(info) as member:
                start = io.BytesIO(member.read(_LONGEST_HEADER))
            shape, _, dtype = _HEADER[np.lib.format.read_magic(start)](start)
            claimed = math.prod(shape) * dtype.itemsize
            if claimed > _DEFLATE_LIMIT * self.path.stat().st_size:
                raise zipfile.BadZipFile(f"{name} claims {claimed} bytes")
        is_float = dtype.kind == "f" and dtype.itemsize in (2, 4, 8)
        return shape, str(dtype), is_float

    def _numbers(self, name: str) -> Tensor:
        info = self._members[name]
        with _whole(self.path), self._file.open(info) as member:
            array = np.lib.format.read_array(member, allow_pickle=False)
            # At the end of a member its checksum is compared.
            if member.read(1):
                raise zipfile.BadZipFile(f"{name} is longer than its header")
        native = array.dtype.newbyteorder("=")
        return torch.from_numpy(np.ascontiguousarray(array, dtype=native))


_HEADER = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def convert_pickled(old: str | os.PathLike, new: str | os.PathLike) -> str:
    """Write the weights of a pickled file to one that can be read safely.

    Nothing in the file is executed: objects other than tensors, numbers and
    text, such as the options of a training run, are not created. If there are
    several sets of weights, one is taken, averaged ones (``model_ema``,
    ``teacher``) before others; prefixes that a compiled or distributed model
    adds to names, such as ``module.`` and ``_orig_mod.``, are removed.

    Args:
        old: What ``torch.save`` wrote: weights by name, on their own or in
            nested dictionaries.
        new: A name that ends in .safetensors.

    Returns:
        What was taken, and what else there was.

    Raises:
        TypeError: `old` or `new` is not a path.
        FileNotFoundError: There is no such file.
        ValueError: `old` is not such a file, is damaged, holds no weights, or
            holds something that cannot be read without running code; `new` has
            a different ending.
        OSError: The folder of `new` does not exist, is read-only or full.
    """
    old, new = require.path("old", old), require.path("new", new)
    if not old.is_file():
        raise FileNotFoundError(f"old must be a file of weights, got {old}")
    if new.suffix != ".safetensors":
        raise ValueError(f"new must end in .safetensors, got {new}")
    try:
        with safe_globals(_stand_ins(old)):
            content = torch.load(old, map_location="cpu", weights_only=True)
        weights, under = _flat(content), ""
    except Exception as error:  # What PyTorch advises then would run code.
        raise ValueError(
            "old must be a whole file of torch.save that can be read without "
            f"running code, got {old}: {type(error).__name__}"
        ) from error
    if not weights:
        raise ValueError(f"old must hold weights by name, got {old} with none")
    beside = {}
    while holder := next((x for x in _HOLDERS if _under(weights, x)), None):
        under += f"{holder}."
        inner = _under(weights, holder)
        beside |= dict.fromkeys(
            name.partition(".")[0]
            for name in weights
            if not name.startswith(f"{holder}.")
        )
        weights = inner
    # A copy each: tensors that share memory are refused by the format.
    copies = {
        name: tensor.clone(memory_format=torch.contiguous_format)
        for name, tensor in weights.items()
    }
    write_whole(new, save(copies, metadata={"format": "pt"}))
    return (
        f"taken: {len(weights)} weights{under and ' under '}{under[:-1]}; "
        f"left out: {', '.join(beside) or 'none'}"
    )


# What files put around the weights, as dictionaries or in front of names.
# Where there are several, the first: averaged weights before others.
_HOLDERS = (
    *("state_dict_ema", "model_ema", "ema", "teacher", "student"),
    *("state_dict", "model_state_dict", "model", "net", "network"),
    *("module", "_orig_mod", "base_encoder", "backbone"),
)


class _StandIn:
    """Takes the place of an object that is not a tensor, number or text."""

    def __new__(cls, *args: object, **options: object) -> "_StandIn":
        return super().__new__(cls)

    def __init__(self, *args: object, **options: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        pass


def _stand_ins(path: Path) -> list[tuple[type, str]]:
    """Name what a file would create; system functions are still refused."""
    try:
        names = get_unsafe_globals_in_checkpoint(path)
    except ValueError:  # The format of before 2020 has no such list.
        names = ["argparse.Namespace"]
    return [(_StandIn, name) for name in names]


def _flat(content: object, prefix: str = "") -> dict[str, Tensor]:
    """Return the tensors in nested dictionaries, by dotted name."""
    if not isinstance(content, Mapping):
        is_weight = isinstance(content, Tensor) and prefix
        return {prefix: content.detach()} if is_weight else {}
    found = {}
    for key, value in content.items():
        found |= _flat(value, f"{prefix}.{key}" if prefix else str(key))
    return found


def _under(weights: dict[str, Tensor], holder: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(f"{holder}."): tensor
        for name, tensor in weights.items()
        if name.startswith(f"{holder}.")
    }


def _whole(path: Path) -> AbstractContextManager[None]:
    return damage_named(path, ".safetensors or .npz")


def _neither(path: Path) -> ValueError:
    return ValueError(
        f"path must be a .safetensors or .npz file, got {path}, which is "
        "neither. Pickled weights (.pt, .pth, .bin, .pkl) are refused, since "
        "reading them can run code. The following line reads numbers and text "
        "alone, takes the weights from under 'model', 'state_dict', 'teacher' "
        "and the like, and prefixes such as 'module.' off their names. "
        "Convert a file that you trust: from vitedu.pretrained.weight_files "
        "import convert_pickled; print(convert_pickled(old, new))"
    )
