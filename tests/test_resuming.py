"""A run that was interrupted goes on exactly; another one is refused."""

import math
import os
import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from helpers import refuses
from safetensors.torch import save_file
from small_runs import (
    CONFIG,
    TRANSLATION,
    assert_same_state,
    evaluator,
    linear_problem,
    make_loader,
    make_model,
    translation,
)
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

from vitedu.config import TrainConfig
from vitedu.data.digits import digits
from vitedu.layers import EncoderBlock
from vitedu.training.activation_checkpointing import recompute_blocks
from vitedu.training.checkpoints import read_checkpoint, write_checkpoint
from vitedu.training.loop import fit


@pytest.fixture(scope="module")
def data():
    return digits()


class Interrupted(Exception):
    """Stands for the power cut."""


def interrupt(model, step):
    """Let the training stop when it begins this step, counted from 1."""
    begun = []

    def count(module, _):
        begun.extend([1] * module.training)
        if len(begun) == step:
            raise Interrupted

    model.register_forward_pre_hook(count)


def train(data, path, *, stop=None, stop_step=None, seed=0, **options):
    """Train for 4 epochs of 4 steps, or until an evaluation or a step."""
    model, loader = make_model(seed), make_loader(data, draws=seed)
    measure, epochs = evaluator(data), []

    def evaluate(model):
        epochs.append(1)
        if len(epochs) == stop:
            raise Interrupted
        return measure(model)

    interrupt(model, stop_step)
    for start in (torch.manual_seed, random.seed, np.random.seed):
        start(7 + seed)
    try:
        history = fit(
            model,
            loader,
            CONFIG,
            **{"evaluate": evaluate, "checkpoint": path} | options,
        )
    except Interrupted:
        assert stop or stop_step
        return model, None
    return model, history


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "state"
    model, history = train(data, path)
    return model.state_dict(), history, read_checkpoint(path)


def progress_of(path):
    """Return the epochs and the steps that a checkpoint holds."""
    facts = read_checkpoint(path)[1]
    return len(facts["history"]["loss"]), facts["steps"]


@pytest.mark.parametrize(
    ("how", "held"),
    [
        ({"stop": 2}, (1, 0)),
        ({"stop_step": 2, "checkpoint_every": 1}, (0, 1)),
        ({"stop_step": 8, "checkpoint_every": 2}, (1, 2)),
        ({"stop_step": 16, "checkpoint_every": 3}, (3, 3)),
        ({"stop": 2, "checkpoint_every": 1}, (1, 3)),
    ],
    ids=lambda x: (
        " ".join(f"{k} {n}" for k, n in x.items())
        if isinstance(x, dict)
        else ""
    ),
)
def test_resuming_is_exact(data, tmp_path, uninterrupted, how, held):
    weights, history, (tensors, facts) = uninterrupted
    path = tmp_path / "state"
    train(data, path, **how)
    assert progress_of(path) == held
    # Another model, other generators: the checkpoint has to bring it all.
    model, resumed = train(data, path, seed=1)
    assert resumed == history
    assert_same_state(model.state_dict(), weights)
    last_tensors, last_facts = read_checkpoint(path)
    assert_same_state(last_tensors, tensors)
    assert last_facts == facts


def test_a_finished_run_is_only_loaded(data, tmp_path, uninterrupted):
    weights, history, _ = uninterrupted
    path = tmp_path / "state"
    train(data, path)
    before = path.read_bytes()
    model, again = train(data, path, stop_step=1, seed=1)
    assert again == history
    assert_same_state(model.state_dict(), weights)
    assert path.read_bytes() == before


def test_a_checkpoint_changes_nothing_about_the_training(data, uninterrupted):
    model, history = train(data, None)
    assert history == uninterrupted[1]
    assert_same_state(model.state_dict(), uninterrupted[0])


class Noisy(Dataset):
    """Rows with noise from one of the generators there are."""

    def __init__(self, source):
        self.source = source
        self.own = torch.Generator().manual_seed(3)

    def __len__(self):
        return 11

    def __getitem__(self, row):
        noise = {
            "torch": lambda: torch.rand(()),
            "random": lambda: random.gauss(0, 1),
            "numpy": lambda: np.random.normal(),
            "own": lambda: torch.rand((), generator=self.own),
        }[self.source]()
        return torch.tensor([row / 11, 1.0]) + noise, torch.tensor(row % 2)


