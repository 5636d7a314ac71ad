"""A folder of pictures, with a folder for each class, as training data."""

import copy
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor
from torch.utils.data import Dataset

from vitedu import require
from vitedu.data.augmentation import augmentation
from vitedu.data.normalisation import ORIGINAL_VIT, Normalisation
from vitedu.data.photographs import preprocess, read_image

SUFFIXES = (".bmp", ".gif", ".jpeg", ".jpg", ".png", ".webp")


class ImageFolder(Dataset):
    """Pictures, each in the folder that has the name of its class.

    They may lie in folders within that; what begins with a dot is left out,
    and so are files of another kind. A picture is read when it is asked for.

    Attributes:
        classes: The names of the classes, sorted.
        samples: (path, number of the class), class by class.

    Args:
        folder: Holds the folders of the classes.
        image_size: Side of the square that each picture becomes.
        augment: How much pictures are varied at random, by `augmentation`;
            with "none", `preprocess` prepares them.
        normalisation: As for `preprocess`.
        classes: The names, where they are known; None takes the folders.

    Raises:
        TypeError, ValueError: An argument of another type; no classes, or a
            folder of a class without a picture. On reading: what is not a
            whole picture, with its path.
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
        found = [x.name for x in folder.iterdir() if x.is_dir()]
        found = sorted(name for name in found if name[0] != ".")
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
            paths = sorted(
                path
                for path in (folder / name).rglob("*")
                if path.suffix.lower() in SUFFIXES and path.name[0] != "."
            )
            if not paths:
                raise ValueError(
                    f"folder must hold pictures ({', '.join(SUFFIXES)}) of "
                    f"each class, got none in {folder / name}"
                )
            number = self.classes.index(name)
            self.samples += [(path, number) for path in paths]

    def __len__(self) -> int:
        return len(self.samples)

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
    """Return pictures to train on, varied at random, and others to validate.

    They lie in the folders ``train`` and ``val`` if both are there. Otherwise
    some of each class are drawn to validate.

    Args:
        folder: Holds the folders of the classes, or ``train`` and ``val``.
        image_size: Side of the square that each picture becomes.
        augment: How much those to train on are varied, as for `ImageFolder`.
        normalisation: As for `preprocess`.
        share: Of the pictures of each class, how many are drawn, in (0, 1);
            one at least is left on both sides.
        seed: Which ones are drawn.

    Raises:
        TypeError, ValueError, FileNotFoundError, ModuleNotFoundError: As
            `ImageFolder`; fewer than two classes; a class with a single
            picture where some are drawn.
    """
    folder = require.path("folder", folder)
    require.number("share", share, above=0, below=1)
    require.seed("seed", seed)
    parts = folder / "train", folder / "val"
    read = partial(
        ImageFolder, image_size=image_size, normalisation=normalisation
    )
    if all(part.is_dir() for part in parts):
        train = read(parts[0], augment=augment)
        val = read(parts[1], classes=train.classes)
    else:
        train = read(folder, augment=augment)
        val = copy.copy(train)
        val.prepare = _prepare(image_size, "none", normalisation)
        drawn = _drawn(train, share, seed)
        val.samples = [x for x in train.samples if x in drawn]
        train.samples = [x for x in train.samples if x not in drawn]
    if len(train.classes) < 2:
        raise ValueError(
            "folder must hold the folders of two classes or more, got "
            f"{folder} with {list(train.classes)}"
        )
    return train, val


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
