"""Which numbers of a batch a norm averages together."""

from typing import Any

import numpy as np
import traitlets

from vitedu.widgets.base import (
    Array,
    Choice,
    Explorer,
    Integer,
    Number,
    index_below,
)

NORMS = ("LayerNorm", "BatchNorm", "whole sample")
AXES = ("sample", "token", "feature")
SMALLEST = (2, 2, 2)
LARGEST = (4, 6, 8)
_UNLIMITED = 2**31 - 1
_HUGE = 1e6


class NormAxes(Explorer):
    """A batch as coloured cells, before and after a norm.

    One number is changed; the page marks the outputs that change with it.
    The batch is fixed when the explorer is made; what it shows (`norm`,
    `sample`, `token`, `feature`, `change`) can be set and linked at any
    time. The indices count from 0.

    Args:
        batch: Numbers (sample, token, feature), from (2, 2, 2) up to
            (4, 6, 8), within [-1e6, 1e6].
        view: What to show at first, by the names above; by default LayerNorm,
            the cell in the middle of the first sample, and a change of half
            the largest one. The largest change is the range of the batch.

    Raises:
        TypeError: An argument of the wrong type, or one that is unknown.
        ValueError: A batch of the wrong size, or a cell outside it.
    """

    files = "norm_axes"
    remembers = ("norm", "sample", "token", "feature", "change")

    batch = Array("sample token feature")
    norm = Choice(*NORMS)
    sample = Integer(0, low=0, high=_UNLIMITED)
    token = Integer(0, low=0, high=_UNLIMITED)
    feature = Integer(0, low=0, high=_UNLIMITED)
    change = Number(0.0, low=-2 * _HUGE, high=2 * _HUGE)

    def __init__(self, batch: np.ndarray, **view: Any) -> None:
        super().__init__(batch=batch, **view)

    @traitlets.default("token")
    def _middle_token(self) -> int:
        return self.batch.shape[1] // 2

    @traitlets.default("feature")
    def _middle_feature(self) -> int:
        return self.batch.shape[2] // 2

    @traitlets.default("change")
    def _half(self) -> float:
        return largest_change(self.batch) / 2

    def _offered(self) -> dict[str, dict[str, Any]]:
        most = largest_change(self.batch)
        sizes = zip(AXES, self.batch.shape, strict=True)
        return {"change": {"low": -most, "high": most}} | {
            axis: {"high": size - 1} for axis, size in sizes
        }

    @traitlets.validate("batch")
    def _check_batch(self, proposal: Any) -> np.ndarray:
        batch = self._only_once(proposal)
        _check_batch(batch)
        return batch

    @traitlets.validate(*AXES)
    def _check_index(self, proposal: Any) -> int:
        _check_batch(self.batch)
        axis = AXES.index(proposal["trait"].name)
        return index_below(self.batch.shape[axis], proposal)

    @traitlets.validate("change")
    def _check_change(self, proposal: Any) -> float:
        _check_batch(self.batch)
        most = largest_change(self.batch)
        if abs(proposal["value"]) > most:
            raise ValueError(
                f"change must lie in [{-most}, {most}], the range of batch, "
                f"got {proposal['value']}"
            )
        return proposal["value"]


def largest_change(batch: np.ndarray) -> float:
    """The end of the slider: the range of the batch, 1 if it is constant.

    Args:
        batch: Numbers (sample, token, feature).
    """
    return float(batch.max().item() - batch.min().item()) or 1.0


def _check_batch(batch: np.ndarray) -> None:
    fits = all(
        low <= size <= high
        for low, size, high in zip(SMALLEST, batch.shape, LARGEST, strict=True)
    )
    if not fits:
        raise ValueError(
            f"batch must have a shape from {SMALLEST} to {LARGEST}, "
            f"got {batch.shape}"
        )
    if np.abs(batch).max() > _HUGE:
        raise ValueError(
            f"batch must lie in [-1e6, 1e6], got values from {batch.min()} "
            f"to {batch.max()}"
        )
