"""What a page needs to follow a photograph through a Vision Transformer."""

import base64
import io
import zlib
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor
from torch.nn.functional import normalize

from vitedu import require
from vitedu.analysis.attention_maps import capture_attention
from vitedu.data.photographs import (
    IMAGENET,
    PHOTOGRAPHS,
    photograph,
    preprocess,
)
from vitedu.vit import VisionTransformer

# Patches a side; every fourth of them can be followed, down and across, from
# these on.
GRID, STEP, ROW, COLUMN = 16, 4, 3, 1
# Of a token, so many numbers are sent, evenly spaced.
SHOWN = 24
# Steps between 0 and 1 of a cosine, and of a weight between 0 and the largest
# of its row.
LEVELS, SHADES = 100, 20
# Of a row of weights, so many of the largest are sent as they are.
BEST = 5
# Of the first token: as it is cut, and with its position. Then in each block.
BEFORE = ("project", "positions")
IN_BLOCK = ("norm1", "attended", "middle", "norm2", "fed", "after")


class _Walk(NamedTuple):
    """The tokens at each step, (step, token, d_model), and all weights."""

    tokens: Float[Tensor, "step token d_model"]
    weights: Float[Tensor, "layer head query key"]


@torch.inference_mode()
def followed_photograph(
    model: VisionTransformer, name: str = "china"
) -> dict[str, Any]:
    """Return keyword arguments of the explorer `PatchByPatch`.

    The photograph becomes 16 x 16 patches. Of these, every fourth can be
    followed, down and across, and the class token, which is number 0. A page
    gets, in one compressed piece:

    - `pixels`: all numbers of the patches that can be followed, as the
      network gets them, (patch, channel x row x column);
    - `numbers`: every ``d_model / 24``-th number of the followed tokens, at
      each step, (token, step, number);
    - `lengths`: the length of every token at each step, (step, token);
    - `colours`: three principal components of all patches as red, green and
      blue: projected, with positions, after each block, and after the last
      norm, (depth, patch, colour);
    - `cosines`: between the followed tokens and all patches, with positions
      and after each block, in steps of 1/100, as differences from depth to
      depth, (depth, token, patch);
    - `shades`: where each head looks from there, in steps of 1/20 of the
      largest weight, (layer, head, token, key);
    - `best`: the five tokens that get most, (layer, head, token, best), and
      `weights`: what they get, then the token itself and the class token.

    The steps are the tokens before and with their positions; in each block
    the first norm, what attention adds, the sum, the second norm, what the
    feed-forward network adds, the sum; and the last norm.

    Args:
        model: A model with a class token, and blocks as in `ViTConfig.b16` or
            `ViTConfig.s14`, that takes images of 16 x 16 patches, prepared
            with `IMAGENET`.
        name: One of `PHOTOGRAPHS`.

    Raises:
        TypeError: `model` is not a VisionTransformer.
        ValueError: An unknown name; a model of another kind or size.
    """
    side = _checked_side(model)
    require.choice("name", name, PHOTOGRAPHS)
    pixels = photograph(cast(Any, name))
    image = preprocess(pixels, side, normalisation=IMAGENET)
    walk = _walked(model, image)
    arrays = _arrays(model, image, walk)
    config = model.config
    return {
        "picture": _picture(image),
        "data": zlib.compress(
            b"".join(array.tobytes() for array in arrays.values()), 9
        ),
        "layout": [
            [name, array.dtype.str[1:], list(array.shape)]
            for name, array in arrays.items()
        ],
        "num_layers": config.num_layers,
        "num_heads": config.num_heads,
        "d_model": config.d_model,
        "patch_size": config.patch_shape[0],
    }


def followed_tokens() -> list[int]:
    """Return the positions of the tokens that a page can follow."""
    patches = torch.arange(GRID**2).view(GRID, GRID)
    chosen = patches[ROW::STEP, COLUMN::STEP].flatten()
    return [0, *(1 + chosen).tolist()]


def _checked_side(model: VisionTransformer) -> int:
    """Return the side of the images that a fitting model takes."""
    require.instance("model", model, VisionTransformer)
    config = model.config
    high, wide = config.patch_shape
    side = GRID * high
    fits = (
        high == wide
        and config.num_channels == 3
        and (config.any_image_size or config.image_shape == (side, side))
    )
    usual = config.norm_first and not config.parallel
    if not fits or not usual or model.num_prefix_tokens != 1:
        raise ValueError(
            f"model must take images of 3 colours and {GRID} x {GRID} square "
            "patches, and have a class token, no other token besides, and "
            "blocks of two branches that begin with a norm"
        )
    if config.d_model % SHOWN or config.positions != "learned":
        raise ValueError(
            f"model must have learned positions and a d_model that {SHOWN} "
            f"divides, got {config.positions!r} and {config.d_model}"
        )
    return side


