"""Training: it learns, it measures, it resumes exactly."""

import math
import os

import pytest
import torch
from distributed_tasks import translator
from helpers import draw, refuses
from safetensors.torch import save_file
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from vitedu.checkpoints import read_checkpoint, write_checkpoint
from vitedu.config import TrainConfig, ViTConfig
from vitedu.data import Augment, batches, digits
from vitedu.numerals import numeral_pairs
from vitedu.sequences import pair_batches
from vitedu.training import History, accuracy, fit
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


def make_loader(data, *, images=64, seed=0):
    return batches(
        data.train_images[:images],
        data.train_labels[:images],
        batch_size=16,
        seed=seed,
        augment=Augment(empty=data.empty),
    )


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


def test_the_steps_are_those_of_adamw_with_one_cycle_and_clipping():
    config = TrainConfig(
        num_epochs=11,
        learning_rate=0.1,
        warmup=0.4,
        weight_decay=0.3,
        label_smoothing=0.2,
        max_grad_norm=0.05,
    )
    model, loader, inputs, targets = linear_problem()
    twin, *_ = linear_problem()
    history = fit(model, loader, config)
    optimizer = torch.optim.AdamW(twin.parameters(), lr=0.1, weight_decay=0.3)
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
    num_epochs=5, warmup=0.4, label_smoothing=0.1, pad_id=0
)


def translation(dropout=0.0, seed=0):
    """Return a small Transformer and a loader of 11 sentence pairs in 3s."""
    numbers = [3, 12005, 40, 7, 110, 99, 512, 0, 61, 8, 1000]
    model = translator(dropout, seed=seed, numbers=numbers)
    return model, pair_batches(numeral_pairs(numbers), batch_size=3, seed=seed)


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


def test_a_translator_resumes_exactly(tmp_path):
    path, seen = tmp_path / "state", []

    def evaluate(model):
        seen.append(1)
        if len(seen) == 3:
            raise Interrupted
        return {}

    whole, loader = translation(dropout=0.2)
    torch.manual_seed(7)
    expected = fit(whole, loader, TRANSLATION)
    model, loader = translation(dropout=0.2)
    torch.manual_seed(7)
    with pytest.raises(Interrupted):
        fit(model, loader, TRANSLATION, evaluate=evaluate, checkpoint=path)
    model, loader = translation(dropout=0.2, seed=1)
    assert fit(model, loader, TRANSLATION, checkpoint=path) == expected
    assert_same_state(model.state_dict(), whole.state_dict())


def test_targets_of_other_axes_than_the_logits():
    model, loader = translation()
    late = [(src, tgt, labels[:, 1:]) for src, tgt, labels in loader]
    loader = DataLoader(late, batch_size=None)
    with refuses(ValueError, "targets must have the axes of the logits but t"):
        fit(model, loader, TRANSLATION)


class Interrupted(Exception):
    """Stands for the power cut."""


def train(data, path, *, stop_after=None, where="evaluate", seed=0):
    """Train to the end, or stop during an epoch after `stop_after`."""
    model, loader = make_model(seed), make_loader(data, seed=seed)
    measure = evaluator(data)
    epochs = 0

    def evaluate(model):
        nonlocal epochs
        epochs += 1
        if where == "evaluate" and stop_after == epochs - 1:
            raise Interrupted
        return measure(model)

    def check(module, _):
        if where == "step" and module.training and stop_after == epochs:
            raise Interrupted

    model.register_forward_pre_hook(check)
    torch.manual_seed(7 + seed)
    history = None
    try:
        history = fit(
            model, loader, CONFIG, evaluate=evaluate, checkpoint=path
        )
    except Interrupted:
        assert stop_after is not None
    return model, history


