"""Speed of our models against the same models of other libraries.

All have equal sizes and run in turn, in one process, so that only their ratio
counts. With bfloat16, the matrix products run in it (autocast) and the
weights stay in float32, for ours and for the peer.
"""

import random
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks import peers
from benchmarks.table import Row
from vitedu.config import TransformerConfig, ViTConfig
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

# Config, batch on a processor and on a graphics card, rounds.
VITS = {
    "ViT-B/16": (ViTConfig.b16(), {"cpu": 2, "cuda": 128}, 15),
    "ViT-Ti/16": (ViTConfig.ti16(), {"cpu": 8, "cuda": 512}, 25),
    "digits": (ViTConfig.digits(drop_path=0.0), {"cpu": 32, "cuda": 512}, 61),
}
SEQ2SEQ = TransformerConfig(
    src_vocab_size=1000,
    tgt_vocab_size=1000,
    d_model=256,
    num_layers=3,
    num_heads=8,
    d_ff=1024,
)
# A graphics card chooses its kernels and its clock in the first rounds.
WARM_UP = {"cpu": 1, "cuda": 10}
Models = dict[str, nn.Module]


def rows(device: str, quick: bool) -> Iterator[Row]:
    """Yield one row per case and peer.

    Args:
        device: "cpu" or "cuda"; all models and inputs are there.
        quick: Take a third of the rounds, and ViT-B/16 only.
    """
    torch.manual_seed(0)
    torch.set_num_threads(2)
    for name, (config, batches, rounds) in VITS.items():
        batch = batches[device]
        time_in_turn = partial(compare, device, rounds // (1 + 2 * quick))
        models = vision_transformers(config, device)
        size = batch, config.num_channels, *config.image_shape
        images = torch.randn(size, device=device)
        labels = torch.randint(config.num_classes, (batch,), device=device)
        for task in (infer, differentiate, train):
            case = f"{name}, batch {batch}: {task.__name__}"
            yield from time_in_turn(case, models, task, labels, images)
        if name == "ViT-B/16" and "timm" in models:
            pair = {peer: models[peer] for peer in ("ours", "timm")}
            for task in (infer, train):
                case = f"{name}, batch {batch}, bfloat16: {task.__name__}"
                task = partial(in_bfloat16, task)
                yield from time_in_turn(case, pair, task, labels, images)
        if quick:
            return
    yield from sequences(device)


def vision_transformers(config: ViTConfig, device: str) -> Models:
    """Build ours and those of the libraries that are there."""
    build = {
        "ours": lambda: VisionTransformer(config),
        **peers.vision_transformers(config),
    }
    return {name: make().to(device) for name, make in build.items()}


def sequences(device: str) -> Iterator[Row]:
    """Compare the encoder-decoder with PyTorch's."""
    models = {
        "ours": Transformer(SEQ2SEQ).to(device),
        "PyTorch": peers.PyTorchTransformer(SEQ2SEQ).to(device),
    }
    src, tgt, labels = (
        torch.randint(1, 1000, (16, length), device=device)
        for length in (32, 24, 24)
    )
    name = "seq2seq, batch 16: train"
    yield from compare(device, 21, name, models, train, labels, src, tgt)


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


def in_bfloat16(
    task: Callable[..., None], model: nn.Module, labels: Tensor, *inputs
) -> None:
    """Run a task with its matrix products in bfloat16."""
    with torch.autocast(labels.device.type, dtype=torch.bfloat16):
        task(model, labels, *inputs)


def compare(
    device: str,
    rounds: int,
    case: str,
    models: Models,
    task: Callable[..., None],
    *inputs: Tensor,
) -> Iterator[Row]:
    """Time the models in turn; yield our median beside that of each peer.

    Each round has an order of its own: who runs after whom matters by some
    hundredths.
    """
    times: dict[str, list[float]] = {peer: [] for peer in models}
    shuffle = random.Random(0)
    for _ in range(WARM_UP[device] + rounds):
        for peer, model in shuffle.sample(list(models.items()), len(models)):
            times[peer].append(seconds(device, task, model, *inputs))
    median = {
        peer: statistics.median(taken[WARM_UP[device] :])
        for peer, taken in times.items()
    }
    ours = 1000 * median.pop("ours")
    for peer, theirs in median.items():
        theirs *= 1000
        yield Row(what=case, ours=ours, peer=peer, theirs=theirs, unit="ms")


def seconds(device: str, task: Callable[..., None], *args) -> float:
    """Return how long a task takes, all its work on the device included."""
    if device == "cpu":
        start = time.perf_counter()
        task(*args)
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    task(*args)
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1000
