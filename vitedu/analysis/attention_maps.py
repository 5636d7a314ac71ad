"""Look inside a model: who attends to whom, and from how far away."""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from vitedu import require
from vitedu.attention import MultiHeadAttention

_FUSIONS = {"mean": Tensor.mean, "max": Tensor.amax, "min": Tensor.amin}


@contextmanager
def capture_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Record the attention weights of each forward pass in the ``with`` block.

    The maps come from the one real forward pass. A second pass replaces those
    of the first. Nothing remains on the model afterwards, even after an error.
    A model compiled by ``torch.compile`` would record nothing, so within the
    block PyTorch runs everything as written.

    Args:
        model: Any module with `MultiHeadAttention` inside.

    Yields:
        A dict that the forward pass fills: the attention layer's name in the
        model -> weights (batch, heads, query, key), detached, before dropout.

    Raises:
        ValueError: `model` holds no `MultiHeadAttention`.

    Derived in: 16-looking-inside
    """
    require.instance("model", model, nn.Module)
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
            "model must hold a MultiHeadAttention, "
            f"got {type(model).__name__}, which has none"
        )
    try:
        with _as_written():
            yield maps
    finally:
        for handle in handles:
            handle.remove()


def _as_written() -> AbstractContextManager:
    """Let no compiled graph run. There is none without PyTorch's compiler."""
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


def patch_distances(
    grid_size: tuple[int, int], patch_size: int | tuple[int, int]
) -> Float[Tensor, "patch patch"]:
    """Measure how far apart the centres of two patches are, in pixels.

    Args:
        grid_size: Rows and columns of the grid of patches.
        patch_size: Side of a patch in pixels, or (height, width).

    Returns:
        Euclidean distances; patches are numbered row by row.

    Raises:
        TypeError, ValueError: Sizes that are not positive integers.
    """
    require.grid("grid_size", grid_size)
    height, width = require.sides("patch_size", patch_size)
    rows, columns = grid_size
    centres = torch.cartesian_prod(
        torch.arange(rows) * height, torch.arange(columns) * width
    ).double()
    return torch.cdist(centres, centres)


def attention_distance(
    weights: Float[Tensor, "*batch heads query key"],
    *,
    grid_size: tuple[int, int],
    patch_size: int | tuple[int, int],
    num_prefix_tokens: int | None = None,
) -> Float[Tensor, " heads"]:
    """Measure from how far away each head gathers information, in pixels.

    For each query patch, the distances to all patches are averaged with its
    attention weights, and then over query patches and images. Tokens in front
    of the patches (the class token) have no location in the image, so they are
    dropped, and the remaining weights of a row are rescaled to sum to 1.

    Args:
        weights: Attention maps of one layer.
        grid_size: Rows and columns of the grid of patches.
        patch_size: Side of a patch in pixels, or (height, width).
        num_prefix_tokens: Tokens in front of the patches; None counts them,
            and in that case there may be at most two (class and distillation
            token).

    Returns:
        Mean distance of each head, 0 (only itself) up to the diagonal.

    Raises:
        TypeError: `weights` is not a tensor of floating-point numbers.
        ValueError: A number of tokens that does not fit the grid, or a map
            that is not square.

    Source: Dosovitskiy et al. 2021, section 4.5 and appendix D.7.
    Deviates: The paper does not say what it does with the class token.
    Derived in: 16-looking-inside
    """
    require.floating("weights", weights)
    distances = patch_distances(grid_size, patch_size).to(weights)
    patches = len(distances)
    if weights.ndim < 3 or weights.shape[-2] != weights.shape[-1]:
        raise ValueError(
            "weights must be (..., heads, token, token), "
            f"got shape {tuple(weights.shape)}"
        )
    _check_tokens("weights", weights.shape[-1], grid_size, num_prefix_tokens)
    among = _shared_out(weights[..., -patches:, -patches:])
    per_head = (among * distances).sum(dim=-1).mean(dim=-1)
    return per_head.reshape(-1, per_head.shape[-1]).mean(dim=0)


def _check_tokens(
    name: str,
    tokens: int,
    grid_size: tuple[int, int],
    num_prefix_tokens: int | None,
) -> None:
    """Require as many tokens as prefix and grid hold together."""
    allowed, rule = (0, 1, 2), "0, 1 or 2"
    if num_prefix_tokens is not None:
        require.integer("num_prefix_tokens", num_prefix_tokens, at_least=0)
        allowed, rule = (num_prefix_tokens,), f"{num_prefix_tokens}"
    rows, columns = grid_size
    if tokens - rows * columns not in allowed:
        raise ValueError(
            f"{name} must hold {rule} prefix tokens and the {rows * columns} "
            f"patches of grid_size={tuple(grid_size)}, got {tokens} tokens"
        )


def _shared_out(weights: Tensor) -> Tensor:
    """Make each row sum to 1; a row of zeros is unchanged."""
    total = weights.sum(dim=-1, keepdim=True)
    return weights / total.clamp_min(torch.finfo(weights.dtype).tiny)