def noisy_run(source, path=None, *, draws=0, workers=0, order="", **stop):
    """Train on rows with noise; `draws` of all generators are gone."""
    for start in (torch.manual_seed, random.seed, np.random.seed):
        start(0)
    model = nn.Sequential(nn.Dropout(0.3), nn.Linear(2, 2))
    rows, epochs = Noisy(source), []
    sampler = RandomSampler(rows, generator=torch.Generator().manual_seed(5))
    options = {
        "": {"batch_size": 4, "shuffle": True},
        "sampler": {"batch_size": 4, "sampler": sampler},
        "batch sampler": {
            "batch_sampler": BatchSampler(sampler, 4, drop_last=False)
        },
    }[order]
    loader = DataLoader(rows, num_workers=workers, **options)
    for generator in (None, sampler.generator, rows.own):
        torch.rand(draws, generator=generator)
    for _ in range(draws):
        random.gauss(0, 1)
        np.random.normal()

    def evaluate(model):
        epochs.append(1)
        if len(epochs) == stop.get("epoch"):
            raise Interrupted
        return {}

    interrupt(model, stop.get("step"))
    config = TrainConfig(num_epochs=4, learning_rate=0.1)
    try:
        history = fit(
            model,
            loader,
            config,
            evaluate=evaluate,
            checkpoint=path,
            checkpoint_every=None if path is None else 1,
        )
    except Interrupted:
        return None
    return history, model[1].weight.tolist()


@pytest.mark.parametrize(
    "how",
    [
        {"source": "torch", "order": "batch sampler"},
        {"source": "own"},
        {"source": "random"},
        {"source": "numpy", "workers": 1},
        {"source": "own", "workers": 2},
    ],
    ids=lambda how: " ".join(map(str, how.values())),
)
def test_resuming_is_exact_for_all_that_draws(tmp_path, how):
    expected = noisy_run(**how)
    assert noisy_run(**how, draws=3) != expected
    path = tmp_path / "state"
    assert noisy_run(**how, path=path) == expected
    path.unlink()
    assert noisy_run(**how, path=path, epoch=3) is None
    assert progress_of(path) == (2, 2)
    assert noisy_run(**how, path=path, draws=3, step=4) is None
    assert progress_of(path) == (3, 2)
    assert noisy_run(**how, path=path, draws=5) == expected


def test_a_translator_resumes_exactly(tmp_path):
    whole, loader = translation(dropout=0.2)
    torch.manual_seed(7)
    expected = fit(whole, loader, TRANSLATION)
    model, loader = translation(dropout=0.2)
    interrupt(model, 11)
    torch.manual_seed(7)
    options = {"checkpoint": tmp_path / "state", "checkpoint_every": 1}
    with pytest.raises(Interrupted):
        fit(model, loader, TRANSLATION, **options)
    assert progress_of(options["checkpoint"]) == (3, 1)
    model, loader = translation(dropout=0.2, seed=1)
    assert fit(model, loader, TRANSLATION, **options) == expected
    assert_same_state(model.state_dict(), whole.state_dict())


def test_a_run_is_given_more_epochs(data, tmp_path):
    """Its rates are then those of the longer cycle."""
    path = tmp_path / "state"
    longer = replace(CONFIG, num_epochs=7)
    whole = fit(make_model(), make_loader(data), longer)
    _, short = train(data, path)
    model = make_model(seed=1)
    history = fit(model, make_loader(data), longer, checkpoint=path)
    assert history.num_epochs == 7
    assert history.loss[:4] == short.loss
    assert history.learning_rate[:4] == short.learning_rate
    assert history.learning_rate[4:] == whole.learning_rate[4:]
    assert history.loss[6] < min(short.loss)
    # The longer run is the one that the file holds from now on.
    refuses_to_resume(
        data, path, "config.num_epochs is 7 there, got 4", config=CONFIG
    )


