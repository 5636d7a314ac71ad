"""CIFAR-10, if you want it: fetch, unpack and read its binary release.

Nothing else in the library needs these 170 megabytes.
"""

import gzip
import hashlib
import shutil
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import gdown
import numpy as np
import torch
from jaxtyping import Int, UInt8
from torch import Tensor

from vitedu import require

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)

_FOLDER = "cifar-10-batches-bin"
_TRAIN = tuple(f"data_batch_{i}.bin" for i in range(1, 6))
_TEST = "test_batch.bin"
_IGNORED = ("batches.meta.txt", "readme.html")
_RECORD = 1 + 3 * 32 * 32
_RECORDS = 10_000


@dataclass(frozen=True, kw_only=True)
class Cifar10:
    """Colour photographs of ten kinds of things, as the authors split them.

    Attributes:
        train_images: (50000, 3, 32, 32), bytes 0 to 255; red, green, blue.
        train_labels: (50000,), 0 to 9, an index into `CLASSES`.
        test_images: (10000, 3, 32, 32).
        test_labels: (10000,).
    """

    train_images: UInt8[Tensor, "train 3 32 32"]
    train_labels: Int[Tensor, " train"]
    test_images: UInt8[Tensor, "test 3 32 32"]
    test_labels: Int[Tensor, " test"]


def download_cifar10(
    folder: Path | str,
    *,
    url: str = URL,
    sha256: str = SHA256,
    progress: bool = True,
) -> Path:
    """Download the archive, or find it already there.

    The archive appears under its name whole or not at all. What an interrupted
    download left behind, a ``.part`` file, is continued by the next one.

    Args:
        folder: Where the archive goes; made if it does not exist.
        url: Where it comes from; a mirror has to hold the same file.
        sha256: What the SHA-256 of the file must be, as 64 hex digits.
        progress: Show a bar.

    Returns:
        Path of the archive.

    Raises:
        TypeError: An argument of another type.
        ValueError: The archive is another file than expected.
        OSError: The download did not finish; call again to go on with it.
    """
    require.instance("url", url, str)
    require.instance("sha256", sha256, str)
    require.boolean("progress", progress)
    path = require.path("folder", folder) / url.rsplit("/", 1)[-1]
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        try:
            gdown.download(
                url,
                str(path),
                quiet=not progress,
                use_cookies=False,
                resume=True,
                retries=3,
                timeout=60,
            )
        except gdown.DownloadError as error:
            raise OSError(
                f"{url} was not downloaded whole: {error} If this happens "
                f"again, delete the .part file in {path.parent}."
            ) from error
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise ValueError(
            f"the SHA-256 of {path} must be {sha256}, got {found}; delete the "
            "file and download again"
        )
    return path


def extract_cifar10(archive: Path | str, folder: Path | str) -> Path:
    """Unpack the six data files and nothing else.

    A name in an archive may point outside the folder, and a link may do so
    later. Only names that are known are accepted here, only plain files
    of at most 10,000 records; the archive decides nothing about where they
    are written.

    Args:
        archive: What `download_cifar10` returns.
        folder: Where the folder ``cifar-10-batches-bin`` is made.

    Returns:
        Path of that folder.

    Raises:
        FileNotFoundError: There is no such archive.
        ValueError: The archive is damaged, holds something unknown, a link or
            a file of a wrong size, or lacks a file.
    """
    archive = require.path("archive", archive)
    target = require.path("folder", folder) / _FOLDER
    if not archive.is_file():
        raise FileNotFoundError(f"archive must be a file, got {archive}")
    missing = {*_TRAIN, _TEST}
    try:
        with tarfile.open(archive, "r:gz") as tar:
            target.mkdir(parents=True, exist_ok=True)
            for member in tar:
                name = _checked_name(member, archive)
                if name in missing:
                    _write(tar.extractfile(member), target / name)
                    missing.remove(name)
            # The archive's own checksum stands at its very end.
            while tar.fileobj.read(2**20):
                pass
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"archive must be a whole .tar.gz file, got {archive}: {error}"
        ) from error
    if missing:
        raise ValueError(
            f"archive must hold {sorted(missing)}, got {archive} without"
        )
    return target


