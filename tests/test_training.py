"""Training: it learns, it measures, it resumes exactly."""

import math
import os
import random
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch
from distributed_tasks import translator
from helpers import draw, refuses
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    TensorDataset,
)

from vitedu.checkpoints import read_checkpoint, write_checkpoint
from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.data import Augment, batches, digits
from vitedu.layers import EncoderBlock
from vitedu.numerals import numeral_pairs
from vitedu.recomputation import recompute_blocks
from vitedu.sequences import pair_batches
from vitedu.training import History, accuracy, fit
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

CONFIG = TrainConfig(num_epochs=4, learning_rate=3e-3, label_smoothing=0.1)
SIZES = {
    "image_size": 8,
    "patch_size": 4,
    "num_channels": 1,
    "num_classes": 10,
    "d_model": 12,
    "num_layers": 2,
    "num_heads": 3,
    "d_ff": 16,
}
RATES = {"dropout": 0.1, "attention_dropout": 0.1, "drop_path": 0.1}


@pytest.fixture(scope="module")
def data():
    return digits()


def make_model(seed=0, **changes):
    torch.manual_seed(seed)
    return VisionTransformer(ViTConfig(**(SIZES | RATES | changes)))


def make_loader(data, *, images=64, draws=0, **changes):
    """Load 16 images at a time; `draws` from the generator are gone."""
    options = {
        "batch_size": 16,
        "seed": 0,
        "augment": Augment(empty=data.empty),
    }
    loader = batches(
        data.train_images[:images],
        data.train_labels[:images],
        **(options | changes),
    )
    torch.rand(draws, generator=loader.generator)
    return loader


def evaluator(data):
    """Return a measurement that also draws from the global generator."""

    def evaluate(model):
        torch.rand(3)
        return {
            "accuracy": accuracy(
                model, data.test_images[:50], data.test_labels[:50]
            )
        }

    return evaluate


def assert_same_state(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        assert torch.equal(value, second[name]), name


def test_it_learns_real_digits(data):
    model = make_model(position_std=0.5, d_model=24, dropout=0.0)
    images, labels = data.train_images[:512], data.train_labels[:512]
    loader = batches(images, labels, batch_size=64, seed=0)
    config = TrainConfig(num_epochs=8, learning_rate=1e-2)
    history = fit(model, loader, config)
    assert history.loss[0] > 1
    assert history.loss[-1] < 0.5
    assert history.loss == sorted(history.loss, reverse=True)
    assert accuracy(model, data.test_images, data.test_labels) > 0.8


def test_history_holds_one_entry_per_epoch(data):
    history = fit(
        make_model(), make_loader(data), CONFIG, evaluate=evaluator(data)
    )
    assert history.num_epochs == 4
    assert [len(x) for x in (history.loss, history.learning_rate)] == [4, 4]
    assert list(history.metrics) == ["accuracy"]
    assert len(history.metrics["accuracy"]) == 4
    rates = history.learning_rate
    assert max(rates) <= 3e-3
    assert rates[-1] < 1e-6
    assert rates[0] > rates[1] > rates[2] > rates[3]


def linear_problem():
    torch.manual_seed(0)
    model = nn.Linear(5, 3).double()
    inputs, targets = draw(7, 5), torch.tensor([0, 1, 2, 0, 1, 2, 0])
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=7)
    return model, loader, inputs, targets