def _walked(
    model: VisionTransformer, image: Float[Tensor, "3 height width"]
) -> _Walk:
    """Run the model step by step."""
    patches = model.patch_embed(image[None])
    placed = model.embed(image[None])
    first = cast(Tensor, model.cls_token)
    steps = [torch.cat([first, patches], dim=1), placed]
    with capture_attention(model) as maps:
        for block in model.blocks:
            steps += _in_block(block, steps[-1])
    steps.append(model.norm(steps[-1]))
    return _Walk(torch.cat(steps), torch.cat([*maps.values()]))


def _in_block(block: Any, before: Tensor) -> list[Tensor]:
    """Return the tokens at each step of a block, see `IN_BLOCK`."""
    first = block.norm1(before)
    attended = block.ls1(block.attn(first))
    middle = before + attended
    second = block.norm2(middle)
    fed = block.ls2(block.mlp(second))
    return [first, attended, middle, second, fed, middle + fed]


def _arrays(
    model: VisionTransformer,
    image: Float[Tensor, "3 height width"],
    walk: _Walk,
) -> dict[str, np.ndarray]:
    """Return what the page gets, by name."""
    size, chosen = model.config.patch_shape[0], followed_tokens()
    pixels = image.unflatten(2, (GRID, size)).unflatten(1, (GRID, size))
    pixels = pixels.permute(1, 3, 0, 2, 4).flatten(0, 1).flatten(1)
    depths = walk.tokens[len(BEFORE) - 1 : -1 : len(IN_BLOCK)]
    every = model.config.d_model // SHOWN
    return {
        "pixels": _half(pixels[torch.tensor(chosen[1:]) - 1]),
        "numbers": _half(walk.tokens[:, chosen, ::every].transpose(0, 1)),
        "lengths": _half(walk.tokens.norm(dim=-1)),
        "colours": np.stack(
            [
                _colours(tokens[1:])
                for tokens in (walk.tokens[0], *depths, walk.tokens[-1])
            ]
        ),
        "cosines": _levels(depths, chosen),
    } | _looks(walk.weights[:, :, chosen], chosen)


def _half(values: Tensor) -> np.ndarray:
    return values.contiguous().numpy().astype("<f2")


def _colours(tokens: Float[Tensor, "patch d_model"]) -> np.ndarray:
    """Return three principal components as bytes, (patch, colour)."""
    apart = tokens - tokens.mean(dim=0)
    _, directions = torch.linalg.eigh(apart.T @ apart)
    found = apart @ directions[:, -3:].flip(1)
    # Which way a direction points is free: the larger part is dark here.
    found = found * -found.median(dim=0).values.sign()
    low, high = (found.quantile(q, dim=0) for q in (0.02, 0.98))
    shares = ((found - low) / (high - low)).clamp(0, 1)
    return shares.mul(255).round().byte().numpy()


def _levels(
    depths: Float[Tensor, "depth token d_model"], chosen: list[int]
) -> np.ndarray:
    """Return cosines as small steps from depth to depth."""
    directions = normalize(depths, dim=-1)
    cosines = directions[:, chosen] @ directions[:, 1:].mT
    levels = (cosines * LEVELS).round().to(torch.int8).numpy()
    return np.diff(levels, axis=0, prepend=np.int8(0))


def _looks(
    weights: Float[Tensor, "layer head query key"], chosen: list[int]
) -> dict[str, np.ndarray]:
    """Return all weights as shades, and some as they are."""
    largest, best = weights.topk(BEST, dim=-1)
    itself = torch.tensor(chosen).expand(weights.shape[:-1])[..., None]
    own = weights.gather(-1, itself)
    shades = weights / largest[..., :1] * SHADES
    return {
        "best": best.numpy().astype("<u2"),
        "weights": _half(torch.cat([largest, own, weights[..., :1]], dim=-1)),
        "shades": shades.round().byte().numpy(),
    }


def _picture(image: Float[Tensor, "3 height width"]) -> str:
    """Return the photograph as an address that holds it."""
    pixels = (IMAGENET.undo(image).clamp(0, 1) * 255).round().byte()
    picture = Image.fromarray(pixels.permute(1, 2, 0).contiguous().numpy())
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=85, optimize=True)
    text = base64.b64encode(file.getvalue()).decode()
    return f"data:image/jpeg;base64,{text}"
