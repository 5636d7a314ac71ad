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

# Module of timm, or a weight with a name of its own -> the same in the file.
# {p} stands for what some files put in front of every name, {i} for the number
# of a block.
_TIMM = {
    name: name
    for name in (
        *("cls_token", "dist_token", "reg_token", "pos_embed"),
        *("patch_embed.proj", "patch_embed.norm"),
        *("blocks.{i}.norm1", "blocks.{i}.attn.qkv", "blocks.{i}.attn.proj"),
        *("blocks.{i}.norm2", "blocks.{i}.mlp.fc1", "blocks.{i}.mlp.fc2"),
        *("blocks.{i}.ls1", "blocks.{i}.ls2"),
        *("blocks.{i}.attn.q_norm", "blocks.{i}.attn.k_norm"),
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
_LAYER = "{p}encoder.layer.{i}"
_DINOV2 = _HUGGING_FACE | {
    "reg_token": "{p}embeddings.register_tokens",
    "blocks.{i}.norm1": f"{_LAYER}.norm1",
    "blocks.{i}.norm2": f"{_LAYER}.norm2",
    "blocks.{i}.mlp.fc1": f"{_LAYER}.mlp.fc1",
    "blocks.{i}.mlp.fc2": f"{_LAYER}.mlp.fc2",
    "blocks.{i}.ls1.gamma": f"{_LAYER}.layer_scale1.lambda1",
    "blocks.{i}.ls2.gamma": f"{_LAYER}.layer_scale2.lambda1",
}
_DINOV2_5 = _DINOV2 | {
    "blocks.{i}.attn.q": f"{_LAYER}.attention.q_proj",
    "blocks.{i}.attn.k": f"{_LAYER}.attention.k_proj",
    "blocks.{i}.attn.v": f"{_LAYER}.attention.v_proj",
    "blocks.{i}.attn.proj": f"{_LAYER}.attention.o_proj",
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
    """How one of our weights is stored in a file.

    Attributes:
        name: What the file calls it.
        pattern: From our axes to those of the file, in the notation of einops;
            "" where they are the same.
    """

    name: str
    pattern: str

    def theirs(self, ours: Tensor, num_heads: int) -> Tensor:
        """Rearrange a weight of ours into the file's layout."""
        heads = {"heads": num_heads} if "heads" in self.pattern else {}
        return rearrange(ours, self.pattern, **heads) if self.pattern else ours

    def ours(self, theirs: Tensor) -> Tensor:
        """Rearrange a weight of the file into our layout."""
        ours, _, pattern = self.pattern.partition(" -> ")
        return rearrange(theirs, f"{pattern} -> {ours}") if pattern else theirs


@dataclass(frozen=True)
class WeightFormat:
    """The names and the axes of the weights in one family of files.

    Attributes:
        title: Whose files these are.
        modules: Our modules, named as in timm, to theirs.
        known_by: One of our weights, whose name in this family occurs only in
            files of this family.
        interpolation: How this family interpolates positions; a mode of
            `interpolate_positions`.
        layer_norm_eps: The epsilon that its models have by default.
        flax: Whether the axes are those of flax: input before output, an axis
            for the heads.
        any_image_size: Whether its models take images of any size.
        unused: Names of weights that only the training of its models needed.
        prefix: The prefix of every name in this file.
        placed_registers: How many registers have positions in this file, after
            the class token; in our models these positions are added to the
            registers.
    """

    title: str
    modules: dict[str, str]
    interpolation: str
    layer_norm_eps: float = 1e-6
    flax: bool = False
    any_image_size: bool = False
    unused: tuple[str, ...] = ()
    known_by: str = "blocks.0.norm1.weight"
    prefix: str = ""
    placed_registers: int = 0

    @property
    def splits_qkv(self) -> bool:
        """Whether q, k and v are three weights rather than one."""
        return "blocks.{i}.attn.q" in self.modules

    def layout(self, key: str) -> Layout:
        """Say where a weight of ours is: `key` is its name in timm.

        A weight that this format does not know keeps our name, so that it will
        be reported missing under that name.
        """
        block = re.search(r"^blocks\.(\d+)\.", key)
        number = block[1] if block else ""
        ours = re.sub(r"^blocks\.\d+", "blocks.{i}", key)
        module, _, leaf = ours.rpartition(".")
        found = self.modules.get(ours) or self.modules.get(module)
        if found is None:
            return Layout(key, "")
        name = found.format(p=self.prefix, i=number)
        if ours in self.modules:
            return Layout(name, "")
        if not self.flax:
            return Layout(f"{name}.{leaf}", "")
        if leaf == "weight":
            leaf = "scale" if "norm" in module else "kernel"
        pattern = next((p for k, p in _TURNED.items() if key.endswith(k)), "")
        return Layout(f"{name}/{leaf}", pattern)

    def ignored(self) -> set[str]:
        """Return the names that a file may have but no model here needs."""
        return {name.format(p=self.prefix) for name in self.unused}


_FORMATS = (
    WeightFormat("timm", _TIMM, "bicubic_antialias"),
    WeightFormat("Hugging Face", _HUGGING_FACE, "bicubic", 1e-12),
    WeightFormat("Hugging Face", _HUGGING_FACE_5, "bicubic", 1e-12),
    *(
        WeightFormat(
            "Hugging Face",
            modules,
            "bicubic",
            any_image_size=True,
            unused=("{p}embeddings.mask_token",),
            known_by=known_by,
        )
        for modules, known_by in (
            (_DINOV2_5, "blocks.0.attn.q.weight"),
            (_DINOV2, "blocks.0.norm1.weight"),
        )
    ),
    WeightFormat("the authors of ViT", _AUTHORS, "bilinear", flax=True),
)


def find_family(file: WeightFile) -> WeightFormat:
    """Recognise a family by the names of the patches and of a block.

    Raises:
        ValueError: The file belongs to none of the known families.
    """
    for known in _FORMATS:
        patches = known.layout("patch_embed.proj.weight").name
        for name in sorted(file.names):
            if not name.endswith(patches):
                continue
            found = replace(known, prefix=name.removesuffix(patches))
            if found.layout(known.known_by).name in file.names:
                return _variant(found, file.names)
    raise ValueError(
        "path must hold a Vision Transformer with the names of timm, Hugging "
        f"Face or the authors' .npz files, got {file.path} with the names "
        f"{sorted(file.names)[:8]}"
    )


def _variant(found: WeightFormat, names: Collection[str]) -> WeightFormat:
    """Return what Hugging Face does differently for some models."""

    def has(key: str) -> bool:
        return found.layout(key).name in names

    one_head = has("head.weight") or has("pre_logits.fc.weight")
    two_heads = has("head_dist.weight")
    if has("dist_token") and one_head and not two_heads:
        # No head reads the distillation token, so that it is a register.
        modules = dict(found.modules)
        modules["reg_token"] = modules.pop("dist_token")
        return replace(found, modules=modules, placed_registers=1)
    if "cls_classifier.weight" in names:  # beside a second head
        modules = found.modules | {"head": "cls_classifier"}
        return replace(found, modules=modules)
    if f"{found.prefix}embeddings.register_tokens" in names:
        return replace(found, interpolation="bicubic_antialias")
    return found


def square_side(shape: tuple[int, ...], num_prefix_tokens: int) -> int | None:
    """Return the side of the square grid that positions are for, if any."""
    if len(shape) != 3 or shape[0] != 1:
        return None
    patches = shape[1] - num_prefix_tokens
    side = math.isqrt(max(patches, 0))
    return side if side**2 == patches and 1 <= side <= LARGEST_SIDE else None
