"""The result files of the long runs are what their scripts would write."""

from importlib import import_module

import pytest
import torch
from chapter_files import ROOT

from experiments import block_since, tokens_and_positions
from experiments.runs import read_runs, write_runs
from vitedu.data.digits import digits
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer


@pytest.mark.parametrize(
    "name",
    [
        "amount_of_data",
        "block_since",
        "copier_curves",
        "digit_regularisation",
        "digit_vits_inside",
        "norms_and_warm_up",
        "tokens_and_positions",
        "transfer",
        "without_labels",
    ],
)
def test_a_result_file_survives_reading_and_writing(name, tmp_path):
    script = import_module(f"experiments.{name}")
    copy = tmp_path / "copy.json"
    write_runs(copy, read_runs(script.RESULT), **script.FACTS)
    assert copy.read_bytes() == script.RESULT.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.json"]


def test_every_script_finds_what_it_imports():
    scripts = sorted(ROOT.glob("experiments/[a-z]*.py"))
    assert len(scripts) > 15
    for path in scripts:
        import_module(f"experiments.{path.stem}")


def test_no_file_holds_no_runs(tmp_path):
    assert read_runs(tmp_path / "none.json") == []


def in_order(*images: torch.Tensor) -> list[list[float]]:
    return sorted(torch.cat(images).flatten(1).tolist())


def test_validation_images_are_training_images_that_do_not_train():
    data = digits()
    split = tokens_and_positions.without_validation(data, seed=3)
    assert len(split.test_images) == tokens_and_positions.VALIDATION_IMAGES
    parts = in_order(split.train_images, split.test_images)
    assert parts == in_order(data.train_images)
    order = torch.cat([split.train_labels, split.test_labels])
    assert order.bincount().equal(data.train_labels.bincount())


def test_validation_images_have_judged_each_reading_at_each_rate():
    runs = read_runs(tokens_and_positions.RESULT)
    for settings in tokens_and_positions.TO_CHOOSE:
        found = [
            run["validation"]
            for run in runs
            if settings.items() <= run.items() and "accuracy" not in run
        ]
        assert len(found) == 1
        assert 0.1 < found[0] <= 1


def test_each_row_of_the_block_has_the_size_of_the_changes_it_names():
    runs = read_runs(block_since.RESULT)
    for task, network, config in (
        ("digits", VisionTransformer, block_since.digits_config),
        ("numerals", Transformer, block_since.numerals_config),
    ):
        rows = {
            run["change"]: run["parameters"]
            for run in runs
            if run["task"] == task
        }
        assert rows == {
            change: sum(
                p.numel() for p in network(config(change)).parameters()
            )
            for change in rows
        }


def test_the_digits_that_are_read_with_all_changes_have_four_kv_heads():
    """Chapter 22 says so beside its table."""
    together = block_since.digits_config("all")
    assert (together.num_kv_heads, together.parallel) == (4, False)
    for change, row in block_since.IMAGE_CHANGES.items():
        if change not in ("one kv head", "parallel"):
            assert {k: getattr(together, k) for k in row} == row
