"""Blocks that keep only their inputs, and compute the rest a second time."""

from collections.abc import Callable

from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vitedu import require
from vitedu.cache import KeyValueCache
from vitedu.layers import DecoderBlock, EncoderBlock

_BLOCKS = EncoderBlock, DecoderBlock


def recompute_blocks(model: nn.Module) -> None:
    """Let every block of a model forget what its backward pass will need.

    In training, a block then keeps only its inputs, and is computed again when
    its gradients are needed: less memory for about a third more time. Outputs,
    gradients and random masks stay the same, bit for bit, and so do the names
    of all weights. In evaluation nothing changes.

    Args:
        model: Holds an `EncoderBlock` or a `DecoderBlock` somewhere, as a
            VisionTransformer, an Encoder, a Decoder and a Transformer do.
            Changed in place.

    Raises:
        TypeError: `model` is not a module.
        ValueError: `model` holds no such block.

    Source: Chen et al. 2016, section 4.1; here each block is a segment.

    >>> from vitedu.config import ViTConfig
    >>> from vitedu.vit import VisionTransformer
    >>> model = VisionTransformer(ViTConfig.digits())
    >>> names = list(model.state_dict())
    >>> recompute_blocks(model)
    >>> names == list(model.state_dict())
    True
    """
    require.instance("model", model, nn.Module)
    blocks = [m for m in model.modules() if isinstance(m, _BLOCKS)]
    for block in blocks:
        # Another class, not another `forward` in the instance: a copy of that
        # would go on to call the block it was copied from.
        block.__class__ = _RECOMPUTING.get(type(block), type(block))
    if not blocks:
        raise ValueError(
            "model must hold an EncoderBlock or a DecoderBlock, got "
            f"{type(model).__name__} without any"
        )


class _RecomputingEncoderBlock(EncoderBlock):
    def forward(self, *args, **kwargs) -> Tensor:
        return _recomputed(self, super().forward, args, kwargs)


class _RecomputingDecoderBlock(DecoderBlock):
    def forward(self, *args, **kwargs) -> Tensor:
        return _recomputed(self, super().forward, args, kwargs)


def _recomputed(
    block: nn.Module, forward: Callable, args: tuple, kwargs: dict
) -> Tensor:
    # What decoding keeps in a cache would be kept twice.
    caches = tuple, KeyValueCache
    caching = any(isinstance(x, caches) for x in (*args, *kwargs.values()))
    if not block.training or caching:
        return forward(*args, **kwargs)
    return checkpoint(forward, *args, use_reentrant=False, **kwargs)


_RECOMPUTING = {
    EncoderBlock: _RecomputingEncoderBlock,
    DecoderBlock: _RecomputingDecoderBlock,
}
