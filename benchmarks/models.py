"""Speed of our models against the same models of other libraries.

All have equal sizes and run in turn, in one process, so that only their ratio
counts; below 1 ours is faster. Run it with:
    python -m benchmarks.models
"""

import random
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks import peers
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

# Config, batch, rounds.
VITS = {
    "ViT-B/16, batch 2": (ViTConfig.b16(), 2, 15),
    "ViT-Ti/16, batch 8": (ViTConfig.ti16(), 8, 25),
    "digits, batch 32": (ViTConfig.digits(drop_path=0.0), 32, 61),
}
SEQ2SEQ = TransformerConfig(
    src_vocab_size=1000,
    tgt_vocab_size=1000,
    d_model=256,
    num_layers=3,
    num_heads=8,
    d_ff=1024,
)


def main() -> None:
    """Print one line per case and peer."""
    torch.set_num_threads(2)
    print("median time, ours / peer's")
    for name, (config, batch, rounds) in VITS.items():
        models = {"ours": VisionTransformer(config)}
        for peer, build in peers.vision_transformers(config).items():
            models[peer] = build()
        shape = batch, config.num_channels, *config.image_shape
        images = torch.randn(shape)
        labels = torch.randint(config.num_classes, (batch,))
        for task in (infer, differentiate, train):
            report(
                f"{name}: {task.__name__}",
                models,
                rounds,
                task,
                labels,
                images,
            )
    models = {
        "ours": Transformer(SEQ2SEQ),
        "PyTorch": peers.PyTorchTransformer(SEQ2SEQ),
    }
    src, tgt = (torch.randint(1, 1000, (16, n)) for n in (32, 24))
    labels = torch.randint(1, 1000, (16, 24))
    name = "seq2seq, batch 16: train"
    report(name, models, 21, train, labels, src, tgt)


def infer(model: nn.Module, labels: Tensor, *inputs: Tensor) -> None:
    """Run one forward pass as in use."""
    with torch.no_grad():
        model.eval()(*inputs)


def differentiate(model: nn.Module, labels: Tensor, *inputs: Tensor) -> None:
    """Run one forward and backward pass."""
    model.train().zero_grad()
    logits = model(*inputs).flatten(0, -2)
    F.cross_entropy(logits, labels.flatten()).backward()


def train(model: nn.Module, labels: Tensor, *inputs: Tensor) -> None:
    """Run one step of training with AdamW."""
    if not hasattr(model, "optimizer"):
        model.optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    differentiate(model, labels, *inputs)
    model.optimizer.step()


def report(
    name: str,
    models: dict[str, nn.Module],
    rounds: int,
    task: Callable[..., None],
    *inputs: Tensor,
) -> None:
    """Time the models in turn; print the ratios of the medians.

    Each round has an order of its own: who runs after whom matters by some
    hundredths.
    """
    times: dict[str, list[float]] = {peer: [] for peer in models}
    shuffle = random.Random(0)
    for _ in range(rounds):
        for peer, model in shuffle.sample(list(models.items()), len(models)):
            start = time.perf_counter()
            task(model, *inputs)
            times[peer].append(time.perf_counter() - start)
    # The first round warms up.
    median = {peer: statistics.median(t[1:]) for peer, t in times.items()}
    ours = median.pop("ours")
    ratios = ", ".join(
        f"{p} {ours / other:.2f}" for p, other in median.items()
    )
    worst = ours / min(median.values())
    print(f"{name:34} fastest {worst:.2f}   ({ratios})", flush=True)


if __name__ == "__main__":
    main()
