"""Speed of our ViT against the same ViT built from PyTorch's own encoder.

Both have equal sizes and run in turn, in one process, so that only their
ratio counts; below 1 ours is faster. Run it with:
    python -m benchmarks.models
"""

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

ROUNDS = 9
CASES = {
    "digits, batch 32": (ViTConfig.digits(), 32),
    "ViT-Ti/16, batch 2": (ViTConfig.ti16(), 2),
}


class PeerViT(nn.Module):
    """A ViT of the same sizes around nn.TransformerEncoder."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        width = config.d_model
        self.embed = nn.Conv2d(
            config.num_channels, width, config.patch_size, config.patch_size
        )
        self.cls_token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(
            torch.randn(1, config.num_patches + 1, width)
        )
        layer = nn.TransformerEncoderLayer(
            width,
            config.num_heads,
            config.d_ff,
            dropout=0.0,
            activation="gelu",
            batch_first=True,
            norm_first=True,
        )
        self.encoder = nn.TransformerEncoder(
            layer,
            config.num_layers,
            norm=nn.LayerNorm(width),
            enable_nested_tensor=False,
        )
        self.head = nn.Linear(width, config.num_classes)

    def forward(self, images: Tensor) -> Tensor:
        patches = self.embed(images).flatten(2).transpose(1, 2)
        prefix = self.cls_token.expand(len(images), -1, -1)
        tokens = torch.cat([prefix, patches], dim=1) + self.position
        return self.head(self.encoder(tokens)[:, 0])


def main() -> None:
    """Print one line per case."""
    torch.set_num_threads(2)
    print("median time of ours / PyTorch's    forward  training step")
    for name, (config, batch) in CASES.items():
        torch.manual_seed(0)
        ours, peer = VisionTransformer(config), PeerViT(config)
        shape = batch, config.num_channels, *[config.image_size] * 2
        images = torch.randn(shape)
        labels = torch.randint(config.num_classes, (batch,))
        forward = ratio(infer, ours, peer, images)
        step = ratio(train, ours, peer, images, labels)
        print(f"{name:33} {forward:8.2f} {step:14.2f}")


@torch.no_grad()
def infer(model: nn.Module, images: Tensor) -> None:
    """Run one forward pass as in use."""
    model.eval()(images)


def train(model: nn.Module, images: Tensor, labels: Tensor) -> None:
    """Run one forward and backward pass as in training."""
    model.train().zero_grad()
    F.cross_entropy(model(images), labels).backward()


def ratio(
    function: Callable[..., None],
    ours: nn.Module,
    peer: nn.Module,
    *inputs: Tensor,
) -> float:
    """Time both in turn; return the ratio of their medians."""
    times: dict[nn.Module, list[float]] = {ours: [], peer: []}
    for _ in range(ROUNDS):
        for model, kept in times.items():
            start = time.perf_counter()
            function(model, *inputs)
            kept.append(time.perf_counter() - start)
    return statistics.median(times[ours]) / statistics.median(times[peer])


if __name__ == "__main__":
    main()
