"""How far each head of a Vision Transformer looks, and where."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import (
    Array,
    Choice,
    Explorer,
    Flag,
    Integer,
    index_below,
)

FIXED = (
    "maps",
    "images",
    "mean_distance",
    "has_average",
    "steps",
    "image_names",
    "patch_size",
    "num_prefix_tokens",
)
QUERIES = ("patch", "class token")
DOTS = ("image", "average")
_UNLIMITED = 2**31 - 1
# Rounding to float16 moves a sum by up to 2**-11.
_ROW_TOLERANCE = 2e-3


class AttentionDistance(Explorer):
    """A dot per head by depth and distance, and the map of the chosen head.

    The arrays are fixed when the explorer is made; what it shows (`step`,
    `image`, `layer`, `head`, `row`, `column`, `query`, `dots`) can be set
    and linked at any time. All of these count from 0.

    Args:
        maps: Attention weights (step, image, layer, head, token, token); a
            row sums to 1. They are kept and sent in float16 to keep the page
            light, so all distances shown are those of the rounded weights.
        images: Grey values in [0, 1], (image, height, width).
        patch_size: Side of a patch in pixels; it divides height and width.
        steps: Training steps of the maps, increasing; the first is drawn as
            the state before training.
        image_names: A short name for each image; by default its number.
        num_prefix_tokens: Tokens in front of the patches. The first is the
            class token; no distance counts any of them.
        mean_distance: Distances in pixels over many images, (step, layer,
            head), which the dots then show first.
        view: What to show at first, by the names above; by default the last
            step and the patch in the middle.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: An array whose shape or values do not fit the others.
    """

    files = "attention_distance"
    remembers = (
        "step",
        "image",
        "layer",
        "head",
        "row",
        "column",
        "query",
        "dots",
    )

    maps = Array("step image layer head query key", dtype="float16")
    images = Array("image height width")
    mean_distance = Array("step layer head", default=[[[0.0]]])
    has_average = Flag(False)
    steps = Array("step", dtype="int32")
    image_names = traitlets.List(traitlets.Unicode()).tag(sync=True)
    patch_size = Integer(1, low=1, high=_UNLIMITED)
    num_prefix_tokens = Integer(1, low=0, high=_UNLIMITED)

    step = Integer(0, low=0, high=_UNLIMITED)
    image = Integer(0, low=0, high=_UNLIMITED)
    layer = Integer(0, low=0, high=_UNLIMITED)
    head = Integer(0, low=0, high=_UNLIMITED)
    row = Integer(0, low=0, high=_UNLIMITED)
    column = Integer(0, low=0, high=_UNLIMITED)
    query = Choice(*QUERIES)
    dots = Choice(*DOTS)

    _checked = False

    def __init__(
        self,
        maps: np.ndarray,
        images: np.ndarray,
        *,
        patch_size: int,
        steps: Sequence[int],
        image_names: Sequence[str] | None = None,
        num_prefix_tokens: int = 1,
        mean_distance: np.ndarray | None = None,
        **view: Any,
    ) -> None:
        view.setdefault("step", np.size(steps) - 1)
        if image_names is not None:
            view["image_names"] = _texts(image_names)
        if mean_distance is not None:
            view.setdefault("dots", "average")
            view |= {"mean_distance": mean_distance, "has_average": True}
        super().__init__(
            maps=maps,
            images=images,
            patch_size=patch_size,
            steps=np.asarray(steps),
            num_prefix_tokens=num_prefix_tokens,
            **view,
        )

    @traitlets.default("image_names")
    def _numbered(self) -> list[str]:
        return [str(number + 1) for number in range(len(self.images))]

    @traitlets.default("row")
    def _middle_row(self) -> int:
        return self._sizes()["row"] // 2

    @traitlets.default("column")
    def _middle_column(self) -> int:
        return self._sizes()["column"] // 2

    def _offered(self) -> dict[str, dict[str, Any]]:
        indices = {
            name: {"high": size - 1} for name, size in self._sizes().items()
        }
        return indices | {
            "query": {"options": QUERIES[: 1 + bool(self.num_prefix_tokens)]},
            "dots": {"options": DOTS[: 1 + self.has_average]},
        }

    @traitlets.validate(*FIXED)
    def _check_fixed(self, proposal: Any) -> Any:
        value = self._only_once(proposal)
        self._check_arrays()
        return value

    @traitlets.validate("step", "image", "layer", "head", "row", "column")
    def _check_index(self, proposal: Any) -> int:
        self._check_arrays()
        return index_below(self._sizes()[proposal["trait"].name], proposal)

    @traitlets.validate("query", "dots")
    def _check_offered(self, proposal: Any) -> str:
        self._check_arrays()
        if proposal["value"] == "class token" and not self.num_prefix_tokens:
            raise ValueError(
                "query must be 'patch' with num_prefix_tokens=0, "
                "got 'class token'"
            )
        if proposal["value"] == "average" and not self.has_average:
            raise ValueError(
                "dots must be 'image' without mean_distance, got 'average'"
            )
        return proposal["value"]

    def _check_arrays(self) -> None:
        # Traitlets validates in no fixed order, once all traits are set:
        # whichever comes first has the arrays checked, so that they are
        # never blamed on the view.
        if not self._checked:
            _check_tokens(self)
            _check_values(self)
            self._checked = True

    def _sizes(self) -> dict[str, int]:
        rows, columns = (
            side // self.patch_size for side in self.images.shape[1:]
        )
        names = ("step", "image", "layer", "head")
        sizes = dict(zip(names, self.maps.shape[:4], strict=True))
        return sizes | {"row": rows, "column": columns}


def _texts(image_names: Sequence[str]) -> list[str]:
    for name in image_names:
        if not isinstance(name, str):
            raise TypeError(f"image_names must be strings, got {name!r}")
    return list(image_names)


def _check_tokens(made: AttentionDistance) -> None:
    sides = made.images.shape[1:]
    if any(side % made.patch_size for side in sides):
        raise ValueError(
            "images must have a height and a width divisible by patch_size, "
            f"got {sides} and patch_size={made.patch_size}"
        )
    sizes = made._sizes()
    tokens = made.num_prefix_tokens + sizes["row"] * sizes["column"]
    if made.maps.shape[4:] != (tokens, tokens):
        raise ValueError(
            f"maps must be over {tokens} x {tokens} tokens "
            f"({made.num_prefix_tokens} in front of "
            f"{sizes['row']} x {sizes['column']} patches), "
            f"got shape {made.maps.shape}"
        )


def _check_values(made: AttentionDistance) -> None:
    steps, images, *heads = made.maps.shape[:4]
    counts = {
        "steps": (len(made.steps), steps),
        "images": (len(made.images), images),
        "image_names": (len(made.image_names), images),
    }
    for name, (given, needed) in counts.items():
        if given != needed:
            raise ValueError(
                f"{name} must have {needed} entries, as maps has, got {given}"
            )
    if made.has_average and made.mean_distance.shape != (steps, *heads):
        raise ValueError(
            f"mean_distance must have shape {(steps, *heads)}, as maps has, "
            f"got {made.mean_distance.shape}"
        )
    if (np.diff(made.steps) <= 0).any():
        raise ValueError(f"steps must increase, got {made.steps.tolist()}")
    if made.images.min() < 0 or made.images.max() > 1:
        raise ValueError(
            "images must lie in [0, 1], got values in "
            f"[{made.images.min()}, {made.images.max()}]"
        )
    if made.mean_distance.min() < 0:
        raise ValueError(
            f"mean_distance must be at least 0, got {made.mean_distance.min()}"
        )
    _check_rows(made.maps)


def _check_rows(maps: np.ndarray) -> None:
    if maps.min() < 0:
        raise ValueError(f"maps must be at least 0, got {maps.min()}")
    totals = maps.sum(axis=-1, dtype=np.float64)
    worst = totals.flat[np.abs(totals - 1).argmax()]
    if abs(worst - 1) > _ROW_TOLERANCE:
        raise ValueError(
            "maps must have rows (the weights of one query) that sum to 1, "
            f"got a row that sums to {worst}"
        )
