"""What the programs say of folders, colours and files, besides results."""

import io
import sys

import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from vitedu import predict, train
from vitedu.config import ViTConfig
from vitedu.data.normalisation import IMAGENET, Normalisation
from vitedu.pretrained.models import config_of, load_vit
from vitedu.vit import VisionTransformer

COLOURS = {"猫": (200, 30, 30), "dog": (30, 200, 30)}


@pytest.fixture
def pictures(tmp_path):
    for part in ("Train", "valid", "test"):
        for name, colour in COLOURS.items():
            (tmp_path / "pictures" / part / name).mkdir(parents=True)
            for number in range(12):
                path = tmp_path / "pictures" / part / name / f"{number}.png"
                Image.new("RGB", (9, 8), colour).save(path)
    (tmp_path / "pictures" / "Train" / "dog" / "notes.txt").touch()
    return tmp_path / "pictures"


@pytest.fixture
def trained(tmp_path):
    """A file of a network with timm's names, and nothing beside it."""
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=8,
        patch_size=4,
        num_classes=7,
        d_model=64,
        num_heads=1,
        num_layers=2,
        d_ff=16,
    )
    state = VisionTransformer(config).state_dict()
    named = {k.replace("embed.weight", "embed"): v for k, v in state.items()}
    (tmp_path / "weights").mkdir()
    path = tmp_path / "weights" / "trained.safetensors"
    save_file(named, path)
    path.with_name("config.json").write_text('{"num_attention_heads": 2}')
    return path


def said(capsys, pictures, *args):
    """Run the program; return what it says of its work, and the model."""
    out = pictures.parent / "model.safetensors"
    train.main(
        [
            *("--folder", str(pictures), "--image-size", "8"),
            *("--num-epochs", "2", "--batch-size", "4", "--out", str(out)),
            *args,
        ]
    )
    return capsys.readouterr().err, load_vit(out, config_of(out))


def test_it_says_what_it_found_and_what_it_left_out(capsys, pictures):
    words, model = said(capsys, pictures)
    assert model.class_names == ("dog", "猫")
    for part, name in (("to train", "Train"), ("to validate", "valid")):
        assert (
            f"{part}: 24 pictures of 2 classes (dog 12, 猫 12): all of "
            f"{pictures / name}\n"
        ) in words
    notes = pictures / "Train" / "dog" / "notes.txt"
    assert f"left out, no picture by its ending: 1, {notes}\n" in words
    neither = "left out, neither to train on nor to validate: 1, "
    assert f"{neither}{pictures / 'test'}\n" in words


def test_it_says_which_colours_it_takes(capsys, pictures, trained):
    args = ["--pretrained", str(trained)]
    words, model = said(capsys, pictures, *args)
    assert model.normalisation == IMAGENET
    assert "std (0.229, 0.224, 0.225), assumed, since neither" in words
    assert "network: 2 blocks, width 64, 2 heads, pool 'class_token'" in words
    trained.with_name("preprocessor_config.json").write_text(
        '{"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}'
    )
    words, model = said(capsys, pictures, *args)
    expected = Normalisation((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert model.normalisation == expected
    assert f"std (0.4, 0.5, 0.6), said by {trained}" in words


@pytest.mark.parametrize("scratch", [True, False])
def test_colours_can_be_given(capsys, pictures, trained, scratch):
    args = [] if scratch else ["--pretrained", str(trained)]
    args += ["--mean", "0.1", "0.2", "0.3", "--std", "0.4", "0.5", "0.6"]
    words, model = said(capsys, pictures, *args)
    expected = Normalisation((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    assert model.normalisation == expected
    assert "std (0.4, 0.5, 0.6), as given" in words


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--mean 0 0 0 --std 1 1 1", "folder must be given for mean and std"),
        ("--folder F --mean 0 0 0", "std must be given for mean, got None"),
        ("--folder F --std 1 1 1", "mean must be given for std, got None"),
        ("--folder F --mean 0 0 0 --std 1 0 1", "std[1] must be above 0"),
        ("--folder F --pretrained a.pth", "path must be a file of weights, "),
    ],
)
def test_colours_that_do_not_fit(capsys, pictures, args, message):
    with pytest.raises(SystemExit) as error:
        train.main(args.replace("F", str(pictures)).split())
    assert str(error.value.code).startswith(f"error: {message}")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8", "gbk"])
def test_names_of_classes_reach_any_console(
    capsys, pictures, monkeypatch, encoding
):
    said(capsys, pictures)
    out, image = pictures.parent / "model.safetensors", pictures / "图.png"
    Image.new("RGB", (9, 8), COLOURS["猫"]).save(image)
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding))
    predict.main([str(out), str(image)])
    line = pipe.getvalue().decode(encoding)
    wide = encoding in ("utf-8", "gbk")
    assert ("猫 " if wide else r"\u732b ") in line
    assert "dog 0." in line
