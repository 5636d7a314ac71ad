"""Training: it learns, it measures, it resumes exactly."""

import pytest
import torch
from helpers import refuses
from small_runs import TRANSLATION, linear_problem, make_model, translation
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

from vitedu.config import TrainConfig, TransformerConfig
from vitedu.data.digits import batches, digits
from vitedu.training.checkpoints import read_checkpoint
from vitedu.training.loop import accuracy, fit
from vitedu.training.parameter_groups import parameter_groups
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer


@pytest.fixture(scope="module")
def data():
    return digits()


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


LAYERS = {
    "cls_token": 3,
    "pos_embed.weight": 3,
    "patch_embed.proj.bias": 3,
    "blocks.0.norm1.weight": 2,
    "blocks.0.attn.qkv.weight": 2,
    "blocks.1.mlp.fc2.weight": 1,
    "norm.bias": 0,
    "head.weight": 0,
}


class Still(VisionTransformer):
    """Answers always the same, so that nothing but decay moves a weight."""

    def forward(self, images):
        return 0 * super().forward(images)


def test_layers_far_from_the_head_learn_slowly():
    """The rates by name, and steps whose length follows them."""
    model = Still(make_model(num_channels=3).config)
    config = TrainConfig(
        num_epochs=4,
        learning_rate=0.1,
        weight_decay=0.01,
        decay_all=True,
        layer_decay=0.5,
    )
    rates = {
        id(parameter): group["lr"]
        for group in parameter_groups(model, config)
        for parameter in group["params"]
    }
    assert rates.keys() == {id(p) for p in model.parameters()}
    for parameter in model.parameters():
        nn.init.ones_(parameter)
    batch = torch.ones(3, 3, 8, 8), torch.tensor([0, 1, 2])
    history = fit(model, DataLoader([batch] * 5, batch_size=None), config)
    assert 0.05 < max(history.learning_rate) <= 0.1
    fastest = model.head.weight.log().mean().item()
    assert fastest < -1e-3
    for name, layer in LAYERS.items():
        parameter = model.get_parameter(name)
        assert rates[id(parameter)] == 0.1 * 0.5**layer, name
        slow = parameter.log().mean().item()
        assert slow == pytest.approx(fastest * 0.5**layer, rel=0.01), name


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


def test_weights_of_maps_decay_in_a_transformer():
    """Not positions and tables, which are the output projection as well."""
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


def test_it_leaves_the_model_in_evaluation_mode(tmp_path):
    path = tmp_path / "state"
    for _ in ("trained", "loaded"):
        model, loader, *_ = linear_problem()
        model.train()
        fit(model, loader, TrainConfig(num_epochs=11), checkpoint=path)
        assert not model.training


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
