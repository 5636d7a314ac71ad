"""A folder of pictures: what is found, how it is read, how it is split."""

import shutil

import pytest
import torch
from helpers import refuses
from PIL import EpsImagePlugin, Image

from vitedu.data.augmentation import augmentation
from vitedu.data.image_folder import ImageFolder, train_and_validation
from vitedu.data.normalisation import IMAGENET
from vitedu.data.photographs import preprocess, read_image

COLOURS = {"blue": (0, 0, 255), "green": (0, 255, 0), "red": (255, 0, 0)}


def paint(path, colour, size=(12, 9)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)


@pytest.fixture
def folder(tmp_path):
    """Seven pictures of each colour, in folders that others made messy."""
    for name, colour in COLOURS.items():
        for number in range(6):
            paint(tmp_path / name / f"{number}.png", colour)
        paint(tmp_path / name / "more" / "1.JPG", colour)
        paint(tmp_path / name / ".hidden.png", colour)
        (tmp_path / name / "notes.txt").touch()
    (tmp_path / ".cache").mkdir()
    (tmp_path / "README.md").touch()
    return tmp_path


def test_classes_are_sorted_and_pictures_found(folder):
    data = ImageFolder(folder, 8)
    assert data.classes == ("blue", "green", "red")
    assert len(data) == len(data.samples) == 21
    assert [n for _, n in data.samples] == sorted([0, 1, 2] * 7)
    path, number = data.samples[13]
    assert (path, number) == (folder / "green" / "more" / "1.JPG", 1)
    for index in (0, 13, 20):
        image, number = data[index]
        path = data.samples[index][0]
        assert torch.equal(image, preprocess(read_image(path), 8))
        assert image[2 - number].mean() > 0.9
        assert image.mean() < 0


@pytest.mark.parametrize("strength", ["light", "strong"])
def test_pictures_to_train_on_vary(folder, strength):
    path = folder / "blue" / "0.png"
    slope = torch.linspace(0, 255, 120).byte().repeat(90, 1).numpy()
    Image.fromarray(slope).save(path)
    train, val = train_and_validation(
        folder, 8, augment=strength, normalisation=IMAGENET
    )
    vary = augmentation(8, strength, normalisation=IMAGENET)
    prepared = preprocess(read_image(path, 8), 8, normalisation=IMAGENET)
    for part in (train, val):
        part.samples = [(path, 0)]
    torch.manual_seed(0)
    first, again = train[0][0], train[0][0]
    assert not torch.equal(first, again)
    torch.manual_seed(0)
    assert torch.equal(vary(read_image(path, 8)), first)
    assert torch.equal(val[0][0], prepared)


def sides(folder, **options):
    """Return the samples of both sides, paths relative to the folder."""
    return [
        [(str(path.relative_to(folder)), n) for path, n in part.samples]
        for part in train_and_validation(folder, 8, **options)
    ]


def test_a_split_takes_its_share_of_each_class(folder):
    whole = [
        (str(path.relative_to(folder)), n)
        for path, n in ImageFolder(folder, 8).samples
    ]
    for share, count in ((0.3, 2), (0.01, 1), (0.99, 6)):
        train, val = sides(folder, share=share)
        assert [n for _, n in val] == sorted([0, 1, 2] * count)
        assert sorted([*train, *val]) == whole
    assert sides(folder) == sides(folder)
    assert sides(folder) != sides(folder, seed=1)


def empty(folder):
    shutil.rmtree(folder)
    folder.mkdir()


def empty_class(folder):
    (folder / "yellow").mkdir()


def one_class(folder):
    shutil.rmtree(folder / "red")
    shutil.rmtree(folder / "blue")


def lone_picture(folder):
    paint(folder / "yellow" / "1.png", (255, 255, 0))


@pytest.mark.parametrize(
    ("spoil", "error", "message"),
    [
        (shutil.rmtree, FileNotFoundError, "folder must be there, got"),
        (empty, ValueError, "folder must hold folders named after classes"),
        (empty_class, ValueError, "of each class, got none in"),
        (one_class, ValueError, "two classes or more, got"),
        (lone_picture, ValueError, "one to validate, got 1 of 'yellow'"),
    ],
)
def test_a_folder_that_cannot_be_used(folder, spoil, error, message):
    spoil(folder)
    with refuses(error, message):
        train_and_validation(folder, 8)


def cut(path):
    path.write_bytes(path.read_bytes()[:-30])


def text(path):
    path.write_text("no picture")


def program(path):
    """PostScript would be run by another program."""
    Image.new("RGB", (3, 3)).save(path, "EPS")


def huge(path):
    Image.new("1", (500, 500)).save(path)


def deep(path):
    Image.new("I;16", (3, 3)).save(path)


@pytest.mark.parametrize("spoil", [cut, text, program, huge, deep])
def test_a_picture_that_cannot_be_read_is_named(folder, monkeypatch, spoil):
    path = folder / "blue" / "0.png"
    spoil(path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    monkeypatch.setattr(
        EpsImagePlugin, "Ghostscript", lambda *_: Image.new("RGB", (3, 3)).im
    )
    with refuses(ValueError, f"path must be a whole picture, got {path}: "):
        ImageFolder(folder, 8)[0]


def test_a_picture_is_turned_and_in_three_colours(tmp_path):
    """As `rgb_pixels` has it; here a file has to tell."""
    image = Image.new("L", (3, 2))
    image.putpixel((0, 0), 255)
    exif = Image.Exif()
    exif[0x0112] = 6  # turn it clockwise
    path = tmp_path / "a.png"
    image.save(path, exif=exif)
    found = read_image(str(path))
    assert found.shape == (3, 3, 2)
    assert found.nonzero().tolist() == [[c, 0, 1] for c in range(3)]
    Image.new("RGBA", (1, 1), (0, 0, 0, 0)).save(path)
    assert read_image(path).flatten().tolist() == [1, 1, 1]
    with refuses(FileNotFoundError, f"path must be a picture, got {tmp_path}"):
        read_image(tmp_path)
