"""A folder of pictures, with a folder for each class, as training data."""

import copy
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.data import Dataset

from vitedu import require
from vitedu.data.augmentation import augmentation
from vitedu.data.normalisation import ORIGINAL_VIT, Normalisation
from vitedu.data.photographs import preprocess, read_image

SUFFIXES = (
    *(".bmp", ".gif", ".jfif", ".jpe", ".jpeg", ".jpg", ".pgm", ".png"),
    *(".ppm", ".tif", ".tiff", ".webp"),
)
# Folders that systems and archives leave behind, beside those with a dot.
_OF_SYSTEMS = ("@eadir", "@recycle", "#recycle", "$recycle.bin", "__macosx")
# Part of a data set -> the words in the names of its folder, in any case.
_PARTS = {
    "train": {"train", "training"},
    "val": {"val", "valid", "validation", "dev", "eval", "evaluation"},
    "test": {"test", "testing"},
}


class ImageFolder(Dataset):
    """Pictures, each in the folder that has the name of its class.

    They may be in folders within that. Hidden files and folders and those of
    the system are left out at every depth, as are files without the extension
    of a picture, and whatever is beside the folders of the classes. A picture
    is read when it is needed. Converted to text, the data set shows how many
    pictures each class has, and where they come from.

    Attributes:
        classes: The names of the classes, sorted.
        samples: (path, number of the class), class by class.
        left_out: Reason -> what was left out for it.
        origin: How the samples were chosen.

    Args:
        folder: The folder that holds the folders of the classes.
        image_size: Side of the square that each picture becomes.
        augment: How much pictures are varied at random, by `augmentation`;
            with "none", `preprocess` prepares them.
        normalisation: As for `preprocess`.
        classes: The names, where they are known; None takes those of the
            folders.

    Raises:
        TypeError, ValueError: An argument of another type; no classes; a
            folder of a class without a picture, or with several folders of
            pictures and none of its own, which is a part of the data rather
            than a class. On reading: a file that is not a whole picture, with
            its path.
        FileNotFoundError: There is no such folder.
        ModuleNotFoundError: torchvision is not installed, which `augment`
            needs.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        image_size: int = 224,
        *,
        augment: Literal["none", "light", "strong"] = "none",
        normalisation: Normalisation = ORIGINAL_VIT,
        classes: Sequence[str] | None = None,
    ) -> None:
        folder = require.path("folder", folder)
        require.choice("augment", augment, ("none", "light", "strong"))
        require.positive_int("image_size", image_size)
        require.instance("normalisation", normalisation, Normalisation)
        if classes is not None:
            require.instance("classes", classes, tuple, list)
        if not folder.is_dir():
            raise FileNotFoundError(f"folder must be there, got {folder}")
        self.left_out = defaultdict(list)
        self.origin = f"all of {folder}"
        found = [x.name for x in self._visible(folder) if x.is_dir()]
        self.classes = tuple(found if classes is None else classes)
        if not found or not {*found} <= {*self.classes}:
            wanted = "classes" if classes is None else list(classes)
            raise ValueError(
                f"folder must hold folders named after {wanted}, got {folder} "
                f"with {found}"
            )
        self.image_size = image_size
        self.prepare = _prepare(image_size, augment, normalisation)
        self.samples = []
        for name in found:
            paths = self._pictures(folder / name)
            if not paths:
                raise ValueError(
                    f"folder must hold pictures ({', '.join(SUFFIXES)}) of "
                    f"each class, got none in {folder / name}"
                )
            within = {path.relative_to(folder / name).parts for path in paths}
            if min(map(len, within)) > 1 and len({x[0] for x in within}) > 1:
                raise ValueError(
                    "folder must hold pictures in the folders of its classes, "
                    f"got {folder / name} with pictures in folders of its own "
                    f"alone, {sorted({x[0] for x in within})}. If those are "
                    f"the classes, give {folder / name}; parts of a data set "
                    "are known by names such as train and val"
                )
            number = self.classes.index(name)
            self.samples += [(path, number) for path in paths]
        for path in self._visible(folder):
            if not path.is_dir():
                self.left_out["beside the classes"].append(path)

    def _visible(self, folder: Path) -> list[Path]:
        """List a folder, in order; note what is hidden in it."""
        found = []
        for path in sorted(folder.iterdir()):
            out = self.left_out["hidden"] if _is_hidden(path) else found
            out.append(path)
        return found

    def _pictures(self, folder: Path) -> list[Path]:
        """Find the pictures in a folder and in those within it."""
        found = []
        for path in self._visible(folder):
            if path.is_symlink() and path.is_dir():
                self.left_out["a link to a folder"].append(path)
            elif path.is_dir():
                found += self._pictures(path)
            elif path.suffix.lower() in SUFFIXES:
                found.append(path)
            else:
                self.left_out["no picture by its ending"].append(path)
        return found

    def __len__(self) -> int:
        return len(self.samples)

    def __str__(self) -> str:
        counts = Counter(number for _, number in self.samples)
        named = (f"{name} {counts[i]}" for i, name in enumerate(self.classes))
        return (
            f"{len(self)} pictures of {len(self.classes)} classes "
            f"({', '.join(named)}): {self.origin}"
        )

    def __getitem__(
        self, index: int
    ) -> tuple[Float[Tensor, "3 height width"], int]:
        path, number = self.samples[index]
        return self.prepare(read_image(path, self.image_size)), number


def train_and_validation(
    folder: str | os.PathLike,
    image_size: int = 224,
    *,
    augment: Literal["none", "light", "strong"] = "light",
    normalisation: Normalisation = ORIGINAL_VIT,
    share: float = 0.2,
    seed: int = 0,
) -> tuple[ImageFolder, ImageFolder]:
    """Return training pictures, varied at random, and validation pictures.

    They come from the folders ``train`` and ``val`` if both exist, or from
    other usual names, such as ``Training`` and ``valid``. Otherwise some of
    each class are sampled for validation, from ``train`` if it exists. What is
    in ``test`` is left out. The `origin` of both says how they were chosen.

    Args:
        folder: The folder that holds the folders of the classes, or ``train``
            and ``val`` with such folders in them.
        image_size: Side of the square that each picture becomes.
        augment: How much the training pictures are varied, as for
            `ImageFolder`.
        normalisation: As for `preprocess`.
        share: Fraction of the pictures of each class that is sampled, in
            (0, 1); at least one remains on both sides.
        seed: Determines which ones are sampled.

    Raises:
        TypeError, ValueError, FileNotFoundError, ModuleNotFoundError: As for
            `ImageFolder`; fewer than two classes; a class with a single
            picture where some are sampled.
    """
    folder = require.path("folder", folder)
    require.number("share", share, above=0, below=1)
    require.seed("seed", seed)
    read = partial(
        ImageFolder, image_size=image_size, normalisation=normalisation
    )
    parts, others = _parts(folder)
    train = read(parts.get("train", folder), augment=augment)
    if "val" in parts:
        val = read(parts["val"], classes=train.classes)
    else:
        val = copy.copy(train)
        val.left_out = {}
        val.prepare = _prepare(image_size, "none", normalisation)
        drawn = _drawn(train, share, seed)
        val.samples = [x for x in train.samples if x in drawn]
        train.samples = [x for x in train.samples if x not in drawn]
        val.origin = (
            f"{share:g} of each class in {parts.get('train', folder)}, drawn "
            f"with seed {seed}"
        )
        train.origin = f"the rest of {parts.get('train', folder)}"
    if others:
        train.left_out["neither to train on nor to validate"] = others
    if len(train.classes) < 2:
        raise ValueError(
            "folder must hold the folders of two classes or more, got "
            f"{folder} with {list(train.classes)}"
        )
    return train, val


def _parts(folder: Path) -> tuple[dict[str, Path], list[Path]]:
    """Find the folders to train on and to validate, and what is beside them.

    A folder named train is a part if there is another part. On its own, it is
    one unless there is a picture in it or in a folder beside it, as there is
    in a class.

    Raises:
        ValueError: Two folders with names for one part.
    """
    found, others = {part: [] for part in _PARTS}, []
    within = sorted(folder.iterdir()) if folder.is_dir() else []
    for path in within:
        words = {*re.split("[^a-z]+", path.name.lower())}
        names = [part for part in _PARTS if _PARTS[part] & words]
        is_part = path.is_dir() and not _is_hidden(path) and len(names) == 1
        (found[names[0]] if is_part else others).append(path)
    alone = not (found["val"] or found["test"])
    if not found["train"] or (alone and any(map(_has_pictures, within))):
        return {}, []
    for part in ("train", "val"):
        if len(found[part]) > 1:
            raise ValueError(
                f"folder must hold one folder with a name for {part}, got "
                f"{folder} with {[path.name for path in found[part]]}"
            )
    parts = {part: found[part][0] for part in ("train", "val") if found[part]}
    return parts, found["test"] + others


def _has_pictures(path: Path) -> bool:
    """Tell whether pictures are in a folder itself, not only further down."""
    return (
        path.is_dir()
        and not _is_hidden(path)
        and any(map(_is_picture, path.iterdir()))
    )


def _is_hidden(path: Path) -> bool:
    return path.name[0] == "." or path.name.lower() in _OF_SYSTEMS


def _is_picture(path: Path) -> bool:
    return path.suffix.lower() in SUFFIXES and not _is_hidden(path)


def _prepare(
    image_size: int, augment: str, normalisation: Normalisation
) -> Callable[[Tensor], Tensor]:
    if augment == "none":
        return partial(
            preprocess, image_size=image_size, normalisation=normalisation
        )
    return augmentation(image_size, augment, normalisation=normalisation)


def _drawn(data: ImageFolder, share: float, seed: int) -> set[tuple]:
    generator, drawn = torch.Generator().manual_seed(seed), set()
    for number, name in enumerate(data.classes):
        own = [sample for sample in data.samples if sample[1] == number]
        if len(own) < 2:
            raise ValueError(
                "folder must hold two pictures of each class or more, one to "
                f"train and one to validate, got 1 of {name!r}"
            )
        count = min(max(1, round(share * len(own))), len(own) - 1)
        order = torch.randperm(len(own), generator=generator).tolist()
        drawn |= {own[i] for i in order[:count]}
    return drawn
