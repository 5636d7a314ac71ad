"""What a public weight file says about the model it belongs to."""

import json
import math
import os
import warnings
from dataclasses import fields as fields_of
from dataclasses import replace
from itertools import count, takewhile
from typing import Any

from vitedu import require
from vitedu.config import ViTConfig
from vitedu.pretrained.weight_descriptions import (
    WIDTHS_AND_HEADS,
    description_beside,
)
from vitedu.pretrained.weight_files import WeightFile, open_weights
from vitedu.pretrained.weight_formats import (
    WeightFormat,
    find_family,
    square_side,
)

# Width of a known model -> its heads.
_HEADS = dict(WIDTHS_AND_HEADS.values())
_PATCHES = "patch_embed.proj.weight"


def config_of(path: str | os.PathLike, **changes: Any) -> ViTConfig:
    """Read a config off the names and shapes in a weight file.

    A file written by `save_vit` holds its config, which is returned if it fits
    the arrays. For other files, what no array shows (heads, epsilon,
    activation and pooling) is taken from the `config.json` of Hugging Face or
    timm in the same folder. Its sizes have to be those of the arrays. If there
    is no such file, the number of heads is that of the known model of this
    width, in the paper and in timm; where no known model has this width, heads
    are taken to be 64 wide, with a warning. In .npz files the arrays contain
    the number of heads.

    `any_image_size` is True for the Hugging Face models that always accept any
    size; `resampling` is then the method of the code that the file comes from.

    Args:
        path: The file.
        changes: New values for fields of the config, by name.

    Returns:
        A config for `load_vit`. Images are taken to be square.

    Raises:
        TypeError, ValueError: As for `load_vit`; a `config.json` or a saved
            config that is damaged; one of a model with other sizes, or of a
            model that computes something else; a width that 64 does not divide
            where `num_heads` is not given; positions without a square grid
            where `image_size` is not given; changes that `ViTConfig` refuses.

    Source: Dosovitskiy et al. 2021, table 1, for the width of a head.
    Derived in: 18-pretrained-weights
    """
    with open_weights(path) as file:
        if file.facts:
            return replace(_saved(file), **changes)
        facts = _Facts(file, find_family(file))
        fields = facts.sizes() | facts.choices()
        fields |= facts.described(fields) | changes
        if fields["any_image_size"]:
            fields.setdefault("resampling", facts.family.interpolation)
        if "image_size" not in fields:
            fields["image_size"] = facts.image_size(fields)
    if "num_heads" not in fields:
        fields["num_heads"] = _usual_heads(fields["d_model"])
    return ViTConfig(**fields)


def _saved(file: WeightFile) -> ViTConfig:
    """Return the config that `save_vit` wrote, if it fits the arrays."""
    known = {field.name for field in fields_of(ViTConfig)}
    try:
        saved = dict(json.loads(file.facts)["config"])
        if not saved.keys() <= known:
            raise ValueError(f"unknown fields {sorted(saved.keys() - known)}")
        config = ViTConfig(**saved)
        _Facts(file, find_family(file)).compare(config)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(
            f"path must hold a config of ViTConfig's fields, got {file.path}: "
            f"{error!r}"
        ) from error
    return config


def _usual_heads(d_model: int) -> int:
    if d_model in _HEADS:
        return _HEADS[d_model]
    if d_model % 64:
        raise ValueError(
            "num_heads must be given where heads cannot be 64 wide, "
            f"got d_model={d_model}"
        )
    warnings.warn(
        f"num_heads={d_model // 64} is a guess, heads of 64: no known "
        f"model has d_model={d_model}; give num_heads",
        stacklevel=3,
    )
    return d_model // 64


def _sides(name: str, value: Any) -> tuple[int, int]:
    """Return height and width, which JSON has as a number or a list."""
    return require.sides(
        name, tuple(value) if isinstance(value, list) else value
    )


