"""What decoding keeps from step to step."""

import torch
from jaxtyping import Int
from torch import Tensor

from vitedu import require


class KeyValueCache:
    """The keys and values of one attention layer, kept from step to step.

    Decoding adds one token at a time. The keys and values of earlier tokens do
    not change then, so they are computed once. Gradients flow through them as
    through any tensor; decode under ``torch.no_grad()``.

    Source: implied by Vaswani et al. 2017, section 3.2.3; the name and the
        cost are discussed in Shazeer 2019, section 2.4.
    Derived in: 10-decoding
    """

    def __init__(self) -> None:
        self._kept: tuple[Tensor, Tensor] | None = None

    def __len__(self) -> int:
        """Return the number of tokens kept."""
        return 0 if self._kept is None else self._kept[0].shape[2]

    @property
    def nbytes(self) -> int:
        """The bytes of the keys and values kept."""
        return sum(kept.nbytes for kept in self._kept or ())

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add keys and values (batch, heads, key, dim); return all so far.

        Raises:
            TypeError: They are not tensors of floating-point numbers, or have
                a different dtype from those that are kept.
            ValueError: They do not have the axes, the batch, the heads and
                the widths of those that are kept.
        """
        for name, new in (("k", k), ("v", v)):
            require.rank(name, new, "batch heads key dim")
            require.floating(name, new)
        if self._kept is not None:
            for name, old, new in zip("kv", self._kept, (k, v), strict=True):
                if new.dtype != old.dtype:
                    raise TypeError(
                        f"{name} must have the dtype of the cache, "
                        f"{old.dtype}, got {new.dtype}"
                    )
                if (*old.shape[:2], old.shape[3]) != (
                    *new.shape[:2],
                    new.shape[3],
                ):
                    raise ValueError(
                        f"{name} must fit the cache, (batch, heads, key, dim)"
                        f" = {tuple(old.shape)} but for key, "
                        f"got {tuple(new.shape)}"
                    )
            k, v = (
                torch.cat(pair, dim=2)
                for pair in zip(self._kept, (k, v), strict=True)
            )
        self._kept = k, v
        return self._kept

    def kept(self) -> tuple[Tensor, Tensor]:
        """Return the keys and values so far.

        Raises:
            ValueError: Nothing has been kept yet.
        """
        if self._kept is None:
            raise ValueError("cache must hold keys and values, it is empty")
        return self._kept

    def select(self, rows: Int[Tensor, " row"]) -> None:
        """Keep the given rows of the batch, in this order, repeats included.

        Beam search needs this, because a hypothesis may continue another's
        past.

        Raises:
            TypeError: `rows` is not a tensor of integers.
            ValueError: `rows` has other axes, or one of them is outside the
                batch.
        """
        require.rank("rows", rows, "row")
        require.integers("rows", rows)
        if self._kept is not None:
            k, v = self._kept
            _check_rows(rows, len(k))
            self._kept = k.index_select(0, rows), v.index_select(0, rows)


def _check_rows(rows: Tensor, batch: int) -> None:
    # An accelerator checks by itself; to ask it here would make it wait.
    if rows.device.type != "cpu" or len(rows) == 0:
        return
    low, high = rows.min().item(), rows.max().item()
    if low < 0 or high >= batch:
        raise ValueError(
            f"rows must lie in 0 to {batch - 1}, got {low} to {high}"
        )


class DecoderCache:
    """The caches of every block of a decoder.

    ``len`` is the number of target tokens that have been decoded.

    Attributes:
        blocks: For each block a cache of its self-attention and one of its
            cross-attention.

    Args:
        num_layers: Blocks of the decoder.

    Raises:
        TypeError, ValueError: `num_layers` is not an integer of at least 1.
    """

    def __init__(self, num_layers: int) -> None:
        require.positive_int("num_layers", num_layers)
        self.blocks = [
            (KeyValueCache(), KeyValueCache()) for _ in range(num_layers)
        ]

    def __len__(self) -> int:
        return len(self.blocks[0][0])

    @property
    def memory_shape(self) -> tuple[int, int]:
        """Batch and length of the memory that the first step read.

        Raises:
            ValueError: There has been no step yet.
        """
        k, _ = self.blocks[0][1].kept()
        return k.shape[0], k.shape[2]

    @property
    def nbytes(self) -> int:
        """The bytes of all keys and values kept."""
        return sum(cache.nbytes for pair in self.blocks for cache in pair)

    def select(self, rows: Int[Tensor, " row"]) -> None:
        """Keep these rows of the batch in every cache, see `KeyValueCache`."""
        for pair in self.blocks:
            for cache in pair:
                cache.select(rows)
