"""Which parameters decay, and at which rate each layer learns."""

import re

from torch import nn
from torch.optim import AdamW

from vitedu import require
from vitedu.config import TrainConfig

# Learned tokens and positions, by their names here and in timm, torchvision
# and Hugging Face.
_NO_MAP = re.compile(r"_token$|pos_embed|position_(embed|bias)|positions\.")
_BEFORE_BLOCKS = re.compile(r"\w+_token$|pos_embed|patch_embed")
_BLOCK = re.compile(r"blocks\.(\d+)\.")
_FUSED = ("cpu", "cuda", "mps", "xpu")


def adamw(model: nn.Module, config: TrainConfig) -> AdamW:
    """Return the optimiser of a model, as one fused kernel if available.

    Args:
        model: See `parameter_groups`.
        config: The recipe.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: A model with nothing to train; what `parameter_groups`
            refuses.
    """
    groups = parameter_groups(model, config)
    parameters = list(model.parameters())
    if not any(parameter.requires_grad for parameter in parameters):
        kind = type(model).__name__
        raise ValueError(
            "model must have a parameter that requires a gradient, got a "
            f"{kind} with {len(parameters)} parameters and none that does"
        )
    return AdamW(groups, fused=parameters[0].device.type in _FUSED)


def parameter_groups(model: nn.Module, config: TrainConfig) -> list[dict]:
    """Split the parameters of a model by weight decay and learning rate.

    Layers are counted from the head, which is number 0 together with the norm
    before it; then come the blocks, the last one first, and finally, as the
    deepest layer, whatever turns the image into tokens. Layer n has the
    learning rate learning_rate * layer_decay ** n.

    Args:
        model: With a `layer_decay` below 1 its blocks have to be `blocks`, as
            in a VisionTransformer.
        config: The recipe.

    Returns:
        What a PyTorch optimiser takes: "params", "weight_decay" and "lr", the
        highest learning rate of the group. Frozen parameters are included.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: A model without `blocks` where layers are to differ.

    Source: Bao et al. 2022 (BEiT), appendix H, and their code; Clark et al.
        2020 (ELECTRA), section 3.

    >>> from vitedu.config import ViTConfig
    >>> from vitedu.vit import VisionTransformer
    >>> model = VisionTransformer(ViTConfig.digits(num_layers=2))
    >>> config = TrainConfig(num_epochs=1, learning_rate=1, layer_decay=0.5)
    >>> sorted({group["lr"] for group in parameter_groups(model, config)})
    [0.125, 0.25, 0.5, 1.0]
    """
    require.instance("model", model, nn.Module)
    require.instance("config", config, TrainConfig)
    spared = set() if config.decay_all else _spared(model)
    groups: dict[tuple[int, bool], list] = {}
    for name, parameter in model.named_parameters():
        layer = _layer(name, model) if config.layer_decay < 1 else 0
        key = layer, parameter in spared
        groups.setdefault(key, []).append(parameter)
    return [
        {
            "params": groups[layer, is_spared],
            "weight_decay": 0.0 if is_spared else config.weight_decay,
            "lr": config.learning_rate * config.layer_decay**layer,
        }
        for layer, is_spared in sorted(groups)
    ]


def _spared(model: nn.Module) -> set[nn.Parameter]:
    """Return the parameters that weight decay leaves alone."""
    tables = {
        module.weight
        for module in model.modules()
        if isinstance(module, nn.Embedding | nn.EmbeddingBag)
    }
    return tables | {
        parameter
        for name, parameter in model.named_parameters()
        if parameter.ndim < 2 or _NO_MAP.search(name)
    }


def _layer(name: str, model: nn.Module) -> int:
    """Return how many layers a parameter is from the head."""
    blocks = getattr(model, "blocks", None)
    if not isinstance(blocks, nn.ModuleList):
        raise ValueError(
            "layer_decay must be 1 for a model without blocks, got a "
            f"{type(model).__name__}"
        )
    if _BEFORE_BLOCKS.match(name):
        return len(blocks) + 1
    block = _BLOCK.match(name)
    return len(blocks) - int(block[1]) if block else 0
