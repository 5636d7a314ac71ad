"""Small Vision Transformers, as a page computes with them."""

import copy
import json

import numpy as np
import torch

from vitedu.config import ViTConfig
from vitedu.vit import VisionTransformer

# Two heads, three blocks, a table of 5 x 5 positions.
SMALL = {
    "num_heads": 2,
    "d_model": 128,
    "d_ff": 512,
    "num_layers": 3,
    "image_size": 20,
    "patch_size": 4,
}
# So many blocks that there is time to cancel.
SLOW = {"num_layers": 40}


def small_network(**changes) -> VisionTransformer:
    """Draw one whose every part counts."""
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng():
        model = VisionTransformer(ViTConfig.s14(**SMALL | changes)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(std=0.1, generator=generator)
            if name.endswith(("norm1.weight", "norm2.weight", "gamma")):
                weight.add_(1)
        model.norm.weight.add_(1)
    return model


def header_of(packed: bytes) -> dict:
    """Return the header of a packed network; see `pack_network`."""
    length = int.from_bytes(packed[:4], "little")
    start = -(-(4 + length) // 16) * 16
    return json.loads(packed[4 : 4 + length]) | {"start": start}


def unpacked(packed: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a packed network, rounded ones multiplied out."""
    header = header_of(packed)
    found = {
        name: np.frombuffer(
            packed, dtype, int(np.prod(shape)), header["start"] + at
        ).reshape(shape)
        for name, (at, dtype, shape) in header["arrays"].items()
    }
    for name in [name for name in found if name.endswith(".scale")]:
        numbers, scale = found[name.removesuffix(".scale")], found.pop(name)
        if numbers.ndim == 3:  # (output / 8, input, 8)
            numbers = numbers.transpose(0, 2, 1)
            numbers = numbers.reshape(-1, numbers.shape[-1])
        whole = numbers.astype("f4") * scale[:, None]
        found[name.removesuffix(".scale")] = whole
    return found


def rounded(model: VisionTransformer, packed: bytes) -> VisionTransformer:
    """Return a copy that holds the numbers a page gets."""
    found = unpacked(packed)
    first = found["first_token"] - model.cls_token.detach()[0, 0].numpy()
    found["pos_embed.weight"] = np.concatenate([[first], found["positions"]])
    found["cls_token"] = model.cls_token.detach().numpy()
    state = {
        name: torch.tensor(found[name]).reshape(weight.shape)
        for name, weight in model.state_dict().items()
    }
    copied = copy.deepcopy(model)
    copied.load_state_dict(state)
    return copied
