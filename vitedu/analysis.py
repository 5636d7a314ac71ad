"""Look inside a model: who attends to whom, and from how far away."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Record the attention weights of each forward pass in the block.

    The maps come from the one real forward pass. A second pass replaces those
    of the first. Nothing stays on the model afterwards, also after an error.

    Args:
        model: Any module with `MultiHeadAttention` inside.

    Yields:
        A dict that the forward pass fills: the attention's name in the model
        -> weights (batch, heads, query, key), detached, before dropout.

    Raises:
        ValueError: `model` holds no `MultiHeadAttention`.

    Derived in: 16-looking-inside
    """
    maps: dict[str, Tensor] = {}

    def recorder(name: str):
        def record(weights: Tensor) -> None:
            maps[name] = weights.detach()

        return record

    handles = [
        module.register_recorder(recorder(name))
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    ]
    if not handles:
        raise ValueError(
            f"model must hold a MultiHeadAttention, {type(model).__name__} "
            "has none"
        )
    try:
        yield maps
    finally:
        for handle in handles:
            handle.remove()


def patch_distances(
    grid_size: tuple[int, int], patch_size: int
) -> Float[Tensor, "patch patch"]:
    """Measure how far the centres of two patches lie apart, in pixels.

    Args:
        grid_size: Rows and columns of the grid of patches.
        patch_size: Side of a patch in pixels.

    Returns:
        Euclidean distances; patches are numbered row by row.

    Raises:
        TypeError, ValueError: Sizes that are no positive integers.
    """
    require.grid("grid_size", grid_size)
    require.positive_int("patch_size", patch_size)
    rows, columns = grid_size
    centres = torch.cartesian_prod(torch.arange(rows), torch.arange(columns))
    centres = centres.reshape(rows * columns, 2).double()
    return torch.cdist(centres, centres) * patch_size


def attention_distance(
    weights: Float[Tensor, "*batch heads query key"],
    *,
    grid_size: tuple[int, int],
    patch_size: int,
) -> Float[Tensor, " heads"]:
    """Measure from how far away each head gathers information, in pixels.

    For each query patch: the distances to all patches, averaged with its
    attention weights. Then the mean over query patches and images. Tokens
    in front of the patches (the class token) have no place in the image:
    they are dropped and the remaining weights of a row share out 1 again.

    Args:
        weights: Attention maps of one layer; tokens in front of the patches
            are found by counting.
        grid_size: Rows and columns of the grid of patches.
        patch_size: Side of a patch in pixels.

    Returns:
        Mean distance of each head, 0 (only itself) up to the diagonal.

    Raises:
        TypeError: `weights` is no tensor of floating-point numbers.
        ValueError: Fewer tokens than patches, or a map that is not square.

    Source: Dosovitskiy et al. 2021, section 4.5 and appendix D.7.
    Deviates: The paper does not say what it does with the class token.
    Derived in: 16-looking-inside
    """
    require.floating("weights", weights)
    distances = patch_distances(grid_size, patch_size).to(weights)
    patches = len(distances)
    query, key = weights.shape[-2:]
    if weights.ndim < 3 or query != key or key < patches:
        raise ValueError(
            "weights must be (..., heads, token, token) with at least "
            f"{patches} tokens for grid_size={grid_size}, "
            f"got shape {tuple(weights.shape)}"
        )
    among = weights[..., -patches:, -patches:]
    total = among.sum(dim=-1, keepdim=True)
    among = among / total.clamp_min(torch.finfo(among.dtype).tiny)
    per_head = (among * distances).sum(dim=-1).mean(dim=-1)
    return per_head.reshape(-1, per_head.shape[-1]).mean(dim=0)


def uniform_distance(grid_size: tuple[int, int], patch_size: int) -> float:
    """Return the attention distance of a head that looks everywhere alike.

    It is the baseline of every attention-distance plot: 116.5 pixels for a
    14 x 14 grid of 16-pixel patches.
    """
    return patch_distances(grid_size, patch_size).mean().item()