def _checked_name(member: tarfile.TarInfo, archive: Path) -> str:
    """Return the bare name of a member that may be there."""
    folder, _, name = member.name.rpartition("/")
    if member.isdir() and member.name == _FOLDER:
        return ""
    known = (*_TRAIN, _TEST, *_IGNORED)
    if not member.isreg() or folder != _FOLDER or name not in known:
        raise ValueError(
            f"archive must hold plain files {known} in {_FOLDER}, got "
            f"{member.name!r} in {archive}"
        )
    if name not in _IGNORED:
        _check_size(f"{archive}: {name}", member.size)
    return name


def _write(source, path: Path) -> None:
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        shutil.copyfileobj(source, file)
    part.replace(path)


def _check_size(name: str, size: int) -> None:
    records, rest = divmod(size, _RECORD)
    if rest or not 1 <= records <= _RECORDS:
        raise ValueError(
            f"{name} must hold 1 to {_RECORDS} records of {_RECORD} bytes, "
            f"got {size} bytes = {records} records and {rest} bytes"
        )


def read_cifar10(
    path: Path | str,
) -> tuple[UInt8[Tensor, "image 3 32 32"], Int[Tensor, " image"]]:
    """Read one file of the binary release.

    One record has 3,073 bytes. Say it begins 6 59 43 50. The label is 6, a
    frog. The pixel at the top left has red 59, its right neighbour 43, the
    next 50; 32 bytes make a row, 32 rows the red plane. Byte 1,025 begins the
    green plane, byte 2,049 the blue one, and byte 3,073 the next record.

    Args:
        path: A ``.bin`` file.

    Returns:
        Images as bytes 0 to 255, and labels 0 to 9.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is not made of whole records, or a label is above 9.

    Source: Krizhevsky 2009, and the description of the binary version that
        comes with the data.
    """
    path = require.path("path", path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file, got {path}")
    _check_size(str(path), path.stat().st_size)
    records = np.fromfile(path, dtype=np.uint8).reshape(-1, _RECORD)
    labels = torch.from_numpy(records[:, 0].astype(np.int64))
    wrong = (labels >= len(CLASSES)).nonzero()
    if len(wrong):
        record = wrong[0].item()
        raise ValueError(
            f"labels must be 0 to 9, got {labels[record]} in record {record} "
            f"of {path}"
        )
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return images, labels


def cifar10(folder: Path | str, *, download: bool = False) -> Cifar10:
    """Load all of CIFAR-10 from a folder.

    Args:
        folder: Holds ``cifar-10-batches-bin``, or will after the download.
        download: Fetch and unpack what is missing, 170 megabytes.

    Raises:
        FileNotFoundError: A file is missing and `download` is off.
        TypeError: `download` is neither True nor False.
        ValueError: A file is damaged; its name is given.
        OSError: The download did not finish; call again to go on with it.
    """
    require.boolean("download", download)
    source = require.path("folder", folder) / _FOLDER
    files = [source / name for name in (*_TRAIN, _TEST)]
    if download and not all(file.is_file() for file in files):
        extract_cifar10(download_cifar10(folder), folder)
    parts = [read_cifar10(file) for file in files]
    for file, (images, _) in zip(files, parts, strict=True):
        if len(images) != _RECORDS:
            raise ValueError(
                f"{file} must hold {_RECORDS} records, got {len(images)}"
            )
    *train, (test_images, test_labels) = parts
    return Cifar10(
        train_images=torch.cat([images for images, _ in train]),
        train_labels=torch.cat([labels for _, labels in train]),
        test_images=test_images,
        test_labels=test_labels,
    )