@pytest.mark.parametrize("fields", [{}, {"decay_all": True}])
def test_the_steps_are_those_of_adamw_with_one_cycle_and_clipping(fields):
    config = TrainConfig(
        num_epochs=11,
        learning_rate=0.1,
        warmup=0.4,
        weight_decay=0.3,
        label_smoothing=0.2,
        max_grad_norm=0.05,
        **fields,
    )
    model, loader, inputs, targets = linear_problem()
    twin, *_ = linear_problem()
    history = fit(model, loader, config)
    groups = [
        {"params": [twin.weight], "weight_decay": 0.3},
        {"params": [twin.bias], "weight_decay": 0.3 if fields else 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=0.1, total_steps=11, pct_start=0.4
    )
    losses, rates = [], []
    for _ in range(11):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.zero_grad()
        log_p = twin(inputs).log_softmax(dim=-1)
        wanted = nn.functional.one_hot(targets, 3) * 0.8 + 0.2 / 3
        loss = -(wanted * log_p).sum(dim=-1).mean()
        loss.backward()
        norm = torch.cat([p.grad.flatten() for p in twin.parameters()]).norm()
        assert norm > 0.05
        for parameter in twin.parameters():
            parameter.grad *= 0.05 / norm
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    assert history.learning_rate == rates
    assert history.loss == pytest.approx(losses, rel=1e-5)
    torch.testing.assert_close(model.weight, twin.weight, rtol=0, atol=1e-5)
    torch.testing.assert_close(model.bias, twin.bias, rtol=0, atol=1e-5)


class NoGradient(nn.Module):
    """Answers always the same, so that nothing but decay moves a weight."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        for parameter in model.parameters():
            nn.init.ones_(parameter)

    def forward(self, *inputs):
        out = self.model(*inputs)
        return 0 * (sum(out) if isinstance(out, tuple) else out)


def decayed(model, *batch, **fields):
    """Return the parameters that a training without gradients shrank."""
    still = NoGradient(model)
    loader = DataLoader([batch] * 2, batch_size=None)
    fit(still, loader, TrainConfig(num_epochs=5, **fields))
    shrunk = {name: (p < 1).all() for name, p in model.named_parameters()}
    whole = {name: (p == 1).all() for name, p in model.named_parameters()}
    assert all(shrunk[name] != whole[name] for name in shrunk)
    return {name for name in shrunk if shrunk[name]}


BLOCK = {"attn.qkv", "attn.proj", "mlp.fc1", "mlp.fc2"}


def test_weights_of_maps_decay_in_a_vision_transformer():
    """Not biases, norms, both tokens and learned positions."""
    model = make_model(num_layers=1, distilled=True)
    batch = torch.ones(3, 1, 8, 8), torch.tensor([0, 1, 2])
    assert decayed(model, *batch) == {
        "patch_embed.proj.weight",
        "head.weight",
        "head_dist.weight",
        *(f"blocks.0.{name}.weight" for name in BLOCK),
    }
    everything = {name for name, _ in model.named_parameters()}
    assert decayed(model, *batch, decay_all=True) == everything
    assert decayed(model, *batch, weight_decay=0.0) == set()


@pytest.mark.parametrize(
    "changes",
    [
        {"distilled": True},
        {"pool": "mean"},
        {"positions": "sinusoidal"},
        {"pool": "mean", "positions": "none"},
    ],
)
def test_a_vision_transformer_names_what_is_spared(changes):
    """Of what has two axes or more; others it does not have to name."""
    model = make_model(num_layers=1, **changes)
    names = {name for name, p in model.named_parameters() if p.ndim > 1}
    batch = torch.ones(3, 1, 8, 8), torch.tensor([0, 1, 2])
    assert model.no_weight_decay() == names - decayed(model, *batch)


def test_weights_of_maps_decay_in_a_transformer():
    """Not positions and tables, which are the output map as well."""
    config = TransformerConfig(
        src_vocab_size=11,
        tgt_vocab_size=11,
        d_model=6,
        num_layers=1,
        num_heads=3,
        d_ff=5,
        positions="learned",
        max_len=7,
    )
    ids = torch.tensor([[1, 3, 4], [1, 5, 2]])
    found = decayed(Transformer(config), ids, ids, ids)
    maps = {"mlp.fc1", "mlp.fc2", "attn.qkv", "attn.proj"}
    assert {name for name in found if name.startswith("encoder")} == {
        f"encoder.blocks.0.{name}.weight" for name in maps
    }
    assert found
    assert not [name for name in found if "embed" in name]
    assert not [name for name in found if "generator" in name]
    assert not [name for name in found if "norm" in name or "bias" in name]


def test_the_loss_of_an_epoch_is_a_mean_over_samples():
    """A last smaller batch counts by its size, not as a whole batch."""
    model, _, inputs, targets = linear_problem()
    loader = DataLoader(TensorDataset(inputs, targets), batch_size=5)
    config = TrainConfig(num_epochs=1, learning_rate=1e-30, warmup=0.9)
    with torch.no_grad():
        expected = nn.functional.cross_entropy(model(inputs), targets)
    history = fit(model, loader, config)
    assert history.loss == pytest.approx([expected.item()])


def test_evaluate_sees_evaluation_mode_and_no_gradients(data):
    seen = []

    def evaluate(model):
        seen.append((model.training, torch.is_grad_enabled()))
        return {}

    modes = []
    model = make_model()
    model.register_forward_pre_hook(lambda m, _: modes.append(m.training))
    fit(model, make_loader(data), CONFIG, evaluate=evaluate)
    assert seen == [(False, False)] * 4
    assert modes == [True] * 16


def test_it_leaves_the_model_in_evaluation_mode(tmp_path):
    path = tmp_path / "state"
    for _ in ("trained", "loaded"):
        model, loader, *_ = linear_problem()
        model.train()
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=path)
        assert not model.training


def test_metrics_may_be_tensors(data, tmp_path):
    history = fit(
        make_model(),
        make_loader(data),
        CONFIG,
        evaluate=lambda model: {"one": torch.tensor(1.0)},
        checkpoint=tmp_path / "state",
    )
    assert history.metrics == {"one": [1.0] * 4}
    assert type(history.metrics["one"][0]) is float


TRANSLATION = TrainConfig(
    num_epochs=5, warmup=0.4, label_smoothing=0.1, pad_id=0, decay_all=True
)


def translation(dropout=0.0, seed=0):
    """Return a small Transformer and a loader of 11 sentence pairs in 3s."""
    numbers = [3, 12005, 40, 7, 110, 99, 512, 0, 61, 8, 1000]
    model = translator(dropout, seed=seed, numbers=numbers)
    loader = pair_batches(numeral_pairs(numbers), batch_size=3, seed=0)
    torch.rand(seed, generator=loader.generator)
    return model, loader


def test_padding_does_not_count_in_loss_and_steps():
    """Sentence pairs, with the loss written out place by place."""
    model, loader = translation()
    twin, batches_again = translation()
    optimizer = torch.optim.AdamW(twin.parameters(), lr=1e-3)
    optimizer.param_groups[0]["weight_decay"] = TRANSLATION.weight_decay
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-3, total_steps=15, pct_start=0.4
    )
    epochs, pads = [], 0
    for _ in range(5):
        surprises = []
        for src, tgt_input, tgt_labels in batches_again:
            log_p = twin(src, tgt_input).log_softmax(dim=-1)
            words = [
                -0.9 * log_p[b, t, label] - 0.1 * log_p[b, t].mean()
                for b, row in enumerate(tgt_labels.tolist())
                for t, label in enumerate(row)
                if label != 0
            ]
            pads += tgt_labels.numel() - len(words)
            optimizer.zero_grad()
            torch.stack(words).mean().backward()
            nn.utils.clip_grad_norm_(twin.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            surprises += [word.item() for word in words]
        epochs.append(sum(surprises) / len(surprises))
    assert pads > 30
    history = fit(model, loader, TRANSLATION)
    assert history.loss == pytest.approx(epochs, rel=1e-12)
    for name, weight in model.named_parameters():
        torch.testing.assert_close(
            weight, twin.get_parameter(name), rtol=0, atol=1e-12
        )


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
        ({"stop": 4}, (3, 0)),
        ({"stop_step": 5}, (1, 0)),
        ({"stop_step": 12}, (2, 0)),
        ({"stop_step": 2, "checkpoint_every": 1}, (0, 1)),
        ({"stop_step": 8, "checkpoint_every": 1}, (1, 3)),
        ({"stop_step": 8, "checkpoint_every": 2}, (1, 2)),
        ({"stop_step": 16, "checkpoint_every": 3}, (3, 3)),
        ({"stop_step": 9, "checkpoint_every": 1}, (2, 0)),
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


def test_several_interruptions_in_a_row(data, tmp_path, uninterrupted):
    weights, history, _ = uninterrupted
    path = tmp_path / "state"
    for seed in (0, 2, 3):
        train(data, path, stop=2, seed=seed)
        train(data, path, stop_step=3, seed=seed, checkpoint_every=1)
    model, resumed = train(data, path, seed=5)
    assert resumed == history
    assert_same_state(model.state_dict(), weights)


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
        self.hidden = np.random.default_rng(3)

    def __len__(self):
        return 11

    def __getitem__(self, row):
        noise = {
            "torch": lambda: torch.rand(()),
            "random": lambda: random.gauss(0, 1),
            "numpy": lambda: np.random.normal(),
            "own": lambda: torch.rand((), generator=self.own),
            "hidden": lambda: self.hidden.normal(),
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
        {"source": "torch"},
        {"source": "torch", "order": "sampler"},
        {"source": "torch", "order": "batch sampler"},
        {"source": "own"},
        {"source": "random"},
        {"source": "numpy"},
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


@pytest.mark.parametrize("stop", [None, 1, 2, 3])
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
    refuses_to_resume(data, path, "keep_best is True there, got nothing")


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


def test_what_no_checkpoint_could_bring_back(tmp_path):
    path = tmp_path / "state"
    with refuses(
        ValueError,
        "loader must draw from torch, random, numpy.random or a "
        "torch.Generator of its own, which a checkpoint can bring back, got "
        "one that gives another first batch from the same seeds",
    ):
        noisy_run("hidden", path)
    assert noisy_run("hidden")
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
        ("generator.numpy", {}, {}),
        ("process.0.numpy", {}, {}),
        ("", {"process.0.torch": torch.zeros(3)}, {}),
        ("", {"generator.loader.generator": torch.zeros(3).byte()}, {}),
        ("", {"generator.random": torch.zeros(3)}, {}),
        ("optimizer.2.exp_avg", {}, {}),
        ("", {"optimizer.2.exp_avg_sq": torch.zeros(2)}, {}),
        ("", {"optimizer.x": torch.ones(1)}, {}),
        ("run", {}, {}),
        ("", {}, {"run": [3]}),
        ("groups", {}, {}),
        ("history", {}, {}),
        ("", {}, {"history": {"secret": 1}}),
        ("steps", {}, {}),
        ("sums", {}, {}),
        ("", {}, {"steps": 4}),
        ("", {}, {"sums": 3}),
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
        ("activation", "gelu", "relu"),
        ("norm_first", True, False),
        ("dropout", 0.1, 0.2),
        ("drop_path", 0.1, 0.0),
        ("pool", "class_token", "mean"),
        ("num_layers", 2, 3),
        ("num_layers", 2, 1),
        ("num_classes", 10, 7),
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


def put(model, place, value):
    """Change a part of a model after it was made; return the model."""
    module, name = place.rsplit(".", 1)
    setattr(model.get_submodule(module), name, value)
    return model


def frozen(model):
    model.cls_token.requires_grad_(False)
    return model


COUNT = len(list(make_model().parameters()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda model: put(model, "blocks.1.mlp.drop1.p", 0.3),
            "model.blocks.1.mlp.drop1.p is 0.1 there, got 0.3",
        ),
        (
            lambda model: put(model, "blocks.1.norm_first", False),
            "model.blocks.1.norm_first is True there, got False",
        ),
        (
            lambda model: put(model, "blocks.0.attn.num_heads", 2),
            "model.blocks.0.attn.num_heads is 3 there, got 2",
        ),
        (
            lambda model: put(model, "blocks.1.mlp.act", nn.ReLU()),
            "model.blocks.1.mlp.act is GELU there, got ReLU",
        ),
        (
            frozen,
            f"model, parameters is {COUNT} of {COUNT} trained there, "
            f"got {COUNT - 1} of {COUNT} trained",
        ),
        (
            nn.Module.double,
            "cls_token (1, 1, 12) torch.float32 for (1, 1, 12) torch.float64",
        ),
    ],
)
def test_a_model_that_was_changed_by_hand(data, checkpoint, change, message):
    model = change(make_model())
    refuses_to_resume(data, checkpoint, message, model=model)


def test_a_message_stays_short(data, checkpoint):
    model = make_model(num_layers=9, d_ff=5, dropout=0.3)
    with pytest.raises(ValueError, match=r"and \d+ more differ$") as error:
        fit(model, make_loader(data), CONFIG, checkpoint=checkpoint)
    assert len(str(error.value)) < 1000


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


FIRST = "loader, first batch [0] is (16, 1, 8, 8)"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "loader.generator, seed is 0 there, got 1"),
        ({"batch_size": 13}, FIRST),
        ({"augment": None}, FIRST),
        ({"first": 1}, FIRST),
        ({"images": 80}, "loader, batches is 4 there, got 5"),
        ({"images": 65}, FIRST),
        ({"labels": True}, "loader, first batch [1] is (16,) torch.int64"),
    ],
)
def test_a_checkpoint_of_other_data(data, checkpoint, changes, message):
    options = dict(changes)
    first, labels = options.pop("first", 0), data.train_labels
    if options.pop("labels", False):
        labels = 9 - labels
    data = replace(
        data,
        train_images=data.train_images[first:],
        train_labels=labels[first:],
    )
    loader = make_loader(data, **options)
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


class Stream(IterableDataset):
    """As many pairs as it was told, and a length that may be another."""

    def __init__(self, count, said):
        self.count, self.said = count, said

    def __iter__(self):
        return iter([(torch.ones(5).double(), torch.tensor(1))] * self.count)

    def __len__(self):
        if self.said is None:
            raise TypeError("no length")
        return self.said


def test_a_stream_needs_a_length_that_is_true():
    config = TrainConfig(num_epochs=11)
    with refuses(
        TypeError,
        "loader must have a length, by which the schedule knows its steps, "
        "got one of Stream without",
    ):
        fit(linear_problem()[0], DataLoader(Stream(4, None)), config)
    rule = "loader must yield as many batches as its length says, 4, got "
    with refuses(ValueError, rule + "3"):
        fit(linear_problem()[0], DataLoader(Stream(3, 4)), config)
    with (
        pytest.warns(UserWarning, match="was reported"),
        refuses(ValueError, rule + "more"),
    ):
        fit(linear_problem()[0], DataLoader(Stream(5, 4)), config)
    history = fit(linear_problem()[0], DataLoader(Stream(4, 4)), config)
    assert history.num_epochs == 11


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        (
            (torch.ones(2, 5), [0, 1]),
            TypeError,
            "loader must yield tuples (*inputs, targets) of tensors, got "
            "tuple of Tensor, list",
        ),
        (
            {"x": torch.ones(2, 5)},
            TypeError,
            "loader must yield tuples (*inputs, targets) of tensors, got dict",
        ),
        (
            (torch.ones(3, 5), torch.tensor([0, -1, 3])),
            ValueError,
            "targets must be class numbers from 0 to 2, got -1 to 3",
        ),
        (
            (torch.ones(5), torch.tensor(1)),
            TypeError,
            "targets must be integers, one for each sample, got torch.int64 "
            "of shape ()",
        ),
        (
            (torch.ones(2, 4, 5), torch.tensor([[0, 1, 2], [2, 1, 0]])),
            ValueError,
            "targets must have the axes of the logits but the last",
        ),
    ],
)
def test_fit_refuses_a_batch(batch, error, message):
    loader = DataLoader([batch] * 2, batch_size=None, collate_fn=lambda x: x)
    with refuses(error, message):
        fit(nn.Linear(5, 3), loader, TrainConfig(num_epochs=11))


def test_two_outputs_are_refused(data):
    with refuses(
        TypeError,
        "model must return one tensor of logits, got tuple; the two outputs "
        "of a distilled ViT need a loop of their own",
    ):
        fit(make_model(distilled=True), make_loader(data), CONFIG)


def test_labels_of_fewer_bits_train_as_those_of_64():
    found = []
    for dtype in (torch.int64, torch.int32, torch.uint8):
        model, _, inputs, targets = linear_problem()
        data = TensorDataset(inputs, targets.to(dtype))
        loader = DataLoader(data, batch_size=7)
        fit(model, loader, TrainConfig(num_epochs=11, learning_rate=0.1))
        found.append(model.weight)
    start = linear_problem()[0].weight
    assert not torch.equal(found[0], start)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_the_largest_seed_of_a_generator(data):
    images, labels = data.train_images[:4], data.train_labels[:4]
    batches(images, labels, batch_size=2, seed=2**64 - 1)


def test_a_function_hears_of_every_epoch_before_it_is_written(tmp_path):
    path, heard = tmp_path / "state", []
    model, loader, *_ = linear_problem()

    def hear(history):
        written = read_checkpoint(path)[1] if path.exists() else None
        epochs = len(written["history"]["loss"]) if written else 0
        heard.append((history.num_epochs, epochs, *history.metrics["one"]))

    fit(
        model,
        loader,
        TrainConfig(num_epochs=11),
        evaluate=lambda model: {"one": 1},
        checkpoint=path,
        progress=hear,
    )
    assert heard == [(n, n - 1, *[1.0] * n) for n in range(1, 12)]


def test_progress_is_shown_when_asked_for(capsys):
    for progress in (False, True):
        model, loader, *_ = linear_problem()
        fit(model, loader, TrainConfig(num_epochs=11), progress=progress)
        assert ("loss=" in capsys.readouterr().err) == progress


def test_history_starts_empty_and_apart():
    first, second = History(), History()
    first.loss.append(1.0)
    assert (first.num_epochs, second.num_epochs) == (1, 0)


class FirstPixel(nn.Module):
    """Answers with class 1 where the first number is above 0."""

    def forward(self, x):
        assert not self.training
        assert not torch.is_grad_enabled()
        return torch.stack([torch.zeros(len(x)), x[:, 0]], dim=1)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 512])
def test_accuracy(batch_size):
    inputs = torch.tensor([[1.0], [-1.0], [2.0], [-3.0], [5.0]])
    targets = torch.tensor([1, 0, 0, 0, 1])
    found = accuracy(FirstPixel(), inputs, targets, batch_size=batch_size)
    assert found == 0.8


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (torch.ones(0, 1), "samples, at least 1, got 0 and 0"),
        (torch.tensor([[math.nan], [1], [1]]), "as logits, got nan"),
        (torch.tensor([[1], [1], [math.nan]]), "as logits, got nan"),
        (torch.ones(3, 3, 1), "logits but the last, (2, 3), got (2,)"),
    ],
)
def test_accuracy_refuses(inputs, message):
    targets = torch.zeros(len(inputs), dtype=torch.int64)
    with refuses(ValueError, message):
        accuracy(nn.Identity(), inputs, targets, batch_size=2)
