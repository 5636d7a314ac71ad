"""Photographs: six to work with, and the way from any image to a model."""

import os
import warnings
from math import floor
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from PIL import ExifTags, Image
from torch import Tensor

from vitedu import require
from vitedu.data.normalisation import (
    IMAGENET,
    ORIGINAL_VIT,
    Normalisation,
)

__all__ = [
    "IMAGENET",
    "ORIGINAL_VIT",
    "PHOTOGRAPHS",
    "Normalisation",
    "photograph",
    "preprocess",
    "read_image",
    "rgb_pixels",
]

Name = Literal["china", "flower", "astronaut", "cat", "coffee", "rocket"]
PHOTOGRAPHS: tuple[str, ...] = get_args(Name)
_FOLDER = Path(__file__).parent

# Pillow's readers that need no other program.
_FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
# How to turn a picture upright, by what a camera has noted.
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
# A part of a picture, a fourth as high and wide, keeps as many pixels as the
# model's image has.
_SPARE = 4


def photograph(name: Name) -> Float[Tensor, "3 height width"]:
    """Load one of the six photographs of `PHOTOGRAPHS`.

    One sample: "china" shows a temple under a pale sky. It has 427 rows of
    640 pixels. Its first pixel, at the top left, is sky: red 174, green 201,
    blue 231 of 255, so 0.68, 0.79 and 0.91 here.

    Args:
        name: "china", the temple; "flower", a dahlia; "astronaut", a portrait
            before a flag; "cat", a cat's face; "coffee", a cup on a saucer;
            "rocket", a rocket on its launch pad.

    Returns:
        Pixels in [0, 1]: 427 x 640; "astronaut" 512 x 512, "cat" 300 x 451,
        "coffee" 400 x 600.

    Raises:
        ValueError: An unknown name.

    Source: the first two are scikit-learn's sample images, Creative Commons
        Attribution; the others are scikit-image's, free of copyright.
    """
    require.choice("name", name, PHOTOGRAPHS)
    if name in ("china", "flower"):
        # It takes seconds to load, and one's own pictures do without.
        from sklearn.datasets import load_sample_image

        return _pixels(load_sample_image(f"{name}.jpg"))
    return read_image(_FOLDER / f"{name}.jpg")


def read_image(
    path: str | os.PathLike, image_size: int | None = None
) -> Float[Tensor, "3 height width"]:
    """Read a BMP, GIF, JPEG, PNG, PPM, TIFF or WebP file by `rgb_pixels`.

    The first bytes of a file decide which kind it is. If it holds several
    pictures, the first is read. A picture of more than about 180 million
    pixels is refused, because that is Pillow's limit; nothing in a file is
    executed.

    Args:
        path: Path of the file.
        image_size: The side of the square that the picture will become. If
            given, a large picture is reduced by a whole number while it is
            read, so that its shorter side remains at least four times
            `image_size`. None keeps all pixels.

    Raises:
        TypeError: `path` is not a path, or `image_size` not an integer.
        FileNotFoundError: There is no such file.
        ValueError: The file is damaged, of another kind or too large; an
            `image_size` below 1.
    """
    path = require.path("path", path)
    if image_size is not None:
        require.positive_int("image_size", image_size)
    if not path.is_file():
        raise FileNotFoundError(f"path must be a picture, got {path}")
    try:
        # Pillow warns of notes that nobody reads.
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(path, formats=_FORMATS) as image,
        ):
            return _rgb_pixels(image, image_size)
    except Exception as error:  # Pillow has a dozen kinds for damaged bytes.
        raise ValueError(
            f"path must be a whole picture, got {path}: {error}"
        ) from error


def rgb_pixels(image: Image.Image) -> Float[Tensor, "3 height width"]:
    """Turn an image, as Pillow opens it, into pixels in red, green and blue.

    Grey becomes three equal colours. Transparent parts are placed on white. A
    camera's note that the picture has to be rotated is obeyed; all other
    metadata are ignored.

    Args:
        image: What ``PIL.Image.open(path)`` returns.

    Returns:
        Pixels in [0, 1].

    Raises:
        TypeError: `image` is not a Pillow image.
        ValueError: It holds numbers that are not 8-bit colours, as 16-bit
            scans do; how to bring them into [0, 1] has to be decided first.
    """
    require.instance("image", image, Image.Image)
    return _rgb_pixels(image)


