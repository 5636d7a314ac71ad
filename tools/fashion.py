"""Draw the part of Fashion-MNIST that comes with the library.

    apt-get install dataset-fashion-mnist
    python -m tools.fashion [FOLDER]

FOLDER holds the four files of the collection as its makers publish them; by
default it is the one of Debian's package. Writes `vitedu/data/fashion.npz`
and prints the digest that `vitedu/data/fashion.py` has to name.
"""

import gzip
import hashlib
import io
import sys
from pathlib import Path

import numpy as np

from vitedu.atomic_files import damage_named, write_whole

FOLDER = Path("/usr/share/datasets/fashion-mnist")
FILE = Path(__file__).parent.parent / "vitedu/data/fashion.npz"
PARTS = {"train": ("train", 300), "test": ("t10k", 100)}
"""Part -> how its files begin, and how many images of each class to draw."""
SEED = 0
# In the header of the format: 8 for bytes, then the number of axes.
IMAGES, LABELS = b"\0\0\x08\x03", b"\0\0\x08\x01"


def read_idx(path: Path, kind: bytes) -> np.ndarray:
    """Read an array of bytes in the format of MNIST.

    Args:
        path: A file packed by gzip.
        kind: The first four bytes that it has to have.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: It is damaged, or of another kind.
    """
    packed = path.read_bytes()
    with damage_named(path, "Fashion-MNIST"):
        content = gzip.decompress(packed)
        if content[:4] != kind:
            raise ValueError(f"it begins with {content[:4]!r}, not {kind!r}")
        start = 4 + 4 * kind[3]
        shape = np.frombuffer(content[4:start], ">u4")
        return np.frombuffer(content[start:], np.uint8).reshape(shape)


def drawn(folder: Path) -> dict[str, np.ndarray]:
    """Return images and labels of both parts, as many of each class.

    Raises:
        FileNotFoundError: One of the four files is not there.
        ValueError: One is damaged; a class has too few images.
    """
    pen, found = np.random.default_rng(SEED), {}
    for part, (name, count) in PARTS.items():
        images = read_idx(folder / f"{name}-images-idx3-ubyte.gz", IMAGES)
        labels = read_idx(folder / f"{name}-labels-idx1-ubyte.gz", LABELS)
        rows = [
            pen.permutation(np.flatnonzero(labels == label))[:count]
            for label in range(10)
        ]
        if min(map(len, rows)) < count:
            raise ValueError(f"folder must have {count} of each, got {folder}")
        chosen = pen.permutation(np.concatenate(rows))
        found[f"{part}_images"] = images[chosen]
        found[f"{part}_labels"] = labels[chosen]
    return found


def main() -> None:
    """Write the file, print its digest."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    packed = io.BytesIO()
    np.savez_compressed(packed, **drawn(folder))
    write_whole(FILE, packed.getvalue())
    print(hashlib.sha256(packed.getvalue()).hexdigest())


if __name__ == "__main__":
    main()
