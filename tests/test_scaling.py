"""Micro-batches, half precision, recomputation, devices: harmless ways."""

import pytest
import torch
from distributed_tasks import standing_still, translator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from vitedu.config import TrainConfig, TransformerConfig, ViTConfig
from vitedu.data.numerals import numeral_pairs
from vitedu.training.activation_checkpointing import recompute_blocks
from vitedu.training.devices import choose_device
from vitedu.training.loop import fit
from vitedu.transformer import Decoder, Encoder, Transformer
from vitedu.vit import VisionTransformer

SIZES = {"d_model": 12, "num_layers": 2, "num_heads": 3, "d_ff": 16}
RATES = {"dropout": 0.2, "attention_dropout": 0.2, "drop_path": 0.2}
SEQUENCES = TransformerConfig(
    src_vocab_size=11, tgt_vocab_size=11, **SIZES, **RATES
)
TOKENS = torch.randn(2, 5, 12, generator=torch.Generator().manual_seed(0))
IDS = torch.tensor([[3, 5, 9, 1, 4], [2, 7, 0, 0, 0]])
MODELS = {
    "vit": (
        # A head that starts at zero would hide what the blocks do.
        lambda: VisionTransformer(
            ViTConfig.digits(weights_init="pytorch", **SIZES | RATES)
        ),
        (TOKENS[:, :4, :4].repeat(1, 2, 2)[:, None],),
    ),
    "encoder": (lambda: Encoder(SEQUENCES), (TOKENS,)),
    "decoder": (lambda: Decoder(SEQUENCES), (TOKENS, TOKENS.flip(1))),
    "transformer": (lambda: Transformer(SEQUENCES), (IDS, IDS.flip(0))),
}
each_model = pytest.mark.parametrize("name", MODELS)


def make(name, seed=0):
    torch.manual_seed(seed)
    build, inputs = MODELS[name]
    return build().train(), inputs


def outcome(model, inputs):
    """Return outputs and gradients, with masks from one seed."""
    torch.manual_seed(1)
    out = model(*inputs)
    (
        out * torch.arange(1.0, out.numel() + 1).view_as(out).sin()
    ).sum().backward()
    grads = {name: p.grad for name, p in model.named_parameters()}
    return grads | {"out": out.detach()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in found.items():
        assert torch.equal(value, expected[name]), name


def last_gradient(accumulation, dtype):
    """Return the loss and the gradients of a batch of unequal sentences."""
    pairs = numeral_pairs([3, 12005, 40, 70_000, 23])
    labels = pairs.tgt_labels.clone()
    labels[2] = 0  # with 5 micro-batches, one in which nothing counts
    data = TensorDataset(pairs.src, pairs.tgt_input, labels)
    config = standing_still(4, accumulation)
    model = translator(dtype=dtype)
    loss = fit(model, DataLoader(data, batch_size=5), config).loss
    return loss, [p.grad for p in model.parameters()]


@pytest.mark.parametrize("accumulation", [2, 3, 5, 9])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)]
)
def test_micro_batches_add_up_to_the_batch(accumulation, dtype, tolerance):
    loss, expected = last_gradient(1, dtype)
    losses, found = last_gradient(accumulation, dtype)
    assert losses == pytest.approx(loss, rel=tolerance)
    assert max(grad.abs().max() for grad in expected) > 0.01
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


class Spy(nn.Module):
    """A linear map that remembers the types it computed in."""

    def __init__(self) -> None:
        super().__init__()
        self.map, self.seen = nn.Linear(4, 3), set()

    def forward(self, x):
        out = self.map(x)
        self.seen.add(out.dtype)
        return out


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_precision(precision):
    torch.manual_seed(0)
    model = Spy()
    data = TensorDataset(torch.randn(8, 4), torch.arange(8) % 3)
    config = TrainConfig(num_epochs=4, warmup=0.5, precision=precision)
    history = fit(model, DataLoader(data, batch_size=8), config)
    assert model.seen == {getattr(torch, precision)}
    assert model.map.weight.dtype == torch.float32
    assert model.map.weight.grad.dtype == torch.float32
    # The loss is computed in full: its eight bits would show here.
    loss = torch.tensor(history.loss[0])
    assert loss.bfloat16().item() != loss.item()


@each_model
def test_recomputing_changes_nothing(name):
    model, inputs = make(name)
    names = list(model.state_dict())
    expected = outcome(model, inputs)
    again, inputs = make(name)
    recompute_blocks(again)
    assert list(again.state_dict()) == names
    assert_same(outcome(again, inputs), expected)


def activations(model, inputs):
    """Count the numbers that wait for the backward pass."""
    kept = {}

    def keep(x):
        kept[x.untyped_storage().data_ptr()] = x.untyped_storage().nbytes()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        out = model(*inputs)
    return out, sum(kept.values())


@each_model
def test_recomputing_keeps_less(name):
    model, inputs = make(name)
    _, everything = activations(model, inputs)
    recompute_blocks(model)
    _, less = activations(model, inputs)
    assert less < 0.7 * everything


@pytest.mark.parametrize("recompute", [False, True])
@each_model
def test_a_model_stays_on_its_device(name, recompute):
    """Nothing is made on the CPU by mistake, forward or backward.

    The device "meta" stands for a card: a tensor on it cannot meet one on
    the CPU.
    """
    build, inputs = MODELS[name]
    with torch.device("meta"):
        model = build().train()
    if recompute:
        recompute_blocks(model)
    out = model(*(x.to("meta") for x in inputs))
    out.sum().backward()
    assert out.device.type == "meta"
    assert {p.grad.device.type for p in model.parameters()} == {"meta"}


@pytest.mark.parametrize(
    ("kinds", "name", "expected"),
    [
        ((), "auto", "cpu"),
        (("mps",), "auto", "mps"),
        (("cuda", "mps"), "auto", "cuda:3"),
        (("cuda", "mps"), "cpu", "cpu"),
        (("cuda",), "cuda", "cuda:3"),
    ],
)
def test_choose_device(machine, monkeypatch, kinds, name, expected):
    machine(*kinds)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert choose_device(name) == torch.device(expected)
