"""The network that is trained in the page, against `vitedu` and PyTorch."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from javascript import numbers, run
from torch import nn

from vitedu.analysis.attention_maps import capture_attention
from vitedu.attention import MultiHeadAttention
from vitedu.layers import EncoderBlock, FeedForward
from vitedu.positions import sinusoidal_table

SCRIPTS = "reverse_trainer_layers reverse_trainer_maths"
LENGTH, SYMBOLS, BATCH, D_MODEL, D_FF = 10, 8, 16, 32, 64
RATE, WARM_UP = 0.01, 50
# Both sides compute in double precision.
TOLERANCE = 1e-9
SETTINGS = [
    {"positions": True, "scaled": True, "numHeads": 1},
    {"positions": True, "scaled": False, "numHeads": 2},
    {"positions": False, "scaled": True, "numHeads": 4},
    {"positions": False, "scaled": False, "numHeads": 1},
]


class Network(nn.Module):
    """What the explorer trains, from the parts of the library."""

    def __init__(self, settings: dict) -> None:
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, D_MODEL)
        places = sinusoidal_table(LENGTH, D_MODEL)
        self.places = places * settings["positions"]
        scale = None if settings["scaled"] else 1.0
        self.block = EncoderBlock(
            MultiHeadAttention(D_MODEL, settings["numHeads"], scale=scale),
            FeedForward(D_MODEL, D_FF, activation="relu"),
        )
        self.norm = nn.LayerNorm(D_MODEL, eps=1e-6)
        self.head = nn.Linear(D_MODEL, SYMBOLS)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        tokens = self.embed(ids) + self.places
        return self.head(self.norm(self.block(tokens)))

    def loss(self, ids: torch.Tensor) -> torch.Tensor:
        logits = self(ids)
        return F.cross_entropy(logits.flatten(0, 1), ids.flip(1).flatten())

    def load(self, named: dict[str, list]) -> None:
        """Take weights that come out of the page."""
        shapes = {name: p.shape for name, p in self.named_parameters()}
        assert list(shapes) == list(named)
        self.load_state_dict(
            {
                name: torch.tensor(named[name]).view(shape)
                for name, shape in shapes.items()
            }
        )


@pytest.fixture(autouse=True)
def double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def train(settings: dict, code: str, *, rate=RATE, seed=3, **given):
    """Return an expression after a trainer, `trainer`, has been made."""
    start = """(() => {
      const trainer = makeTrainer(settings);
      const { network } = trainer;
      const learn = (steps) => Array.from({ length: steps }, () => {
        trainer.step(rate);
        return [[...network.ids], trainer.losses[trainer.steps - 1]];
      });
      const named = (kind) => Object.fromEntries(
        Object.entries(network.parameters.named).map(([name, part]) =>
          [name, part[kind].data]));
      const now = (value) => JSON.parse(JSON.stringify(value, (_, it) =>
        ArrayBuffer.isView(it) ? [...it] : it));
    """
    return run(
        SCRIPTS,
        f"{start} return {code}; }})()",
        settings=settings | {"seed": seed},
        rate=rate,
        **given,
    )


def same(actual, expected, name: str = "") -> None:
    expected = torch.as_tensor(expected).detach().numpy()
    np.testing.assert_allclose(
        numbers(actual).reshape(expected.shape),
        expected,
        rtol=TOLERANCE,
        atol=TOLERANCE * np.abs(expected).max(),
        err_msg=name,
    )


@pytest.mark.parametrize("settings", SETTINGS)
def test_forward_loss_and_every_gradient_are_those_of_vitedu(settings):
    torch.manual_seed(0)
    network = Network(settings)
    for weight in network.parameters():
        nn.init.normal_(weight, std=0.4)
    ids = torch.randint(SYMBOLS, (BATCH, LENGTH))
    flat = nn.utils.parameters_to_vector(network.parameters())
    found = train(
        settings,
        "(network.parameters.values.set(weights), network.ids.set(ids),"
        " { loss: network.forward(), gradients: (network.backward(),"
        " named('grad')), logits: network.logits, maps: network.maps })",
        weights=flat.detach().numpy(),
        ids=ids.flatten().tolist(),
    )
    with capture_attention(network) as captured:
        expected = network.loss(ids)
    expected.backward()
    same(found["loss"], expected)
    same(found["logits"], network(ids))
    same(found["maps"], captured["block.attn"])
    for name, weight in network.named_parameters():
        assert weight.grad.any()
        same(found["gradients"][name], weight.grad, name)


# Of the settings Adam sees nothing but their gradients, as above.
def test_steps_of_adam_lead_to_the_weights_of_pytorch():
    settings = SETTINGS[1]
    before, done, after = train(
        settings,
        "[now(named('value')), learn(60), named('value')]",
    )
    network = Network(settings)
    network.load(before)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    warm_up = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1, (step + 1) / WARM_UP)
    )
    for step, (ids, loss) in enumerate(done):
        expected = network.loss(torch.tensor(ids).view(BATCH, LENGTH))
        same(loss, expected, f"step {step}")
        optimizer.zero_grad()
        expected.backward()
        optimizer.step()
        warm_up.step()
    for name, weight in network.named_parameters():
        # A gradient near 0 moves its weight by its sign: round-off shows.
        np.testing.assert_allclose(
            after[name], weight.detach().flatten(), atol=1e-6, err_msg=name
        )


def test_what_it_is_tested_on_is_what_the_network_says():
    found = train(
        SETTINGS[1],
        "(learn(100), { tested: trainer.evaluate(), weights: named('value'),"
        " tests: trainer.tests,"
        " seen: Array.from({ length: 16 }, (_, i) => now(trainer.look(i))) })",
    )
    network = Network(SETTINGS[1])
    network.load(found["weights"])
    # `look` shows sequences of the first of the four batches.
    batches = torch.tensor(found["tests"]).view(-1, BATCH, LENGTH)
    losses, rights, mirrors = [], [], []
    with torch.no_grad():
        for ids in batches.flip(0):
            with capture_attention(network) as maps:
                shares = network(ids).softmax(-1)
            losses.append(network.loss(ids))
            rights.append((shares.argmax(-1) == ids.flip(1)).double())
            diagonal = maps["block.attn"].flip(-1).diagonal(dim1=-2, dim2=-1)
            mirrors.append(diagonal.mean((0, 2)))
    tested = found["tested"]
    same(tested["loss"], torch.stack(losses).mean())
    same(tested["right"], torch.stack(rights).mean())
    same(tested["mirror"], torch.stack(mirrors).mean(0))
    assert tested["step"] == 100
    assert len(batches) == 4
    sure, says = shares.max(-1)
    for name, expected in {
        "reads": ids,
        "should": ids.flip(1),
        "says": says,
        "sure": sure,
        "maps": maps["block.attn"],
    }.items():
        same([one[name] for one in found["seen"]], expected, name)


def trained(settings: dict, steps: int) -> dict:
    code = "(learn(steps), trainer.evaluate())"
    return train(settings, code, rate=1e-3, seed=0, steps=steps)


def test_it_learns_to_reverse():
    after = trained(SETTINGS[0], 450)
    assert after["right"] > 0.95
    assert max(after["mirror"]) > 0.5


def test_without_positions_it_knows_the_letters_and_not_their_order():
    after = trained(SETTINGS[2], 400)
    limit = run(SCRIPTS, "WITHOUT_ORDER")
    assert 0.25 < after["right"] < limit["right"] + 0.06
    assert limit["loss"] - 0.02 < after["loss"] < np.log(SYMBOLS)