class _Facts:
    """What the names and shapes of one file show, under our names."""

    def __init__(self, file: WeightFile, family: WeightFormat) -> None:
        self.file, self.family = file, family

    def sizes(self) -> dict[str, Any]:
        """Return the sizes that the shapes imply."""
        if self.family.flax:
            p1, p2, channels, d_model = self._shape(_PATCHES, 4)
            heads, head_dim = self._shape("blocks.0.attn.q.bias", 2)
            attention = {"num_heads": heads}
            if heads * head_dim != d_model:
                attention["head_dim"] = head_dim
        else:
            d_model, channels, p1, p2 = self._shape(_PATCHES, 4)
            attention = {}
        layers = (f"blocks.{i}.norm1.weight" for i in count())
        return attention | {
            "d_model": d_model,
            "num_channels": channels,
            "patch_size": p1 if p1 == p2 else (p1, p2),
            "num_layers": len(list(takewhile(self._has, layers))),
            "num_registers": self._registers(),
            "d_ff": self._hidden(),
            "num_classes": self._length("head.bias", 0),
            "representation_size": self._length("pre_logits.fc.bias", None),
        }

    def compare(self, config: ViTConfig) -> None:
        """Require that the sizes of a config agree with the arrays."""
        found = self.sizes()
        said = {name: getattr(config, name) for name in found}
        # A patch of two equal sides may be written in two ways.
        for sizes in (found, said):
            sizes["patch_size"] = require.sides("", sizes["patch_size"])
        said["q, k and v"] = sum(config.qkv_widths)
        found["q, k and v"] = self._shape("blocks.0.attn.qkv.weight", 2)[0]
        if config.positions == "learned":
            said["tokens"] = config.num_placed_tokens + config.num_patches
            found["tokens"] = self._shape("pos_embed", 3)[1]
        for name, size in found.items():
            if said[name] != size:
                raise ValueError(
                    f"{name} is {said[name]}, the file has {size}"
                )

    def choices(self) -> dict[str, Any]:
        """Return the choices that the names of the weights imply."""
        after = self._has("fc_norm.weight")
        mean = "mean_patches" if after else "class_token"
        qkv = "attn.q" if self.family.splits_qkv else "attn.qkv"
        return {
            "patch_norm": self._has("patch_embed.norm.weight"),
            "pool": mean if self._has("cls_token") else "mean",
            "pool_norm": "after" if after else "before",
            "distilled": self._has("dist_token"),
            # What the factors start at, not what they are in the file.
            "layer_scale": 1e-5 if self._has("blocks.0.ls1.gamma") else None,
            "any_image_size": self.family.any_image_size,
            "qkv_bias": self._has(f"blocks.0.{qkv}.bias"),
            "proj_bias": self._has("blocks.0.attn.proj.bias"),
        }

    def described(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return what config.json gives, or else the family's defaults.

        Raises:
            ValueError: config.json describes a different model.
        """
        said = description_beside(self.file.path)
        found = {"layer_norm_eps": self.family.layer_norm_eps} | said.settings
        if "pool" in found:
            found["pool"] = self._pool(found["pool"])
        contradictions = [
            f"{name} {value}"
            for name, ours, value in said.sizes
            if not self._agree(ours, value, fields)
        ]
        heads = fields.get("num_heads")
        if heads and found.get("num_heads", heads) != heads:
            contradictions.append(f"num_heads {found['num_heads']}")
        if contradictions:
            raise ValueError(
                "config.json must describe the file beside it, got "
                f"{self.file.path} and {', '.join(contradictions)}"
            )
        for name, ours, value in said.sizes:
            if ours == "image_size":
                height, width = _sides(name, value)
                found[ours] = height if height == width else (height, width)
        return found

    def _agree(self, ours: str, value: Any, fields: dict[str, Any]) -> bool:
        """Tell whether a described size agrees with the arrays."""
        sides = require.sides("patch_size", fields["patch_size"])
        if ours == "patch_size":
            return _sides(ours, value) == sides
        if ours == "image_size":
            pairs = zip(_sides(ours, value), sides, strict=True)
            patches = math.prod(size // side for size, side in pairs)
            prefix = self._num_placed(fields)
            found = self._shape("pos_embed", 3)[1]
            return found in (patches, prefix + patches)
        if ours == "mlp_ratio":
            return int(value * fields["d_model"]) == fields["d_ff"]
        if ours == "num_classes" and fields[ours] == 0:
            return True  # The file of a whole model without its head.
        return value == fields[ours]

    def _pool(self, described: str) -> str:
        has_class_token = self._has("cls_token")
        known = {
            "token": "class_token" if has_class_token else None,
            "avg": "mean_patches" if has_class_token else "mean",
        }
        if known.get(described) is None:
            raise ValueError(
                f"config.json must have a global_pool among {list(known)}, "
                "'token' if there is a class token, got "
                f"{described!r} beside {self.file.path}"
            )
        return known[described]

    def _num_placed(self, fields: dict[str, Any]) -> int:
        """Count the tokens in front that have a position in the file."""
        tokens = int(fields["pool"] != "mean") + int(fields["distilled"])
        return tokens + self.family.placed_registers

    def image_size(self, fields: dict[str, Any]) -> int | tuple[int, int]:
        """Return the pixels of a square grid of as many patches."""
        prefix = self._num_placed(fields)
        shape = self._shape("pos_embed", 3)
        # Some of timm's models have positions for the patches alone.
        side = square_side(shape, prefix) or square_side(shape, 0)
        if side is None:
            raise ValueError(
                "image_size must be given where the positions have no square "
                f"grid, got {self.file.path} with positions of shape {shape}"
            )
        p1, p2 = require.sides("patch_size", fields["patch_size"])
        return side * p1 if p1 == p2 else (side * p1, side * p2)

    def _hidden(self) -> int:
        """Return the input width of the second layer; it may have no bias."""
        shape = self._shape("blocks.0.mlp.fc2.weight", 2)
        return shape[0] if self.family.flax else shape[1]

    def _registers(self) -> int:
        return self._shape("reg_token", 3)[1] if self._has("reg_token") else 0

    def _name(self, key: str) -> str:
        return self.family.layout(key).name

    def _has(self, key: str) -> bool:
        return self._name(key) in self.file.names

    def _shape(self, key: str, rank: int) -> tuple[int, ...]:
        name = self._name(key)
        shape = self.file.shape(name) if self._has(key) else None
        if shape is None or len(shape) != rank:
            raise ValueError(
                f"path must hold {name} with {rank} axes, got "
                f"{self.file.path} with {shape}"
            )
        return shape

    def _length(self, key: str, default: int | None) -> int | None:
        return self._shape(key, 1)[0] if self._has(key) else default
