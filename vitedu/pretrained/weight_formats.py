"""What timm, Hugging Face and the authors of ViT call its weights."""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

from einops import rearrange
from torch import Tensor

from vitedu.pretrained.weight_files import WeightFile

# 4,096 pixels in patches of 16: nobody has learned more positions.
LARGEST_SIDE = 256

# Module of timm -> module in the file. {p} stands for what some files put in
# front of every name, {i} for the number of a block.
_TIMM = {
    name: name
    for name in (
        *("cls_token", "dist_token", "pos_embed"),
        *("patch_embed.proj", "patch_embed.norm"),
        *("blocks.{i}.norm1", "blocks.{i}.attn.qkv", "blocks.{i}.attn.proj"),
        *("blocks.{i}.norm2", "blocks.{i}.mlp.fc1", "blocks.{i}.mlp.fc2"),
        *("norm", "fc_norm", "pre_logits.fc", "head", "head_dist"),
    )
}
_HUGGING_FACE = {
    "cls_token": "{p}embeddings.cls_token",
    "dist_token": "{p}embeddings.distillation_token",
    "pos_embed": "{p}embeddings.position_embeddings",
    "patch_embed.proj": "{p}embeddings.patch_embeddings.projection",
    "blocks.{i}.norm1": "{p}encoder.layer.{i}.layernorm_before",
    "blocks.{i}.attn.q": "{p}encoder.layer.{i}.attention.attention.query",
    "blocks.{i}.attn.k": "{p}encoder.layer.{i}.attention.attention.key",
    "blocks.{i}.attn.v": "{p}encoder.layer.{i}.attention.attention.value",
    "blocks.{i}.attn.proj": "{p}encoder.layer.{i}.attention.output.dense",
    "blocks.{i}.norm2": "{p}encoder.layer.{i}.layernorm_after",
    "blocks.{i}.mlp.fc1": "{p}encoder.layer.{i}.intermediate.dense",
    "blocks.{i}.mlp.fc2": "{p}encoder.layer.{i}.output.dense",
    "norm": "{p}layernorm",
    # Linear and tanh on the class token, in a model without a head.
    "pre_logits.fc": "{p}pooler.dense",
    "head": "classifier",
    "head_dist": "distillation_classifier",
}
# Since version 5 the modules have these names; files keep the older ones
# unless asked otherwise.
_HUGGING_FACE_5 = _HUGGING_FACE | {
    "blocks.{i}.norm1": "{p}layers.{i}.layernorm_before",
    "blocks.{i}.attn.q": "{p}layers.{i}.attention.q_proj",
    "blocks.{i}.attn.k": "{p}layers.{i}.attention.k_proj",
    "blocks.{i}.attn.v": "{p}layers.{i}.attention.v_proj",
    "blocks.{i}.attn.proj": "{p}layers.{i}.attention.o_proj",
    "blocks.{i}.norm2": "{p}layers.{i}.layernorm_after",
    "blocks.{i}.mlp.fc1": "{p}layers.{i}.mlp.fc1",
    "blocks.{i}.mlp.fc2": "{p}layers.{i}.mlp.fc2",
}
_ATTENTION = "Transformer/encoderblock_{i}/MultiHeadDotProductAttention_1"
_AUTHORS = {
    "cls_token": "cls",
    "pos_embed": "Transformer/posembed_input/pos_embedding",
    "patch_embed.proj": "embedding",
    "blocks.{i}.norm1": "Transformer/encoderblock_{i}/LayerNorm_0",
    "blocks.{i}.attn.q": f"{_ATTENTION}/query",
    "blocks.{i}.attn.k": f"{_ATTENTION}/key",
    "blocks.{i}.attn.v": f"{_ATTENTION}/value",
    "blocks.{i}.attn.proj": f"{_ATTENTION}/out",
    "blocks.{i}.norm2": "Transformer/encoderblock_{i}/LayerNorm_2",
    "blocks.{i}.mlp.fc1": "Transformer/encoderblock_{i}/MlpBlock_3/Dense_0",
    "blocks.{i}.mlp.fc2": "Transformer/encoderblock_{i}/MlpBlock_3/Dense_1",
    "norm": "Transformer/encoder_norm",
    "pre_logits.fc": "pre_logits",
    "head": "head",
}
# How the authors' code turns a weight: from ours to theirs.
_TURNED = {
    "patch_embed.proj.weight": "d c p1 p2 -> p1 p2 c d",
    "attn.q.weight": "(heads k) d -> d heads k",
    "attn.k.weight": "(heads k) d -> d heads k",
    "attn.v.weight": "(heads k) d -> d heads k",
    "attn.q.bias": "(heads k) -> heads k",
    "attn.k.bias": "(heads k) -> heads k",
    "attn.v.bias": "(heads k) -> heads k",
    "attn.proj.weight": "d (heads k) -> heads k d",
    "fc1.weight": "o i -> i o",
    "fc2.weight": "o i -> i o",
    "fc.weight": "o i -> i o",
    "head.weight": "o i -> i o",
}


