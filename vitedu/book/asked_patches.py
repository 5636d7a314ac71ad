"""What a Vision Transformer answers a page whose reader asks a patch."""

import base64
import io
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

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

# Patches a side. Every third of them can be asked, down and across; squares
# of two by two share a weight.
GRID, STEP, POOL = 24, 3, 2
# Steps between 0 and 1 of a cosine, and of a weight between 0 and the largest
# of its map.
LEVELS, SHADES = 20, 10
_THUMBNAIL = 56
# In the order in which the page offers them.
SHOWN = ("cat", "astronaut", "china", "flower", "coffee", "rocket")


class _About(NamedTuple):
    """The patch asked at first, and whose photograph it is."""

    row: int
    column: int
    title: str
    author: str
    source: str
    licence: str
    terms: str = ""


_FLICKR = "https://www.flickr.com/photos/"
_SAMPLES = "https://scikit-image.org/docs/stable/api/skimage.data.html"
_BY = "CC BY 2.0", "https://creativecommons.org/licenses/by/2.0/"
_CC0 = "CC0", "https://creativecommons.org/publicdomain/zero/1.0/"
_FREE = ("public domain",)
_ABOUT = {
    "china": _About(
        *(5, 5, "temple", "danielbuechele"),
        *(f"{_FLICKR}danielbuechele/6061409035/", *_BY),
    ),
    "flower": _About(
        *(13, 11, "dahlia", "vultilion"),
        *(f"{_FLICKR}vultilion/6056698931/", *_BY),
    ),
    "astronaut": _About(
        *(5, 10, "astronaut", "NASA", "https://flic.kr/p/r9qvLn", *_FREE)
    ),
    "cat": _About(
        *(10, 8, "cat", "Stéfan van der Walt", _SAMPLES, *_CC0),
    ),
    "coffee": _About(
        *(8, 11, "cup of coffee", "Rachel Michetti", _SAMPLES, *_CC0),
    ),
    "rocket": _About(
        *(14, 12, "rocket", "SpaceX"),
        *(f"{_FLICKR}spacexphotos/16511594820/in/photostream/", *_FREE),
    ),
}


# Photograph, patch, layer of 12, head, random weights?, second photograph, and
# what the tour says of it.
_SETTINGS = {
    "The cat's eye": (
        *("cat", (10, 8), 9, 1, False, ""),
        "You ask an eye of the cat, after layer {layer}. Is the other eye "
        "among the outlined patches?",
    ),
    "The last layer": (
        *("cat", (10, 8), 12, 1, False, ""),
        "The same eye after layer {layer}, the last. Compare the reading "
        "below: is the best patch still far above the mean?",
    ),
    "Random weights": (
        *("cat", (10, 8), 9, 1, True, ""),
        "The same eye with random weights, after layer {layer}. This network "
        "has learned nothing: what lights up now?",
    ),
    "The sky": (
        *("china", (2, 14), 9, 2, False, ""),
        "A patch of sky, after layer {layer}. Follow the edge of the light "
        "along the roof, and see what becomes of the lake.",
    ),
    "Two photographs": (
        *("cat", (16, 14), 11, 1, False, "astronaut"),
        "You can also look for a patch in a second photograph. Which part of "
        "the astronaut is most like the nose of the cat, after layer {layer}?",
    ),
}


@torch.inference_mode()
def asked_patches(
    trained: VisionTransformer,
    drawn: VisionTransformer,
    names: Sequence[str] = SHOWN,
) -> dict[str, Any]:
    """Return keyword arguments of the explorer `AskPatch`.

    Every photograph becomes 24 x 24 patches. Of these, 64 can be asked: every
    third, down and across, placed so that the grid meets something worth
    asking. A page gets, for both networks and after each block:

    - the cosines of the asked token with all tokens of its photograph,
      rounded to multiples of 1/20;
    - where each head looks from there: the weights of two by two patches
      added, in steps of 1/10 of the largest, which is sent in half precision;
      those of other tokens, such as the class token, are left out;
    - of two by two patches of another photograph, the largest cosine with the
      asked token, rounded like the others.

    Args:
        trained: A model that takes images of 24 x 24 patches, prepared with
            `IMAGENET`.
        drawn: A model with as many blocks and heads, to compare it with.
        names: Photographs of `PHOTOGRAPHS`, the first shown first.

    Raises:
        TypeError: A model that is not a VisionTransformer, names that are not
            a list.
        ValueError: A name that is unknown or comes twice; a model that does
            not take such images; two models of different sizes.
    """
    models = {"trained": trained, "drawn": drawn}
    sizes = [_sizes(name, model) for name, model in models.items()]
    if sizes[0] != sizes[1]:
        raise ValueError(
            "drawn must have the blocks, heads and pixels of trained, "
            f"{sizes[0]}, got {sizes[1]}"
        )
    num_layers, num_heads, side = sizes[0]
    _check_names(names)
    images = {
        name: preprocess(photograph(name), side, normalisation=IMAGENET)
        for name in names
    }
    pictures = {name: _picture(image) for name, image in images.items()}
    data = {name: _jpeg(picture, 80) for name, picture in pictures.items()}
    for kind, model in models.items():
        data |= _answers(kind, model, images)
    return {
        "photographs": [
            {"name": name, "query": _query(name)}
            | {"thumbnail": _thumbnail(pictures[name])}
            | _ABOUT[name]._asdict()
            for name in names
        ],
        "data": data,
        "num_layers": num_layers,
        "num_heads": num_heads,
        "settings": _settings(names, num_layers, num_heads),
    }