@pytest.fixture(scope="module")
def uninterrupted(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "state"
    model, history = train(data, path)
    return model.state_dict(), history, read_checkpoint(path)


@pytest.mark.parametrize("where", ["step", "evaluate"])
@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_resuming_is_exact(data, tmp_path, uninterrupted, epoch, where):
    weights, history, (tensors, facts) = uninterrupted
    path = tmp_path / "state"
    train(data, path, stop_after=epoch, where=where)
    assert len(read_checkpoint(path)[1]["history"]["loss"]) == epoch
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
    for seed in (2, 3, 4):
        train(data, path, stop_after=1, seed=seed if path.exists() else 0)
    model, resumed = train(data, path, seed=5)
    assert resumed == history
    assert_same_state(model.state_dict(), weights)


def test_a_finished_run_is_only_loaded(data, tmp_path, uninterrupted):
    weights, history, _ = uninterrupted
    path = tmp_path / "state"
    train(data, path)
    before = path.read_bytes()
    model, again = train(data, path, stop_after=0, where="step", seed=1)
    assert again == history
    assert_same_state(model.state_dict(), weights)
    assert path.read_bytes() == before


def test_a_checkpoint_changes_nothing_about_the_training(data, uninterrupted):
    model, history = train(data, None)
    assert history == uninterrupted[1]
    assert_same_state(model.state_dict(), uninterrupted[0])


def test_a_loader_without_generator_resumes_too(tmp_path):
    path = tmp_path / "state"
    config = TrainConfig(num_epochs=11, learning_rate=0.1)
    whole, loader, *_ = linear_problem()
    expected = fit(whole, loader, config)
    model, loader, *_ = linear_problem()
    seen = []

    def evaluate(model):
        seen.append(1)
        if len(seen) == 5:
            raise Interrupted
        return {}

    with pytest.raises(Interrupted):
        fit(model, loader, config, evaluate=evaluate, checkpoint=path)
    model, loader, *_ = linear_problem()
    history = fit(model, loader, config, checkpoint=path)
    assert history.loss == expected.loss
    assert torch.equal(model.weight, whole.weight)


def test_a_write_that_fails_leaves_the_last_epoch(data, tmp_path, monkeypatch):
    path = tmp_path / "state"
    train(data, path, stop_after=2)
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
    train(data, path, stop_after=1)
    return path


def test_a_truncated_checkpoint(data, checkpoint):
    checkpoint.write_bytes(checkpoint.read_bytes()[:-100])
    refuses_to_resume(data, checkpoint, "path must be a whole safetensors")


def test_a_file_of_somebody_else(data, checkpoint):
    save_file(make_model().state_dict(), checkpoint)
    refuses_to_resume(data, checkpoint, "path must be a checkpoint with forma")


def test_a_file_with_other_facts(data, checkpoint):
    write_checkpoint(checkpoint, {}, {})
    refuses_to_resume(data, checkpoint, "config must be the one of the check")


@pytest.mark.parametrize(
    "crafted",
    [
        lambda tensors, facts: tensors.pop("generator.global"),
        lambda tensors, facts: tensors.update(
            {"generator.loader": torch.zeros(3, dtype=torch.uint8)}
        ),
        lambda tensors, facts: tensors.pop("optimizer.2.exp_avg"),
        lambda tensors, facts: tensors.update(
            {"optimizer.2.exp_avg_sq": torch.zeros(2)}
        ),
        lambda tensors, facts: tensors.update({"optimizer.x": torch.ones(1)}),
        lambda tensors, facts: facts.pop("groups"),
        lambda tensors, facts: facts.pop("history"),
        lambda tensors, facts: facts["history"].update(secret=1),
    ],
)
def test_a_checkpoint_of_which_a_part_is_wrong(data, checkpoint, crafted):
    tensors, facts = read_checkpoint(checkpoint)
    crafted(tensors, facts)
    write_checkpoint(checkpoint, tensors, facts)
    refuses_to_resume(data, checkpoint, "path must be a whole checkpoint file")


def test_a_checkpoint_of_another_model(data, checkpoint):
    refuses_to_resume(
        data,
        checkpoint,
        "missing: ['blocks.2.attn.proj.bias'",
        model=make_model(num_layers=3),
    )
    refuses_to_resume(
        data,
        checkpoint,
        "extra: ['blocks.1.attn.proj.bias'",
        model=make_model(num_layers=1),
    )
    refuses_to_resume(
        data,
        checkpoint,
        "head.weight (10, 12) torch.float32 for (7, 12) torch.float32",
        model=make_model(num_classes=7),
    )


def test_a_checkpoint_of_another_precision(data, checkpoint):
    refuses_to_resume(
        data,
        checkpoint,
        "cls_token (1, 1, 12) torch.float32 for (1, 1, 12) torch.float64",
        model=make_model().double(),
    )


def test_a_checkpoint_of_another_config(data, checkpoint):
    config = TrainConfig(num_epochs=4, learning_rate=1e-3, label_smoothing=0.1)
    refuses_to_resume(
        data,
        checkpoint,
        f"config must be the one of the checkpoint {checkpoint}",
        config=config,
    )


def test_a_checkpoint_of_a_loader_of_another_length(data, checkpoint):
    refuses_to_resume(
        data,
        checkpoint,
        f"loader must have the length of that of {checkpoint}: "
        "the run has 16 steps, got 20",
        loader=make_loader(data, images=80),
    )


def test_a_checkpoint_of_a_loader_without_generator(data, tmp_path):
    path = tmp_path / "state"
    config = TrainConfig(num_epochs=11)
    model, loader, inputs, targets = linear_problem()
    fit(model, loader, config, checkpoint=path)
    model, *_ = linear_problem()
    refuses_to_resume(
        data,
        path,
        f"loader must have a generator if that of {path} had one",
        model=model,
        config=config,
        loader=DataLoader(
            TensorDataset(inputs, targets),
            batch_size=7,
            generator=torch.Generator(),
        ),
    )


def test_a_loss_that_is_not_finite(tmp_path):
    model, loader, *_ = linear_problem()
    path = tmp_path / "state"
    with torch.no_grad():
        model.weight.fill_(math.nan)
    with refuses(
        FloatingPointError,
        "loss must stay finite, got nan in epoch 1; "
        "try a lower learning_rate than 0.001",
    ):
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=path)
    assert not path.exists()


