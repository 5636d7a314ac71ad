"""One training step of a ViT in six ways: time, memory, gradients.

Chapter 19 reads the result files. Run it, on a quiet machine, with:
    python -m experiments.training_step cpu
    python -m experiments.training_step cuda
"""

import sys
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from experiments.runs import write_runs
from vitedu.attention import MultiHeadAttention
from vitedu.config import ViTConfig
from vitedu.training.activation_checkpointing import recompute_blocks
from vitedu.training.devices import choose_device
from vitedu.vit import VisionTransformer

FOLDER = Path(__file__).parent.parent / "book/data"
WAYS = (
    "written out",
    "fused",
    "recomputed",
    "micro-batches",
    "bfloat16",
    "compiled",
)
# 401 tokens: more than the library writes out by itself on a CPU.
CONFIG = ViTConfig(
    image_size=40,
    patch_size=2,
    num_channels=1,
    num_classes=10,
    d_model=64,
    num_layers=6,
    num_heads=4,
    d_ff=256,
)
BATCH = 8


def result(device: str) -> Path:
    """Return where the result of a kind of device lies."""
    return FOLDER / f"training-step-{device}.json"


class Meter(TorchDispatchMode):
    """Count the bytes of all tensors that operations make.

    Attributes:
        live: Bytes that are in use now.
        peak: The most at any time.
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self.seen = weakref.WeakSet()

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        out = operation(*args, **(kwargs or {}))
        for leaf in tree_leaves(out):
            if isinstance(leaf, Tensor):
                self.note(leaf.untyped_storage())
        self.peak = max(self.peak, self.live)
        return out

    def note(self, piece: torch.UntypedStorage) -> None:
        """Count a piece of memory until it is freed."""
        if piece not in self.seen:
            self.seen.add(piece)
            self.add(piece.nbytes())
            weakref.finalize(piece, self.add, -piece.nbytes())

    def add(self, size: int) -> None:
        """Count `size` bytes more, or fewer."""
        self.live += size


def peak_bytes(run: Callable[[], object], device: str = "cpu") -> int:
    """Return the most memory that `run` took beyond what was there."""
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        return torch.cuda.max_memory_allocated() - before
    with Meter() as meter:
        run()
    return meter.peak


def prepare(way: str, device: str) -> tuple[VisionTransformer, Callable]:
    """Return a model and what makes one step's gradients with it."""
    torch.manual_seed(0)
    model = VisionTransformer(CONFIG).to(device)
    # A head of zeros, as a new ViT has it, would let no gradient pass.
    torch.nn.init.xavier_uniform_(model.head.weight)
    images = torch.randn(BATCH, 1, *CONFIG.image_shape).to(device)
    labels = torch.arange(BATCH, device=device)
    if way == "written out":
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                module.register_recorder(lambda weights: None)
    if way == "recomputed":
        recompute_blocks(model)
    if way == "compiled":
        model.compile()
    parts = 4 if way == "micro-batches" else 1

    def step() -> None:
        model.zero_grad()
        for x, y in zip(images.chunk(parts), labels.chunk(parts), strict=True):
            with torch.autocast(
                device, torch.bfloat16, enabled=way == "bfloat16"
            ):
                loss = F.cross_entropy(model(x), y, reduction="sum")
            (loss / BATCH).backward()

    return model, step


def gradient(model: torch.nn.Module) -> Tensor:
    """Return all gradients of a model as one vector."""
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def measure(way: str, device: str = "cpu", *, repeats: int = 5) -> dict:
    """Run a step in one way.

    Returns:
        "way"; "seconds", the fastest of `repeats`, after a first step that
        is not counted, on a CPU those of the processor; "peak_bytes";
        "gradient", all in one vector.
    """
    model, step = prepare(way, device)
    step()
    # What one core worked; another program that takes its turn is not in it.
    clock = time.perf_counter if device == "cuda" else time.process_time
    seconds = []
    for _ in range(repeats):
        start = clock()
        step()
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(clock() - start)
    found = gradient(model)
    model.zero_grad()
    # A compiled step on a CPU makes its tensors where the meter cannot look.
    blind = way == "compiled" and device != "cuda"
    peak = None if blind else peak_bytes(step, device)
    return {
        "way": way,
        "seconds": min(seconds),
        "peak_bytes": peak,
        "gradient": found,
    }


def main() -> None:
    """Measure all ways on one device, write the result file."""
    device = choose_device(sys.argv[1]).type
    torch.set_num_threads(1)
    runs, right = [], None
    for way in WAYS:
        run = measure(way, device)
        found = run.pop("gradient")
        right = found if right is None else right
        run["off"] = ((found - right).norm() / right.norm()).item()
        print(run)
        runs.append(run)
    name = torch.cuda.get_device_name() if device == "cuda" else device
    write_runs(
        result(device),
        runs,
        script="experiments/training_step.py",
        device=name,
    )


if __name__ == "__main__":
    main()
