"""The tables of the benchmarks: ratios, verdicts, files; nothing is timed."""

import json
from types import SimpleNamespace

import pytest

from benchmarks import (
    explorers,
    models,
    peers,
    table,
)
from benchmarks.__main__ import PARTS, measure
from benchmarks.table import Row
from vitedu.config import ViTConfig


def make(ours: float, theirs: float, **others) -> Row:
    fields = {"what": "w", "peer": "limit", "unit": "ms"} | others
    return Row(ours=ours, theirs=theirs, **fields)


@pytest.mark.parametrize(
    ("row", "ratio", "verdict"),
    [
        (make(8, 16), 0.5, "good"),
        (make(16, 16), 1, "good"),
        (make(16.1, 16), 1.00625, "missed"),
        (make(1.01, 1, peer="timm"), 1.01, "equal"),
        (make(1.03, 1, peer="timm"), 1.03, "missed"),
        (make(100, 98, at_least=True), 100 / 98, "good"),
        (make(97, 98, at_least=True), 97 / 98, "missed"),
    ],
)
def test_a_row_is_judged_by_its_ratio(row, ratio, verdict):
    assert row.ratio == pytest.approx(ratio)
    assert row.verdict == verdict


def test_a_row_says_which_side_of_its_limit_is_right():
    assert "| ≤ 16 ms | 0.50 | good |" in str(make(8, 16))
    score = make(97, 98, unit="", at_least=True)
    assert "| ≥ 98 | 0.99 | missed |" in str(score)
    assert "| timm 4 ms |" in str(make(2, 4, peer="timm"))


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        (range(1, 101), 0.95, 95),
        ([3, 1, 2], 0.95, 3),
        ([3, 1, 2, 4], 0.5, 2),
        ([7], 0.01, 7),
        ([5, 9], 1, 9),
    ],
)
def test_percentiles(values, share, expected):
    assert table.percentile(list(values), share) == expected


@pytest.mark.parametrize(
    ("values", "share"), [([], 0.5), ([1], 0), ([1], 1.1)]
)
def test_percentiles_of_nothing_are_refused(values, share):
    with pytest.raises(ValueError, match="must not be empty and share must"):
        table.percentile(values, share)


def test_a_part_replaces_its_own_rows_only(tmp_path):
    file = tmp_path / "RESULTS.json"
    table.keep(file, "A", [make(1, 2)], "here")
    table.keep(file, "B", [make(3, 2)], "there")
    table.keep(file, "A", [make(2, 2, what="new")], "elsewhere")
    parts = json.loads(file.read_text("utf-8"))
    assert [*parts] == ["A", "B"]
    assert parts["A"]["machine"] == "elsewhere"
    assert [row["what"] for row in parts["A"]["rows"]] == ["new"]
    assert parts["B"]["rows"][0]["ratio"] == 1.5
    text = file.with_suffix(".md").read_text("utf-8")
    assert text.count("## ") == 2
    assert str(make(3, 2)) in text
    assert str(make(1, 2)) not in text
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"RESULTS.json", "RESULTS.md"}


def test_rows_are_kept_once_all_are_there(tmp_path, monkeypatch, capsys):
    def rows(options):
        yield make(1, 2)
        raise RuntimeError("the second one fails")

    monkeypatch.setitem(PARTS, "models", ("Models", rows))
    file = tmp_path / "RESULTS.json"
    with pytest.raises(RuntimeError, match="second"):
        measure("models", SimpleNamespace(quick=False), file, "here")
    assert str(make(1, 2)) in capsys.readouterr().out
    assert not file.exists()


def test_the_committed_table_is_what_its_numbers_say(root):
    file = root / "benchmarks" / "RESULTS.json"
    parts = json.loads(file.read_text("utf-8"))
    text = file.with_suffix(".md").read_text("utf-8")
    assert table.markdown(parts) == text


def test_models_are_compared_with_every_peer(monkeypatch):
    # The clock is replaced: ours takes 2 s, and the others 4 s.
    def seconds(device, task, model, *inputs):
        task(model, *inputs)
        return 2 if type(model).__module__.startswith("vitedu") else 4

    # PyTorch's stands for timm's, which is not there in every environment.
    found = dict.fromkeys(["PyTorch", "timm"], lambda: peers.PyTorchViT(tiny))
    monkeypatch.setattr(peers, "vision_transformers", lambda config: found)
    monkeypatch.setattr(models.torch, "set_num_threads", print)
    tiny = ViTConfig.digits(num_layers=1, drop_path=0.0)
    monkeypatch.setattr(models, "seconds", seconds)
    monkeypatch.setattr(
        models, "VITS", {"ViT-B/16": (tiny, {"cpu": 2, "cuda": 2}, 3)}
    )
    rows = list(models.rows("cpu", quick=True))
    assert {row.ratio for row in rows} == {0.5}
    cases = [(row.what.split("batch 2")[1], row.peer) for row in rows]
    tasks = ("infer", "differentiate", "train")
    both = [(f": {task}", peer) for task in tasks for peer in found]
    half = [(f", bfloat16: {task}", "timm") for task in ("infer", "train")]
    assert cases == both + half


def test_an_explorer_is_as_slow_as_its_slowest_control():
    quick, slow = [1.0] * 20, [5.0] * 19 + [90.0]
    found = {"slider 1": quick, "slider 2": slow, "table 1": [200.0]}
    row = explorers.slowest("page", found)
    assert (row.ours, row.theirs) == (5, 16)
    assert row.note == "slider 2, slowest of 2; 20 answers"


def test_an_explorer_that_never_answers_is_an_error():
    with pytest.raises(RuntimeError, match="page: the explorer answers to"):
        explorers.slowest("page", {"slider 1": [1.0] * 9})
