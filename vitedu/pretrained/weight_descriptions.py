"""Descriptions beside a weight file, by Hugging Face and timm.

Both write a ``config.json``; Hugging Face writes how images are prepared to
``preprocessor_config.json``, timm into the same file.
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from vitedu.data.normalisation import Normalisation

# Their names, Hugging Face's and then timm's, for our fields: sizes, which
# the arrays have, too, and what no array tells.
_SIZES = {
    "hidden_size": "d_model",
    "num_hidden_layers": "num_layers",
    "intermediate_size": "d_ff",
    "image_size": "image_size",
    "patch_size": "patch_size",
    "num_channels": "num_channels",
    "num_register_tokens": "num_registers",
    "num_features": "d_model",
    "embed_dim": "d_model",
    "depth": "num_layers",
    "img_size": "image_size",
    "in_chans": "num_channels",
    "reg_tokens": "num_registers",
    "mlp_ratio": "mlp_ratio",
    "num_classes": "num_classes",
}
_SETTINGS = {
    "num_attention_heads": "num_heads",
    "layer_norm_eps": "layer_norm_eps",
    "hidden_act": "activation",
    "num_heads": "num_heads",
    "act_layer": "activation",
    "global_pool": "pool",
}
# The other arguments of timm that the names of the arrays tell, or that
# change nothing in evaluation.
_TOLD = {
    *("class_token", "qkv_bias", "proj_bias", "qk_norm"),
    *("init_values", "no_embed_class", "pos_embed", "pre_norm", "fc_norm"),
    *("final_norm", "drop_rate", "pos_drop_rate", "patch_drop_rate"),
    *("proj_drop_rate", "attn_drop_rate", "drop_path_rate", "weight_init"),
    *("fix_init", "dynamic_img_size", "strict_img_size"),
}
_MODEL_TYPES = {
    *("vit", "deit", "dinov2", "dinov2_with_registers", "vit_mae", "ijepa"),
}
# Words in timm's names of architectures: these compute something else with
# weights of the same names, or other weights.
_OTHER_FUNCTIONS = {
    *("rpn", "relpos", "srelpos", "rope", "siglip", "siglip2", "quickgelu"),
    *("clip", "parallel", "xp", "beit", "eva", "cait", "xcit"),
}
# timm's word for a size -> width and heads.
WIDTHS_AND_HEADS = {
    "wee": (256, 4),
    "tiny": (192, 3),
    "little": (320, 5),
    "small": (384, 6),
    "medium": (512, 8),
    "betwixt": (640, 10),
    "base": (768, 12),
    "so150m": (896, 14),
    "large": (1024, 16),
    "so400m": (1152, 16),
    "huge": (1280, 16),
    "gigantic": (1664, 16),
}


class Description(NamedTuple):
    """What the files beside the weights say.

    Attributes:
        sizes: (their name, our field, value), to be compared with the arrays.
        settings: Our field -> value, for what no array shows.
        normalisation: The normalisation of the images, if it is given.
    """

    sizes: list[tuple[str, str, Any]]
    settings: dict[str, Any]
    normalisation: Normalisation | None


def description_beside(path: Path) -> Description:
    """Read what describes a weight file, in the same folder.

    Raises:
        ValueError: A description that is damaged, or is of a model that
            computes something other than our Vision Transformer; two that
            contradict each other.
    """
    described = path.with_name("config.json")
    settings = _read(described)
    arguments = _inner(settings, "model_args", described)
    _require_known(described, settings, arguments)
    said = settings | arguments
    sizes = [(k, ours, said[k]) for k, ours in _SIZES.items() if k in said]
    name = str(settings.get("architecture", ""))
    for word in set(name.split("_")) & WIDTHS_AND_HEADS.keys():
        if "embed_dim" not in arguments:
            sizes.append((name, "d_model", WIDTHS_AND_HEADS[word][0]))
    return Description(
        [size for size in sizes if size[2] is not None],
        {
            ours: said[k]
            for k, ours in _SETTINGS.items()
            if said.get(k) is not None
        },
        _normalisation(path, settings),
    )


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path.name} must be a JSON object, got {path}: {error}"
        ) from error


def _inner(settings: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    found = settings.get(name) or {}
    if not isinstance(found, dict):
        raise ValueError(
            f"{path.name} must hold a JSON object for {name}, got {found!r} "
            f"in {path}"
        )
    return found


def _require_known(
    path: Path, settings: dict[str, Any], arguments: dict[str, Any]
) -> None:
    known = _TOLD | _SIZES.keys() | _SETTINGS.keys()
    words = set(str(settings.get("architecture", "")).split("_"))
    foreign = {
        "architecture": sorted(words & _OTHER_FUNCTIONS),
        "model_args": sorted(arguments.keys() - known),
        "model_type": sorted(
            {settings.get("model_type", "vit")} - _MODEL_TYPES
        ),
        "pooler_act": sorted({settings.get("pooler_act", "tanh")} - {"tanh"}),
    }
    for name, found in foreign.items():
        if found:
            raise ValueError(
                f"{path.name} must describe a Vision Transformer that "
                f"ViTConfig can, got {path} with {found} in {name}"
            )


def _normalisation(
    path: Path, settings: dict[str, Any]
) -> Normalisation | None:
    processor = _read(path.with_name("preprocessor_config.json"))
    if processor.get("do_normalize") is False:
        processor |= {"image_mean": [0, 0, 0], "image_std": [1, 1, 1]}
    described = path.with_name("config.json")
    timm = _inner(settings, "pretrained_cfg", described) or settings
    found = [
        _three(said, mean, std, path)
        for said, mean, std in (
            (processor, "image_mean", "image_std"),
            (timm, "mean", "std"),
        )
        if said.get(mean) is not None and said.get(std) is not None
    ]
    if len({*found}) > 1:
        raise ValueError(
            "preprocessor_config.json and config.json must agree on mean and "
            f"std, got {found[0]} and {found[1]} beside {path}"
        )
    return found[0] if found else None


def _three(
    said: dict[str, Any], mean: str, std: str, path: Path
) -> Normalisation | None:
    """Return the numbers for three colours; None if there is only one."""
    try:
        numbers = [
            (float(x),) * 3
            if isinstance(x, int | float)
            else tuple(map(float, x))
            for x in (said[mean], said[std])
        ]
        if {*map(len, numbers)} == {1}:
            return None
        return Normalisation(*numbers)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{mean} and {std} must be three numbers each, got {said[mean]} "
            f"and {said[std]} beside {path}: {error}"
        ) from error
