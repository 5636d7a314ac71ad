"""The result files of the long runs are what their scripts would write."""

from importlib import import_module

import pytest

from benchmarks.runs import read_runs, write_runs


@pytest.mark.parametrize(
    "name",
    [
        "amount_of_data",
        "copier_curves",
        "digit_regularisation",
        "norms_and_warm_up",
        "tokens_and_positions",
        "transfer",
    ],
)
def test_a_result_file_survives_reading_and_writing(name, tmp_path):
    script = import_module(f"benchmarks.{name}")
    copy = tmp_path / "copy.json"
    write_runs(copy, read_runs(script.RESULT), **script.FACTS)
    assert copy.read_bytes() == script.RESULT.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["copy.json"]


def test_no_file_holds_no_runs(tmp_path):
    assert read_runs(tmp_path / "none.json") == []