def test_fit_refuses(data, tmp_path):
    model, loader, inputs, targets = linear_problem()
    empty = DataLoader(
        TensorDataset(inputs[:2], targets[:2]), batch_size=5, drop_last=True
    )
    with refuses(ValueError, "loader must hold at least one batch, got 0"):
        fit(model, empty, CONFIG)
    with refuses(TypeError, "config must be a TrainConfig, got ViTConfig"):
        fit(model, loader, ViTConfig())
    path = tmp_path / "no" / "state"
    with refuses(
        FileNotFoundError,
        f"checkpoint must lie in a folder that exists, got {path}",
    ):
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=path)


@pytest.mark.parametrize(("epochs", "warmup"), [(1, 0.9), (5, 0.2), (2, 0.2)])
def test_fit_refuses_a_warm_up_of_one_step_or_less(epochs, warmup):
    model, loader, *_ = linear_problem()
    with refuses(
        ValueError,
        f"warmup must cover more than one step, got {warmup} of "
        f"{epochs} steps",
    ):
        fit(model, loader, TrainConfig(num_epochs=epochs, warmup=warmup))


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


def test_accuracy_refuses():
    x, y = torch.zeros(3, 1), torch.zeros(2, dtype=torch.int64)
    rule = "inputs and targets must hold equally many samples, at least 1, "
    with refuses(ValueError, rule + "got 3 and 2"):
        accuracy(FirstPixel(), x, y)
    with refuses(ValueError, rule + "got 0 and 0"):
        accuracy(FirstPixel(), x[:0], y[:0])
    with refuses(ValueError, "batch_size must be at least 1, got 0"):
        accuracy(FirstPixel(), x, y, batch_size=0)