def uniform_distance(
    grid_size: tuple[int, int], patch_size: int | tuple[int, int]
) -> float:
    """Return the attention distance of a head with uniform weights.

    This is the baseline of every attention-distance plot: 116.5 pixels for a
    14 x 14 grid of 16-pixel patches.
    """
    return patch_distances(grid_size, patch_size).mean().item()


def attention_rollout(
    maps: Mapping[str, Tensor] | Sequence[Tensor],
    *,
    residual: float = 0.5,
    fusion: Literal["mean", "max", "min"] = "mean",
) -> Float[Tensor, "batch token token"]:
    """Follow attention from the last layer down to the input tokens.

    In each layer a token is mixed from all tokens by attention, and carried
    on unchanged by the residual connection. The rollout is the product of
    these mixtures over the layers.

    Args:
        maps: What `capture_attention` recorded of one stack of
            self-attention, in any order: the numbers in the names give the
            depth. Or its weights (batch, heads, token, token) in order of
            depth.
        residual: Fraction of a token that the residual connection carries, in
            [0, 1).
        fusion: How the heads are combined into one map; after "max" and "min",
            rows are rescaled to sum to 1.

    Returns:
        How much of each input token (last axis) is in each output token. A
        row sums to 1. A token that attends to nothing keeps itself, or has
        a row of zeros with ``residual=0``.

    Raises:
        TypeError: Maps that are not tensors of floating-point numbers.
        ValueError: No map at all, maps that are not square or differ in
            shape, maps of several stacks, or arguments out of range.

    Source: Abnar and Zuidema 2020, section 3, attention rollout.
    Deviates: The paper fixes `residual` at 0.5 and fuses with the mean.

    >>> swap = torch.tensor([[[[0.0, 1.0], [1.0, 0.0]]]])
    >>> attention_rollout([swap])
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    require.number("residual", residual, at_least=0, below=1)
    require.choice("fusion", fusion, tuple(_FUSIONS))
    layers = _by_depth(maps)
    itself = torch.eye(layers[0].shape[-1]).to(layers[0])
    rollout = itself.expand(len(layers[0]), -1, -1)
    for weights in layers:
        fused = _shared_out(_FUSIONS[fusion](weights, dim=1))
        mixed = _shared_out(residual * itself + (1 - residual) * fused)
        rollout = mixed @ rollout
    return rollout


def _by_depth(maps: Mapping[str, Tensor] | Sequence[Tensor]) -> list[Tensor]:
    """Return the maps of one stack as a list, the first layer first."""
    if isinstance(maps, Mapping):
        stacks = sorted({re.sub(r"\d+", "*", name) for name in maps})
        if len(stacks) > 1:
            raise ValueError(
                f"maps must come from one stack of layers, got {stacks}"
            )
        # A file that was read lists block 10 before block 2.
        maps = [maps[name] for name in sorted(maps, key=_numbers)]
    if not isinstance(maps, Sequence):
        raise TypeError(
            "maps must be a dict or a list of tensors, "
            f"got {type(maps).__name__}"
        )
    if not maps:
        raise ValueError("maps must hold at least one layer, got none")
    for i, weights in enumerate(maps):
        require.floating(f"maps[{i}]", weights)
        require.rank(f"maps[{i}]", weights, "batch heads token token")
        batch, _, query, key = weights.shape
        if query != key or (batch, key) != (len(maps[0]), maps[0].shape[-1]):
            raise ValueError(
                f"maps[{i}] must be square with the batch and tokens of "
                f"maps[0], {tuple(maps[0].shape)}, got {tuple(weights.shape)}"
            )
    return list(maps)


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]


def position_similarity(
    weight: Float[Tensor, "*one position d_model"],
    *,
    grid_size: tuple[int, int],
    num_prefix_tokens: int,
) -> Float[Tensor, "rows columns rows columns"]:
    """Compare the position of each patch with that of every other patch.

    Args:
        weight: Positions (1, position, d_model) of a model, as in
            ``model.pos_embed.weight``, or a table (position, d_model).
        grid_size: Rows and columns of the grid of patches.
        num_prefix_tokens: Positions in front of those of the patches.

    Returns:
        Cosine similarity in [-1, 1]: entry [i, j] is a map over the grid for
        the patch in row i and column j. It carries no gradient.

    Raises:
        TypeError: `weight` is not a tensor of floating-point numbers.
        ValueError: Wrong axes, or a number of positions that does not fit.

    Source: Dosovitskiy et al. 2021, section 4.5, figure 7 (centre).
    """
    require.floating("weight", weight)
    if weight.ndim == 3 and len(weight) == 1:
        weight = weight[0]
    require.rank("weight", weight, "position d_model")
    require.grid("grid_size", grid_size)
    require.integer("num_prefix_tokens", num_prefix_tokens, at_least=0)
    _check_tokens("weight", len(weight), grid_size, num_prefix_tokens)
    patches = F.normalize(weight.detach()[num_prefix_tokens:], dim=-1)
    return (patches @ patches.T).view(*grid_size, *grid_size)
