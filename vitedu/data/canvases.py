"""Cluttered digits: a handwritten digit somewhere among bits of others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.data import Dataset

from vitedu import require
from vitedu.data.digits import digits
from vitedu.fields import check_fields, count, ruled, size


@dataclass(frozen=True, kw_only=True)
class Canvases(Dataset):
    """Grey images with one whole digit, to be classified, and bits of others.

    There are as many as you ask for. Image i depends on the options, `seed`
    and i alone: not on the images before it, on the batch, or on the process
    that makes it.

    One sample: image 0 of the training part shows a 0. The digit is one of
    the 1,437 training images of `data.digits`, enlarged from 8 x 8 to
    16 x 16 pixels, in rows 4 to 19 and columns 1 to 16 of the 32 x 32 canvas.
    Six squares of 5 x 5 pixels, cut out of enlarged digits of other classes,
    lie around it. The canvas is divided into 4 x 4 cells of 8 x 8 pixels; the
    squares lie in six of the cells that the digit leaves free, at least one
    pixel from the edge of their cell, so that no two run together.

    Attributes:
        part: "train" or "test": whose digits are used, also for the bits.
            No digit of one part is in the other.
        num_images: Length of the data set, for loaders; `batch` has no such
            limit.
        side: Side of the canvas in pixels.
        digit_side: Side of the enlarged digit in pixels.
        num_fragments: Bits of other digits on each canvas; may be 0.
        fragment_side: Side of a bit in pixels, too small to hold a digit. A
            cell is 3 pixels wider.
        seed: Any integer of at least 0.

    Raises:
        TypeError, ValueError: A field outside its range; a digit that does not
            fit on the canvas; fragments larger than half a digit, or more of
            them than always fit into free cells.

    Source: After the cluttered digits of Mnih et al. 2014, section 4.1.
    Deviates: Their digits are those of MNIST, on 60 x 60 and 100 x 100
        pixels with 8 x 8 bits that may cover the digit; here they do not.
    """

    part: Literal["train", "test"] = "train"
    num_images: int = size(10_000)
    side: int = size(32)
    digit_side: int = ruled(require.integer, 16, at_least=8)
    num_fragments: int = count(6)
    fragment_side: int = size(5)
    seed: int = count(0)

    def __post_init__(self) -> None:
        check_fields(self)
        if 2 * self.fragment_side > self.digit_side:
            raise ValueError(
                "fragment_side must be at most half of digit_side = "
                f"{self.digit_side}, got {self.fragment_side}"
            )
        if self.digit_side > self.side:
            raise ValueError(
                f"digit_side must be at most side = {self.side}, "
                f"got {self.digit_side}"
            )
        # A digit across the edges of cells covers one more than its length.
        covered = (self.digit_side - 2) // self._cell + 2
        most = self._cells**2 - min(covered, self._cells) ** 2
        if self.num_fragments > most:
            raise ValueError(
                f"num_fragments must be at most {most}, which always fit "
                f"beside the digit, got {self.num_fragments}"
            )

    def __len__(self) -> int:
        """Count the images that a loader shows in an epoch."""
        return self.num_images

    def __getitem__(
        self, index: int
    ) -> tuple[Float[Tensor, "1 side side"], int]:
        """Return image `index`, below `num_images`, and its digit."""
        require.integer("index", index, at_least=0)
        if index >= self.num_images:
            raise IndexError(
                f"index must be below {self.num_images}, got {index}"
            )
        images, labels = self.batch([index])
        return images[0], labels[0].item()

    def __getitems__(self, indices: list[int]) -> list[tuple[Tensor, Tensor]]:
        """Make a loader's whole batch at once."""
        return list(zip(*self.batch(indices), strict=True))

    def batch(
        self, indices: Sequence[int]
    ) -> tuple[Float[Tensor, "image 1 side side"], Int[Tensor, " image"]]:
        """Make several images at once: the fast way.

        Args:
            indices: Numbers of the images, each at least 0, for example
                ``range(128 * step, 128 * (step + 1))`` for ever new ones.

        Returns:
            Pixels in [0, 1], 0 is no ink; and the digits, 0 to 9.

        Raises:
            TypeError, ValueError: An index is not an integer of at least 0, or
                there are no indices.
        """
        require.instance("indices", indices, Sequence)
        for index in indices:
            require.integer("index", index, at_least=0)
        if len(indices) == 0:
            raise ValueError("indices must hold at least one, got none")
        draws = self._draws(indices)
        chosen = _pick(draws[:, 0], len(self._labels))
        corners = _pick(draws[:, 1:3], self.side - self.digit_side + 1)
        canvas = torch.zeros(len(indices), self.side**2)
        _paste(canvas, self._enlarged[chosen, None], corners[:, None])
        where, what = draws[:, 3:].split(
            [self._cells**2, 5 * self.num_fragments], dim=1
        )
        what = what.unflatten(1, (self.num_fragments, 5))
        fragments = self._fragments(what[..., :3], self._labels[chosen])
        places = self._free_cells(where, corners) * self._cell
        # Two pixels of play, after the first pixel, which stays empty.
        _paste(canvas, fragments, places + 1 + _pick(what[..., 3:], 2))
        images = canvas.view(-1, 1, self.side, self.side)
        return images, self._labels[chosen]

    @property
    def _cell(self) -> int:
        return self.fragment_side + 3

    @property
    def _cells(self) -> int:
        return self.side // self._cell

    @cached_property
    def _labels(self) -> Int[Tensor, " digit"]:
        return self._sources[1]

    @cached_property
    def _enlarged(self) -> Float[Tensor, "digit side side"]:
        pixels, _ = self._sources
        size = (self.digit_side, self.digit_side)
        enlarged = F.interpolate(
            pixels, size=size, mode="bicubic", antialias=True
        )
        return enlarged.squeeze(1).clamp(0, 1)

    @cached_property
    def _sources(self) -> tuple[Tensor, Tensor]:
        """The digits of the part, sorted by class."""
        data = digits()
        images = getattr(data, f"{self.part}_images")
        labels = getattr(data, f"{self.part}_labels")
        order = labels.argsort(stable=True)
        return data.pixels(images[order]), labels[order]

    def _draws(self, indices: Sequence[int]) -> Float[Tensor, "image draw"]:
        """Draw the numbers in [0, 1) that determine each image.

        A counter-based generator can start at any image at once, and no two
        images share draws. PyTorch's generator keeps 32 bits of its seed,
        which are too few for a pair of `seed` and index.
        """
        key = 2 * self.seed + (self.part == "test")
        count = 3 + self._cells**2 + 5 * self.num_fragments
        rows = [
            # The lowest 64 bits of the counter count within an image.
            np.random.Generator(
                np.random.Philox(key=key, counter=int(index) << 64)
            ).random(count)
            for index in indices
        ]
        return torch.from_numpy(np.stack(rows))

    def _fragments(
        self,
        draws: Float[Tensor, "image fragment 3"],
        labels: Int[Tensor, " image"],
    ) -> Float[Tensor, "image fragment side side"]:
        """Cut squares out of digits of other classes."""
        counts = self._labels.bincount(minlength=10)
        own = counts[labels, None]
        first = (counts.cumsum(0) - counts)[labels, None]
        # Number the digits of all other classes; then step over the own one.
        other = _pick(draws[..., 0], len(self._labels) - own)
        other = other + own * (other >= first)
        corners = _pick(
            draws[..., 1:], self.digit_side - self.fragment_side + 1
        )
        within = torch.arange(self.fragment_side)
        rows = corners[..., 0, None, None] + within[:, None]
        columns = corners[..., 1, None, None] + within
        return self._enlarged[other[..., None, None], rows, columns]

    def _free_cells(
        self,
        draws: Float[Tensor, "image cell"],
        corners: Int[Tensor, "image 2"],
    ) -> Int[Tensor, "image fragment 2"]:
        """Choose cells that the digit leaves free: (row, column) each."""
        start = torch.arange(self._cells) * self._cell
        begins = start < corners[..., None] + self.digit_side
        ends = start + self._cell > corners[..., None]
        rows, columns = (begins & ends).unbind(1)
        covered = (rows[:, :, None] & columns[:, None, :]).flatten(1)
        # Draws are below 1: the covered cells come last.
        order = (draws + covered).argsort(dim=1)
        chosen = order[:, : self.num_fragments]
        return torch.stack(
            [chosen // self._cells, chosen % self._cells], dim=-1
        )


def _pick(draws: Tensor, count: int | Tensor) -> Tensor:
    """Turn numbers in [0, 1) into integers below `count`."""
    return (draws * count).long()


def _paste(
    canvas: Float[Tensor, "image pixel"],
    stamps: Float[Tensor, "image stamp height width"],
    corners: Int[Tensor, "image stamp 2"],
) -> None:
    """Lay stamps on flat square canvases, in place."""
    side = round(canvas.shape[1] ** 0.5)
    within = torch.arange(stamps.shape[-1])
    rows = corners[..., 0, None, None] + within[:, None]
    columns = corners[..., 1, None, None] + within
    places = (rows * side + columns).flatten(1)
    canvas.scatter_(1, places, stamps.flatten(1))
