"""Masks: who may attend to whom. True = may attend, combined with ``&``.

A mask is boolean with the axes (batch or 1, heads or 1, query, key).
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from vitedu import require


def causal_mask(
    length: int, *, device: torch.device | str | None = None
) -> Bool[Tensor, "1 1 query key"]:
    """Let each position attend to itself and to what came before it.

    Args:
        length: Number of tokens, at least 1.
        device: Where the mask is made.

    Returns:
        A lower triangle of True, the diagonal included.

    Raises:
        TypeError, ValueError: `length` is not an integer of at least 1.

    Source: Vaswani et al. 2017, section 3.2.3.
    Derived in: 04-masking

    >>> causal_mask(3)[0, 0].int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    require.positive_int("length", length)
    require.device("device", device)
    ones = torch.ones(length, length, dtype=torch.bool, device=device)
    return ones.tril()[None, None]


def sliding_window_mask(
    length: int,
    window: int,
    *,
    causal: bool = True,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "1 1 query key"]:
    """Let each position attend only to the nearest ones.

    Args:
        length: Number of tokens, at least 1.
        window: How many tokens it sees on a side, at least 1, itself included.
        causal: Whether it sees only what came before it. If not, it sees as
            many on the other side: 2 * window - 1 in all.
        device: Where the mask is made.

    Returns:
        A band of True, the diagonal included. A window of `length` or more
        hides nothing that would be visible without it.

    Raises:
        TypeError, ValueError: A number is not an integer of at least 1, or
            `causal` is neither True nor False.

    Source: Beltagy et al. 2020 (Longformer), section 3.1; causal: Jiang et
        al. 2023 (Mistral 7B), section 2.
    Deviates: Longformer's window w is the sum of both sides.
    Derived in: 22-the-block-since

    >>> sliding_window_mask(4, 2)[0, 0].int().tolist()
    [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    >>> sliding_window_mask(4, 2, causal=False)[0, 0].sum(dim=-1).tolist()
    [2, 3, 3, 2]
    """
    require.positive_int("length", length)
    require.positive_int("window", window)
    require.boolean("causal", causal)
    require.device("device", device)
    ones = torch.ones(length, length, dtype=torch.bool, device=device)
    # Where -window < key - query < window; beyond the edge all is one.
    near = ones.triu(1 - min(window, length))
    return (near.tril() if causal else near & near.T)[None, None]


def window_mask(
    grid_size: tuple[int, int],
    window: int | tuple[int, int],
    *,
    shift: int | tuple[int, int] = 0,
    device: torch.device | str | None = None,
) -> Bool[Tensor, "1 1 patch patch"]:
    """Let each patch attend to those in the same window of the image.

    Windows do not overlap. The next block shifts them by half a window, so
    that neighbours across an edge then share a window.

    Args:
        grid_size: Rows and columns of the grid of patches.
        window: Side of a window in patches, or (rows, columns); divides the
            grid.
        shift: By how many patches windows move down and to the right; at least
            0, below `window`. At the edges of the image, only parts of windows
            remain.
        device: Where the mask is made.

    Returns:
        True where two patches share a window; patches are numbered row by row.

    Raises:
        TypeError, ValueError: Sizes that are not positive integers, a window
            that does not divide the grid, a shift outside its range.

    Source: Liu et al. 2021 (Swin Transformer), section 3.2.
    Deviates: Swin cuts the windows out, which is cheaper, and first rolls the
        image, so that four parts at the corners fill one window, where a mask
        keeps them apart. Which patches see each other is the same.
    Derived in: 22-the-block-since

    >>> window_mask((1, 4), (1, 2))[0, 0].int().tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    >>> window_mask((1, 4), (1, 2), shift=(0, 1))[0, 0].int().tolist()
    [[1, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    """
    require.grid("grid_size", grid_size)
    windows = require.sides("window", window)
    shifts = (shift, shift) if isinstance(shift, int) else shift
    _check_windows(grid_size, windows, shifts)
    require.device("device", device)
    rows, columns = (
        (torch.arange(side, device=device) - moved) // wide
        for side, wide, moved in zip(grid_size, windows, shifts, strict=True)
    )
    # A number for each window, with the one that begins above or to the left.
    window_of = (rows[:, None] * (grid_size[1] + 1) + columns).flatten()
    return (window_of[:, None] == window_of)[None, None]


def padding_mask(
    tokens: Int[Tensor, "batch key"], pad_id: int
) -> Bool[Tensor, "batch 1 1 key"]:
    """Hide padding from everyone: no query may attend to a padded key.

    Args:
        tokens: Token ids, whole numbers.
        pad_id: The id that pads short sentences.

    Returns:
        True where the key is a real token.

    Raises:
        TypeError: `tokens` does not hold integers, or `pad_id` is not one.
        ValueError: `tokens` has other axes than (batch, key).

    Source: Vaswani et al. 2017 (implied; the paper does not describe it).
    Derived in: 04-masking

    >>> tokens = torch.tensor([[7, 4, 9], [5, 0, 0]])
    >>> padding_mask(tokens, pad_id=0).int().tolist()
    [[[[1, 1, 1]]], [[[1, 0, 0]]]]
    >>> (padding_mask(tokens, pad_id=0) & causal_mask(3)).shape
    torch.Size([2, 1, 3, 3])
    """
    require.rank("tokens", tokens, "batch key")
    require.integers("tokens", tokens)
    require.integer("pad_id", pad_id)
    return (tokens != pad_id)[:, None, None, :]


