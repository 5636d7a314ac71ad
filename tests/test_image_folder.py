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


def test_a_copy_of_a_picture_that_is_hidden_is_left_out(folder):
    for hidden in (".ipynb_checkpoints", "@eaDir", "__MACOSX", "more/.x/y"):
        paint(folder / "red" / hidden / "0.png", (255, 0, 0))
    paint(folder / "@EADIR" / "0.png", (255, 0, 0))
    (folder / "red" / "Thumbs.db").touch()
    (folder / "red" / "again").symlink_to(folder / "red")
    data = ImageFolder(folder, 8)
    assert data.classes == ("blue", "green", "red")
    assert len(data) == 21
    found = {
        reason: [str(path.relative_to(folder)) for path in paths]
        for reason, paths in data.left_out.items()
    }
    hidden = {*found.pop("hidden")}
    assert hidden >= {"@EADIR", ".cache", "red/@eaDir", "red/more/.x"}
    assert hidden >= {"red/__MACOSX", "red/.hidden.png"}
    kinds = [f"{name}/notes.txt" for name in COLOURS]
    assert found == {
        "no picture by its ending": [
            *kinds[:2],
            "red/Thumbs.db",
            kinds[2],
        ],
        "a link to a folder": ["red/again"],
        "beside the classes": ["README.md"],
    }


@pytest.mark.parametrize(
    "ending", ["jfif", "JFIF", "tif", "TIFF", "jpe", "ppm", "bmp", "webp"]
)
def test_a_picture_is_one_by_its_ending(folder, ending):
    path = folder / "blue" / f"new.{ending}"
    Image.new("RGB", (5, 4), "white").save(path)
    data = ImageFolder(folder, 4)
    assert (data[[x for x, _ in data.samples].index(path)][0] > 0.9).all()


def in_parts(folder, *parts, within=tuple(COLOURS)):
    """Move the classes into the first part; add others, each of 2 pictures."""
    for name in COLOURS:
        shutil.move(folder / name, folder / parts[0] / name)
    for part in parts[1:]:
        for name in within if part != "notes" else (".x",):
            for number in range(2):
                paint(folder / part / name / f"{number}.png", "red")


@pytest.mark.parametrize(
    ("train", "val"),
    [
        ("train", "val"),
        ("Train", "VAL"),
        ("training", "validation"),
        ("Training", "Validation"),
        ("TRAIN", "dev"),
        ("train", "valid"),
        ("train_set", "eval-set"),
        ("train2017", "val2017"),
    ],
)
@pytest.mark.parametrize("more", [(), ("test",), ("Testing", "notes")])
def test_parts_of_a_data_set_are_known_by_usual_names(
    folder, train, val, more
):
    in_parts(folder, train, val, *more)
    first, second = train_and_validation(folder, 8, augment="none")
    assert first.classes == second.classes == ("blue", "green", "red")
    assert (len(first), len(second)) == (21, 6)
    assert all(folder / train in path.parents for path, _ in first.samples)
    assert all(folder / val in path.parents for path, _ in second.samples)
    beside = first.left_out["neither to train on nor to validate"]
    assert {path.name for path in beside} >= {*more, "README.md"}
    assert str(second) == (
        f"6 pictures of 3 classes (blue 2, green 2, red 2): all of "
        f"{folder / val}"
    )


@pytest.mark.parametrize("parts", [("train",), ("Training", "TEST")])
def test_without_pictures_to_validate_some_are_drawn(folder, parts):
    in_parts(folder, *parts)
    first, second = train_and_validation(folder, 8, seed=3)
    assert {path.parents[0].name for path, _ in first.samples} >= {*COLOURS}
    where = folder / parts[0]
    assert str(first) == (
        f"18 pictures of 3 classes (blue 6, green 6, red 6): the rest of "
        f"{where}"
    )
    assert str(second) == (
        "3 pictures of 3 classes (blue 1, green 1, red 1): 0.2 of each class "
        f"in {where}, drawn with seed 3"
    )


def test_pictures_to_test_on_need_no_classes(folder):
    in_parts(folder, "train")
    paint(folder / "test" / "1.png", COLOURS["red"])
    first, second = train_and_validation(folder, 8)
    assert len(first) + len(second) == 21


def test_a_class_may_be_called_train(folder):
    shutil.move(folder / "red", folder / "train")
    first, _ = train_and_validation(folder, 8)
    assert first.classes == ("blue", "green", "train")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (("one", "two"), "pictures in folders of its own alone, ['blue', 'g"),
        (("images",), "If those are the classes, give "),
        (("val", "test"), "parts of a data set are known by names such as"),
        (
            ("train", "val", "valid"),
            "must hold one folder with a name for val",
        ),
        (("train", "Training", "val"), "one folder with a name for train"),
    ],
)
def test_parts_that_cannot_be_told(folder, parts, message):
    in_parts(folder, *parts)
    with refuses(ValueError, message):
        train_and_validation(folder, 8)


def test_the_parts_have_the_same_classes(folder):
    in_parts(folder, "train", "val", within=("red", "yelow"))
    with refuses(ValueError, "folder must hold folders named after ['blue'"):
        train_and_validation(folder, 8)


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
