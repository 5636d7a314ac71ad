"""Photographs, and the way from any image to a model's input."""

import io
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import assert_all_close
from PIL import Image, ImageOps
from sklearn.datasets import load_sample_image

from vitedu.data import photographs
from vitedu.data.photographs import (
    IMAGENET,
    ORIGINAL_VIT,
    Normalisation,
    photograph,
    preprocess,
    read_image,
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


PHOTO = Image.fromarray(
    (CHINA[:, 200:216, 300:324] * 255).byte().permute(1, 2, 0).numpy()
)


@pytest.mark.parametrize("kind", ["jpg", "png", "webp"])
@pytest.mark.parametrize("note", [*range(1, 9), 0, 9, 2**16 - 1])
def test_a_camera_says_how_to_turn_a_picture(tmp_path, kind, note):
    exif = Image.Exif()
    exif[274] = note
    path = tmp_path / f"photo.{kind}"
    PHOTO.save(path, exif=exif)
    with Image.open(path) as image:
        expected = np.asarray(ImageOps.exif_transpose(image).convert("RGB"))
    assert expected.shape == ((24, 16, 3) if 5 <= note <= 8 else (16, 24, 3))
    found = (read_image(path) * 255).round().byte().permute(1, 2, 0)
    assert np.array_equal(found, expected)


TURN = (274, 3, 1, struct.pack("<HH", 6, 0))
BEHIND = struct.pack("<I", 8 + 2 + 24 + 4)


def with_exif(path, *notes, tail=b"", cut=None):
    """Write a whole JPEG whose EXIF holds notes, and perhaps breaks off."""
    file = io.BytesIO()
    PHOTO.save(file, "JPEG")
    body = struct.pack("<H", len(notes))
    body += b"".join(struct.pack("<HHI4s", *note) for note in notes)
    exif = b"Exif\0\0II*\0\x08\0\0\0" + body + bytes(4) + tail
    exif = exif[:cut]
    part = b"\xff\xe1" + struct.pack(">H", len(exif) + 2) + exif
    path.write_bytes(file.getvalue()[:2] + part + file.getvalue()[2:])


@pytest.mark.parametrize(
    ("note", "tail"),
    [
        ((282, 10, 1, BEHIND), struct.pack("<ii", -1, 0)),
        ((272, 5, 1, BEHIND), bytes(8)),
        ((282, 2, 1, b"1\0\0\0"), b""),
    ],
)
def test_other_notes_of_a_camera_are_left_alone(tmp_path, note, tail):
    path = tmp_path / "photo.jpg"
    with_exif(path, TURN, note, tail=tail)
    assert read_image(path).shape == (3, 24, 16)


@pytest.mark.parametrize("cut", [6, 9, 14, 16, 20, 27])
@pytest.mark.filterwarnings("error")
def test_notes_that_break_off_turn_nothing(tmp_path, cut):
    path = tmp_path / "photo.jpg"
    with_exif(path, TURN, cut=cut)
    assert read_image(path).shape == (3, 16, 24)


@pytest.mark.parametrize(
    "note", [(274, 2, 2, b"6\0\0\0"), (274, 7, 4, b"\6\0\0\0")]
)
def test_a_note_of_another_kind_turns_nothing(tmp_path, note):
    path = tmp_path / "photo.jpg"
    with_exif(path, note)
    assert read_image(path).shape == (3, 16, 24)


@pytest.mark.parametrize("kind", ["jpg", "png", "webp", "gif"])
@pytest.mark.parametrize("size", [(640, 427), (2560, 1708), (1200, 2400)])
def test_a_large_picture_is_reduced_and_looks_the_same(tmp_path, kind, size):
    path = tmp_path / f"large.{kind}"
    photo = Image.fromarray((CHINA * 255).byte().permute(1, 2, 0).numpy())
    photo.resize(size, Image.Resampling.BICUBIC).save(path)
    found, whole = read_image(path, 64), read_image(path)
    assert 256 <= min(found.shape[1:]) < 512
    assert whole.shape[1:] == size[::-1]
    images = [preprocess(x, 64, normalisation=RAW) for x in (found, whole)]
    assert_all_close(images[:1], images[1:], 3 / 255)
    assert (images[0] - images[1]).abs().mean() < 0.2 / 255


def test_what_is_transparent_is_white_in_a_reduced_picture_too(tmp_path):
    pixels = np.zeros((800, 800, 4), np.uint8)
    pixels[:400] = 255, 0, 0, 255
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = read_image(tmp_path / "a.png", 10)
    assert found.shape == (3, 40, 40)
    assert found[:, 0, 0].tolist() == [1, 0, 0]
    assert found[:, -1, 0].tolist() == [1, 1, 1]
    # Between them there is no dark seam.
    assert found[0].min() == 1


PEAK = """
import resource, sys
from vitedu.data.image_folder import ImageFolder
data = ImageFolder(sys.argv[1], 8)
data[0]
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
data[1]
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts in kilobytes")
@pytest.mark.parametrize(("kind", "most"), [("jpg", 60), ("png", 200)])
def test_a_large_picture_takes_little_memory(tmp_path, kind, most):
    """As floating-point numbers its pixels would take 432 megabytes."""
    (tmp_path / "class").mkdir()
    PHOTO.save(tmp_path / "class" / f"a.{kind}")
    large = tmp_path / "class" / f"b.{kind}"
    Image.new("RGB", (6000, 6000)).save(large)
    found = subprocess.run(
        [sys.executable, "-c", PEAK, tmp_path],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(found.stdout) < most
