"""A trained model's weights, in the form in which a page computes."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from vitedu import require
from vitedu.config import BlockConfig
from vitedu.objectives.contrastive import ImagesAndCaptions
from vitedu.objectives.masked_autoencoder import MaskedAutoencoder
from vitedu.transformer import Transformer
from vitedu.vit import VisionTransformer

_AnyModel = (
    Transformer | VisionTransformer | MaskedAutoencoder | ImagesAndCaptions
)
Model = TypeVar(
    "Model",
    Transformer,
    VisionTransformer,
    MaskedAutoencoder,
    ImagesAndCaptions,
)

# Four bytes of a page for each three numbers of two bytes.
MOST_NUMBERS = 2_000_000
_SHARED = (
    "d_model",
    "num_layers",
    "num_heads",
    "scale",
    "activation",
    "norm_first",
    "layer_norm_eps",
    "positions",
)
_OF_VIT = (
    *_SHARED,
    "d_ff",
    "image_size",
    "patch_size",
    "num_classes",
)
_FIELDS = {
    Transformer: (
        *_SHARED,
        "max_len",
        "embedding_scale",
        "src_vocab_size",
        "tgt_vocab_size",
        "tgt_pad_id",
    ),
    VisionTransformer: _OF_VIT,
    MaskedAutoencoder: _OF_VIT,
    ImagesAndCaptions: _OF_VIT,
}


def rounded_to_half(model: Model) -> Model:
    """Copy a model and round its weights to half precision.

    The copy computes in the precision of the model. It holds the same numbers
    as a page, so both give the same answers.

    Args:
        model: A Transformer, a VisionTransformer, a MaskedAutoencoder or
            ImagesAndCaptions.

    Raises:
        TypeError: `model` is none of these.
        ValueError: A weight that half precision cannot hold: beyond 65,504,
            or one that is not finite.
    """
    require.instance("model", model, *_FIELDS)
    rounded = deepcopy(model)
    with torch.no_grad():
        for name, weight in rounded.named_parameters():
            weight.copy_(weight.half())
            if not weight.isfinite().all():
                raise ValueError(
                    "model must have weights within half precision, -65504 "
                    f"to 65504; {name} has others"
                )
    return rounded


def page_weights(model: _AnyModel) -> dict[str, Any]:
    """Return a model as keyword arguments of the explorers that run it.

    Dropout is off in the page, as in evaluation.

    Args:
        model: A model that `rounded_to_half` made.

    Returns:
        weights: all numbers in a row, in half precision, shared ones once.
        layout: for each name in the model, ``[where it begins, *shape]``.
        config: what else the page has to know of the model, decoder included.
        Of two encoders, it is that of the images, with `text_layers` added.

    Raises:
        TypeError: `model` is not such a model.
        ValueError: Weights that are not rounded, that are not those of the
            model's config, or more than 2,000,000 of them; a config that asks
            for what pages do not compute.
    """
    require.instance("model", model, *_FIELDS)
    parameters = dict(model.named_parameters(remove_duplicate=False))
    _check_as_configured(model, parameters)
    starts: dict[int, int] = {}
    numbers, count = [], 0
    for name, weight in parameters.items():
        if id(weight) in starts:
            continue
        half = weight.detach().cpu().half()
        if not torch.equal(half.to(weight.dtype), weight.detach().cpu()):
            raise ValueError(
                "model must hold half precision, so that the page computes "
                f"with the same numbers, got others in {name}; "
                "rounded_to_half(model) makes such a model"
            )
        starts[id(weight)] = count
        numbers.append(half.numpy().ravel())
        count += weight.numel()
    if count > MOST_NUMBERS:
        raise ValueError(
            f"model must have at most {MOST_NUMBERS} numbers to travel in a "
            f"page, got {count}"
        )
    return {
        "weights": np.concatenate(numbers),
        "layout": {
            name: [starts[id(weight)], *weight.shape]
            for name, weight in parameters.items()
        },
        "config": _config(model),
    }


def _kind(model: _AnyModel) -> type:
    return next(kind for kind in _FIELDS if isinstance(model, kind))


def _config_of(model: _AnyModel) -> BlockConfig:
    """Of two encoders, that of the images; captions have the same sizes."""
    return (
        model.image if isinstance(model, ImagesAndCaptions) else model
    ).config


def _config(model: _AnyModel) -> dict[str, Any]:
    config = _facts(_config_of(model), _FIELDS[_kind(model)])
    if isinstance(model, ImagesAndCaptions):
        config["text_layers"] = len(model.blocks)
    if isinstance(model, MaskedAutoencoder):
        config["decoder"] = _facts(model.decoder_config, (*_SHARED, "d_ff"))
    return config


def _facts(config: BlockConfig, fields: tuple[str, ...]) -> dict[str, Any]:
    head_dim, value_dim = config.head_widths
    return {name: getattr(config, name) for name in fields} | {
        "head_dim": head_dim,
        "value_dim": value_dim,
    }


def _check_as_configured(
    model: _AnyModel, parameters: Mapping[str, Tensor]
) -> None:
    """Require the parts that the page knows, and no others."""
    later = _config_of(model).later_choices
    if later:
        raise ValueError(
            "model must have blocks as of 2021, which pages compute, got "
            f"others in {', '.join(later)}"
        )
    if isinstance(model, MaskedAutoencoder) and model.normalise_patches:
        raise ValueError(
            "model must have normalise_patches=False, since pages show what "
            "it guesses as pixels, got True"
        )
    with torch.device("meta"):
        usual = _as_configured(model).state_dict()
    found = {name: tuple(weight.shape) for name, weight in parameters.items()}
    expected = {name: tuple(weight.shape) for name, weight in usual.items()}
    if found != expected:
        names = sorted(dict(found.items() ^ expected.items()))
        raise ValueError(
            "model must have the weights of its config, got others at "
            f"{', '.join(names)}"
        )


def _as_configured(model: _AnyModel) -> nn.Module:
    """Make another model of the same config."""
    if isinstance(model, ImagesAndCaptions):
        width, _ = model.image_map.weight.shape
        return ImagesAndCaptions(
            model.image.config,
            vocab_size=model.words.num_embeddings,
            max_len=model.pos_embed.weight.shape[1],
            width=width,
            text_layers=len(model.blocks),
            start_bias=None if model.bias is None else 0.0,
        )
    if not isinstance(model, MaskedAutoencoder):
        return _kind(model)(model.config)
    inside = model.decoder_config
    return MaskedAutoencoder(
        model.config,
        decoder_width=inside.d_model,
        decoder_layers=inside.num_layers,
        decoder_heads=inside.num_heads,
    )
