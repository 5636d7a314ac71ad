"""How the weights of a Vision Transformer start: three dialects."""

from typing import Any, Literal

from torch import nn

from vitedu import require
from vitedu.config import ViTConfig

_DIALECTS = ("xavier", "truncated_normal", "pytorch")


def initialise_vit(model: nn.Module, config: ViTConfig) -> None:
    """Draw the first tokens and weights of a Vision Transformer, in place.

    Learned positions draw themselves.

    Args:
        model: A `vitedu.vit.VisionTransformer`.
        config: Its config; `weights_init` and `class_token_std` say how.

    Raises:
        TypeError: `model` is not a module, or `config` not a ViTConfig.

    Source: "xavier" as in the code of Dosovitskiy et al. 2021,
        "truncated_normal" as in timm.
    Deviates: In both the head starts at zero, while timm draws it, and
        `pre_logits` starts like every other linear map. With "xavier", q, k
        and v are drawn as one matrix, which makes them smaller by the square
        root of 2 than drawn apart; patch weights are normal, not truncated
        normal; biases of the feed-forward network are 0, not 1e-6. With
        "truncated_normal", patch weights stay as PyTorch draws them, and the
        cut, at 2, is a hundred standard deviations away: both as in timm.
        Registers, to which no position is added, have a standard deviation of
        0.02 and not 1e-6, for the sake of their gradients.
    """
    require.instance("model", model, nn.Module)
    require.instance("config", config, ViTConfig)
    vit: Any = model  # its type would be imported from where this is
    for token in (vit.cls_token, vit.dist_token):
        if token is not None and config.class_token_std > 0:
            nn.init.normal_(token, std=config.class_token_std)
    if vit.reg_token is not None:
        # Alike at first, they would be alike for ever.
        nn.init.normal_(vit.reg_token, std=0.02)
    if config.weights_init == "pytorch":
        return
    for module in model.modules():
        if isinstance(module, nn.Linear):
            _initialise_linear(module, config.weights_init)
    if config.weights_init == "xavier":
        patch = vit.patch_embed.proj
        nn.init.kaiming_normal_(patch.weight, nonlinearity="linear")
        nn.init.zeros_(patch.bias)
    for head in (vit.head, vit.head_dist):
        if head is not None:
            initialise_head(head, config.weights_init)


def initialise_head(
    head: nn.Module,
    weights_init: Literal["xavier", "truncated_normal", "pytorch"],
) -> None:
    """Let a new head guess uniformly: its loss is then ln num_classes.

    With "pytorch" it stays as PyTorch has drawn it.

    Args:
        head: A linear map; what else stands there is left alone.
        weights_init: The dialect.

    Raises:
        TypeError: `head` is not a module.
        ValueError: `weights_init` is unknown.
    """
    require.instance("head", head, nn.Module)
    require.choice("weights_init", weights_init, _DIALECTS)
    if isinstance(head, nn.Linear) and weights_init != "pytorch":
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)


def _initialise_linear(linear: nn.Linear, weights_init: str) -> None:
    if weights_init == "xavier":
        nn.init.xavier_uniform_(linear.weight)
    else:
        nn.init.trunc_normal_(linear.weight, std=0.02)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)
