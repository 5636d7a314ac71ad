"""A photograph, cut into patches and laid out as a sequence."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Array, Choice, Explorer, Integer, index_below

# How the pixels of patches are found: as they should be, and in two wrong
# ways that give the right shape.
CUTS = ("patches", "swapped", "reshape")
ORDERS = ("c p1 p2", "p1 p2 c")
# Offered where nothing else is asked for, if they fit the image.
SIZES = (4, 7, 8, 14, 16, 20, 28, 32, 48, 56, 112)
USUAL_SIZE = 16
MAX_SIDE = 256
MAX_PATCHES = 1024
_UNLIMITED = 2**31 - 1


class PatchCutter(Explorer):
    """An image in patches, one of them enlarged, and the rows they become.

    The image and the sizes on offer are fixed when the explorer is made;
    what it shows (`patch_size`, `order`, `cut`, `patch`, `place`) can be set
    and linked at any time. All of these count from 0. Where a size does not
    divide the image, the leftover border is shown.

    Args:
        image: Red, green and blue from 0 to 255, (height, width, 3) in
            uint8; at most 256 pixels per side. It is sent with the page, at
            three bytes per pixel.
        patch_size: Side of a patch in pixels; by default 16, or the middle one
            of `patch_sizes`.
        patch_sizes: Sides on offer, increasing; each cuts the image into at
            most 1024 patches. The default is those of `SIZES` that fit.
        view: What else to show at first, by the names above: `order` of the
            numbers of a patch, "c p1 p2" or "p1 p2 c"; `cut`, "patches",
            "swapped", with p1 and rows, p2 and columns exchanged, or
            "reshape", which cuts the memory into equal pieces; `patch`, by
            default the middle one; `place`, the place of a number in its row.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: An image of the wrong size, sizes that do not fit it, or a
            view that does not exist.
    """

    files = "patch_cutter"
    remembers = ("patch_size", "order", "cut", "patch", "place")

    image = Array("height width 3", dtype="uint8")
    patch_sizes = traitlets.List().tag(sync=True)

    patch_size = Integer(1, low=1, high=MAX_SIDE)
    order = Choice(*ORDERS)
    cut = Choice(*CUTS)
    patch = Integer(0, low=0, high=_UNLIMITED)
    place = Integer(0, low=0, high=_UNLIMITED)

    def __init__(
        self,
        image: np.ndarray,
        *,
        patch_size: int | None = None,
        patch_sizes: Sequence[int] | None = None,
        **view: Any,
    ) -> None:
        if patch_size is not None:
            view["patch_size"] = patch_size
        if patch_sizes is not None:
            if not isinstance(patch_sizes, Sequence):
                raise TypeError(
                    "patch_sizes must be a list of integers, "
                    f"got {patch_sizes!r}"
                )
            view["patch_sizes"] = list(patch_sizes)
        super().__init__(image=image, **view)

    @traitlets.default("patch_sizes")
    def _those_that_fit(self) -> list[int]:
        fitting = [size for size in SIZES if _fits(self.image, size)]
        return fitting or [min(self.image.shape[:2])]

    @traitlets.default("patch_size")
    def _usual_size(self) -> int:
        sizes = self.patch_sizes
        return USUAL_SIZE if USUAL_SIZE in sizes else sizes[len(sizes) // 2]

    @traitlets.default("patch")
    def _middle(self) -> int:
        rows, columns = grid_size(self.image, self.patch_size)
        return rows // 2 * columns + columns // 2

    def _offered(self) -> dict[str, dict[str, Any]]:
        # Of larger patches there are fewer, and more numbers in each.
        rows, columns = grid_size(self.image, self.patch_sizes[0])
        return {
            "patch_size": {"options": self.patch_sizes},
            "patch": {"high": rows * columns - 1},
            "place": {"high": 3 * self.patch_sizes[-1] ** 2 - 1},
        }

    @traitlets.validate("image")
    def _check_image(self, proposal: Any) -> np.ndarray:
        image = self._only_once(proposal)
        _check_sides(image)
        return image

    @traitlets.validate("patch_sizes")
    def _check_sizes(self, proposal: Any) -> list[int]:
        sizes = self._only_once(proposal)
        _check_patch_sizes(self.image, sizes)
        return sizes

    @traitlets.validate("patch_size")
    def _check_size(self, proposal: Any) -> int:
        # Which trait is validated first is left to chance.
        _check_patch_sizes(self.image, self.patch_sizes)
        if proposal["value"] not in self.patch_sizes:
            raise ValueError(
                f"patch_size must be one of patch_sizes, {self.patch_sizes}, "
                f"got {proposal['value']}"
            )
        return proposal["value"]

    @traitlets.validate("patch", "place")
    def _check_index(self, proposal: Any) -> int:
        _check_patch_sizes(self.image, self.patch_sizes)
        return index_below(self._sizes()[proposal["trait"].name], proposal)

    @traitlets.observe("patch_size")
    def _stay_inside(self, change: Any) -> None:
        for name, size in self._sizes().items():
            if getattr(self, name) >= size:
                setattr(self, name, size - 1)

    def _sizes(self) -> dict[str, int]:
        rows, columns = grid_size(self.image, self.patch_size)
        return {"patch": rows * columns, "place": 3 * self.patch_size**2}


def grid_size(image: np.ndarray, patch_size: int) -> tuple[int, int]:
    """Rows and columns of whole patches in an image (height, width, 3)."""
    height, width = image.shape[:2]
    return height // patch_size, width // patch_size


def _fits(image: np.ndarray, size: int) -> bool:
    if size < 1:
        return False
    rows, columns = grid_size(image, size)
    return 1 <= rows * columns <= MAX_PATCHES


def _check_patch_sizes(image: np.ndarray, sizes: Sequence[int]) -> None:
    _check_sides(image)
    for size in sizes:
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"patch_sizes must be integers, got {size!r}")
        if not _fits(image, size):
            raise ValueError(
                "patch_sizes must cut the image into 1 to "
                f"{MAX_PATCHES} patches, got {size} for an image of "
                f"{image.shape[:2]}"
            )
    if not sizes or sizes != sorted(set(sizes)):
        raise ValueError(
            f"patch_sizes must be at least one and increase, got {sizes}"
        )


def _check_sides(image: np.ndarray) -> None:
    if max(image.shape) > MAX_SIDE:
        raise ValueError(
            f"image must have at most {MAX_SIDE} pixels a side, "
            f"got shape {image.shape}"
        )
