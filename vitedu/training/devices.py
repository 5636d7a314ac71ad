"""Where a model runs."""

import os

import torch

from vitedu import require

NAMES = ("cpu", "cuda", "mps", "auto")


def choose_device(device: str) -> torch.device:
    """Return the device of that name, or the fastest available one.

    Args:
        device: "cpu"; "cuda", a graphics card of NVIDIA or AMD; "mps", the
            graphics processor of an Apple computer; "auto" takes CUDA where
            there is one, else MPS where there is one, else the CPU. If there
            are several cards, a process started by torchrun takes the one with
            its local rank.

    Raises:
        ValueError: An unknown name, or PyTorch sees no such device.

    >>> choose_device("cpu")
    device(type='cpu')
    """
    require.choice("device", device, NAMES)
    present = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if device == "auto":
        device = next(kind for kind, there in present.items() if there)
    if not present[device]:
        there = tuple(kind for kind in present if present[kind])
        raise ValueError(
            f"device must be one of {(*there, 'auto')} on this machine, got "
            f"{device!r}: PyTorch sees no {device.upper()} device"
        )
    if device != "cuda":
        return torch.device(device)
    return torch.device(device, int(os.environ.get("LOCAL_RANK", 0)))
