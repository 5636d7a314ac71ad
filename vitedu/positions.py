"""Where a token is: position encodings (fixed) and embeddings (learned)."""

from typing import Any, Literal

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn

from vitedu import require

_MODES: dict[str, dict[str, Any]] = {
    "bicubic_antialias": {"mode": "bicubic", "antialias": True},
    "bicubic": {"mode": "bicubic"},
    "bilinear": {"mode": "bilinear", "align_corners": True},
}

# PyTorch 2.6 has no name for the one alone.
_is_exporting = getattr(
    torch.compiler, "is_exporting", torch.compiler.is_compiling
)


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
        dtype: Dtype of the result; None means PyTorch's default. Angles are
            always computed in double precision.
        device: Device of the result; None means PyTorch's default.

    Returns:
        One row per position, start to start + length - 1; values in [-1, 1].

    Raises:
        TypeError, ValueError: Sizes that are not positive integers, an odd
            `d_model`, a `base` that is not above 0, a `start` below 0, a
            `dtype` that is not floating-point.

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
    angles = _angles(length, d_model, base, start)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return _placed_on(table, dtype, device)


def sinusoidal_table_2d(
    grid_size: tuple[int, int],
    d_model: int,
    *,
    base: float = 10_000.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "position d_model"]:
    """Describe each position of a grid: one half its row, one half its column.

    Args:
        grid_size: Rows and columns of the grid of patches.
        d_model: Width of a token; divisible by 4.
        base: As for `sinusoidal_table`, which makes each half.
        dtype: As for `sinusoidal_table`.
        device: As for `sinusoidal_table`.

    Returns:
        One row per patch; patches are numbered row by row.

    Raises:
        TypeError, ValueError: As for `sinusoidal_table`.

    Source: Chen, Xie & He 2021, section 4 (fixed 2-D sine-cosine positions).
    Deviates: The features are the same, in another order. There, all sines of
        an axis come before all its cosines; here they alternate, as in one
        dimension. Some implementations put the columns first; here rows are
        first.

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
    return _on_grid(rows, columns)


def rotary_angles(
    length: int,
    head_dim: int,
    *,
    base: float = 10_000.0,
    start: int = 0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "position pair"]:
    """Return the angles by which each position rotates its queries and keys.

    Pair i of position n is rotated by n / base ** (2i / head_dim): the
    wavelengths of `sinusoidal_table`, as angles. `vitedu.attention.rotate`
    rotates by them; `MultiHeadAttention` takes them as `rotary`.

    Args:
        length: Number of positions, at least 1; there is no upper limit.
        head_dim: Width of a query of one head; even.
        base: As for `sinusoidal_table`. Larger ones suit longer texts.
        start: The first position, at least 0: how many tokens a cache holds.
        dtype: Dtype of the result; None means PyTorch's default. Half
            precision is too coarse for distant positions. Angles are computed
            in double precision.
        device: Device of the result; None means PyTorch's default.

    Returns:
        In radians, one row per position, start to start + length - 1.

    Raises:
        TypeError, ValueError: As for `sinusoidal_table`.

    Source: Su et al. 2021 (RoFormer), section 3.2.2.
    Derived in: 22-the-block-since

    >>> rotary_angles(3, 4, base=100.0)
    tensor([[0.0000, 0.0000],
            [1.0000, 0.1000],
            [2.0000, 0.2000]])
    """
    require.positive_int("length", length)
    check_frequencies(head_dim, base, name="head_dim")
    require.integer("start", start, at_least=0)
    angles = _angles(length, head_dim, base, start)
    return _placed_on(angles, dtype, device)


def rotary_angles_2d(
    grid_size: tuple[int, int],
    head_dim: int,
    *,
    num_prefix_tokens: int = 0,
    base: float = 100.0,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, "position pair"]:
    """Return the angles of a grid: half the pairs for rows, half for columns.

    The dot product of a query and a key then depends on how many rows and how
    many columns are between them, on a grid of any size.

    Args:
        grid_size: Rows and columns of the grid of patches.
        head_dim: Width of a query of one head; divisible by 4.
        num_prefix_tokens: Tokens in front of the patches. They have no
            location in the image and are not rotated.
        base: As for `rotary_angles`, which makes each half, of half the width.
            It is smaller than for texts, since a side has few patches.
        dtype: As for `rotary_angles`.
        device: As for `rotary_angles`.

    Returns:
        In radians, first the zeros of the prefix, then one row per patch;
        patches are numbered row by row.

    Raises:
        TypeError, ValueError: As for `sinusoidal_table_2d`; a number of tokens
            below 0.

    Source: Heo et al. 2024, section 3 (axial frequencies, base 100).
    Deviates: There, columns come first; here rows do, as elsewhere.

    >>> rotary_angles_2d((2, 2), 8, num_prefix_tokens=1)
    tensor([[0.0000, 0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 0.0000, 0.0000],
            [0.0000, 0.0000, 1.0000, 0.1000],
            [1.0000, 0.1000, 0.0000, 0.0000],
            [1.0000, 0.1000, 1.0000, 0.1000]])
    """
    require.grid("grid_size", grid_size)
    check_frequencies(head_dim, base, axes=2, name="head_dim")
    require.integer("num_prefix_tokens", num_prefix_tokens, at_least=0)
    rows, columns = (_angles(n, head_dim // 2, base) for n in grid_size)
    angles = F.pad(_on_grid(rows, columns), (0, 0, num_prefix_tokens, 0))
    return _placed_on(angles, dtype, device)


def alibi_slopes(
    num_heads: int,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
) -> Float[Tensor, " heads"]:
    """Return what each head subtracts from a score per token of distance.

    Args:
        num_heads: Number of heads.
        dtype: Dtype of the result; None means PyTorch's default.
        device: Device of the result; None means PyTorch's default.

    Returns:
        For a power of two, 2 ** (-8 / num_heads) and its powers; for other
        numbers, the slopes of the power of two below, then every other slope
        of the power above.

    Raises:
        TypeError, ValueError: `num_heads` is not an integer of at least 1, or
            `dtype` is not floating-point.

    Source: Press et al. 2022, section 3; other numbers as in their code.
    Derived in: 22-the-block-since

    >>> alibi_slopes(8)[:3], alibi_slopes(6)[4:]
    (tensor([0.5000, 0.2500, 0.1250]), tensor([0.5000, 0.1250]))
    """
    require.positive_int("num_heads", num_heads)
    power = 2 ** (num_heads.bit_length() - 1)
    exponents = [8 * (i + 1) / power for i in range(power)]
    exponents += [4 * (2 * i + 1) / power for i in range(num_heads - power)]
    slopes = 2.0 ** -torch.tensor(exponents, dtype=torch.float64, device="cpu")
    return _placed_on(slopes, dtype, device)


def with_alibi(
    q: Float[Tensor, "batch heads query head_dim"],
    k: Float[Tensor, "batch heads key head_dim"],
) -> tuple[
    Float[Tensor, "batch heads query wider"],
    Float[Tensor, "batch heads key wider"],
]:
    """Give queries and keys one more feature, which adds ALiBi's bias.

    Attention adds slope * (j - i) to the score of query i and key j. The part
    with i is the same for all keys of a query, and so changes no weight; the
    rest is a product of one number of the query, the slope, and one of the
    key, its position j. Any attention function can do this, even one without a
    bias::

        scaled_dot_product_attention(*with_alibi(q, k), v, causal_mask(n))

    Args:
        q: Queries.
        k: Keys, of the positions 0, 1 and so on.

    Returns:
        (q, k), one feature wider. The queries are also scaled, so that
        attention with its usual factor, (head_dim + 1) ** -0.5 now, computes
        the scores that head_dim ** -0.5 gave, plus the bias.

    Raises:
        TypeError, ValueError: Not two tensors of floating-point numbers of
            one dtype that belong together.

    Source: Press et al. 2022, section 3.
    Deviates: It is for causal masks, like theirs, because a later key would
        gain. Half precision holds whole positions only up to 2,048.
    Derived in: 22-the-block-since
    """
    require.queries_keys_values(q, k, k)
    width = q.shape[-1]
    places = torch.arange(k.shape[2], dtype=k.dtype, device=k.device)
    slopes = alibi_slopes(q.shape[1], dtype=q.dtype, device=q.device)
    places = places[:, None].expand(*k.shape[:3], 1)
    slopes = slopes[:, None, None].expand(*q.shape[:3], 1)
    wider = (width + 1) ** 0.5
    q = torch.cat([q * (wider / width**0.5), slopes * wider], dim=-1)
    return q, torch.cat([k, places], dim=-1)


def check_frequencies(
    d_model: int, base: float, *, axes: int = 1, name: str = "d_model"
) -> None:
    """Require a width that holds sines and cosines of each of the axes.

    Args:
        d_model: The width.
        base: Base of the wavelengths.
        axes: Number of directions.
        name: Name of the width in messages.

    Raises:
        TypeError, ValueError: A width that is not a positive integer or that
            2 * `axes` does not divide; a `base` that is not above 0.
    """
    require.instance("name", name, str)
    require.positive_int(name, d_model)
    require.positive_int("axes", axes)
    if d_model % (2 * axes):
        rule = "even" if axes == 1 else f"divisible by {2 * axes}"
        raise ValueError(f"{name} must be {rule}, got {d_model}")
    require.number("base", base, above=0)


class _Tabulated(nn.Module):
    """Keeps a table that copies leave out, since they can make it again."""

    d_model: int
    _table: Tensor

    def __getstate__(self) -> dict:
        return self.__dict__ | {"_table": torch.empty(0, self.d_model)}


class SinusoidalPositionEncoding(_Tabulated):
    """Add the sinusoids of its position to each token.

    The table is made when it is first needed, in the dtype and on the device
    of the tokens, and grows with the longest sequence seen. It is not part
    of a checkpoint.

    Args:
        d_model: Width of a token; even.
        base: As for `sinusoidal_table`.

    Raises:
        TypeError, ValueError: A width that is not a positive even integer, a
            `base` that is not above 0; tokens of another width or without
            fractions; a `start` below 0.

    Source: Vaswani et al. 2017, section 3.5.
    Derived in: 02-positional-encoding
    """

    def __init__(self, d_model: int, *, base: float = 10_000.0) -> None:
        super().__init__()
        check_frequencies(d_model, base)
        self.d_model, self.base = d_model, base
        # No buffer: processes that train together exchange their buffers, and
        # fail where one of them has seen longer sequences than the others.
        self._table = torch.empty(0, d_model)

    def forward(
        self, tokens: Float[Tensor, "batch position d_model"], start: int = 0
    ) -> Float[Tensor, "batch position d_model"]:
        """Add rows `start`, start + 1 and so on to the tokens."""
        _check_tokens(tokens, self.d_model)
        require.integer("start", start, at_least=0)
        stop = start + tokens.shape[1]
        known = len(self._table)
        if _is_exporting() or torch.jit.is_tracing():
            # A graph for any length makes its own; what is kept stays.
            table = sinusoidal_table(
                stop, self.d_model, base=self.base, dtype=tokens.dtype
            )
            return tokens + table[start:].to(tokens.device)
        if stop > known or not _same_kind(self._table, tokens):
            # Twice as long each time: a sentence that grows token by token
            # then asks for few tables.
            self._table = sinusoidal_table(
                max(stop, 2 * known, 1) if stop > known else max(known, 1),
                self.d_model,
                base=self.base,
                dtype=tokens.dtype,
                device=tokens.device,
            )
        return tokens + self._table[start:stop]

    def extra_repr(self) -> str:
        return f"d_model={self.d_model}, base={self.base}"


class SinusoidalPositionEncoding2d(_Tabulated):
    """Add the sinusoids of its row and column to each patch of an image.

    Args:
        grid_size: Rows and columns of the grid of patches.
        d_model: Width of a token; divisible by 4.
        num_prefix_tokens: Tokens in front of the patches. They have no
            location in the image and remain as they are.
        base: As for `sinusoidal_table`.

    Raises:
        TypeError, ValueError: Arguments that do not fit, as for
            `sinusoidal_table_2d`; tokens of another number or width, or
            without fractions.

    Source: Chen, Xie & He 2021, section 4.
    Deviates: As `sinusoidal_table_2d` does.
    """

    def __init__(
        self,
        grid_size: tuple[int, int],
        d_model: int,
        *,
        num_prefix_tokens: int = 0,
        base: float = 10_000.0,
    ) -> None:
        super().__init__()
        require.grid("grid_size", grid_size)
        check_frequencies(d_model, base, axes=2)
        require.integer("num_prefix_tokens", num_prefix_tokens, at_least=0)
        self.grid_size = grid_size[0], grid_size[1]
        self.d_model = d_model
        self.num_prefix_tokens, self.base = num_prefix_tokens, base
        self._table = torch.empty(0, d_model)

    def forward(
        self, tokens: Float[Tensor, "batch position d_model"]
    ) -> Float[Tensor, "batch position d_model"]:
        rows, columns = self.grid_size
        _check_tokens(
            tokens, self.d_model, self.num_prefix_tokens + rows * columns
        )
        if not len(self._table) or not _same_kind(self._table, tokens):
            table = sinusoidal_table_2d(
                self.grid_size,
                self.d_model,
                base=self.base,
                dtype=tokens.dtype,
                device=tokens.device,
            )
            self._table = F.pad(table, (0, 0, self.num_prefix_tokens, 0))
        return tokens + self._table

    def extra_repr(self) -> str:
        return (
            f"grid_size={self.grid_size}, d_model={self.d_model}, "
            f"num_prefix_tokens={self.num_prefix_tokens}, base={self.base}"
        )


class LearnedPositionEmbedding(nn.Module):
    """Add one learned vector per position to the tokens.

    Args:
        num_positions: Length of every sequence, class token included.
        d_model: Width of a token.
        std: Standard deviation of the initial vectors. Tokens whose patch part
            is larger than this at first hardly show where they are.

    Raises:
        TypeError, ValueError: Sizes that are not positive integers, a negative
            `std`, or tokens of another shape than (batch, num_positions,
            d_model). A shorter sequence is refused, because its positions
            would be those of a different grid. Only with a `start`, for
            sentences, may it be shorter.

    Source: Dosovitskiy et al. 2021, section 3.1, equation 1; std 0.02 as in
        the authors' code.
    Derived in: 02-positional-encoding, 14-training-a-vit
    """

    def __init__(
        self, num_positions: int, d_model: int, *, std: float = 0.02
    ) -> None:
        super().__init__()
        require.positive_int("num_positions", num_positions)
        require.positive_int("d_model", d_model)
        require.number("std", std, at_least=0)
        self.weight = nn.Parameter(
            torch.randn(1, num_positions, d_model) * std
        )

    def forward(
        self,
        tokens: Float[Tensor, "batch position d_model"],
        start: int | None = None,
    ) -> Float[Tensor, "batch position d_model"]:
        """Add all vectors, or those from `start` on if it is given."""
        _, positions, d_model = self.weight.shape
        _check_tokens(tokens, d_model, positions if start is None else None)
        require.dtype_of("tokens", tokens, self)
        if start is None:
            return tokens + self.weight
        require.integer("start", start, at_least=0)
        stop = start + tokens.shape[1]
        if stop > positions:
            raise ValueError(
                f"tokens must end within the {positions} learned positions, "
                f"got start={start} and {tokens.shape[1]} tokens"
            )
        return tokens + self.weight[:, start:stop]


def interpolate_positions(
    weight: Float[Tensor, "1 position d_model"],
    old_grid: tuple[int, int],
    new_grid: tuple[int, int],
    *,
    num_prefix_tokens: int,
    mode: Literal[
        "bicubic_antialias", "bicubic", "bilinear"
    ] = "bicubic_antialias",
) -> Float[Tensor, "1 new_position d_model"]:
    """Interpolate learned positions for images of another resolution.

    Args:
        weight: Learned vectors: first those of the tokens in front of the
            patches, then one per patch, row by row.
        old_grid: Rows and columns of the patches that `weight` is for.
        new_grid: Rows and columns that are wanted.
        num_prefix_tokens: Tokens in front of the patches; their vectors are
            kept as they are.
        mode: How values between the old ones are found. Three implementations
            differ: timm has "bicubic_antialias", Hugging Face "bicubic", and
            the authors "bilinear", with the corners of both grids in the same
            place. The first is the smoothest where the grid shrinks.

    Returns:
        Vectors for the same prefix and the new patches, in the dtype of
        `weight`; with equal grids the same numbers.

    Raises:
        TypeError: `weight` is not floating-point, or a grid does not hold
            integers.
        ValueError: A grid has a side below 1, `mode` is unknown, or `weight`
            does not hold num_prefix_tokens + rows * columns vectors.

    Source: Dosovitskiy et al. 2021, section 3.2.
    Deviates: The paper names no method; its code is bilinear.
    Derived in: 12-class-token-and-positions
    """
    require.rank("weight", weight, "1 position d_model")
    require.floating("weight", weight)
    require.grid("old_grid", old_grid)
    require.grid("new_grid", new_grid)
    require.integer("num_prefix_tokens", num_prefix_tokens, at_least=0)
    require.choice("mode", mode, tuple(_MODES))
    rows, columns = old_grid
    expected = (1, num_prefix_tokens + rows * columns)
    if weight.shape[:2] != expected:
        raise ValueError(
            "weight must have (1, num_prefix_tokens + rows * columns) = "
            f"{expected}, got {tuple(weight.shape[:2])}"
        )
    prefix, patches = weight.tensor_split([num_prefix_tokens], dim=1)
    # Half precision is too coarse to interpolate in.
    precise = torch.promote_types(weight.dtype, torch.float32)
    image = rearrange(
        patches.to(precise), "1 (rows cols) d -> 1 d rows cols", rows=rows
    )
    image = F.interpolate(image, size=tuple(new_grid), **_MODES[mode])
    patches = rearrange(image, "1 d rows cols -> 1 (rows cols) d")
    return torch.cat([prefix, patches.to(weight.dtype)], dim=1)


def _check_tokens(
    tokens: Tensor, d_model: int, positions: int | None = None
) -> None:
    require.rank("tokens", tokens, "batch position d_model")
    require.floating("tokens", tokens)
    if positions is None and tokens.shape[2] != d_model:
        raise ValueError(
            f"tokens must have d_model = {d_model} features, "
            f"got {tokens.shape[2]}"
        )
    if positions is not None and tokens.shape[1:] != (positions, d_model):
        raise ValueError(
            f"tokens must have (position, d_model) = {(positions, d_model)}, "
            f"got {tuple(tokens.shape[1:])}"
        )


def _same_kind(table: Tensor, tokens: Tensor) -> bool:
    return table.dtype == tokens.dtype and table.device == tokens.device


def _angles(
    length: int, width: int, base: float, start: int = 0
) -> Float[Tensor, "position pair"]:
    # Made on the CPU: not every accelerator knows double precision.
    exact: dict[str, Any] = {"dtype": torch.float64, "device": "cpu"}
    positions = torch.arange(start, start + length, **exact)
    wavelengths = base ** (torch.arange(0, width, 2, **exact) / width)
    return positions[:, None] / wavelengths


def _on_grid(
    rows: Float[Tensor, "row half"], columns: Float[Tensor, "column half"]
) -> Float[Tensor, "position width"]:
    """Give each position its row's features, then its column's, row by row."""
    return torch.cat(
        [
            rows.repeat_interleave(len(columns), dim=0),
            columns.repeat(len(rows), 1),
        ],
        dim=1,
    )


def _placed_on(
    table: Tensor,
    dtype: torch.dtype | None,
    device: torch.device | str | None,
) -> Tensor:
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point dtype, got {dtype}")
    require.device("device", device)
    # PyTorch 2.6 does not know its default device behind a `with` for one.
    device = torch.empty(0, device=device).device
    return table.to(device=device, dtype=dtype)