def _rgb_pixels(
    image: Image.Image, image_size: int | None = None
) -> Float[Tensor, "3 height width"]:
    if image.mode not in _MODES:
        raise ValueError(
            f"image must have a mode among {_MODES}, got {image.mode!r}"
        )
    least = min(image.size) if image_size is None else _SPARE * image_size
    # Of a JPEG, no more is decoded than will be used.
    image.draft(None, (least, least))
    image.load()
    turn = _turn(image)
    mode = "RGBA" if image.has_transparency_data else "RGB"
    if image.mode != mode:
        image = image.convert(mode)
    factor = min(image.size) // max(1, least)
    if factor > 1:
        size = [round(side / factor) for side in image.size]
        image = image.resize(size, Image.Resampling.BICUBIC)
    if mode == "RGBA":
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image).convert("RGB")
    if turn is not None:
        image = image.transpose(turn)
    return _pixels(np.asarray(image))


def _turn(image: Image.Image) -> Image.Transpose | None:
    """Return how to turn a picture upright, if its metadata can be read."""
    try:
        return _TURNS.get(image.getexif().get(ExifTags.Base.Orientation))
    except Exception:  # Pillow has many kinds for damaged notes, too.
        return None


def preprocess(
    pixels: Float[Tensor, "3 height width"],
    image_size: int = 224,
    *,
    crop_pct: float = 1.0,
    normalisation: Normalisation = ORIGINAL_VIT,
) -> Float[Tensor, "3 {image_size} {image_size}"]:
    """Bring a picture into the form a model was trained on.

    The shorter side is resized, the longer one with it, so that nothing is
    distorted. The centre square is cut out and normalised.

    One sample: "china" has 427 x 640 pixels. For 224 it becomes 224 x 335,
    since 640 * 224 / 427 = 335.7, and the columns 56 to 279 are kept. With
    `ORIGINAL_VIT` a black pixel becomes -1 and a white one 1.

    Args:
        pixels: In [0, 1], as `photograph` and `rgb_pixels` return them.
        image_size: Side of the square in pixels.
        crop_pct: Fraction of the shorter side that the square keeps, in
            (0, 1]; some public weights were tested with 0.9.
        normalisation: `ORIGINAL_VIT`, `IMAGENET` or your own.

    Returns:
        One image; ``[None]`` makes it a batch.

    Raises:
        TypeError, ValueError: Other axes or not three colours (`rgb_pixels`
            converts), pixels outside [0, 1], an `image_size` that is not
            a positive integer, a `crop_pct` outside its range.

    Source: Dosovitskiy et al. 2021, appendix B.1.1, fine-tunes at a square
        resolution; the steps are those of common evaluation code.
    Deviates: Their code stretches the picture to a square.
    """
    _require_picture(pixels)
    require.positive_int("image_size", image_size)
    require.number("crop_pct", crop_pct, above=0)
    if crop_pct > 1:
        raise ValueError(f"crop_pct must be at most 1, got {crop_pct}")
    if crop_pct * min(pixels.shape[1:]) < 1:
        raise ValueError(
            "crop_pct must keep at least 1 pixel of the shorter side, "
            f"{min(pixels.shape[1:])}, got {crop_pct}"
        )
    require.instance("normalisation", normalisation, Normalisation)
    shorter = floor(image_size / crop_pct)
    height, width = pixels.shape[1:]
    size = [side * shorter // min(height, width) for side in (height, width)]
    top, left = (round((side - image_size) / 2) for side in size)
    # Columns, then rows: what the square leaves out is not kept in between.
    wide = _resized(pixels, (height, size[1]))
    wide = wide[..., left : left + image_size]
    square = _resized(wide, (size[0], image_size))[:, top : top + image_size]
    # Bicubic interpolation overshoots at edges.
    return normalisation.apply(square.clamp(0, 1))


def _resized(pixels: Tensor, size: tuple[int, int]) -> Tensor:
    return F.interpolate(
        pixels[None], size=size, mode="bicubic", antialias=True
    )[0]


def _pixels(image: np.ndarray) -> Float[Tensor, "3 height width"]:
    return torch.tensor(image).permute(2, 0, 1).contiguous() / 255


def _require_picture(pixels: Tensor) -> None:
    require.rank("pixels", pixels, "channel height width")
    require.floating("pixels", pixels)
    if pixels.shape[0] != 3 or pixels.numel() == 0:
        raise ValueError(
            "pixels must have the shape (3, height, width), which rgb_pixels "
            f"gives for any image; got {tuple(pixels.shape)}"
        )
    low, high = pixels.aminmax()
    # Written so that a pixel that is not a number fails, too.
    if not (low >= 0 and high <= 1):
        raise ValueError(
            f"pixels must lie in [0, 1], got {low.item()} to {high.item()}"
        )