class Layout(NamedTuple):
    """How one of our weights lies in a file.

    Attributes:
        name: What the file calls it.
        pattern: From our axes to those of the file, in the words of einops;
            "" where they are the same.
    """

    name: str
    pattern: str

    def theirs(self, ours: Tensor, num_heads: int) -> Tensor:
        """Turn a weight of ours as the file has it."""
        heads = {"heads": num_heads} if "heads" in self.pattern else {}
        return rearrange(ours, self.pattern, **heads) if self.pattern else ours

    def ours(self, theirs: Tensor) -> Tensor:
        """Turn a weight of the file as we have it."""
        ours, _, pattern = self.pattern.partition(" -> ")
        return rearrange(theirs, f"{pattern} -> {ours}") if pattern else theirs


@dataclass(frozen=True)
class WeightFormat:
    """The names and the axes of the weights in one family of files.

    Attributes:
        title: Whose files these are.
        modules: Our modules, named as in timm, to theirs.
        interpolation: How that family stretches positions; a mode of
            `interpolate_positions`.
        layer_norm_eps: The epsilon that its models have by default.
        flax: Whether the axes are those of flax: input before output, an axis
            for the heads.
        prefix: What stands before every name in this file.
    """

    title: str
    modules: dict[str, str]
    interpolation: str
    layer_norm_eps: float = 1e-6
    flax: bool = False
    prefix: str = ""

    @property
    def splits_qkv(self) -> bool:
        """Whether q, k and v are three weights and not one."""
        return "blocks.{i}.attn.q" in self.modules

    def layout(self, key: str) -> Layout:
        """Say where a weight of ours is: `key` is its name in timm.

        A weight that this format does not know keeps our name, so that it
        will be missed under it.
        """
        module, _, leaf = key.rpartition(".")
        block = re.search(r"^blocks\.(\d+)\.", key)
        number = block[1] if block else ""
        known = self.modules.get(
            re.sub(r"^blocks\.\d+", "blocks.{i}", module or leaf)
        )
        if known is None:
            return Layout(key, "")
        name = known.format(p=self.prefix, i=number)
        if not self.flax:
            return Layout(f"{name}.{leaf}" if module else name, "")
        if leaf == "weight":
            leaf = "scale" if "norm" in module else "kernel"
        pattern = next((p for k, p in _TURNED.items() if key.endswith(k)), "")
        return Layout(f"{name}/{leaf}" if module else name, pattern)


_FORMATS = (
    WeightFormat("timm", _TIMM, "bicubic_antialias"),
    WeightFormat("Hugging Face", _HUGGING_FACE, "bicubic", 1e-12),
    WeightFormat("Hugging Face", _HUGGING_FACE_5, "bicubic", 1e-12),
    WeightFormat("the authors of ViT", _AUTHORS, "bilinear", flax=True),
)


def find_family(file: WeightFile) -> WeightFormat:
    """Recognise a family by the names of the patches and the first block.

    Raises:
        ValueError: It is none of those that are known.
    """
    for known in _FORMATS:
        patches = known.layout("patch_embed.proj.weight").name
        for name in sorted(file.names):
            if not name.endswith(patches):
                continue
            found = replace(known, prefix=name.removesuffix(patches))
            if found.layout("blocks.0.norm1.weight").name in file.names:
                return _with_teacher(found, file.names)
    raise ValueError(
        "path must hold a Vision Transformer with the names of timm, Hugging "
        f"Face or the authors' .npz files, got {file.path} with the names "
        f"{sorted(file.names)[:8]}"
    )


def _with_teacher(found: WeightFormat, names: Collection[str]) -> WeightFormat:
    """Beside a second head, Hugging Face calls the first one otherwise."""
    if "cls_classifier.weight" not in names:
        return found
    return replace(found, modules=found.modules | {"head": "cls_classifier"})


def square_side(shape: tuple[int, ...], num_prefix_tokens: int) -> int | None:
    """Return the side of the square grid that positions are for, if any."""
    if len(shape) != 3 or shape[0] != 1:
        return None
    patches = shape[1] - num_prefix_tokens
    side = math.isqrt(max(patches, 0))
    return side if side**2 == patches and 1 <= side <= LARGEST_SIDE else None