def best_run(data, path=None, stop=None):
    """Keep the best of four epochs; return the weights after each."""
    model, weights = make_model(), []
    start = progress_of(path)[0] if path and path.exists() else 0

    def evaluate(model):
        epoch = start + len(weights)
        if epoch == stop:
            raise Interrupted
        weights.append({k: v.clone() for k, v in model.state_dict().items()})
        return {"score": (0.1, 0.3, 0.3, 0.2)[epoch], "other": -epoch}

    torch.manual_seed(7)
    options = {"evaluate": evaluate, "checkpoint": path, "keep_best": True}
    with suppress(Interrupted):
        fit(model, make_loader(data), CONFIG, **options)
    return model.state_dict(), weights


@pytest.mark.parametrize("stop", [None, 2, 3])
def test_the_weights_of_the_best_epoch_are_kept(data, tmp_path, stop):
    """Of equal ones the first; also where the run went on in between."""
    _, weights = best_run(data)
    path = tmp_path / "state"
    if stop:
        best_run(data, path, stop=stop)
    found, _ = best_run(data, path)
    assert_same_state(found, weights[1])
    assert not torch.equal(found["norm.weight"], weights[3]["norm.weight"])
    # The run itself goes on with the last ones.
    tensors, _ = read_checkpoint(path)
    assert torch.equal(tensors["model.norm.weight"], weights[3]["norm.weight"])
    assert_same_state(best_run(data, path)[0], weights[1])
    refuses_to_resume(data, path, "keep_best is True there, got False")


@pytest.mark.parametrize("metrics", [{}, {"a": math.nan}, {"a": math.inf}])
def test_what_is_best_has_to_be_a_finite_number(data, metrics):
    rule = "evaluate must return a finite number, for keep_best to compare"
    with refuses(ValueError, rule):
        fit(
            make_model(),
            make_loader(data),
            CONFIG,
            evaluate=lambda model: metrics,
            keep_best=True,
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_best": True}, "evaluate must be given for keep_best"),
        (
            {"checkpoint_every": 2},
            "checkpoint must be given for checkpoint_every, got None",
        ),
    ],
)
def test_options_that_need_others(data, options, message):
    with refuses(ValueError, message):
        fit(make_model(), make_loader(data), CONFIG, **options)


def test_workers_that_live_on_are_refused(tmp_path):
    path = tmp_path / "state"
    model, loader, *_ = linear_problem()
    loader = DataLoader(
        loader.dataset, 7, num_workers=1, persistent_workers=True
    )
    with refuses(
        ValueError,
        "loader must have persistent_workers=False for a checkpoint, which "
        "cannot hold what lives in a worker, got True",
    ):
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=path)
    assert not path.exists()


def test_a_write_that_fails_leaves_the_last_epoch(data, tmp_path, monkeypatch):
    path = tmp_path / "state"
    train(data, path, stop=3)
    before = path.read_bytes()

    def fail(handle):
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match="no space left"):
            train(data, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def refuses_to_resume(data, path, message, *, model=None, **changes):
    """Expect an error, and a model and generators that nobody touched."""
    model = make_model(seed=1) if model is None else model
    loader = changes.pop("loader", None) or make_loader(data)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    states = torch.get_rng_state(), loader.generator.get_state()
    with refuses(ValueError, message):
        fit(model, loader, changes.pop("config", CONFIG), checkpoint=path)
    assert_same_state(model.state_dict(), before)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert torch.equal(loader.generator.get_state(), states[1])


@pytest.fixture
def checkpoint(data, tmp_path):
    path = tmp_path / "state.safetensors"
    train(data, path, stop=2)
    return path


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def of_somebody_else(path):
    save_file(make_model().state_dict(), path)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (cut, "path must be a whole safetensors"),
        (of_somebody_else, "path must be a checkpoint with forma"),
        (
            lambda path: write_checkpoint(path, {}, {}),
            "path must be a whole checkpoint file",
        ),
    ],
)
def test_a_file_that_is_not_a_whole_checkpoint(
    data, checkpoint, spoil, message
):
    spoil(checkpoint)
    refuses_to_resume(data, checkpoint, message)


