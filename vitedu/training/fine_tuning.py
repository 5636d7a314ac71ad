"""Adapting a trained Vision Transformer to images of your own."""

from dataclasses import replace

import torch
from torch.utils.data import DataLoader, TensorDataset

from vitedu import require
from vitedu.positions import interpolate_positions
from vitedu.training.evaluation import checked_batch
from vitedu.vit import VisionTransformer


def resized_vit(
    model: VisionTransformer,
    *,
    image_size: int | tuple[int, int],
    num_blocks: int | None = None,
) -> VisionTransformer:
    """Return a copy of a model for images of another size, or a shallower one.

    Learned positions are resampled once to the new grid, as the config's
    `resampling` says. The norm that followed the last block now follows the
    last one that is kept.

    Args:
        model: Stays as it is.
        image_size: Side of a square image, or (height, width), which the
            patches divide.
        num_blocks: How many blocks to keep, the first ones; None means all.

    Raises:
        TypeError, ValueError: Not a VisionTransformer; a size that `ViTConfig`
            refuses; more blocks than there are.

    Source: Dosovitskiy et al. 2021, section 3.2.
    """
    require.instance("model", model, VisionTransformer)
    if num_blocks is None:
        num_blocks = len(model.blocks)
    _require_blocks(num_blocks, model)
    old = model.config
    new = replace(old, image_size=image_size, num_layers=num_blocks)
    copy = VisionTransformer(new).to(next(model.parameters()))
    weights = model.state_dict()
    if old.positions == "learned":
        weights["pos_embed.weight"] = interpolate_positions(
            weights["pos_embed.weight"],
            old.grid_size,
            new.grid_size,
            num_prefix_tokens=old.num_placed_tokens,
            mode=old.resampling,
        )
    copy.load_state_dict({name: weights[name] for name in copy.state_dict()})
    copy.class_names = model.class_names
    copy.normalisation = model.normalisation
    return copy.train(model.training)


def freeze_all_but(model: VisionTransformer, num_blocks: int) -> None:
    """Let only the last blocks of a model learn, and what follows them.

    What follows is the last norm, `pre_logits` and each head.

    Args:
        model: Changed in place: `requires_grad` becomes False for all other
            parameters.
        num_blocks: How many blocks; even with all of them, the layers that
            turn the image into tokens remain frozen.

    Raises:
        TypeError, ValueError: Not a VisionTransformer; not a positive integer,
            or more blocks than there are.
    """
    require.instance("model", model, VisionTransformer)
    _require_blocks(num_blocks, model)
    model.requires_grad_(False)
    after = model.norm, model.fc_norm, model.pre_logits, model.head
    for part in (*model.blocks[-num_blocks:], *after, model.head_dist):
        if part is not None:
            part.requires_grad_(True)


def frozen_features(
    model: VisionTransformer, loader: DataLoader
) -> TensorDataset:
    """Compute once what the head of a model reads, for all of its training.

    The features are computed in evaluation mode, without gradients, and kept
    on the CPU. The head can then be trained by itself:
    ``fit(model.head, DataLoader(features), ...)``.

    Args:
        model: Is in evaluation mode afterwards.
        loader: Yields ``(images, targets)`` with class numbers, once each.

    Returns:
        Pairs of features, (width of the head's input,), and targets.

    Raises:
        TypeError, ValueError: An argument of the wrong type; a distilled
            model, which has two heads; batches that `fit` also refuses.
    """
    require.instance("model", model, VisionTransformer)
    require.instance("loader", loader, DataLoader)
    if model.config.distilled:
        raise ValueError("model must have one head, got a distilled one")
    device = next(model.parameters()).device
    model.eval()
    features, labels = [], []
    for batch in loader:
        images, targets = checked_batch(batch, device)
        with torch.no_grad():
            tokens = model.forward_features(images)
            features.append(model.pre_logits(model.pool(tokens)).cpu())
        labels.append(targets.cpu())
    return TensorDataset(torch.cat(features), torch.cat(labels))


def _require_blocks(num_blocks: int, model: VisionTransformer) -> None:
    require.positive_int("num_blocks", num_blocks)
    if num_blocks > len(model.blocks):
        raise ValueError(
            f"num_blocks must be at most the model's {len(model.blocks)}, got "
            f"{num_blocks}"
        )
