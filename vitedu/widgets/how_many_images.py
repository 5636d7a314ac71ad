"""How many training images a ViT needs, compared with a CNN, as measured."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import Array, Explorer, Integer, checked_words

NO_REMEDY = "none"
_MOST = 2**31 - 1
_FIXED = (
    "sizes",
    "vit",
    "cnn",
    "remedies",
    "remedy_names",
    "remedy_images",
)


class HowManyImages(Explorer):
    """Two curves of accuracy, read upwards and across.

    The reader chooses a number of training images that was measured, and sees
    what accuracy each network reaches with it, from the worst to the best
    seed, and how many images the ViT would need for the same accuracy. Only
    what was measured can be chosen; between two sizes the curve is a straight
    line in the logarithm of the size. What the explorer is made of is fixed;
    what it shows can be set and linked at any time.

    Args:
        sizes: Numbers of training images, at least two, rising: (size,).
        vit: Accuracies of the ViT in percent, (size, seed).
        cnn: Accuracies of the CNN in percent, (size, seed).
        remedies: Accuracies in percent of a ViT that gets help, a row for
            each kind of help, (remedy, seed).
        remedy_names: A name for each row of `remedies`.
        remedy_images: The entry of `sizes` with which they were measured.
        num_images: The entry of `sizes` to look at first; `remedy_images`, if
            none is given.
        remedy: The remedy of the ViT to look at first, one of `remedy_names`
            or "none". It was measured with `remedy_images` only; with any
            other number the page shows the ViT without it.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: Arguments that do not fit each other; accuracies outside
            [0, 100]; a view that was not measured.
    """

    files = "how_many_images"
    remembers = ("num_images", "remedy")

    # In double precision, so that the page rounds the numbers of the file.
    sizes = Array("size", dtype="int32")
    vit = Array("size seed", dtype="float64")
    cnn = Array("size seed", dtype="float64")
    remedies = Array("remedy seed", dtype="float64")
    remedy_names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    remedy_images = Integer(1, low=1, high=_MOST)

    num_images = Integer(1, low=1, high=_MOST)
    remedy = traitlets.Unicode(NO_REMEDY).tag(sync=True)

    def __init__(
        self,
        sizes: np.ndarray,
        *,
        vit: np.ndarray,
        cnn: np.ndarray,
        remedies: np.ndarray,
        remedy_names: Sequence[str],
        remedy_images: int,
        **view: Any,
    ) -> None:
        super().__init__(
            sizes=sizes,
            vit=vit,
            cnn=cnn,
            remedies=remedies,
            remedy_names=checked_words("remedy_names", remedy_names),
            remedy_images=remedy_images,
            **view,
        )

    @traitlets.default("num_images")
    def _where_all_is_measured(self) -> int:
        return self.remedy_images

    def _offered(self) -> dict[str, dict[str, Any]]:
        return {
            "num_images": {"options": self.sizes.tolist()},
            "remedy": {"options": [NO_REMEDY, *self.remedy_names]},
        }

    @traitlets.validate(*_FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        value = self._only_once(proposal)
        # In no fixed order; but what the others must fit is blamed first.
        self._check_sizes()
        match proposal["trait"].name:
            case "vit" | "cnn" | "remedies" as name:
                self._check_accuracies(name, value)
            case "remedy_names":
                self._check_names(value)
            case "remedy_images":
                self._check_measured("remedy_images", value)
        return value

    def _check_sizes(self) -> None:
        sizes = self.sizes
        if len(sizes) < 2 or sizes[0] < 1 or (np.diff(sizes) <= 0).any():
            raise ValueError(
                "sizes must be at least two positive numbers that rise, "
                f"got {sizes.tolist()}"
            )

    def _check_accuracies(self, name: str, accuracies: np.ndarray) -> None:
        rows = self.remedy_names if name == "remedies" else self.sizes
        shape = len(rows), self.vit.shape[1]
        if accuracies.shape != shape:
            raise ValueError(
                f"{name} must have shape {shape}, got {accuracies.shape}"
            )
        if accuracies.min() < 0 or accuracies.max() > 100:
            raise ValueError(
                f"{name} must lie in [0, 100], got "
                f"{accuracies.min()} to {accuracies.max()}"
            )

    def _check_names(self, names: list[str]) -> None:
        if len({NO_REMEDY, *names}) <= len(names):
            raise ValueError(
                f"remedy_names must differ, and none be {NO_REMEDY!r}, "
                f"got {names}"
            )

    def _check_measured(self, name: str, value: int) -> None:
        if value not in self.sizes:
            raise ValueError(
                f"{name} must be one of sizes, {self.sizes.tolist()}, "
                f"got {value}"
            )

    @traitlets.validate("num_images", "remedy")
    def _check_view(self, proposal: Any) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        if name == "num_images":
            self._check_measured(name, value)
        elif value not in (options := [NO_REMEDY, *self.remedy_names]):
            raise ValueError(f"{name} must be one of {options}, got {value!r}")
        return value
