"""Photographs, and the way from any image to a model's input."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close
from PIL import Image
from sklearn.datasets import load_sample_image

from vitedu.data import photographs
from vitedu.data.photographs import (
    IMAGENET,
    ORIGINAL_VIT,
    Normalisation,
    photograph,
    preprocess,
    rgb_pixels,
)

RAW = Normalisation((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
CHINA = photograph("china")


def colours(image):
    return (rgb_pixels(image)[:, 0, 0] * 255).round().int().tolist()


def pillow_input(pixels, image_size, shorter):
    """Do by Pillow what `preprocess` does, up to the normalisation."""
    array = (pixels * 255).round().byte().permute(1, 2, 0).numpy()
    image = Image.fromarray(array)
    scale = shorter / min(image.size)
    size = [int(round(side * scale, 9)) for side in image.size]
    image = image.resize(size, Image.BICUBIC)
    left, top = (round((side - image_size) / 2) for side in size)
    box = (left, top, left + image_size, top + image_size)
    return torch.tensor(np.array(image.crop(box))).permute(2, 0, 1) / 255


@pytest.mark.parametrize("name", ["china", "flower"])
def test_photographs_are_those_of_scikit_learn(name):
    found = photograph(name)
    expected = torch.tensor(load_sample_image(f"{name}.jpg"))
    assert found.shape == (3, 427, 640)
    assert torch.equal((found * 255).byte().permute(1, 2, 0), expected)


OTHERS = {
    "astronaut": (512, 512),
    "cat": (300, 451),
    "coffee": (400, 600),
    "rocket": (427, 640),
}


@pytest.mark.parametrize("name", OTHERS)
def test_the_other_photographs_are_small_files_of_the_package(name):
    path = Path(photographs.__file__).with_name(f"{name}.jpg")
    assert path.stat().st_size < 80_000
    found = photograph(name)
    assert found.shape[1:] == OTHERS[name]
    with Image.open(path) as image:
        assert image.format == "JPEG"
        expected = torch.tensor(np.array(image))
    assert torch.equal((found * 255).round().byte().permute(1, 2, 0), expected)


@pytest.mark.parametrize(
    ("height", "width"), [(427, 640), (640, 427), (53, 41), (32, 32)]
)
@pytest.mark.parametrize(
    ("image_size", "crop_pct", "shorter"), [(37, 1.0, 37), (36, 0.9, 40)]
)
def test_model_input_equals_pillow(
    height, width, image_size, crop_pct, shorter
):
    pixels = CHINA[:, :height, :width]
    if height > width:
        pixels = CHINA.transpose(1, 2)[:, :height, :width]
    found = preprocess(
        pixels, image_size, crop_pct=crop_pct, normalisation=RAW
    )
    expected = pillow_input(pixels, image_size, shorter)
    # Pillow rounds to bytes after each of its two passes.
    assert_all_close((found,), (expected,), 2.1 / 255)
    assert (found - expected).abs().mean() < 0.5 / 255


@pytest.mark.parametrize("size", [(53, 41), (224, 224), (7, 300), (300, 7)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_picture_that_is_resized_whole_and_then_cut_is_the_same(size, dtype):
    pixels, shorter = CHINA[:, : size[0], : size[1]].to(dtype), 41
    whole = F.interpolate(
        pixels[None],
        size=[side * shorter // min(size) for side in size],
        mode="bicubic",
        antialias=True,
    )[0]
    top, left = (round((side - 37) / 2) for side in whole.shape[1:])
    expected = whole[:, top : top + 37, left : left + 37].clamp(0, 1)
    found = preprocess(pixels, 37, crop_pct=0.9, normalisation=RAW)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("normalisation", [ORIGINAL_VIT, IMAGENET])
@pytest.mark.parametrize("batch", [(), (2,), (2, 5)])
def test_normalising_each_colour_and_back(normalisation, batch):
    generator = torch.Generator().manual_seed(0)
    pixels = torch.rand(*batch, 3, 7, 11, generator=generator).double()
    found = normalisation.apply(pixels)
    for i in range(3):
        mean, std = normalisation.mean[i], normalisation.std[i]
        expected = (pixels[..., i, :, :] - mean) / std
        assert_all_close((found[..., i, :, :],), (expected,))
    assert_all_close((normalisation.undo(found),), (pixels,))


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("RGB", (10, 20, 30), [10, 20, 30]),
        ("L", 70, [70, 70, 70]),
        ("1", 1, [255, 255, 255]),
        ("RGBA", (10, 20, 30, 255), [10, 20, 30]),
        ("RGBA", (10, 20, 30, 0), [255, 255, 255]),
        ("RGBA", (0, 100, 200, 51), [204, 224, 244]),
        ("LA", (0, 51), [204, 204, 204]),
        ("CMYK", (0, 255, 255, 0), [255, 0, 0]),
    ],
)
def test_every_kind_of_image_becomes_red_green_and_blue(
    mode, colour, expected
):
    image = Image.new(mode, (5, 3), colour)
    assert rgb_pixels(image).shape == (3, 3, 5)
    assert colours(image) == expected


def test_a_turned_photograph_is_turned_back():
    image = Image.new("RGB", (5, 3))
    image.putpixel((0, 0), (255, 0, 0))
    image.getexif()[0x0112] = 6  # shown a quarter turn clockwise
    pixels = rgb_pixels(image)
    assert pixels.shape == (3, 5, 3)
    assert pixels[0, 0, 2] == 1
    assert pixels.sum() == 1
