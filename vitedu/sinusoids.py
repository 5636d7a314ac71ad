"""Sines and cosines that say where a token is."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from vitedu import require


def sinusoidal_table(
    length: int,
    d_model: int,
    *,
    base: float = 10_000.0,
    start: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "position d_model"]:
    """Describe each position by sines and cosines of growing wavelengths.

    Columns 2i and 2i + 1 hold the sine and the cosine of
    position / base ** (2i / d_model). Together they are the hand of a clock:
    a step of k positions turns it by the same angle wherever it starts.

    Args:
        length: Number of positions, at least 1; there is no upper limit.
        d_model: Width of a token; even.
        base: Wavelengths run from 2 pi up to 2 pi times
            base ** ((d_model - 2) / d_model) positions; above 0.
        start: The first position, at least 0.
        dtype: Of the result; None means PyTorch's default. Angles are always
            computed in double precision.
        device: Of the result; None means PyTorch's default.

    Returns:
        One row per position, start to start + length - 1; values in [-1, 1].

    Raises:
        TypeError, ValueError: Sizes that are not positive integers, an odd
            `d_model`, a `base` that is not above 0, a `start` below 0, a
            `dtype` without fractions.

    Source: Vaswani et al. 2017, section 3.5.
    Derived in: 02-positional-encoding

    >>> sinusoidal_table(3, 4, base=100.0).round(decimals=3)
    tensor([[ 0.0000,  1.0000,  0.0000,  1.0000],
            [ 0.8410,  0.5400,  0.1000,  0.9950],
            [ 0.9090, -0.4160,  0.1990,  0.9800]])
    """
    require.positive_int("length", length)
    check_frequencies(d_model, base)
    require.integer("start", start, at_least=0)
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    require.device("device", device)
    # Made on the CPU: not every accelerator knows double precision.
    exact: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}
    positions = torch.arange(start, start + length, **exact)
    wavelengths = base ** (torch.arange(0, d_model, 2, **exact) / d_model)
    angles = positions[:, None] / wavelengths
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    # PyTorch 2.6 does not know its default device behind a `with` for one.
    device = torch.empty(0, device=device).device
    return table.to(device=device, dtype=dtype)


def sinusoidal_table_2d(
    grid_size: tuple[int, int],
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "position d_model"]:
    """Describe each place of a grid: one half its row, one half its column.

    Args:
        grid_size: Rows and columns of the grid of patches.
        d_model: Width of a token; divisible by 4.
        base: As for `sinusoidal_table`, which each half is.
        dtype: As for `sinusoidal_table`.
        device: As for `sinusoidal_table`.

    Returns:
        One row per patch; patches are numbered row by row.

    Raises:
        TypeError, ValueError: As for `sinusoidal_table`.

    Source: Chen, Xie & He 2021, section 4 (fixed 2-D sine-cosine positions).
    Deviates: The features are the same, in another order. There, all sines of
        an axis come before all its cosines; here they alternate, as in one
        dimension. Some codes put the columns first; here rows are first.

    >>> table = sinusoidal_table_2d((2, 3), 8)
    >>> row_1 = sinusoidal_table(2, 4)[1]
    >>> bool((table[3:, :4] == row_1).all())
    True
    """
    require.grid("grid_size", grid_size)
    check_frequencies(d_model, base, axes=2)
    rows, columns = (
        sinusoidal_table(
            side, d_model // 2, base=base, dtype=dtype, device=device
        )
        for side in grid_size
    )
    return torch.cat(
        [
            rows.repeat_interleave(len(columns), dim=0),
            columns.repeat(len(rows), 1),
        ],
        dim=1,
    )


def check_frequencies(d_model: int, base: float, *, axes: int = 1) -> None:
    """Require a width that holds sines and cosines of each of the axes.

    Raises:
        TypeError, ValueError: A width that is not a positive integer or that
            2 * `axes` does not divide; a `base` that is not above 0.
    """
    require.positive_int("d_model", d_model)
    require.positive_int("axes", axes)
    if d_model % (2 * axes):
        rule = "even" if axes == 1 else f"divisible by {2 * axes}"
        raise ValueError(f"d_model must be {rule}, got {d_model}")
    require.number("base", base, above=0)