def check_first_token(name: str, tokens: Tensor, pad_id: int) -> None:
    """Require sentences that begin with a token, not with padding.

    Padding in front is also hidden, but it moves all tokens to later
    positions.

    Raises:
        ValueError: Padding precedes the first token of a sentence, which a
            captured graph does not notice.
    """
    real = tokens != pad_id
    late = real.any(dim=1, keepdim=True) & ~real[:, :1]
    if not tokens.is_meta and any(require.numbers(late.any())):
        row = late.nonzero()[0, 0].item()
        raise ValueError(
            f"{name} must have its padding, {pad_id}, behind the tokens, got "
            f"it in front of sentence {row}"
        )


def visible_tokens(
    patch_mask: Bool[Tensor, "batch patch"] | None,
    batch: int,
    num_patches: int,
    num_prefix_tokens: int,
) -> Bool[Tensor, "batch token"] | None:
    """Say which tokens of images may be read; those before the patches always.

    Args:
        patch_mask: True = real patch; None: all are real.
        batch: Number of images.
        num_patches: Patches of an image.
        num_prefix_tokens: Tokens before the patches.

    Returns:
        True where the token may be read; None if `patch_mask` is None.

    Raises:
        TypeError: `patch_mask` is not boolean, or a number is not an integer.
        ValueError: `patch_mask` has another shape, or an image has no real
            patch, which a captured graph does not notice.

    Source: none; the paper has only full images.

    >>> patch_mask = torch.tensor([[True, False, True]])
    >>> visible_tokens(patch_mask, 1, 3, num_prefix_tokens=1).int().tolist()
    [[1, 1, 0, 1]]
    """
    require.integer("batch", batch, at_least=0)
    require.integer("num_patches", num_patches, at_least=0)
    require.integer("num_prefix_tokens", num_prefix_tokens, at_least=0)
    if patch_mask is None:
        return None
    require.rank("patch_mask", patch_mask, "batch patch")
    if patch_mask.dtype != torch.bool:
        raise TypeError(
            "patch_mask must be boolean (True = real patch), "
            f"got dtype {patch_mask.dtype}"
        )
    expected = (batch, num_patches)
    if patch_mask.shape != expected:
        raise ValueError(
            f"patch_mask must have (batch, patch) = {expected}, "
            f"got {tuple(patch_mask.shape)}"
        )
    empty = ~patch_mask.any(dim=1)
    if any(require.numbers(empty.any())):
        raise ValueError(
            "patch_mask must leave each image a real patch, "
            f"got none in image {empty.nonzero()[0].item()}"
        )
    prefix = patch_mask.new_ones(batch, num_prefix_tokens)
    return torch.cat([prefix, patch_mask], dim=1)


def check_mask(
    mask: Tensor, batch: int, heads: int, query: int, key: int
) -> None:
    """Require a mask that fits scores of shape (batch, heads, query, key).

    Raises:
        TypeError: The mask is not boolean. Numbers are refused because some
            libraries add them to the scores and others multiply.
        ValueError: It does not have four axes, or an axis has a different size
            from the scores (batch, heads and query may be 1).

    >>> check_mask(causal_mask(3), batch=2, heads=4, query=3, key=3)
    >>> check_mask(causal_mask(3).int(), batch=2, heads=4, query=3, key=3)
    Traceback (most recent call last):
    TypeError: mask must be boolean (True = may attend), got dtype torch.int32
    """
    require.rank("mask", mask, "batch heads query key")
    if mask.dtype != torch.bool:
        raise TypeError(
            f"mask must be boolean (True = may attend), got dtype {mask.dtype}"
        )
    expected = (batch, heads, query, key)
    fits = (
        mask.shape[0] in (1, batch)
        and mask.shape[1] in (1, heads)
        and mask.shape[2] in (1, query)
        and mask.shape[3] == key
    )
    if not fits:
        raise ValueError(
            f"mask must fit (batch|1, heads|1, query|1, key) = {expected}, "
            f"got shape {tuple(mask.shape)}"
        )


def _check_windows(
    grid_size: tuple[int, int],
    windows: tuple[int, int],
    shifts: tuple[int, int],
) -> None:
    if not isinstance(shifts, tuple | list) or len(shifts) != 2:
        raise TypeError(
            "shift must be a number of patches or (rows, columns), "
            f"got {shifts!r}"
        )
    for i in (0, 1):
        require.divisible("grid_size", grid_size[i], "window", windows[i])
        require.integer("shift", shifts[i], at_least=0)
        if shifts[i] >= windows[i]:
            raise ValueError(
                f"shift must be below window = {windows[i]}, got {shifts[i]}"
            )