@pytest.mark.parametrize(
    ("gone", "tensors", "facts"),
    [
        ("generator.torch", {}, {}),
        ("process.0.numpy", {}, {}),
        ("", {"generator.loader.generator": torch.zeros(3).byte()}, {}),
        ("optimizer.2.exp_avg", {}, {}),
        ("", {"optimizer.2.exp_avg_sq": torch.zeros(2)}, {}),
        ("run", {}, {}),
        ("", {}, {"run": [3]}),
        ("history", {}, {}),
        ("", {}, {"history": {"secret": 1}}),
        ("sums", {}, {}),
        ("", {}, {"steps": 4}),
        ("", {}, {"sums": [[]]}),
    ],
)
def test_a_checkpoint_of_which_a_part_is_wrong(
    data, tmp_path, gone, tensors, facts
):
    path = tmp_path / "state"
    train(data, path, stop_step=3, checkpoint_every=1)
    parts = read_checkpoint(path)
    for part in parts:
        part.pop(gone, None)
    write_checkpoint(path, parts[0] | tensors, parts[1] | facts)
    refuses_to_resume(data, path, "path must be a whole checkpoint file")


def test_a_step_within_an_epoch_belongs_to_a_number_of_processes(
    data, tmp_path
):
    path = tmp_path / "state"
    train(data, path, stop_step=3, checkpoint_every=1)
    tensors, facts = read_checkpoint(path)
    write_checkpoint(path, tensors, facts | {"sums": facts["sums"] * 2})
    refuses_to_resume(
        data, path, "the number of processes must be the same, 2, got 1"
    )


@pytest.mark.parametrize(
    ("field", "there", "here"),
    [
        ("num_heads", 3, 2),
        ("dropout", 0.1, 0.2),
        ("num_layers", 2, 3),
    ],
)
def test_a_checkpoint_of_another_model(data, checkpoint, field, there, here):
    refuses_to_resume(
        data,
        checkpoint,
        "model, loader and config must be those of the checkpoint "
        f"{checkpoint}: model.config.{field} is {there!r} there, got {here!r}",
        model=make_model(**{field: here}),
    )


def test_weights_of_another_kind(data, checkpoint):
    refuses_to_resume(
        data,
        checkpoint,
        "cls_token (1, 1, 12) torch.float32 for (1, 1, 12) torch.float64",
        model=make_model().double(),
    )


def test_a_model_that_computes_its_blocks_again_goes_on(
    data, checkpoint, uninterrupted
):
    weights, history, _ = uninterrupted
    model = make_model(seed=1)
    recompute_blocks(model)
    assert type(model.blocks[0]) is not EncoderBlock
    found = fit(
        model,
        make_loader(data),
        CONFIG,
        evaluate=evaluator(data),
        checkpoint=checkpoint,
    )
    assert found == history
    assert_same_state(model.state_dict(), weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch_size": 12}, "loader, batches is 4 there, got 5"),
        ({"seed": 1}, "loader.generator, seed is 0 there, got 1"),
        ({"images": 65}, "loader.dataset, length is 64 there, got 65"),
    ],
)
def test_a_checkpoint_of_other_data(data, checkpoint, changes, message):
    loader = make_loader(data, **changes)
    refuses_to_resume(data, checkpoint, message, loader=loader)


@pytest.mark.parametrize(
    ("field", "there", "here"),
    [("learning_rate", 0.003, 0.001), ("num_epochs", 4, 3)],
)
def test_a_checkpoint_of_another_config(data, checkpoint, field, there, here):
    refuses_to_resume(
        data,
        checkpoint,
        f"{checkpoint}: config.{field} is {there} there, got {here}",
        config=replace(CONFIG, **{field: here}),
    )


@pytest.mark.parametrize("checkpoint_every", [None, 1])
def test_a_loss_that_is_not_finite(tmp_path, checkpoint_every):
    model, loader, *_ = linear_problem()
    path = tmp_path / "state"
    with torch.no_grad():
        model.weight.fill_(math.nan)
    with refuses(
        FloatingPointError,
        "loss must stay finite, got nan in epoch 1; "
        "try a lower learning_rate than 0.001",
    ):
        fit(
            model,
            DataLoader(loader.dataset, batch_size=4),
            TrainConfig(num_epochs=11),
            checkpoint=path,
            checkpoint_every=checkpoint_every,
        )
    assert not path.exists()


def test_a_checkpoint_needs_a_folder(tmp_path):
    model, loader, *_ = linear_problem()
    path = tmp_path / "no" / "state"
    with refuses(
        FileNotFoundError,
        f"checkpoint must lie in a folder that exists, got {path}",
    ):
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=path)
    with refuses(
        ValueError,
        f"checkpoint must be a file or a free name, got {tmp_path}",
    ):
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=tmp_path)