def _sizes(name: str, model: VisionTransformer) -> tuple[int, int, int]:
    """Return a model's blocks and heads, and the side of the images."""
    require.instance(name, model, VisionTransformer)
    config = model.config
    high, wide = config.patch_shape
    side = GRID * high
    fits = config.any_image_size or config.image_shape == (side, side)
    if high != wide or not fits or config.num_channels != 3:
        raise ValueError(
            f"{name} must take images of 3 colours and {GRID} x {GRID} square "
            f"patches, got a model for {config.num_channels} colours and "
            f"{config.image_shape} pixels in patches of {high} x {wide}"
        )
    return config.num_layers, config.num_heads, side


def _check_names(names: Sequence[str]) -> None:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise TypeError(f"names must be a list of strings, got {names!r}")
    for name in names:
        require.choice("names", name, PHOTOGRAPHS)
    if not names or len({*names}) < len(names):
        raise ValueError(
            f"names must be one or more, each once, got {list(names)}"
        )


def _answers(
    kind: str, model: VisionTransformer, images: dict[str, Tensor]
) -> dict[str, bytes]:
    """Return what the page asks for, by names: see `AskPatch`."""
    found, tokens = {}, {}
    for name, image in images.items():
        tokens[name], maps = _look(model, image)
        found[f"{kind} {name}"] = _packed_maps(maps[:, :, _asked(name)])
    for name, own in tokens.items():
        asking = own[:, _asked(name)]
        for other, others in tokens.items():
            cosines = asking @ others.mT
            if other == name:
                found[f"{kind} {name}"] += _packed_cosines(cosines)
            else:
                best = _squares(cosines).amax((-3, -1)).flatten(-2)
                found[f"{kind} {name} {other}"] = _packed_cosines(best)
    return {name: zlib.compress(parts) for name, parts in found.items()}


def _query(
    name: str, row: int | None = None, column: int | None = None
) -> int:
    """Return which of the patches that can be asked lies there."""
    about = _ABOUT[name]
    row, column = (about.row, about.column) if row is None else (row, column)
    return row // STEP * (GRID // STEP) + column // STEP


def _settings(
    names: Sequence[str], num_layers: int, num_heads: int
) -> list[tuple[str, dict[str, Any], str]]:
    """Return what the buttons set, for these photographs."""
    found = []
    for words, setting in _SETTINGS.items():
        name, patch, layer, head, drawn, second, said = setting
        if name in names and second in ("", *names):
            of_model = round(num_layers * layer / 12)
            traits = {
                "photograph": name,
                "query": _query(name, *patch),
                "layer": of_model - 1,
                "head": min(head, num_heads) - 1,
                "drawn": drawn,
                "second": second,
            }
            found.append((words, traits, said.format(layer=of_model)))
    return found


def _asked(name: str) -> Tensor:
    """Return the patches that can be asked, row by row."""
    about = _ABOUT[name]
    patches = torch.arange(GRID**2).view(GRID, GRID)
    rows, columns = about.row % STEP, about.column % STEP
    return patches[rows::STEP, columns::STEP].flatten()


def _look(
    model: VisionTransformer, image: Tensor
) -> tuple[
    Float[Tensor, "layer patch d_model"],
    Float[Tensor, "layer head query_patch patch"],
]:
    """Return the patches' tokens after each block, of norm 1, and maps."""
    first = model.num_prefix_tokens
    with capture_attention(model) as maps:
        features = model.layer_features(image[None])
    return (
        normalize(torch.cat(features)[:, first:], dim=-1),
        torch.cat([*maps.values()])[..., first:, first:],
    )


def _packed_cosines(cosines: Float[Tensor, "layer query patch"]) -> bytes:
    """Write rounded cosines as steps from layer to layer, which are small."""
    levels = (cosines * LEVELS).round().to(torch.int8).numpy()
    return np.diff(levels, axis=0, prepend=np.int8(0)).tobytes()


def _packed_maps(maps: Float[Tensor, "layer head query patch"]) -> bytes:
    """Write the largest weight of each map, then all, two in a byte."""
    weights = _squares(maps).sum((-3, -1)).flatten(-2)
    largest = weights.amax(-1).half()
    shades = (weights / largest[..., None] * SHADES).round()
    first, second = shades.to(torch.uint8).numpy().reshape(-1, 2).T
    return (
        largest.numpy().astype("<f2").tobytes()
        + (first << 4 | second).astype(np.uint8).tobytes()
    )


def _squares(values: Float[Tensor, "*any patch"]) -> Tensor:
    """Cut patches into squares, (..., row, down, column, right)."""
    return values.unflatten(-1, (GRID // POOL, POOL, GRID // POOL, POOL))


def _picture(image: Float[Tensor, "3 height width"]) -> Image.Image:
    pixels = (IMAGENET.undo(image).clamp(0, 1) * 255).round().byte()
    return Image.fromarray(pixels.permute(1, 2, 0).contiguous().numpy())


def _jpeg(picture: Image.Image, quality: int) -> bytes:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=quality, optimize=True)
    return file.getvalue()


def _thumbnail(picture: Image.Image) -> str:
    """Return a small copy, as an address that holds it."""
    small = picture.resize((_THUMBNAIL, _THUMBNAIL), Image.Resampling.BICUBIC)
    text = base64.b64encode(_jpeg(small, 70)).decode()
    return f"data:image/jpeg;base64,{text}"
